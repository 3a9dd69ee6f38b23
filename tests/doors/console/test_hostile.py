"""Script in every text field: on every page of the console, and out of every form of them, it is never more than text.

A new page, or a new form, is a new case: the walks below fail until they know it.
"""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.routing import Match, Route

from callgate import Callgate, Context, Pending, tool
from callgate.model.approval import ApprovalState
from callgate.serve.console.app import routes
from tests.doors.console.conftest import Console, Desk, console_of
from tests.doors.console.hostile import HOSTILE, SCRIPT, Form, Reader
from tests.journeys.foreign import Server, server_tool

pytestmark = pytest.mark.slow
_WHO = Context(principal=f"p{HOSTILE}", user=f"u{HOSTILE}", session=f"s{HOSTILE}", trace_id=f"t{HOSTILE}")
_PERSON = f"n{HOSTILE}"
_WRITTEN = (HOSTILE, json.dumps(HOSTILE), json.dumps({"text": HOSTILE, "to": HOSTILE, "amount": 1}))
"""As it is, and as JSON, which some fields want: text, and the arguments of a call."""
_ROUTES = [each for each in routes() if isinstance(each, Route)]
_NO_PAGES = {"/live"}
"""A stream that tells that something happened and never what."""
_SHOWN_ON = {
    "/", "/approvals/{id}", "/calls", "/calls/{id}", "/outcomes", "/outcomes/{call}", "/tools", "/tools/{name}",
    "/review", "/review/{name}", "/coverage", "/evidence",
}  # fmt: skip
"""Pages on which text of others has to stand: else the walk would look at nothing."""
_SHOWN_AGAIN = {
    ("/calls", "tool"), ("/calls", "principal"), ("/calls", "trace"), ("/tools", "q"),
    ("/policy", "tool"), ("/policy", "arguments"), ("/policy", "principal"), ("/sign-in", "name"),
    ("/approvals/{id}", "arguments"), ("/approvals/{id}", "why"), ("/approvals/{id}", "text"),
    ("/tools/{name}", "argument:text"), ("/tools/{name}", "argument:level"), ("/tools/{name}", "json"),
    ("/tools/{name}", "role"), ("/tools/{name}/distrust", "why"), ("/outcomes/{call}", "note"),
    ("/outcomes/{call}", "output"),
}  # fmt: skip
"""Fields whose content comes back at once, on the page that answers or the one it leads to."""


@dataclass
class Walk:
    """A visitor who looks at everything, and writes into everything."""

    console: Console
    client: httpx2.AsyncClient
    addresses: dict[str, list[str]]
    """Every page's route, and where it has something to show."""
    sent: set[str] = field(default_factory=set[str])
    shown_again: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    async def read(self, address: str) -> Reader:
        """A page, as a browser would take it; nothing in it is more than text."""
        answer = await self.client.get(address, follow_redirects=True)
        assert answer.status_code in {200, 204} or address.startswith("/enter"), address
        return self._text(answer, address)

    async def pages(self) -> dict[str, bool]:
        """Look at every page; on which routes the text of others stands."""
        found: dict[str, bool] = {}
        for route, addresses in self.addresses.items():
            for address in addresses:
                found[route] = (await self.read(address)).shows or found.get(route, False)
        return found

    async def forms(self) -> list[Form]:
        """Every form on every page, once."""
        found: dict[str, Form] = {}
        for address in (each for among in self.addresses.values() for each in among):
            for form in (await self.read(address)).forms:
                found.setdefault(f"{form.method} {form.action} {sorted(form.fields)} {form.buttons}", form)
        return list(found.values())

    async def fill(self, forms: Iterable[Form]) -> None:
        """Write hostile text into every field of these forms, one after the other, and press every button."""
        for form in forms:
            for name, pressed, text in product(form.texts, form.buttons or [("", "")], _WRITTEN):
                await self._send(form, name, form.fields | dict([pressed]) | {name: text})

    async def _send(self, form: Form, name: str, content: dict[str, str]) -> None:
        if form.method == "dialog":
            return
        how: dict[str, Any] = {"params": content} if form.method == "get" else {"data": content}
        answer = await self.client.request(form.method.upper(), form.action, **how)
        route = _route(form.method.upper(), form.action)
        self.sent.add(f"{form.method.upper()} {route}")
        where = f"{form.method} {form.action} {name}"
        if answer.status_code == 303:
            answer = await self.client.get(answer.headers["location"])
        if self._text(answer, where).shows:
            self.shown_again.add((route, name))

    @staticmethod
    def _text(answer: httpx2.Response, where: str) -> Reader:
        assert answer.status_code < 500, where
        kind = answer.headers.get("content-type", "").partition(";")[0]
        # Nothing else may be taken for a page by a browser.
        assert kind in {"text/html", "application/json", "application/zip", ""}, where
        assert answer.headers["x-content-type-options"] == "nosniff", where
        found = Reader(answer.text if kind == "text/html" else "")
        assert found.faults == [], where
        return found


def _route(method: str, action: str) -> str:
    scope = {"type": "http", "method": method, "path": urlsplit(action).path}
    return next(each.path for each in _ROUTES if each.matches(scope)[0] is Match.FULL)


def _add_tools(gate: Callgate) -> None:
    """Tools that say hostile things of themselves, as far as they may; one of them changes and is held."""
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": SCRIPT, "default": SCRIPT},
            "level": {"type": "string", "enum": ["low", SCRIPT], "description": SCRIPT},
        },
        "required": ["text"],
    }

    def made(name: str, description: str, **more: Any) -> Any:
        def echo(text: str, level: str = "low") -> str:
            return text + level

        said: dict[str, Any] = {"name": name, "description": description, "input_schema": schema} | more
        return tool(**said, examples=[{"text": SCRIPT}])(echo)

    gate.add(made("echo", SCRIPT, effects="read_only"), made("changed", SCRIPT, effects="read_only"))
    gate.add(made("changed", HOSTILE, effects="system_state", risk="low"), update=True)


async def _asked(console: Console, amount: int) -> str:
    return await console.ask(amount, HOSTILE, note=f"a\n{HOSTILE}", context=_WHO)


async def _tried(console: Console) -> str:
    """A try of the visitor's own that somebody else has allowed: its question has a button that runs it."""
    (visitor,) = [each for each in await console.gate.credentials() if each.name == _PERSON]
    outcome = await console.gate.try_call(visitor, "pay", {"amount": 1, "to": HOSTILE})
    assert isinstance(outcome, Pending)
    await console.gate.approve(outcome.approval_id, by=f"eve {HOSTILE}")
    return outcome.approval_id


async def _furnish(console: Console) -> dict[str, list[str]]:
    """Hostile text wherever the gate takes any, and the addresses of every page that could show it."""
    gate = console.gate
    _add_tools(gate)
    await gate.attach(Server(server_tool("gh.get_issue", f"Get an issue. {SCRIPT}"), server_tool("gh.get_it", SCRIPT)))
    await gate.distrust("word_count", by=f"eve {HOSTILE}", why=HOSTILE)
    waits, decided, tried = await _asked(console, 1), await _asked(console, 2), await _tried(console)
    await gate.reject(decided, by=f"eve {HOSTILE}", why=HOSTILE)
    ran = await gate.call("echo", {"text": HOSTILE, "level": SCRIPT}, _WHO)
    lost = [await gate.call("send_letter", {"to": f"{number} {HOSTILE}"}, _WHO) for number in range(2)]
    refused = await gate.call(f"r{HOSTILE}", {HOSTILE: HOSTILE}, _WHO)
    questions = (waits, decided, tried)
    calls = [ran.call_id, refused.call_id, lost[0].call_id, (await gate.approval(waits)).call_id]
    tools = ("echo", "changed", "word_count", "gh.get_issue", "pay")
    return {
        "/": ["/"],
        "/approvals/{id}": [f"/approvals/{each}" for each in questions],
        "/approvals/{id}/standing": [f"/approvals/{waits}/standing?seen=pending-0"],
        "/asked": ["/asked"],
        "/calls": ["/calls", "/calls?status=refused"],
        "/calls/{id}": [f"/calls/{each}" for each in calls],
        "/outcomes": ["/outcomes"],
        "/outcomes/{call}": [f"/outcomes/{each.call_id}" for each in lost],
        "/tools": ["/tools"],
        "/tools/{name}": [f"/tools/{each}" for each in tools],
        "/review": ["/review"],
        "/review/{name}": [f"/review/{each}" for each in tools],
        "/policy": ["/policy", "/policy?tool=pay"],
        "/policy/replay": ["/policy/replay?span=24h"],
        "/coverage": ["/coverage"],
        "/health": ["/health"],
        "/health/figures": ["/health/figures"],
        "/evidence": ["/evidence"],
        "/enter": ["/enter?code=x"],
        "/sign-in": ["/sign-in?next=/calls"],
    }


@asynccontextmanager
async def _walking(console: Console) -> AsyncGenerator[Walk]:
    async with console.signed_in(_PERSON) as client:
        yield Walk(console, client, await _furnish(console))


@pytest.fixture
async def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # what is accepted of tools is written there
    async with console_of(Callgate.open("memory://")) as console, _walking(console) as found:
        yield found


def test_what_the_walk_takes_for_a_fault():
    """So that the walks can fail."""
    assert Reader(f"<p>{HOSTILE}</p>").faults != []
    assert Reader(f'<input value="{HOSTILE}">').faults != []
    assert Reader("<p>\u202e</p>").faults != []
    assert Reader('<a href="javascript:x">').faults != []
    assert Reader('<p title="\u200b" onclick="x">').faults != []
    assert Reader('<script src="/static/x.js"></script><input value="\u202e"><a href="/calls">x</a>').faults == []


async def test_on_every_page_text_of_others_is_text(walk: Walk):
    readable = {each.path for each in _ROUTES if "GET" in (each.methods or ())}
    assert set(walk.addresses) == readable - _NO_PAGES
    shown = await walk.pages()
    assert {route for route, shows in shown.items() if shows} >= _SHOWN_ON


async def test_whatever_is_written_into_a_form_is_text_wherever_it_stands(walk: Walk):
    # The first answer to a question is the last: these get the answers in another order.
    again = f"/approvals/{await _asked(walk.console, 3)}"
    for address in (again, walk.addresses["/outcomes/{call}"][-1]):
        forms = (await walk.read(address)).forms[::-1]
        await walk.fill([replace(each, texts=each.texts[::-1]) for each in forms])
    await walk.fill(await walk.forms())
    walk.addresses["/approvals/{id}"].append(again)
    writable = {f"POST {each.path}" for each in _ROUTES if "POST" in (each.methods or ())}
    assert walk.sent >= writable
    assert walk.shown_again >= _SHOWN_AGAIN
    kept = {each.state: each.text for each in await walk.console.gate.approvals(states=frozenset(ApprovalState))}
    assert {ApprovalState.REJECTED, ApprovalState.ANSWERED} <= set(kept)
    assert {route for route, shows in (await walk.pages()).items() if shows} >= _SHOWN_ON
    assert walk.console.paid == []


async def test_in_a_browser_nothing_of_it_runs(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    async with _walking(desk.console) as walk:
        await walk.fill(await walk.forms())
        page = await desk.sit(_PERSON)
        for address in (each for among in walk.addresses.values() for each in among):
            if not address.startswith(("/asked", "/enter", "/health/figures")) and "standing" not in address:
                await page.goto(desk.console.url + address)
                assert await page.evaluate("window.bad") is None, address
