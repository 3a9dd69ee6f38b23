"""web_search, against backends of our own. TOOL-01, TOOL-03."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.outbound.troubles import AnswerUnfit
from callgate.tools.web.search_backends import read_duckduckgo, read_searxng
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import Site, page, serving

STYLED = """<html><body><div class="results">
<div class="result result--ad"><h2><a class="result__a" href="https://ads.example/">Buy</a></h2></div>
<div class="result"><h2><a class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fdocs.python.org%2F3%2F%3Fa%3D1&amp;rut=x">Python  <b>docs</b></a></h2>
 <a class="result__snippet" href="#">The <b>official</b>
 pages.</a></div>
<div class="result"><h2><a class="result__a" href="https://example.com/two">Two</a></h2></div>
<div class="result"><h2><a class="result__a" href="javascript:alert(1)">Three</a></h2></div>
<div class="result"><h2><a class="result__a" href="//[bad">Four</a></h2></div>
</div></body></html>"""
PLAIN = """<html><body><table>
<tr class="result-sponsored"><td><a class="result-link" href="https://ads.example/">Buy</a></td></tr>
<tr><td>1.</td><td><a class="result-link" href="https://example.com/one">One</a></td></tr>
<tr><td class="result-snippet">First text</td></tr>
<tr><td>2.</td><td><a class="result-link" href="https://example.com/two">Two</a></td></tr>
<tr><td>3.</td><td><a class="result-link" href="https://example.org/three">Three</a></td></tr>
<tr><td class="result-snippet">Third text</td></tr>
</table></body></html>"""
NOTHING = '<html><body><div class="no-results">No results.</div></body></html>'
CHALLENGE = "<html><body><form>Are you a robot?</form></body></html>"


def as_json(count: int, host: str = "example.com") -> bytes:
    each = [{"title": f"T{at}", "url": f"https://{host}/{at}", "content": f"S{at}"} for at in range(count)]
    return page(orjson.dumps({"results": each}), "application/json")


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    async with serving() as served:
        yield served


@asynccontextmanager
async def searching(tmp_path: Path, site: Site, kinds: Sequence[str]) -> AsyncGenerator[Callgate]:
    backends = ", ".join(f'{{kind: {kind}, url: "{site.url(f"/{at}")}"}}' for at, kind in enumerate(kinds))
    config = tmp_path / "callgate.yaml"
    config.write_text(
        "scopes: {net: {private_addresses: true}}\n"
        f"builtin_tools: {{enable: [web_search], web: {{search: [{backends}]}}}}\n"
    )
    async with Callgate.open("memory://", config) as gate:
        yield gate


async def test_the_page_with_style_is_read(tmp_path: Path, site: Site) -> None:
    site.answers["/0"] = page(STYLED)
    async with searching(tmp_path, site, ["duckduckgo"]) as gate:
        told = (await gate.call("web_search", {"query": "python", "region": "de-de"})).unwrap()
    first = {"title": "Python docs", "url": "https://docs.python.org/3/?a=1", "snippet": "The official pages."}
    second = {"title": "Two", "url": "https://example.com/two", "snippet": ""}
    assert told == {"query": "python", "results": [first, second], "count": 2}
    assert parse_qs(urlsplit(site.asked[0].target).query) == {"q": ["python"], "kl": ["de-de"]}


async def test_the_page_without_style_is_read(tmp_path: Path, site: Site) -> None:
    site.answers["/0"] = page(PLAIN)
    async with searching(tmp_path, site, ["duckduckgo"]) as gate:
        told = (await gate.call("web_search", {"query": "x"})).unwrap()
    assert [(hit["title"], hit["snippet"]) for hit in told["results"]] == [
        ("One", "First text"),
        ("Two", ""),
        ("Three", "Third text"),
    ]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({}, 5),
        ({"limit": 0}, 1),
        ({"limit": -3}, 1),
        ({"limit": 100}, 20),
        ({"max_results": 7}, 7),
        ({"limit": 3, "max_results": 2}, 2),
    ],
    ids=["usual", "zero", "negative", "many", "other-name", "both"],
)
async def test_the_number_of_results_is_clamped(
    tmp_path: Path, site: Site, arguments: dict[str, Any], count: int
) -> None:
    """TOOL-03."""
    site.answers["/0"] = as_json(50)
    async with searching(tmp_path, site, ["searxng"]) as gate:
        told = (await gate.call("web_search", {"query": "x", **arguments})).unwrap()
    assert told["count"] == len(told["results"]) == count
    assert told["results"][0] == {"title": "T0", "url": "https://example.com/0", "snippet": "S0"}


async def test_only_results_of_the_wanted_domain(tmp_path: Path, site: Site) -> None:
    hosts = ["python.org", "docs.python.org", "notpython.org", "python.org.evil.example"]
    each = [{"title": host, "url": f"https://{host}/", "content": ""} for host in hosts]
    site.answers["/0"] = page(orjson.dumps({"results": each}), "application/json")
    async with searching(tmp_path, site, ["searxng"]) as gate:
        told = (await gate.call("web_search", {"query": "x", "domain_filter": "python.org"})).unwrap()
    assert [hit["title"] for hit in told["results"]] == ["python.org", "docs.python.org"]
    assert parse_qs(urlsplit(site.asked[0].target).query)["q"] == ["x site:python.org"]


@pytest.mark.parametrize(
    "failing",
    [
        page("down", status="503 Down"),
        page("slow down", status="429 Many"),
        page(CHALLENGE),
        page(CHALLENGE, status="202 Accepted"),
        b"no HTTP at all\r\n\r\n",
        page("x" * 2_000_000),
    ],
    ids=["down", "too-many", "challenge", "challenge-accepted", "no-http", "too-large"],
)
async def test_when_the_first_backend_fails_the_next_is_asked(tmp_path: Path, site: Site, failing: bytes) -> None:
    """TOOL-03."""
    site.answers |= {"/0": failing, "/1": as_json(1)}
    async with searching(tmp_path, site, ["duckduckgo", "searxng"]) as gate:
        told = (await gate.call("web_search", {"query": "x"})).unwrap()
    assert told["count"] == 1
    assert [target.partition("?")[0] for target in site.targets()] == ["/0", "/1"]


async def test_a_backend_that_finds_nothing_has_answered(tmp_path: Path, site: Site) -> None:
    site.answers |= {"/0": page(NOTHING), "/1": as_json(1)}
    async with searching(tmp_path, site, ["duckduckgo", "searxng"]) as gate:
        assert (await gate.call("web_search", {"query": "x"})).unwrap() == {"query": "x", "results": [], "count": 0}
    assert len(site.asked) == 1


async def test_when_all_fail_there_is_one_error_that_says_why_of_each(tmp_path: Path, site: Site) -> None:
    """TOOL-03."""
    site.answers |= {"/0": page("down", status="503 Down"), "/1": page('{"results": 7}', "application/json")}
    async with searching(tmp_path, site, ["duckduckgo", "searxng"]) as gate:
        outcome = await gate.call("web_search", {"query": "x"})
    assert outcome.error is not None
    assert category_of(outcome) is Category.NETWORK
    assert "503" in outcome.error.message
    assert "no results as JSON" in outcome.error.message
    assert len(site.asked) == 2


def test_the_readers_by_themselves() -> None:
    """As they run apart."""
    assert [hit["title"] for hit in read_duckduckgo(STYLED)] == ["Python docs", "Two"]
    assert [hit["title"] for hit in read_duckduckgo(PLAIN)] == ["One", "Two", "Three"]
    assert read_duckduckgo(NOTHING) == []
    odd = [7, {"url": "ftp://x.example/"}, {"url": "http://[::1"}, {"url": f"https://x.example/{'y' * 3000}"}, {}]
    assert read_searxng(orjson.dumps({"results": odd}).decode()) == []
    for text in ("{", "[]", '{"results": 7}'):
        with pytest.raises(AnswerUnfit, match="no results as JSON"):
            read_searxng(text)
    with pytest.raises(AnswerUnfit, match="no results that can be read"):
        read_duckduckgo(CHALLENGE)


@pytest.mark.parametrize("arguments", [{"query": ""}, {"query": " "}, {}, {"query": "x", "region": "mars"}])
async def test_questions_that_are_none_are_an_input_error(
    tmp_path: Path, site: Site, arguments: dict[str, Any]
) -> None:
    """TOOL-01."""
    async with searching(tmp_path, site, ["searxng"]) as gate:
        assert category_of(await gate.call("web_search", arguments)) is Category.USER_INPUT
    assert site.asked == []
