"""How the web tools get out: names, certificates, a proxy, and the time that all of it may take."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

import pytest

from callgate import Callgate, Context
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy, Category
from callgate.settings.load import parse_settings
from callgate.settings.values import SearchBackend, WebSettings
from callgate.tools.outbound.network import Network, ProxyConnector, SystemResolver
from callgate.tools.outbound.troubles import NotConnected
from tests.tools.examples import run_examples
from tests.tools.outbound.certificates import certified
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import Site, page, redirect, serving
from tests.tools.outbound.walls import OTHER, PUBLIC, Names, Stuck, Wall
from tests.tools.web.gates import gate_with

NAMES = {"public.example": [[PUBLIC]], "other.example": [[OTHER]], "both.example": [[OTHER, PUBLIC]]}


async def test_a_certificate_is_checked_for_the_name_though_the_address_is_connected(tmp_path: Path) -> None:
    server, trusting = certified(tmp_path, "public.example")
    async with serving(server) as site:
        site.answers["/x"] = page("private")
        wall = Wall({PUBLIC: site.port, OTHER: site.port})
        network = Network(resolver=Names(NAMES), connector=wall, trust=lambda: trusting)
        async with gate_with(network) as gate:
            told = (await gate.call("http_get", {"url": "https://public.example/x"})).unwrap()
            assert (told["body"], told["url"]) == ("private", "https://public.example/x")
            for url in ("https://other.example/x", f"https://{PUBLIC}/x"):
                wrong = await gate.call("http_get", {"url": url})
                assert category_of(wrong) is Category.NETWORK
                assert "certificate" in str(wrong).lower()
        assert len(site.asked) == 1
    assert {port for _, port in wall.wanted} == {443}


async def test_a_certificate_of_a_stranger_is_not_taken(tmp_path: Path) -> None:
    server, _ = certified(tmp_path, "public.example")
    async with serving(server) as site:
        network = Network(resolver=Names(NAMES), connector=Wall({PUBLIC: site.port}))
        async with gate_with(network) as gate:
            posting = {"url": "https://public.example/x", "data": {"a": 1}}
            outcome = await gate.call("http_post", posting, Context(autonomy=Autonomy.A4))
        assert outcome.status == "failed"
        assert "certificate" in str(outcome).lower()
        assert site.asked == []


async def test_a_redirect_from_https_to_http_is_not_followed(tmp_path: Path) -> None:
    server, trusting = certified(tmp_path, "public.example")
    async with serving(server) as site, serving() as plain:
        site.answers["/x"] = redirect("http://other.example/y")
        plain.answers["/y"] = page("overheard")
        wall = Wall({PUBLIC: site.port, OTHER: plain.port})
        network = Network(resolver=Names(NAMES), connector=wall, trust=lambda: trusting)
        async with gate_with(network) as gate:
            outcome = await gate.call("http_get", {"url": "https://public.example/x"})
        assert "from https to other.example by http" in str(outcome)
        assert (wall.addresses(), plain.asked) == ({PUBLIC}, [])


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with serving() as site:
        site.answers["/x"] = page("hello")
        wall = Wall({PUBLIC: site.port})
        async with gate_with(Network(resolver=Names(NAMES), connector=wall)) as gate:
            assert (await gate.call("http_get", {"url": "http://both.example/x"})).ok
    assert [address for address, _ in wall.wanted] == [OTHER, PUBLIC]


async def test_a_name_that_nobody_knows_is_told() -> None:
    async with gate_with(Network(resolver=Names({"empty.example": [[]]}), connector=Wall({}))) as gate:
        for host in ("unknown.example", "empty.example"):
            outcome = await gate.call("http_get", {"url": f"http://{host}/"})
            assert category_of(outcome) is Category.NETWORK
            assert f"{host} has no address" in str(outcome)


async def test_a_name_that_leads_to_another_name_is_not_looked_up_again() -> None:
    wall = Wall({})
    async with gate_with(Network(resolver=Names({"public.example": [["localhost"]]}), connector=wall)) as gate:
        outcome = await gate.call("http_get", {"url": "http://public.example/"})
    assert "what is no address" in str(outcome)
    assert wall.wanted == []


async def test_a_name_server_that_does_not_answer_ends_with_the_time_and_nothing_was_sent() -> None:
    async with gate_with(Network(resolver=Stuck(), connector=Wall({}))) as gate:
        arguments = {"url": "http://public.example/", "timeout": 1}
        outcome = await gate.call("http_post", arguments, Context(autonomy=Autonomy.A4))
    assert outcome.status == "failed"
    assert category_of(outcome) is Category.TIMEOUT


async def test_the_system_looks_names_up() -> None:
    found = await SystemResolver().resolve("localhost", 80)
    assert set(found) <= {"127.0.0.1", "::1"}
    assert found
    with pytest.raises(NotConnected, match="has no address"):
        await Network().addresses(f"{'a' * 64}.example", 80)


class Tunnel:
    """A proxy of the tests: connects what is wanted to a local site, and remembers what it was told."""

    def __init__(self, site: Site, reply: bytes = b"HTTP/1.1 200 Connected\r\n\r\n") -> None:
        self.site = site
        self.reply = reply
        self.told: list[str] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        self.told.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.reply)
        if b" 200 " in self.reply:
            there, back = await asyncio.open_connection("127.0.0.1", self.site.port)
            await asyncio.gather(pump(reader, back), pump(there, writer))
            back.close()
        writer.close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def test_a_proxy_is_told_the_address_that_was_judged_and_no_name() -> None:
    async with serving() as site, Tunnel(site) as tunnel:
        site.answers["/x"] = page("hello")
        proxy = ProxyConnector(f"http://127.0.0.1:{tunnel.port}")
        async with gate_with(Network(resolver=Names(NAMES), connector=proxy)) as gate:
            assert (await gate.call("http_get", {"url": "http://public.example/x"})).unwrap()["body"] == "hello"
            assert not (await gate.call("http_get", {"url": "http://127.0.0.1/x"})).ok
        assert [told.split("\r\n")[0] for told in tunnel.told] == [f"CONNECT {PUBLIC}:80 HTTP/1.1"]
        assert site.asked[0].headers["host"] == "public.example"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"HTTP/1.1 403 Not For You\r\n\r\n", "refused to connect: 403"),
        (b"SSH-2.0-x", "no HTTP"),
        (b"x" * 9000, "no HTTP"),
        (b"\r\n\r\n", "refused to connect"),
    ],
    ids=["refuses", "breaks-off", "too-long", "empty"],
)
async def test_a_proxy_that_does_not_connect_is_told(reply: bytes, said: str) -> None:
    async with serving() as site, Tunnel(site, reply) as tunnel:
        proxy = ProxyConnector(f"http://127.0.0.1:{tunnel.port}")
        async with gate_with(Network(resolver=Names(NAMES), connector=proxy)) as gate:
            outcome = await gate.call("http_post", {"url": "http://public.example/x"}, Context(autonomy=Autonomy.A4))
        assert outcome.status == "failed"
        assert said in str(outcome)
        assert site.asked == []


async def test_the_proxy_of_the_configuration_is_used(tmp_path: Path) -> None:
    async with serving() as site, Tunnel(site) as tunnel:
        site.answers["/x"] = page("hello")
        config = tmp_path / "callgate.yaml"
        config.write_text(
            "scopes: {net: {private_addresses: true}}\n"
            f'builtin_tools: {{enable: [web], web: {{proxy: "http://127.0.0.1:{tunnel.port}"}}}}\n'
        )
        async with Callgate.open("memory://", config) as gate:
            assert (await gate.call("http_get", {"url": site.url("/x")})).ok
        assert len(tunnel.told) == 1


def test_the_keys_of_the_configuration_are_read() -> None:
    text = """\
builtin_tools:
  web:
    search: [{kind: searxng, url: "https://search.example.com/search"}]
    wikipedia: https://de.wikipedia.org/w/api.php
    proxy: http://proxy.example.com:3128/
    trusted_docs: [docs.example.com]
"""
    assert parse_settings(text, file="callgate.yaml").builtin_tools.web == WebSettings(
        search=(SearchBackend(kind="searxng", url="https://search.example.com/search"),),
        wikipedia="https://de.wikipedia.org/w/api.php",
        proxy="http://proxy.example.com:3128",
        trusted_docs=("docs.example.com",),
    )


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("search: []", "name a backend"),
        ("search: [{kind: altavista, url: 'https://x.example/'}]", "altavista"),
        ("search: [{kind: searxng}]", "lacks url"),
        ("wikipedia: 'ftp://x.example'", "needs a URL"),
        ("wikipedia: 'https://me:pw@x.example/'", "needs a URL"),
        ("proxy: 'socks5://x.example'", "needs a proxy"),
        ("trusted_docs: ['https://x.example']", "needs a host"),
    ],
)
def test_keys_that_cannot_be_are_told(key: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        parse_settings(f"builtin_tools: {{web: {{{key}}}}}", file="callgate.yaml")


async def test_the_examples_run(tmp_path: Path) -> None:
    """Against servers of our own, by the names that stand in the examples."""
    hosts = ("example.com", "docs.python.org", "en.wikipedia.org", "html.duckduckgo.com")
    server, trusting = certified(tmp_path, *hosts)
    async with serving(server) as site:
        article = '{"query": {"pages": [{"title": "Call gate (Intel)", "extract": "It is."}]}}'
        results = '<div class="result"><a class="result__a" href="https://example.com/">One</a></div>'
        site.answers |= {"/": page("<p>Hello</p>"), "/notes": page("{}"), "/3/library/json.html": page("<p>JSON</p>")}
        site.answers |= {"/w/api.php": page(article, "application/json"), "/html/": page(results)}
        names = Names({host: [[PUBLIC]] for host in hosts})
        network = Network(resolver=names, connector=Wall({PUBLIC: site.port}), trust=lambda: trusting)
        async with gate_with(network) as gate:
            tools = [tool.name for tool in gate.tools()]
            await run_examples(gate, *tools)
            trusted = await gate.call("fetch_docs", {"url": "https://docs.python.org/3/library/json.html"})
            assert trusted.unwrap()["trust_level"] == "trusted"
    assert sorted(tools) == ["fetch_docs", "fetch_wikipedia", "http_get", "http_post", "web_fetch", "web_search"]
