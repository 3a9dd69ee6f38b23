"""Live: tells a page which of its parts have changed, and how much waits. Never what: pages are asked for again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from callgate.model.event import Event
from callgate.runtime.gate import Callgate
from callgate.serve.console.pages import counted
from callgate.serve.console.visiting import Visitor, gate_of, visiting

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


@dataclass
class _News:
    """What has changed since it was told last."""

    position: int
    topics: set[str] = field(default_factory=set[str])
    asked: bool = False
    come: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, event: Event) -> None:
        self.position = event.position
        self.topics.update(_TOPICS[event.type.partition(".")[0]])
        self.asked = self.asked or event.type == "gate.required"
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
    return StreamingResponse(_stream(request, visitor, _News(start)), media_type="text/event-stream")


async def _stream(request: Request, visitor: Visitor, news: _News) -> AsyncIterator[str]:
    gate = gate_of(request)
    ending: asyncio.Event = request.app.state.ending
    tasks = [asyncio.create_task(_listen(gate, news)), asyncio.create_task(_end(ending, news))]
    try:
        yield "retry: 2000\n\n"
        while not any(task.done() for task in tasks):
            await news.wait(_STILL_HERE)
            if ending.is_set():
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
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pause(ending: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_APART):
            await ending.wait()


async def _end(ending: asyncio.Event, news: _News) -> None:
    await ending.wait()
    news.come.set()


async def _listen(gate: Callgate, news: _News) -> None:
    try:
        async for event in gate.events(types=_TYPES, after=news.position, follow=True):
            news.take(event)
    finally:
        news.come.set()
