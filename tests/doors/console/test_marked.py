"""Text of others as the console shows it, and the small parts around it."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.event import Event
from callgate.serve.console.fields import arguments_of, fields_of
from callgate.serve.console.marked import diff_lines, is_diff, laid_out, marked
from callgate.serve.console.moments import clock, milliseconds, moment, span
from callgate.serve.server import serving
from callgate.settings.values import ServeSettings
from tests.doors.console.conftest import Console


def test_markup_is_text_and_hidden_characters_show_their_number():
    shown = str(marked('<b>"x"</b>\u200b\u202e\x00\ud800'))
    assert "&lt;b&gt;" in shown
    assert "&#34;" in shown
    for code in ("U+200B", "U+202E", "U+0000", "U+D800"):
        assert code in shown
    assert all(ord(letter) < 128 for letter in shown)
    assert "U+200B</span>" in str(marked("written out: <U+200B>"))


def test_hosts_that_look_like_others_are_marked():
    shown = str(marked("see https://xn--pple-43d.com/x"))
    assert "looks like \u0430pple.com: U+0430" in shown
    assert "is xn--pple-43d.com" in str(marked("see https://\u0430pple.com/x"))
    assert "host-mark" in str(marked("XN--PPLE-43D.com"))
    assert "punycode of nothing" in str(marked("xn--99999999"))
    assert "host-mark" not in str(marked("https://example.com/\u0430"))
    assert "host-mark" in str(marked("https://user@\u0430.example:80\u200b/"))


def test_nothing_is_pushed_out_of_sight():
    assert "300 spaces" in str(marked("a" + " " * 300 + "b"))
    assert "300 spaces" in str(marked("\u00e9" + " " * 300 + "b"))
    assert "49 empty lines" in str(marked("a" + "\n" * 50 + "b"))
    assert str(marked("a\n\nb")) == "a\n\nb"
    assert "hidden-mark" not in str(marked("a" + " " * 10 + "b"))


def test_marking_ends_whatever_is_sent():
    hostile = ("xn--" + "a" * 50 + "." * 3) * 2000 + "://" * 20_000 + "a" * 200_000 + " " * 100_000 + "\n \t" * 50_000
    assert "100000 spaces" in str(marked(hostile))
    assert str(marked("a." * 200_000)) == "a." * 200_000


def test_differences_are_told_line_by_line():
    text = "--- a\n+++ b\n@@ -1 +1 @@\n-<old>\n+new\n same\n"
    assert is_diff(text)
    assert not is_diff("- a list\n- of things")
    assert [kind for kind, _ in diff_lines(text)] == ["place", "place", "place", "cut", "add", "keep"]
    assert "&lt;old&gt;" in str(diff_lines(text)[3][1])


def test_values_are_laid_out_whatever_they_are():
    assert "&#34;a&#34;: 1" in str(laid_out({"a": 1}))
    assert "object" in str(laid_out(object()))


def test_moments_are_told_as_people_say_them(monkeypatch: pytest.MonkeyPatch):
    now = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    assert "just now" in moment(now)
    assert "5 min ago" in moment(now - 300)
    assert "in 59 min" in moment(now + 3599.9)
    assert "3 h ago" in moment(now - 3 * 3600)
    assert moment(None) == clock(None) == milliseconds(None) == ""
    assert span(86_400 * 9) == "9 days"
    assert (milliseconds(12.4), milliseconds(12_400)) == ("12 ms", "12.4 s")


def test_fields_follow_references_and_leave_out_what_is_empty():
    schema = {
        "$defs": {"level": {"enum": ["low", "high"], "description": "how loud"}},
        "properties": {
            "level": {"$ref": "#/$defs/level"},
            "odd": {"$ref": "#/$defs/nothing"},
            "loop": {"$ref": "#/properties/loop"},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "body": {"type": "string", "default": "x"},
            "only": {"const": 3},
        },
        "required": ["body"],
    }
    kinds = {field.name: field.kind for field in fields_of(schema)}
    assert kinds == {
        "level": "choice",
        "odd": "json",
        "loop": "json",
        "either": "json",
        "maybe": "number",
        "body": "long",
        "only": "choice",
    }
    assert fields_of(schema)[0].description == "how loud"
    assert arguments_of(schema, lambda _: "") == {"body": ""}
    typed = {"argument:level": '"low"', "argument:maybe": "1.5", "argument:body": "b"}
    assert arguments_of(schema, lambda name: typed.get(name, "")) == {"level": "low", "maybe": 1.5, "body": "b"}
    with pytest.raises(ValueError, match="maybe: x is not a number"):
        arguments_of(schema, lambda name: "x" if name == "argument:maybe" else "")


async def test_the_stream_tells_what_changed_and_ends_with_the_visit(console: Console):
    async with console.signed_in() as client, client.stream("GET", "/live") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.aiter_lines()
        assert await anext(lines) == "retry: 2000"
        await console.ask()
        told = await _message(lines)
        assert told["event"] == "changed"
        body = json.loads(told["data"])
        assert body["asked"]
        assert {"approvals", "calls"} <= set(body["topics"])
        assert body["counts"]["approvals"] == 1
        assert "bob" not in told["data"]
        await console.gate.leave(client.cookies["callgate_visit"])
        await console.gate.call("word_count", {"text": "a"})
        assert (await _message(lines))["event"] == "left"


async def test_a_server_that_stops_lets_open_pages_go():
    async with contextlib.AsyncExitStack() as opened:
        gate = await opened.enter_async_context(Callgate.open("memory://"))
        server = contextlib.AsyncExitStack()
        where = await server.enter_async_context(serving(gate, ServeSettings(port=0)))
        console = Console(gate, where, [])
        client = await opened.enter_async_context(console.signed_in())
        stream = await opened.enter_async_context(client.stream("GET", "/live"))
        lines = stream.aiter_lines()
        assert await anext(lines) == "retry: 2000"
        await server.aclose()
        # Cut off, it would end with an error.
        assert [line async for line in lines if line] == []


async def test_a_page_that_was_away_is_told_what_it_missed(console: Console):
    async with console.signed_in() as client:
        (last,) = await console.gate.newest_events(1)
        await console.ask()
        missed = {"Last-Event-ID": str(last.position)}
        for address, headers in (("/live", missed), (f"/live?after={last.position}", {})):
            async with client.stream("GET", address, headers=headers) as stream:
                assert json.loads((await _message(stream.aiter_lines()))["data"])["asked"]
    async with console.client() as nobody:
        assert (await nobody.get("/live")).status_code == 303


async def test_open_pages_share_one_look_at_the_record(console: Console, monkeypatch: pytest.MonkeyPatch):
    looks: list[object] = []
    follow = console.gate.events

    def followed(**choices: Any) -> AsyncIterator[Event]:
        looks.append(choices)
        return follow(**choices)

    monkeypatch.setattr(console.gate, "events", followed)
    _, token = await console.gate.admit_person("reader", by="operator")
    async with contextlib.AsyncExitStack() as opened:
        client = await opened.enter_async_context(console.signed_in())
        pages = [await opened.enter_async_context(client.stream("GET", "/live")) for _ in range(3)]
        lines = [page.aiter_lines() for page in pages]
        assert [await anext(each) for each in lines] == ["retry: 2000"] * 3
        shown = {"Authorization": f"Bearer {token}"}
        assert (await client.get("/api/v1/health", headers=shown)).json()["listeners"] == 3
        await console.ask()
        told = [await _message(each) for each in lines]
        assert all(json.loads(each["data"])["asked"] for each in told)
    assert len(looks) == 1


async def _message(lines: AsyncIterator[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    async with asyncio.timeout(20):
        async for line in lines:
            name, _, value = line.partition(": ")
            if name == "data":
                return found | {name: value}
            if name in {"event", "id"}:
                found[name] = value
    return found
