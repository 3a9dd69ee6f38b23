"""The language tools over a server that speaks OpenAI's wire format of embeddings. TOOL-14."""

from __future__ import annotations

import asyncio
import importlib.util
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import orjson
import pytest

from callgate import Callgate, Context
from callgate.errors import ConfigurationError
from callgate.model.levels import Category, Effect
from callgate.settings.load import parse_settings
from callgate.settings.values import BuiltinToolsSettings, LanguageSettings
from callgate.tools.catalogue import make_builtin
from tests.tools.examples import run_examples
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import Site, page, redirect, serving

KEY = "sk-test-0123456789abcdefghij"
NAMES = ("embed_text", "similarity_search", "classify_text")


def vector_of(text: str) -> list[float]:
    """A vector by the letters of a text, and not of length 1: texts with the same letters are near."""
    return [float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] + [0.5]


def answer(body: bytes, change: Callable[[list[dict[str, Any]]], object] = list) -> bytes:
    asked = orjson.loads(body)
    listed = [{"object": "embedding", "index": at, "embedding": vector_of(t)} for at, t in enumerate(asked["input"])]
    change(listed)
    told = {"object": "list", "data": listed, "model": asked["model"], "usage": {"total_tokens": 1}}
    return page(orjson.dumps(told), "application/json")


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Site]:
    monkeypatch.setenv("CALLGATE_SECRET_LANGUAGE_KEY", KEY)
    async with serving() as served:

        async def speak(writer: asyncio.StreamWriter) -> None:
            writer.write(answer(served.asked[-1].body))
            await writer.drain()

        served.answers["/v1/embeddings"] = speak
        yield served


@asynccontextmanager
async def asking(tmp_path: Path, site: Site, secret: str = ", secret: language/key") -> AsyncGenerator[Callgate]:
    config = tmp_path / "callgate.yaml"
    config.write_text(
        "scopes: {net: {private_addresses: true}}\n"
        "builtin_tools:\n  enable: [language]\n"
        f'  language: {{provider: openai, url: "{site.url("/v1")}/", model: small{secret}}}\n'
    )
    async with Callgate.open("memory://", config) as gate:
        yield gate


async def test_the_server_is_asked_in_its_own_format_with_the_key(tmp_path: Path, site: Site) -> None:
    """TOOL-14."""
    async with asking(tmp_path, site) as gate:
        vector = (await gate.call("embed_text", {"text": "abba"})).unwrap()
        assert (await gate.call("embed_text", {"text": "abba"})).unwrap() == vector
    assert len(vector) == 27
    assert math.isclose(math.hypot(*vector), 1, abs_tol=1e-5)
    assert vector[0] == vector[1] > vector[26] > vector[2] == 0
    asked = site.asked[0]
    assert (asked.method, asked.headers["authorization"]) == ("POST", f"Bearer {KEY}")
    assert orjson.loads(asked.body) == {"model": "small", "input": ["abba"], "encoding_format": "float"}


async def test_without_a_secret_no_key_is_sent(tmp_path: Path, site: Site) -> None:
    async with asking(tmp_path, site, secret="") as gate:
        assert (await gate.call("embed_text", {"text": "abba"})).ok
    assert "authorization" not in site.asked[0].headers


async def test_many_texts_go_in_several_requests_and_keep_their_order(tmp_path: Path, site: Site) -> None:
    async def shuffled(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(site.asked[-1].body, lambda listed: listed.reverse()))
        await writer.drain()

    site.answers["/v1/embeddings"] = shuffled
    items = [f"{'x' * at} y" for at in range(1, 100)]
    async with asking(tmp_path, site) as gate:
        found = (await gate.call("similarity_search", {"query": "y" * 99 + "x", "items": items, "top_k": 100})).unwrap()
    assert [hit["index"] for hit in found] == list(range(99))
    assert [hit["item"] for hit in found] == items
    assert sorted(len(orjson.loads(asked.body)["input"]) for asked in site.asked) == [4, 32, 32, 32]


async def test_classifying_asks_the_server_too(tmp_path: Path, site: Site) -> None:
    """TOOL-14."""
    async with asking(tmp_path, site) as gate:
        told = (await gate.call("classify_text", {"text": "banana", "categories": ["zzz", "ananab", "ttt"]})).unwrap()
        await run_examples(gate, *NAMES)
    assert told["category"] == "ananab"
    assert list(told["scores"]) == ["zzz", "ananab", "ttt"]


async def test_with_a_server_they_say_that_texts_leave(tmp_path: Path, site: Site) -> None:
    async with asking(tmp_path, site) as gate:
        for tool in gate.tools():
            assert tool.effects == {Effect.READ_ONLY, Effect.NETWORK_ACCESS, Effect.CALLS_LLM}
            assert (tool.egress, tool.untrusted_output, tool.scopes) == (True, True, {"net:outbound"})
        refused = await gate.call("embed_text", {"text": "a"}, Context(scopes=frozenset({"compute:run"})))
        assert refused.status == "refused"
        assert not (await gate.call("embed_text", {"text": "a"}, Context(no_web=True))).ok
    assert site.asked == []


async def test_a_host_that_is_not_allowed_is_not_asked(tmp_path: Path, site: Site) -> None:
    async with asking(tmp_path, site):
        pass
    config = tmp_path / "callgate.yaml"
    config.write_text(config.read_text().replace("private_addresses: true", 'hosts: ["example.com"]'))
    async with Callgate.open("memory://", config) as gate:
        assert (await gate.call("embed_text", {"text": "a"})).status == "refused"
    assert site.asked == []


async def test_a_missing_key_is_a_fault_of_the_configuration_and_nothing_is_sent(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CALLGATE_SECRET_LANGUAGE_KEY")
    async with asking(tmp_path, site) as gate:
        outcome = await gate.call("embed_text", {"text": "a"})
    assert category_of(outcome) is Category.CONFIGURATION
    assert "language/key" in str(outcome)
    assert site.asked == []


@pytest.mark.parametrize(
    ("told", "category"),
    [
        (page(f"no such key {KEY}", status="401 Unauthorized"), Category.CONFIGURATION),
        (page("", status="403 Forbidden"), Category.CONFIGURATION),
        (page("", status="404 Not Found"), Category.API),
        (page("", status="400 Bad Request"), Category.API),
        (page("not json"), Category.RESOURCE),
        (page("[]", "application/json"), Category.RESOURCE),
        (page('{"data": 7}', "application/json"), Category.RESOURCE),
        (page('{"data": []}', "application/json"), Category.RESOURCE),
        (page('{"data": [7]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"embedding": []}]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"embedding": [0, 0]}]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"embedding": [1.7e308, 1.7e308]}]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"embedding": ["a"]}]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"embedding": "AACAPw=="}]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"index": 1, "embedding": [1]}]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"index": true, "embedding": [1]}]}', "application/json"), Category.RESOURCE),
        (page('{"data": [{"embedding": [1]}, {"embedding": [1]}]}', "application/json"), Category.RESOURCE),
        (page(orjson.dumps({"data": [{"embedding": [1] * 16385}]}), "application/json"), Category.RESOURCE),
        (page(b'{"data": ' + b"[" * 5000 + b"]" * 5000 + b"}", "application/json"), Category.RESOURCE),
        (page(b" " * (17 * 1024 * 1024), "application/json"), Category.RESOURCE),
    ],
    ids=[
        *("no-key", "forbidden", "no-model", "bad", "no-json", "list", "number", "none", "no-object", "empty", "zero"),
        *("endless", "texts", "packed", "wrong-place", "odd-place", "two-for-one", "too-wide", "deep", "too-long"),
    ],
)
async def test_an_answer_that_is_no_use_is_told_without_the_key(
    tmp_path: Path, site: Site, told: bytes, category: Category
) -> None:
    site.answers["/v1/embeddings"] = told
    async with asking(tmp_path, site) as gate:
        outcome = await gate.call("embed_text", {"text": "a"})
        assert category_of(outcome) is category
        written = [str(event) async for event in gate.events(follow=False)]
    assert KEY not in str(outcome)
    assert KEY not in "".join(written)


async def test_vectors_of_several_dimensions_are_not_compared(tmp_path: Path, site: Site) -> None:
    two = [{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1]}]
    site.answers["/v1/embeddings"] = page(orjson.dumps({"data": two}), "application/json")
    async with asking(tmp_path, site) as gate:
        outcome = await gate.call("similarity_search", {"query": "a", "items": ["b"]})
    assert "several dimensions" in str(outcome)


async def test_the_key_follows_no_redirect(tmp_path: Path, site: Site) -> None:
    async with serving() as other, asking(tmp_path, site) as gate:
        site.answers["/v1/embeddings"] = redirect(other.url("/v1/embeddings"), "307 Temporary Redirect")
        assert not (await gate.call("embed_text", {"text": "a"})).ok
        assert other.asked == []


async def test_a_server_that_wants_a_pause_gets_it(tmp_path: Path, site: Site) -> None:
    site.answers["/v1/embeddings"] = page("", status="429 Too Many Requests", more="retry-after: 3600\r\n")
    async with asking(tmp_path, site) as gate:
        assert category_of(await gate.call("embed_text", {"text": "a"})) is Category.API
        asked = len(site.asked)
        later = await gate.call("classify_text", {"text": "a", "categories": ["b", "c"]})
        assert later.status == "refused"
        assert "rate limited until" in str(later)
    assert len(site.asked) == asked == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("{provider: gpt}", "gpt"),
        ("{provider: openai}", "needs url and model"),
        ('{provider: openai, url: "https://a.example/v1"}', "needs model"),
        ('{url: "https://a.example/v1"}', "wordllama asks no server"),
        ('{provider: openai, url: "https://u:p@a.example/v1", model: m}', "without a user"),
        ('{provider: openai, url: "ftp://a.example/v1", model: m}', "needs a URL"),
        ('{provider: openai, url: "https://a.example/v1", model: m, secret: sk-123}', "connector/key"),
        ('{provider: openai, url: "http://a.example/v1", model: m, secret: a/b}', "anybody on the way"),
    ],
    ids=["provider", "nothing", "no-model", "server-of-none", "user", "scheme", "the-key-itself", "in-clear"],
)
def test_settings_that_cannot_be_are_told(said: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as told:
        parse_settings(f"builtin_tools: {{language: {said}}}\n", file="callgate.yaml")
    assert "sk-123" not in str(told.value)


def test_settings_are_read() -> None:
    text = '{provider: openai, url: "https://a.example/v1/", model: m, secret: a/b}'
    read = parse_settings(f"builtin_tools: {{language: {text}}}\n", file="callgate.yaml").builtin_tools.language
    assert read == LanguageSettings(provider="openai", url="https://a.example/v1", model="m", secret="a/b")
    plain = parse_settings(
        'builtin_tools: {language: {provider: openai, url: "http://a.example/v1", model: m}}\n', file="callgate.yaml"
    )
    assert plain.builtin_tools.language.secret is None
    usual = parse_settings("builtin_tools: {language: {provider: wordllama}}\n", file="callgate.yaml")
    assert usual.builtin_tools.language == LanguageSettings()


def test_what_they_need_follows_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    here = importlib.util.find_spec

    def find_spec(name: str) -> ModuleSpec | None:
        return None if name == "wordllama" else here(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    served = LanguageSettings(provider="openai", url="https://a.example/v1", model="m")
    for tool in make_builtin(["language"], BuiltinToolsSettings(language=served)):
        assert tool.unavailable is None
    for tool in make_builtin(["language"], BuiltinToolsSettings()):
        assert "callgate[language]" in (tool.unavailable or "")


def test_the_server_is_named_for_the_policy() -> None:
    served = LanguageSettings(provider="openai", url="https://a.example/v1", model="m")
    [tool, *_] = make_builtin(["embed_text"], BuiltinToolsSettings(language=served))
    assert tool.hooks.resources is not None
    assert tool.hooks.resources({"text": "/etc/passwd"}) == {"hosts": ["https://a.example/v1/embeddings"]}
