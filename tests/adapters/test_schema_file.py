"""The JSON file of schemas: scopes, handlers given by the caller, one reading, and no silence about a missing file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import tool
from callgate.adapters.registry_files.schema_file import SchemaFile
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.source import Loaded
from tests.adapters.registry_handlers import fetch_docs, search_code

BOTH = ["oracle", "librarian"]
ORACLE = ["oracle"]
LIBRARIAN = ["librarian"]
SCOPES: dict[str, list[str]] = {
    "search_code": BOTH,
    "find_definition": ORACLE,
    "find_references": ORACLE,
    "get_repo_map": ORACLE,
    "vault_read": BOTH,
    "vault_write": BOTH,
    "vault_search": BOTH,
    "vault_list": BOTH,
    "vault_move": LIBRARIAN,
    "vault_create_index": LIBRARIAN,
    "thread_push": ORACLE,
    "thread_read": ORACLE,
    "thread_seek": ORACLE,
    "thread_list": ORACLE,
    "web_search": BOTH,
    "web_fetch": BOTH,
    "delegate_librarian": ORACLE,
    "notify_self": ORACLE,
    "github_read": BOTH,
    "github_search": ORACLE,
    "deep_research": ORACLE,
}


def schema(name: str, **beside: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    function = {"name": name, "description": f"Do {name}", "parameters": parameters}
    return {"type": "function", "function": function, **beside}


def write(path: Path, *items: Any) -> Path:
    path.write_text(json.dumps({"tools": items}))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    items = [schema(name, agent_scope=scope, category=name.split("_")[0]) for name, scope in SCOPES.items()]
    return write(tmp_path / "tools.json", *items)


async def load(source: SchemaFile) -> Loaded:
    return await source.load(None)  # pyright: ignore[reportArgumentType] - it needs no desk


def names(source: SchemaFile, scope: str | None = None) -> set[str]:
    return {each["function"]["name"] for each in source.schemas(scope)}


@pytest.mark.requirement("SCH-05")
async def test_a_scope_has_its_tools_and_no_others(file: Path):
    librarian = {
        *("search_code", "vault_read", "vault_write", "vault_search", "vault_list", "vault_move"),
        *("vault_create_index", "web_search", "web_fetch", "github_read"),
    }
    source = SchemaFile(file)
    assert names(source) == set(SCOPES)
    assert names(source, "oracle") == set(SCOPES) - {"vault_move", "vault_create_index"}
    assert names(source, "librarian") == librarian
    assert names(source, "nobody") == set()
    loaded = await load(SchemaFile(file, scope="librarian"))
    assert {each.name for each in loaded.tools} == librarian


def test_what_only_we_read_is_not_for_the_model(file: Path):
    for each in SchemaFile(file).schemas("oracle"):
        assert each.keys() == {"type", "function"}
        assert each["function"].keys() == {"name", "description", "parameters"}


@pytest.mark.requirement("SCH-06")
async def test_the_file_is_read_once_until_it_is_loaded_again(file: Path):
    source = SchemaFile(file)
    assert len(source.schemas()) == len(SCOPES)
    write(file, schema("only"))
    assert len((await load(source)).tools) == len(SCOPES)
    assert len(source.schemas("oracle")) == len(SCOPES) - 2
    assert [each.name for each in (await load(source)).tools] == ["only"]
    write(file, schema("later"))
    assert names(source) == {"only"}


@pytest.mark.requirement("SCH-06")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "does not exist"),
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"tools": 3}', "needs a list of tools"),
        ("7", "needs a list of tools"),
        ("[7]", "needs a function with name and parameters"),
        ('[{"function": {"name": "a", "parameters": []}}]', "needs a function with name and parameters"),
        ('[{"name": "a", "agent_scope": [7]}]', "must be a word or a list of words"),
    ],
)
async def test_a_missing_or_malformed_file_is_an_error_and_no_empty_list(tmp_path: Path, text: str | None, reason: str):
    path = tmp_path / "tools.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigurationError, match=reason):
        SchemaFile(path).schemas()
    with pytest.raises(ConfigurationError, match=reason):
        await load(SchemaFile(path))


async def test_a_second_file_stands_in_for_one_that_is_not_there(tmp_path: Path):
    spare = write(tmp_path / "spare.json", {"name": "flat", "agent_scope": "oracle", "category": "misc"})
    source = SchemaFile(tmp_path / "prompts.json", spare)
    assert source.name == "prompts"
    [flat] = (await load(source)).tools
    assert (flat.name, flat.category, flat.tags[-1]) == ("flat", "misc", "agent_scope:oracle")


async def test_handlers_are_the_caller_s_and_a_tool_without_one_is_unavailable(tmp_path: Path):
    @tool(effects="read_only")
    def other(wrong: str) -> str:
        """Take something else."""
        return wrong

    path = write(
        tmp_path / "tools.json", *(schema(name) for name in ("search_code", "vault_read", "vault_move", "bad name"))
    )
    handlers = {"search_code": search_code, "vault_move": other, "absent": fetch_docs}
    loaded = await load(SchemaFile(path, handlers=handlers, declarations={"vault_read": {"effects": "read_only"}}))
    search, read, move = loaded.tools
    assert (search.source, search.source_name, search.read_only, search.timeout) == (
        Origin.FUNCTION,
        "tools",
        True,
        3,
    )
    assert search.description == "Do search_code"
    assert search.handler is not None
    assert search.handler({"query": "a"}, None) == ["a"] * 5
    assert (read.handler, read.unavailable, read.declared) == (None, "no handler was given for it", True)
    assert move.unavailable == "its function takes no 'query', which its parameters name"
    assert [failure.name for failure in loaded.failures] == ["bad name", "absent"]


async def test_what_a_handler_does_not_declare_is_not_declared_by_the_file(tmp_path: Path):
    path = write(tmp_path / "tools.json", {**schema("plain"), "effects": "read_only"})

    async def plain(query: str) -> str:
        return query

    [made] = (await load(SchemaFile(path, handlers={"plain": plain}))).tools
    assert not made.declared
    [stated] = (
        await load(SchemaFile(path, handlers={"plain": plain}, declarations={"*": {"effects": "read_only"}}))
    ).tools
    assert stated.read_only


async def test_names_that_cannot_be_are_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="name the file"):
        SchemaFile()
    with pytest.raises(ConfigurationError, match="no name for a source"):
        SchemaFile(tmp_path / "t.json", name="a.b")
    await SchemaFile(tmp_path / "t.json").close()
