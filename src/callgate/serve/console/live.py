"""Live: tells a page which of its parts have changed, and how much waits. Never what: pages are asked for again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from callgate.model.event import Event
from callgate.runtime.gate import Callgate
from callgate.serve.console.pages import counted
from callgate.serve.console.visiting import Visitor, gate_of, visiting
from callgate.serve.listening import Listening

_TOPICS: dict[str, tuple[str, ...]] = {
    "approval": ("approvals", "calls"),
    "gate": ("approvals", "calls"),
    "tool_call": ("calls", "outcomes", "health"),
    "tool": ("tools", "review"),
    "source": ("tools", "review", "health"),
    "health": ("tools", "health"),
}
_TYPES = tuple(f"{kind}.*" for kind in _TOPICS)
_POSITION = re.compile(r"[0-9]{1,18}")
_STILL_HERE = 15.0
_TOGETHER = 0.1
"""Seconds in which what happens is told at once."""
_APART = 1.0
"""Seconds between two messages."""
_PAGE = 100


@dataclass(eq=False)
class _News:
    """What has changed since it was told last."""

    since: int
    """What was recorded up to here is known."""
    position: int = 0
    topics: set[str] = field(default_factory=set[str])
    asked: bool = False
    come: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False
    """Whether nothing more is heard."""

    def take(self, event: Event, /) -> None:
        topics = _TOPICS.get(event.type.partition(".")[0])
        if topics is None or event.position <= self.since:
            return
        self.position = max(event.position, self.position)
        self.topics.update(topics)
        self.asked = self.asked or event.type == "gate.required"
        self.come.set()

    def end(self) -> None:
        self.over = True
        self.come.set()

    async def wait(self, seconds: float) -> None:
        """Until there are news, and no longer than this."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.come.wait()

    def told(self, counts: dict[str, int]) -> str:
        body = {"topics": sorted(self.topics), "asked": self.asked, "counts": counts}
        self.topics, self.asked = set(), False
        self.come.clear()
        return f"id: {self.position}\nevent: changed\ndata: {json.dumps(body)}\n\n"


async def live(request: Request) -> Response:
    """The stream of one open page; ends when its visit does."""
    visitor = await visiting(request)
    shown = request.headers.get("last-event-id") or request.query_params.get("after", "")
    start = int(shown) if _POSITION.fullmatch(shown) else visitor.position
    listening: Listening = request.app.state.listening
    await listening.ready()
    return StreamingResponse(_stream(request, visitor, _News(start)), media_type="text/event-stream")


async def _stream(request: Request, visitor: Visitor, news: _News) -> AsyncIterator[str]:
    gate, listening = gate_of(request), cast("Listening", request.app.state.listening)
    ending: asyncio.Event = request.app.state.ending
    async with listening.hearing(news) as reached:
        yield "retry: 2000\n\n"
        await _catch_up(gate, news, until=reached)
        while not news.over:
            await news.wait(_STILL_HERE)
            if news.over:
                return
            if await gate.visit(visitor.cookie) is None:
                yield "event: left\ndata: {}\n\n"
                return
            if not news.come.is_set():
                yield ": still here\n\n"
                continue
            await asyncio.sleep(_TOGETHER)
            yield news.told(await counted(request, visitor))
            # However much happens, an open page asks for itself so often and not more; what comes now is told then.
            await _pause(ending)


async def _catch_up(gate: Callgate, news: _News, *, until: int) -> None:
    """Hear of what was recorded after the page was made and before it listened."""
    at = news.since
    while at < until:
        found = await gate.events_after(at, limit=_PAGE, types=_TYPES)
        for event in found:
            news.take(event)
        if len(found) < _PAGE:
            return
        at = found[-1].position


async def _pause(ending: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_APART):
            await ending.wait()
