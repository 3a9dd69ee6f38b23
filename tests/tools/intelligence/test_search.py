"""search_code: symbols before text, exact names before others, names by their parts; bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate.model.levels import Category
from callgate.tools.intelligence.words import parts_of
from tests.tools.examples import run_examples
from tests.tools.intelligence.asking import answer, once, opened, write

FILES = {
    "web/http_client.py": (
        "class HttpClient:\n"
        '    """Talks to servers."""\n\n'
        "    def parseHttpResponse(self, raw):\n        return raw\n\n"
        "    def send(self):\n        # the retry budget is spent here\n        pass\n"
    ),
    "web/send_mail.py": "def send_mail(to):\n    pass\n\n\ndef sender():\n    pass\n",
    "tests/test_send.py": "def send():\n    pass\n",
    "notes.md": "# How to send\n\nThe courier brings parcels.\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path, FILES)


async def found(folder: Path, query: str, **more: Any) -> list[dict[str, Any]]:
    output = await answer(folder, "search_code", query=query, **more)
    assert output["query"] == query
    assert output["count"] == len(output["results"])
    assert output["pending"] == 0
    return output["results"]


async def test_an_exact_name_comes_before_beginnings_and_tests_come_later(tree: Path) -> None:
    results = await found(tree, "send", limit=20)
    names = [result["name"] for result in results if result["match"] == "exact"]
    assert names == ["HttpClient.send", "send"]
    matches = [result["match"] for result in results]
    assert matches.index("prefix") > matches.index("exact")
    assert {result["name"] for result in results if result["match"] == "prefix"} == {"send_mail", "sender"}


async def test_a_name_is_found_by_its_parts(tree: Path) -> None:
    [first, *_] = await found(tree, "http response parse")
    assert first["name"] == "HttpClient.parseHttpResponse"
    assert first["match"] == "words"
    assert (first["path"], first["line"]) == ("web/http_client.py", 4)
    assert first["snippet"].startswith("    def parseHttpResponse")


async def test_a_note_on_a_symbol_and_the_text_around_it_are_searched(tree: Path) -> None:
    assert (await found(tree, "talks to servers"))[0]["name"] == "HttpClient"
    [first, *_] = await found(tree, "retry budget")
    assert (first["kind"], first["line"], first["match"]) == ("text", 8, "text")
    assert "retry budget" in first["snippet"]


async def test_words_of_other_texts_are_found_and_can_be_asked_for_alone(tree: Path) -> None:
    assert [result["path"] for result in await found(tree, "courier parcels")] == ["notes.md"]
    assert {result["path"] for result in await found(tree, "send", language="text")} == {"notes.md"}
    assert await found(tree, "courier", language="python") == []


async def test_what_is_nowhere_gives_no_results(tree: Path) -> None:
    assert await found(tree, "xylophone") == []


async def test_a_limit_holds(tree: Path) -> None:
    assert len(await found(tree, "send", limit=1)) == 1
    assert len(await found(tree, "send", limit=20)) > 3


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "a AND b NOT c",
        "send*",
        "NEAR(a b)",
        "(((",
        "words:send",
        "x' OR 1=1 --",
        "-send",
        "ünïcode Straße 変数",
        "\x00 a",
    ],
    ids=["quote", "operators", "star", "near", "brackets", "column", "sql", "minus", "unicode", "nul"],
)
async def test_a_query_is_words_and_no_language(tree: Path, query: str) -> None:
    outcome = await once(tree, "search_code", query=query)
    assert outcome.ok or (outcome.error is not None and outcome.error.category is Category.USER_INPUT), outcome


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": " ? !"},
        {"query": "x" * 1001},
        {"query": "a", "limit": 0},
        {"query": "a", "limit": 21},
        {"query": "a", "language": "cobol"},
        {},
    ],
    ids=["empty", "no-word", "long", "zero", "many", "language", "missing"],
)
async def test_bad_input_is_an_input_error(tree: Path, arguments: dict[str, Any]) -> None:
    outcome = await once(tree, "search_code", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT


async def test_the_examples_of_every_tool_work(tree: Path) -> None:
    async with opened(tree) as gate:
        await run_examples(gate, "search_code", "find_definition", "find_references", "get_repo_map")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("parseHttpRequest", ("parse", "http", "request")),
        ("HTTPServer2", ("http", "server", "2")),
        ("snake_case_name", ("snake", "case", "name")),
        ("__init__", ("init",)),
        ("größe", ("gr", "öß", "e")),
    ],
)
def test_names_are_taken_apart(name: str, parts: tuple[str, ...]) -> None:
    assert parts_of(name) == parts
