"""Pages: templates that escape everything, and the headers under which a browser shows them."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import callgate
from callgate.model.credential import Right
from callgate.model.visible import one_line
from callgate.serve.console import marked, moments
from callgate.serve.console.visiting import Visitor, gate_of

HERE = Path(__file__).parent
STATIC = HERE / "static"
MOST = 100
"""As far as is counted for the marks in the menu."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # Under `no-referrer` browsers do not say of a form which page it is from, and the guard wants to know.
    "Referrer-Policy": "same-origin",
}


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "marked": marked.marked,
        "laid_out": marked.laid_out,
        "moment": moments.moment,
        "clock": moments.clock,
        "ms": moments.milliseconds,
        "span": moments.span,
        "words": moments.words,
        "seen": one_line,
    }
    tests: dict[str, Any] = {"diff": marked.is_diff}
    shared: dict[str, Any] = {"diff_lines": marked.diff_lines, "asset": asset, "version": callgate.__version__}
    made.filters.update(filters)
    made.tests.update(tests)
    made.globals.update(shared)
    return made


@functools.cache
def asset(name: str) -> str:
    """The address of a file of ours; another content has another address, so browsers may keep it."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page for anybody."""
    known: dict[str, Any] = {"visitor": None, "here": _here(request), "counts": {}, "section": "", "observed": ()}
    text = _environment().get_template(template).render(known | values)
    return HTMLResponse(text, status_code=status)


async def page_for(
    request: Request, visitor: Visitor, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """A page for somebody who has signed in, with what waits for them in its menu."""
    waiting: dict[str, Any] = {"counts": await counted(request, visitor), "observed": gate_of(request).observed()}
    return page(request, template, status=status, visitor=visitor, **waiting, **values)


async def counted(request: Request, visitor: Visitor) -> dict[str, int]:
    """What waits: questions, unknown outcomes, tools to look at; as far as this person may see it."""
    gate = gate_of(request)
    found = {"approvals": 0, "outcomes": 0, "review": 0}
    waiting = await gate.open_counts()
    if visitor.may(Right.READ) or visitor.may(Right.DECIDE):
        found["approvals"] = min(waiting.pending, MOST)
    if visitor.may(Right.READ):
        found["outcomes"] = min(waiting.unknown, MOST)
        found["review"] = len(gate.quarantined())
    return found


def _here(request: Request) -> str:
    """The address of this page, as its live parts ask for it again."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


class Headers:
    """ASGI middleware: every answer of the console says what a browser may do with it.

    Args:
        app: The console.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, marked_send)
