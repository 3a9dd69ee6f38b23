"""github_search, against a GitHub of our own. TOOL-19."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from callgate import Callgate
from callgate.flows.trees.contracts import CONTRACTS
from callgate.model.levels import Category
from callgate.tools.github.names import search_words
from tests.tools.github.hub import TOKEN, VARIABLE, Hub, as_json, hit, hub_open
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import page

Opened = tuple[Hub, Callgate]


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Opened]:
    monkeypatch.setenv(VARIABLE, TOKEN)
    async with hub_open(tmp_path) as both:
        yield both


def asked_of(hub: Hub) -> dict[str, list[str]]:
    return parse_qs(urlsplit(hub.site.asked[-1].target).query)


async def test_code_is_found_with_what_is_around_it(opened: Opened) -> None:
    hub, gate = opened
    hub.found(hit("octo/app", "src/main.py", "def main():", "main()"), total=7, incomplete=True)
    arguments = {"query": "  def   main ", "repo": "octo/app", "language": "Jupyter Notebook", "limit": 3}
    told = (await gate.call("github_search", arguments)).unwrap()
    assert told == {
        "query": "  def   main ",
        "total_count": 7,
        "incomplete": True,
        "results": [
            {
                "repo": "octo/app",
                "path": "src/main.py",
                "name": "main.py",
                "sha": "5" * 40,
                "url": "https://github.example/octo/app/blob/main/src/main.py",
                "snippets": ["def main():", "main()"],
            }
        ],
    }
    assert asked_of(hub) == {"q": ['repo:octo/app language:"Jupyter Notebook" def main'], "per_page": ["3"]}
    assert hub.site.asked[0].headers["authorization"] == f"Bearer {TOKEN}"


async def test_nothing_found_is_an_answer_and_fits_its_contract(opened: Opened) -> None:
    """BT-03."""
    hub, gate = opened
    hub.found()
    told = (await gate.call("github_search", {"query": "x"})).unwrap()
    assert told == {"query": "x", "total_count": 0, "results": [], "incomplete": False}
    assert CONTRACTS["github_search"].fault(told) is None
    assert asked_of(hub) == {"q": ["x"], "per_page": ["10"]}


@pytest.mark.parametrize(
    "query",
    [
        "x repo:other/private",
        "repo:other/private",
        "x REPO:other/private",
        "x -repo:octo/app",
        "(repo:other/private)",
        'x "y" repo:other/private',
        '"a\\" repo:other/private "b"',
        "x language:go",
        "x org:other",
        "x user:other",
        "x\tuser:other",
        "x,owner:other",
        "x;repo:other/private",
        "x|user:other",
        "std::repo::x",
        "x repo\uff1aother/private",
        "x \uff52\uff45\uff50\uff4f:other/private",
        "\uff02a repo:other/private\uff02",
        'x "y',
        '"',
        "x\x00y",
        "\u202ex",
        " ",
        "x" * 257,
    ],
    ids=[
        *("repo", "alone", "capitals", "without", "brackets", "phrase", "escaped", "language", "org", "user", "tab"),
        *("comma", "semicolon", "bar", "colons", "wide-colon", "wide-letters", "wide-quotes"),
        *("open", "quote", "nul", "turned", "blank", "long"),
    ],
)
async def test_a_query_cannot_say_where_to_search(opened: Opened, query: str) -> None:
    hub, gate = opened
    outcome = await gate.call("github_search", {"query": query, "repo": "octo/app"})
    assert category_of(outcome) is Category.USER_INPUT
    assert hub.site.asked == []


def test_what_narrows_stays_and_what_is_quoted_is_text() -> None:
    for query in ("path:src x", "x extension:py", '"repo:a/b" x', "x NOT y", "a:b::c", "my_repo:x", '"std::repo::x"'):
        assert search_words(query, repo="octo/app", language=None) == f"repo:octo/app {query}"
    assert search_words("x org:acme", repo=None, language="C++") == "language:C++ x org:acme"


async def test_results_of_other_repositories_were_not_asked_for(opened: Opened) -> None:
    hub, gate = opened
    hub.found(hit("other/private", "secret.py"), hit("Octo/App", "a.py"), hit("octo/app-two", "b.py"))
    told = (await gate.call("github_search", {"query": "x OR y", "repo": "octo/app"})).unwrap()
    assert [found["repo"] for found in told["results"]] == ["Octo/App"]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"repo": repo} for repo in ("octo", "octo/app x")),
        *({"language": name} for name in ('a"b', "go repo:a/b", "")),
        *({"limit": limit} for limit in (0, 101)),
    ],
    ids=["owner", "two", "quote", "qualifier", "none", "zero", "many"],
)
async def test_what_cannot_be_is_an_input_error(opened: Opened, wrong: dict[str, Any]) -> None:
    hub, gate = opened
    assert category_of(await gate.call("github_search", {"query": "x", **wrong})) is Category.USER_INPUT
    assert hub.site.asked == []


@pytest.mark.parametrize(
    ("told", "category"),
    [
        (as_json({"message": "Validation Failed"}, status="422 Unprocessable"), Category.USER_INPUT),
        (as_json({}, status="404 Not Found"), Category.API),
        (as_json({}, status="401 Unauthorized"), Category.CONFIGURATION),
        (page("<html>"), Category.RESOURCE),
        (as_json([]), Category.RESOURCE),
        (as_json({"total_count": -1, "incomplete_results": False, "items": []}), Category.RESOURCE),
        (as_json({"total_count": True, "incomplete_results": False, "items": []}), Category.RESOURCE),
        (as_json({"total_count": 1, "incomplete_results": "no", "items": []}), Category.RESOURCE),
        (as_json({"total_count": 1, "incomplete_results": False, "items": {}}), Category.RESOURCE),
        (page(b" " * (9 * 1024 * 1024), "application/json"), Category.RESOURCE),
    ],
    ids=["unfit", "absent", "token", "html", "list", "negative", "odd-count", "odd-flag", "odd-items", "huge"],
)
async def test_answers_that_are_no_results_are_told_apart(opened: Opened, told: bytes, category: Category) -> None:
    hub, gate = opened
    hub.site.answers["/search/code"] = told
    assert category_of(await gate.call("github_search", {"query": "x"})) is category


async def test_hostile_entries_are_left_out_or_cut(opened: Opened) -> None:
    hub, gate = opened
    long = hit("octo/app", "a.py", *("y" * 5000 for _ in range(9)))
    odd: list[Any] = [7, None, {}, {"path": "x"}, {"path": 7, "repository": {"full_name": "a/b"}}, {"repository": []}]
    hub.found(*odd, {**long, "name": {"a": 1}, "html_url": "z" * 5000}, *(hit("a/b", f"{at}") for at in range(50)))
    told = (await gate.call("github_search", {"query": "x", "limit": 20})).unwrap()
    assert len(told["results"]) == 20
    first = told["results"][0]
    assert (first["name"], len(first["url"]), [len(text) for text in first["snippets"]]) == ("", 1000, [500, 500, 500])
