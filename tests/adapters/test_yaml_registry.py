"""The YAML registry: both shapes, every word of an entry, and nothing that loosens by the file's own claim."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from callgate.adapters.registry_files.yaml_registry import YamlRegistry
from callgate.errors import ConfigurationError, InvalidArguments
from callgate.model.levels import Caller, Effect, Origin, Risk
from callgate.model.source import Loaded
from callgate.model.tool import Tool

HERE = "tests.adapters.registry_handlers"


def _twice(text: str) -> str:
    return text * 2


async def load(tmp_path: Path, text: str, **options: Any) -> Loaded:
    path = tmp_path / "tool_registry.yaml"
    path.write_text(text)
    return await YamlRegistry(path, **options).load(None)  # pyright: ignore[reportArgumentType] - it needs no desk


async def one(tmp_path: Path, fields: str, **options: Any) -> Tool:
    text = "tools:\n  it:\n" + "\n".join(f"    {line}" for line in fields.splitlines())
    loaded = await load(tmp_path, text, **options)
    assert loaded.failures == ()
    [tool] = loaded.tools
    return tool


async def failures(tmp_path: Path, text: str, **options: Any) -> dict[str, str]:
    return {failure.name: failure.reason for failure in (await load(tmp_path, text, **options)).failures}


LIST = f"""
tools:
  - name: run_shell
    description: Sandboxed shell command execution
    category: code
    side_effects: [local_exec, modifies_files, system_state]
    destructive: true
    permission: shell
    parameters:
      command: {{type: string}}
    handler: {HERE}:anything
  - name: fetch_docs
    description: Fetch documentation
    category: web
    side_effects: [read_only, network_access]
    permission: network
    parameters:
      url: {{type: string, required: true, description: Where}}
      depth: {{type: int, required: false}}
    module: {HERE}
    function: fetch_docs
"""
MAPPING = f"""
permissions:
  network: {{requires_approval: false}}
tools:
  run_shell:
    description: Sandboxed shell command execution
    category: code
    side_effects: [local_exec, modifies_files, system_state]
    destructive: true
    permission: shell
    parameters: {{command: string}}
    implementation: {{handler: "{HERE}:anything"}}
  fetch_docs:
    description: Fetch documentation
    category: web
    side_effects: [read_only, network_access]
    permission: network
    parameters:
      url: {{type: str, description: Where}}
      depth: {{type: integer, required: false}}
    implementation: {{module: {HERE}, function: fetch_docs}}
"""


async def test_what_a_file_says_of_whole_permissions_is_told_to_count_elsewhere(tmp_path: Path):
    text = """
permissions:
  filesystem: {requires_approval: true, allowed_paths: [/tmp]}
  shell: {requires_approval: true}
  network: {requires_approval: false}
  none: {requires_approval: true}
  compute: 3
tools: [7]
"""
    told = {failure.name: failure.reason for failure in (await load(tmp_path, text)).failures}
    assert set(told) == {"tools[0]", "permissions.filesystem", "permissions.shell", "permissions.none"}
    assert (
        "requires_approval and allowed_paths counts in the configuration, under scopes.fs"
        in told["permissions.filesystem"]
    )
    assert "under scopes.shell" in told["permissions.shell"]
    assert "under scopes, and not here" in told["permissions.none"]


@pytest.mark.requirement("REG-13")
@pytest.mark.parametrize("text", [LIST, MAPPING])
async def test_both_shapes_of_the_file_give_the_same_tools(tmp_path: Path, text: str):
    shell, fetch = (await load(tmp_path, text, accept=True)).tools
    assert (shell.name, shell.category, shell.destructive, shell.scopes) == (
        "run_shell",
        "code",
        True,
        {"shell:execute"},
    )
    assert shell.effects == {Effect.LOCAL_EXEC, Effect.MODIFIES_FILES, Effect.SYSTEM_STATE}
    assert (fetch.source, fetch.source_name) == (Origin.YAML, "tool_registry")
    assert fetch.tags == ("source:yaml", "registry:tool_registry")
    assert (fetch.read_only, fetch.scopes, fetch.declared) == (True, {"net:outbound"}, True)
    assert fetch.input_schema == {
        "type": "object",
        "properties": {"url": {"type": "string", "description": "Where"}, "depth": {"type": "integer", "default": 1}},
        "required": ["url"],
        "additionalProperties": False,
    }
    assert fetch.handler is not None
    assert fetch.handler(fetch.validator({"url": "a"}), None) == {"url": "a", "depth": 1}
    with pytest.raises(InvalidArguments, match="url"):
        fetch.validator({"depth": 2})


@pytest.mark.requirement("REG-11")
async def test_a_file_that_does_not_exist_has_no_tools_and_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING, logger="callgate"):
        loaded = await YamlRegistry(tmp_path / "absent.yaml").load(None)  # pyright: ignore[reportArgumentType]
    assert loaded.tools == ()
    assert [failure.name for failure in loaded.failures] == ["absent.yaml"]
    assert "does not exist" in caplog.text


@pytest.mark.requirement("REG-12")
async def test_unknown_words_are_dropped_with_a_warning_and_never_loosen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    handler = f"handler: {HERE}:anything\n"
    with caplog.at_level(logging.WARNING, logger="callgate"):
        odd = await one(
            tmp_path,
            f"{handler}category: cooking\nallowed_callers: chain\nside_effects: [local_exec, teleports]",
            accept=True,
        )
        half = await one(
            tmp_path, f"{handler}side_effects: [read_only, teleports]\nallowed_callers: [chain, me]", accept=True
        )
    assert (odd.category, odd.allowed_callers) == ("specialized", {Caller.DIRECT})
    assert odd.effects == {Effect.LOCAL_EXEC}
    assert not half.read_only
    assert not half.declared
    assert half.allowed_callers == {Caller.CHAIN}
    assert "cooking" in caplog.text
    assert "teleports" in caplog.text
    assert "allowed_callers" in caplog.text


@pytest.mark.requirement("REG-14")
@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        ("handler: nowhere_at_all:run", "ModuleNotFoundError"),
        (f"handler: {HERE}:nothing", "nothing"),
        (f"handler: {HERE}:NOT_A_FUNCTION", "is no function"),
        ("handler: rm -rf", "is no place"),
        (f"module: {HERE}", "is no place"),
        ("category: web", "no handler is named"),
        (f"handler: {HERE}:fetch_docs\nparameters: {{link: string}}", "takes no 'link'"),
        (f"handler: {HERE}:fetch_docs\nparameters: {{depth: int}}", "needs 'url'"),
        (f"handler: {HERE}:Box\nparameters: {{}}", "is a class"),
        (f"handler: {HERE}:yields", "yields"),
        (f"handler: {HERE}:fetch_docs\nparameters: {{url: {{type: string, required: no}}}}", "needs 'url'"),
    ],
)
async def test_a_tool_whose_handler_cannot_be_had_is_there_and_unavailable(tmp_path: Path, handler: str, reason: str):
    tool = await one(tmp_path, handler)
    assert tool.handler is None
    assert tool.unavailable is not None
    assert reason in tool.unavailable


@pytest.mark.parametrize(
    "fields",
    [
        f"handler: {HERE}.fetch_docs",
        f"handler: {HERE}:fetch_docs\nparameters: {{url: {{type: string, default: a}}}}",
        f"handler: {HERE}:Box.inside\nparameters: {{}}",
        f"handler: {HERE}:whoami\nparameters: {{type: object, properties: {{}}}}",
        f"handler: {HERE}:anything\nparameters: {{tags: {{type: list, items: {{type: string}}}}}}",
    ],
)
async def test_a_handler_that_fits_is_there(tmp_path: Path, fields: str):
    tool = await one(tmp_path, fields)
    assert tool.unavailable is None
    assert tool.handler is not None


async def test_without_parameters_the_schema_is_the_function_s_own(tmp_path: Path):
    tool = await one(tmp_path, f"handler: {HERE}:fetch_docs")
    assert tool.input_schema["required"] == ["url"]


async def test_the_file_s_own_word_never_makes_a_tool_less_watched(tmp_path: Path):
    fields = (
        f"handler: {HERE}:search_code\nside_effects: [read_only]\nidempotent: true\nconcurrency_safe: true\nrisk: low\n"
        "allowed_callers: [direct, chain]\npermission: [compute, 'fs:read']\ndestructive: false\negress: true\n"
        "tags: quick"
    )
    theirs = await one(tmp_path, fields)
    assert not theirs.declared
    assert (theirs.read_only, theirs.idempotent, theirs.concurrency_safe, theirs.destructive) == (
        False,
        False,
        False,
        True,
    )
    assert (theirs.base_risk, theirs.allowed_callers, theirs.egress) == (Risk.HIGH, {Caller.DIRECT}, True)
    assert theirs.scopes == {"compute:run", "fs:read"}
    assert (theirs.claims["effects"], theirs.claims["risk"]) == (["read_only"], "low")
    mine = await one(tmp_path, fields, declarations={"it": {"effects": "read_only"}})
    assert (mine.declared, mine.read_only, mine.base_risk, mine.idempotent) == (True, True, Risk.LOW, False)
    accepted = await one(tmp_path, fields, accept=True)
    assert (accepted.read_only, accepted.idempotent, accepted.base_risk) == (True, True, Risk.LOW)
    assert accepted.allowed_callers == {Caller.DIRECT, Caller.CHAIN}
    assert (accepted.timeout, accepted.tags[-1]) == (3, "quick")


async def test_a_claim_to_be_dangerous_stands_until_the_operator_says_otherwise(tmp_path: Path):
    fields = f"handler: {HERE}:anything\ndestructive: true\nrisk: critical"
    text = "tools:\n  it:\n" + "\n".join(f"    {line}" for line in fields.splitlines())
    told = await failures(tmp_path, text, declarations={"*": {"effects": "read_only"}})
    assert "read_only and destructive" in told["it"]
    assert (await one(tmp_path, fields)).claims["destructiveHint"] is True
    tool = await one(tmp_path, fields, declarations={"*": {"effects": "system_state"}})
    assert (tool.destructive, tool.base_risk) == (True, Risk.CRITICAL)


async def test_one_bad_entry_harms_no_other(tmp_path: Path):
    text = f"""
tools:
  - name: good
    handler: {HERE}:anything
  - name: "bad name"
  - 7
  - {{description: nameless}}
  - {{name: typed, parameters: {{a: teapot}}}}
  - {{name: shaped, parameters: [a]}}
  - {{name: valued, parameters: {{a: 7}}}}
  - {{name: required, parameters: {{a: {{type: string, required: maybe}}}}}}
  - {{name: permitted, permission: everything}}
  - {{name: strange, parameters: {{type: object, properties: {{a: {{type: 7}}}}}}}}
"""
    told = await failures(tmp_path, text, declarations={"absent": {"effects": "read_only"}})
    assert set(told) == {
        "bad name",
        "tools[2]",
        "tools[3]",
        "typed",
        "shaped",
        "valued",
        "required",
        "permitted",
        "strange",
        "absent",
    }
    assert "teapot" in told["typed"]
    assert "everything" in told["permitted"]
    assert [tool.name for tool in (await load(tmp_path, text)).tools] == ["good"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("just text", "is no registry"),
        ("a: 1", "is no registry"),
        ("tools: 7", "is no registry"),
        ("tools: {a: {}, a: {}}", "'a' is given twice"),
        ("a: &x {b: 1}\ntools: {c: *x}", "aliases"),
        ("tools: [", "is not YAML"),
        ("tools: !!python/object:os.system {}", "is not YAML"),
        ("tools: {a: 2024-99-99}", "is not YAML"),
        ("tools: " + "[" * 3000 + "]" * 3000, "nests too deep"),
    ],
)
async def test_a_file_that_is_no_registry_is_an_error_with_its_reason(tmp_path: Path, text: str, reason: str):
    with pytest.raises(ConfigurationError, match=reason):
        await load(tmp_path, text)


async def test_an_empty_list_of_tools_is_a_registry(tmp_path: Path):
    assert await load(tmp_path, "tools:\n") == Loaded()


async def test_handlers_may_be_given_by_the_caller_and_names_prefixed(tmp_path: Path):
    path = tmp_path / "t.yaml"
    path.write_text("tools: {twice: {parameters: {text: string}}}")
    source = YamlRegistry(path, name="mine", prefix="my", handlers={"twice": _twice}, accept=True)
    [twice] = (await source.load(None)).tools  # pyright: ignore[reportArgumentType]
    assert (twice.name, twice.source_name) == ("my.twice", "mine")
    assert twice.handler is not None
    assert twice.handler({"text": "a"}, None) == "aa"
    await source.close()
    with pytest.raises(ConfigurationError, match="no name for a source"):
        YamlRegistry(path, prefix="a.b")
