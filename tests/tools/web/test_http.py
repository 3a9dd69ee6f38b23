"""http_get and http_post, against servers of our own: ordinary use, bounds, bad input. TOOL-01, TOOL-02."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, Pending, Previewed, Unknown
from callgate.model.levels import Autonomy, Caller, Category, Happened
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.catalogue import make_builtin
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import Site, page, redirect, serving

PRIVATE = "scopes: {net: {private_addresses: true}}\nbuiltin_tools: {enable: [web]}\n"
AT_WILL = Context(autonomy=Autonomy.A4)


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    async with serving() as served:
        yield served


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncGenerator[Callgate]:
    config = tmp_path / "callgate.yaml"
    config.write_text(PRIVATE)
    async with Callgate.open("memory://", config) as opened:
        yield opened


async def get(gate: Callgate, url: str, **more: Any) -> dict[str, Any]:
    return (await gate.call("http_get", {"url": url, **more})).unwrap()


async def test_a_get_gives_status_headers_and_body(gate: Callgate, site: Site) -> None:
    site.answers["/hello"] = page("Grüße", "text/plain; charset=utf-8", more="x-one: 1\r\nx-one: 2\r\n")
    told = await get(gate, site.url("/hello?a=1"), headers={"X-Mine": "yes"})
    assert (told["status_code"], told["body"], told["truncated"]) == (200, "Grüße", False)
    assert told["headers"]["x-one"] == "1, 2"
    assert told["url"] == site.url("/hello?a=1")
    assert "error" not in told
    [asked] = site.asked
    assert (asked.method, asked.target) == ("GET", "/hello?a=1")
    assert asked.headers["x-mine"] == "yes"
    assert asked.headers["host"] == f"127.0.0.1:{site.port}"


@pytest.mark.parametrize("body", [b"%PDF-1.7\n\xe2\xe3\xcf\xd3", b"\0asm\1\0\0\0", "Grüße".encode("latin-1")])
async def test_a_body_that_is_no_text_is_told_as_one_of_which_parts_are_lost(
    gate: Callgate, site: Site, body: bytes
) -> None:
    site.answers["/file"] = page(body, "application/octet-stream")
    assert "the body is no text" in (await get(gate, site.url("/file")))["note"]
    site.answers["/file"] = page("Grüße", "application/octet-stream")
    assert "note" not in await get(gate, site.url("/file"))


@pytest.mark.parametrize("status", ["404 Not Found", "403 Forbidden", "429 Too Many", "503 Unavailable"])
async def test_a_status_that_is_no_success_is_told_with_its_body(gate: Callgate, site: Site, status: str) -> None:
    """TOOL-02: an API says in the body what was wrong."""
    site.answers["/no"] = page('{"why": "because"}', "application/json", status=status)
    told = await get(gate, site.url("/no"))
    assert (told["status_code"], told["body"]) == (int(status[:3]), '{"why": "because"}')
    assert status[:3] in told["error"]


async def test_a_post_sends_json_once_and_gives_the_answer(gate: Callgate, site: Site) -> None:
    site.answers["/notes"] = page('{"id": 7}', "application/json", status="201 Created")
    outcome = await gate.call("http_post", {"url": site.url("/notes"), "data": {"title": "é"}}, AT_WILL)
    assert outcome.unwrap()["status_code"] == 201
    [asked] = site.asked
    assert (asked.method, asked.body) == ("POST", '{"title":"é"}'.encode())
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.parametrize("number", [2**64, -(2**70), 10**300], ids=["65 bits", "below", "long"])
async def test_a_post_sends_whole_numbers_of_any_size(gate: Callgate, site: Site, number: int) -> None:
    site.answers["/notes"] = page("ok")
    arguments = {"url": site.url("/notes"), "data": {"n": [number, 1.5, None, True]}}
    waiting = await gate.call("http_post", arguments)
    assert isinstance(waiting, Pending)
    shown = await gate.call("http_post", arguments, Context(autonomy=Autonomy.A0))
    assert isinstance(shown, Previewed)
    assert shown.preview is not None
    assert str(number) in shown.preview.text
    await gate.approve(waiting.approval_id, by="operator")
    assert (await gate.resume(waiting.approval_id)).ok
    [asked] = site.asked
    assert asked.body == b'{"n":[%d,1.5,null,true]}' % number


async def test_a_post_sends_what_is_nested_as_deeply_as_arguments_may_be(gate: Callgate, site: Site) -> None:
    """What cannot be sent is refused with the arguments, before anybody is asked."""
    site.answers["/notes"] = page("ok")
    sent: list[int] = []
    for levels in range(40, 400, 20):
        data: dict[str, Any] = {"end": "é"}
        for _ in range(levels):
            data = {"in": data}
        outcome = await gate.call("http_post", {"url": site.url("/notes"), "data": data}, AT_WILL)
        assert outcome.ok or category_of(outcome) is Category.USER_INPUT
        assert outcome.ok == (len(site.asked) > 0), levels
        sent += [levels] * outcome.ok
        site.asked.clear()
    assert 40 in sent
    assert 380 not in sent


async def test_a_post_is_asked_about_and_its_preview_shows_what_would_be_sent(gate: Callgate, site: Site) -> None:
    arguments = {"url": site.url("/notes"), "data": {"title": "Hello"}, "headers": {"X-Mine": "1"}}
    waiting = await gate.call("http_post", arguments)
    assert waiting.status == "pending"
    shown = await gate.call("http_post", arguments, Context(autonomy=Autonomy.A0))
    assert isinstance(shown, Previewed)
    assert shown.preview is not None
    for part in (f"POST {site.url('/notes')}", '{"title":"Hello"}', "x-mine: 1"):
        assert part in shown.preview.text
    assert site.asked == []


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 Permanent"])
async def test_a_post_never_sends_its_body_elsewhere(gate: Callgate, site: Site, status: str) -> None:
    site.answers["/from"] = redirect("/to", status)
    outcome = await gate.call("http_post", {"url": site.url("/from"), "data": {"secret": 1}}, AT_WILL)
    assert "/to" in outcome.unwrap()["error"]
    assert site.targets() == ["/from"]


async def test_a_post_that_reached_nobody_had_no_effect_and_one_without_an_answer_is_unknown(
    gate: Callgate, site: Site
) -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        """Says nothing."""

    site.answers["/rude"] = hang_up
    rude = await gate.call("http_post", {"url": site.url("/rude"), "data": {}}, AT_WILL)
    assert isinstance(rude, Unknown)
    async with serving() as gone:
        url = gone.url("/")
    nobody = await gate.call("http_post", {"url": url, "data": {}}, AT_WILL)
    assert isinstance(nobody, Failed)
    assert nobody.error is not None
    assert (nobody.happened, nobody.error.category) == (Happened.NONE, Category.NETWORK)


async def test_redirects_are_followed_and_the_answer_says_where_it_came_from(gate: Callgate, site: Site) -> None:
    site.answers |= {"/a": redirect("b?x=1"), "/b": redirect(site.url("/c"), "308 Moved"), "/c": page("there")}
    told = await get(gate, site.url("/a"))
    assert (told["body"], told["url"]) == ("there", site.url("/c"))
    assert site.targets() == ["/a", "/b?x=1", "/c"]


async def test_credentials_stay_with_their_origin_and_cookies_are_neither_kept_nor_shown(
    gate: Callgate, site: Site
) -> None:
    async with serving() as other:
        cookie = b"set-cookie: session=abc; Path=/\r\n"
        site.answers["/a"] = redirect("/b").replace(b"content-length", cookie + b"content-length")
        site.answers["/b"] = redirect(other.url("/c"))
        other.answers["/c"] = redirect(site.url("/d"))
        site.answers["/d"] = page("end", more=cookie.decode())
        mine = {"Authorization": "Bearer t0ken", "X-Api-Key": "k3y", "Cookie": "c=1", "Accept-Language": "de"}
        told = await get(gate, site.url("/a"), headers=mine)
        first, second, back = site.asked
        [elsewhere] = other.asked
    assert told["body"] == "end"
    assert "set-cookie" not in told["headers"]
    assert first.headers["authorization"] == second.headers["authorization"] == "Bearer t0ken"
    assert second.headers["cookie"] == "c=1"
    for asked in (elsewhere, back):
        assert not {"authorization", "x-api-key", "cookie"} & asked.headers.keys()
        assert asked.headers["accept-language"] == "de"


async def test_endless_redirects_end(gate: Callgate, site: Site) -> None:
    site.answers["/round"] = redirect("/round")
    outcome = await gate.call("http_get", {"url": site.url("/round")})
    assert "10 redirects" in str(outcome)
    assert len(site.asked) == 11


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 Permanent"])
@pytest.mark.parametrize("more", ["", "location:\r\n"], ids=["none", "empty"])
async def test_a_redirect_that_does_not_say_where_to_is_given_as_it_is(
    gate: Callgate, site: Site, status: str, more: str
) -> None:
    site.answers |= {"/a": redirect("/nowhere"), "/nowhere": page("see elsewhere", status=status, more=more)}
    told = await get(gate, site.url("/a"))
    assert (told["status_code"], told["body"], told["truncated"]) == (int(status[:3]), "see elsewhere", False)
    assert told["url"] == site.url("/nowhere")
    assert "does not say where" in told["error"]


@pytest.mark.parametrize(
    ("places", "body"),
    [
        (["/there", "/elsewhere"], "there"),
        (["", "/there"], "see elsewhere"),
        (["/there", ""], "there"),
        (["/th%C3%A9re"], "thére"),
        (["/thére"], "thére"),
        (["  "], "see elsewhere"),
    ],
)
async def test_of_several_locations_the_first_counts_whatever_it_says(
    gate: Callgate, site: Site, places: list[str], body: str
) -> None:
    site.answers |= {"/there": page("there"), "/elsewhere": page("elsewhere"), "/th%C3%A9re": page("thére")}
    lines = "".join(f"location: {place}\r\n" for place in places)
    site.answers["/a"] = page("see elsewhere", status="302 Found", more=lines)
    assert (await get(gate, site.url("/a")))["body"] == body


async def test_what_a_redirect_that_is_followed_has_is_neither_read_nor_unpacked(gate: Callgate, site: Site) -> None:
    more = "location: /there\r\ncontent-encoding: zstd\r\n"
    site.answers |= {"/a": page("unread", status="302 Found", more=more), "/there": page("there")}
    assert (await get(gate, site.url("/a")))["body"] == "there"


async def test_a_giant_body_is_read_no_further_than_its_bound(gate: Callgate, site: Site) -> None:
    """TOOL-02: the server notices that nobody reads on."""
    sent = [0]
    ended = asyncio.Event()

    async def giant(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100000000000\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
                sent[0] += 65536
        finally:
            ended.set()

    site.answers["/giant"] = giant
    told = await get(gate, site.url("/giant"))
    assert (len(told["body"]), told["truncated"]) == (100_000, True)
    await asyncio.wait_for(ended.wait(), 10)
    assert sent[0] < 50_000_000


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_what_is_packed_is_unpacked_and_a_bomb_only_to_the_bound(gate: Callgate, site: Site, coding: str) -> None:
    pack = gzip.compress if coding == "gzip" else zlib.compress
    site.answers["/fine"] = page(pack(b"hello"), "text/plain", more=f"content-encoding: {coding}\r\n")
    assert (await get(gate, site.url("/fine")))["body"] == "hello"
    bomb = pack(b"\0" * 50_000_000)
    assert len(bomb) < 100_000
    site.answers["/bomb"] = page(bomb, "text/plain", more=f"content-encoding: {coding}\r\n")
    told = await get(gate, site.url("/bomb"))
    assert (len(told["body"]), told["truncated"]) == (100_000, True)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "gzip, deflate", "compress"])
async def test_what_is_packed_otherwise_is_not_unpacked(gate: Callgate, site: Site, coding: str) -> None:
    """Bombs in bombs, and packings nobody asked for."""
    body = gzip.compress(gzip.compress(b"\0" * 1_000_000))
    site.answers["/odd"] = page(body, "text/plain", more=f"content-encoding: {coding}\r\n")
    outcome = await gate.call("http_get", {"url": site.url("/odd")})
    assert category_of(outcome) is Category.RESOURCE
    assert "was not asked for" in str(outcome)


async def test_what_is_packed_wrongly_is_an_error(gate: Callgate, site: Site) -> None:
    site.answers["/bad"] = page(b"this is no gzip", more="content-encoding: gzip\r\n")
    assert "packed its answer wrongly" in str(await gate.call("http_get", {"url": site.url("/bad")}))


async def test_headers_without_end_are_refused_and_those_that_are_left_out_are_named(
    gate: Callgate, site: Site
) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"x-more: " + b"y" * 1000 + b"\r\n")
            await writer.drain()

    site.answers["/endless"] = endless
    refused = await gate.call("http_get", {"url": site.url("/endless"), "timeout": 20})
    assert category_of(refused) is Category.NETWORK
    many = "".join(f"x-{number}: {'v' * 100}\r\n" for number in range(300)) + "set-cookie: a=b\r\n"
    site.answers["/many"] = page("ok", more=many)
    told = await get(gate, site.url("/many"))
    assert len(told["headers"]) == 100
    assert told["headers_left_out"] == [f"x-{number}" for number in range(98, 300)]


async def test_a_header_is_shown_as_a_whole_or_not_at_all(gate: Callgate, site: Site) -> None:
    """Half of a list of links, or of a policy, reads as if it were all of it."""
    more = f"link: {'l' * 8000}\r\nx-long: {'x' * 8193}\r\nx-parts: {'y' * 8000}\r\nx-parts: {'z' * 8000}\r\n"
    site.answers["/long"] = page("ok", more=f"{more}x-parts: end\r\n")
    told = await get(gate, site.url("/long"))
    assert told["headers"]["link"] == "l" * 8000
    assert told["headers_left_out"] == ["x-long", "x-parts"]
    assert not {"x-long", "x-parts"} & told["headers"].keys()
    site.answers["/short"] = page("ok")
    assert "headers_left_out" not in await get(gate, site.url("/short"))


async def test_a_server_that_sends_a_byte_now_and_then_ends_with_the_time(gate: Callgate, site: Site) -> None:
    """The limit covers all of it, not each byte."""
    gone = asyncio.Event()

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n")
        try:
            while True:
                writer.write(b".")
                await writer.drain()
                await asyncio.sleep(0.02)  # how slowly this server drips
        finally:
            gone.set()

    site.answers["/drip"] = drip
    outcome = await gate.call("http_get", {"url": site.url("/drip"), "timeout": 2})
    assert category_of(outcome) is Category.TIMEOUT
    assert "within 2 seconds" in str(outcome)
    await asyncio.wait_for(gone.wait(), 10)
    assert len(site.asked) == 1


async def test_the_seconds_are_for_all_tries_together(gate: Callgate, site: Site) -> None:
    """A server that breaks off may be asked again, in what is left of them."""

    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.7)  # how late this server begins, each time
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc")
        await writer.drain()

    site.answers["/late"] = late
    outcome = await gate.call("http_get", {"url": site.url("/late"), "timeout": 1})
    assert category_of(outcome) in {Category.TIMEOUT, Category.NETWORK}
    assert len(site.asked) <= 2


async def test_a_server_that_breaks_off_at_once_is_asked_again(gate: Callgate, site: Site) -> None:
    async def better_next_time(writer: asyncio.StreamWriter) -> None:
        site.answers["/x"] = page("now it works")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc")
        await writer.drain()

    site.answers["/x"] = better_next_time
    assert (await get(gate, site.url("/x")))["body"] == "now it works"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"X-A": "1\r\nX-Evil: 2"}, "line breaks"),
        ({"X-A": "1\nX-Evil: 2"}, "line breaks"),
        ({"X-A": "nul\0"}, "control"),
        ({"X-A\r\nX-Evil": "2"}, "no name of a header"),
        ({"X A": "2"}, "no name of a header"),
        ({"Host": "evil.example"}, "must not set host"),
        ({"Content-Length": "3"}, "must not set content-length"),
        ({"Transfer-Encoding": "chunked"}, "must not set transfer-encoding"),
        ({"Proxy-Authorization": "x"}, "must not set proxy-authorization"),
        ({"X-A": "\u2603"}, "other characters"),
        ({f"x-{number}": "1" for number in range(51)}, "at most 50"),
    ],
    ids=["crlf", "lf", "nul", "crlf-name", "space", "host", "length", "transfer", "proxy", "wide", "many"],
)
async def test_headers_that_would_be_more_than_headers_are_an_input_error(
    gate: Callgate, site: Site, headers: dict[str, str], said: str
) -> None:
    for name in ("http_get", "http_post"):
        outcome = await gate.call(name, {"url": site.url("/"), "headers": headers}, AT_WILL)
        assert category_of(outcome) is Category.USER_INPUT
        assert said in str(outcome)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
    assert site.asked == []


@pytest.mark.parametrize(
    "arguments", [{"url": ""}, {"url": "  "}, {"url": 7}, {}, {"url": "http://x.example", "timeout": 0}]
)
async def test_arguments_that_are_none_are_an_input_error(gate: Callgate, arguments: dict[str, Any]) -> None:
    """TOOL-01."""
    assert category_of(await gate.call("http_get", arguments)) is Category.USER_INPUT


@pytest.mark.parametrize("url", ["gopher://127.0.0.1/x", "ftp://127.0.0.1/x", "127.0.0.1/x", "ws://127.0.0.1/"])
async def test_only_http_and_https_are_spoken(gate: Callgate, url: str) -> None:
    """TOOL-01."""
    outcome = await gate.call("http_get", {"url": url})
    assert category_of(outcome) is Category.USER_INPUT
    assert "http:// or https://" in str(outcome)


def test_what_is_declared_is_what_they_do() -> None:
    tools = {tool.name: tool for tool in make_builtin(["web"], BuiltinToolsSettings())}
    posting = tools.pop("http_post")
    assert not posting.read_only
    assert not posting.idempotent
    assert posting.allowed_callers == {Caller.DIRECT}
    assert posting.marks_effect
    for tool in tools.values():
        assert tool.read_only
        assert tool.scopes == {"net:outbound"}


async def test_proxies_of_the_environment_are_not_used(
    gate: Callgate, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url(""))
        monkeypatch.delenv("NO_PROXY", raising=False)
        site.answers["/"] = page("straight")
        assert (await get(gate, site.url("/")))["body"] == "straight"
        assert proxy.asked == []
