"""Opened: what an open gate is made of, shared by the faces of `Callgate`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from callgate.credentials.register import Seen
from callgate.errors import ConfigurationError, StoreError
from callgate.flows.program.sandbox import Sandboxes
from callgate.policy.lint import ERROR, check
from callgate.runtime.errand_book import ErrandBook
from callgate.runtime.under_way import is_waited_for

if TYPE_CHECKING:
    from callgate.events.bus import Bus
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.pipeline.parts import Parts
    from callgate.runtime.accepting import Acceptance
    from callgate.runtime.attached import Attached
    from callgate.runtime.auditing import Auditor
    from callgate.runtime.pinning import Pinning
    from callgate.runtime.progress import Progress

Proceed = Callable[["Call", "Context"], Awaitable["Outcome"]]
Around = Callable[["Call", "Context", Proceed], Awaitable["Outcome"]]
"""Middleware around a whole call: it may change what is asked and what is answered, never the steps between."""

_log = logging.getLogger("callgate")
_GRACE = 10.0
_LOOK_AGAIN = 0.01


@dataclass(slots=True, kw_only=True)
class Opened:
    """The parts of an open gate, and what has to be closed with it."""

    parts: Parts
    bus: Bus
    auditor: Auditor
    pinning: Pinning
    acceptance: Acceptance
    """What people accepted that foreign tools declare."""
    default_context: Context
    progress: Progress
    lasting: bool = True
    """Whether its store outlives the process."""
    around: tuple[Around, ...] = ()
    loops: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])
    """What goes on while the gate is open; cancelled when it closes."""
    work: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])
    """What calls left to be finished; waited for when it closes."""
    home: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    """The loop it was opened on; everything of it runs there."""
    closing: bool = False
    closed: Future[None] = field(default_factory=Future["None"])
    """Done when everything is let go."""
    under_way: int = 0
    """Calls and programs that have not ended yet."""
    looked_at_policy: bool = False
    programs: set[str] = field(default_factory=set[str])
    """Programs that run in this process now."""
    served_at: str | None = None
    """Where its console is, for links that people are sent; None where nothing is served."""
    shown: Seen = field(default_factory=Seen)
    """Credentials that came in by their tokens."""
    sandboxes: Sandboxes = field(default_factory=Sandboxes)
    errands: ErrandBook = field(default_factory=ErrandBook)
    sources: dict[str, Attached] = field(default_factory=dict[str, "Attached"])
    """Attached sources by name, as they came."""

    def look_at_policy(self) -> None:
        """At the first call: say which names the policy knows and the registry does not."""
        self.looked_at_policy = True
        settings = self.parts.settings
        for finding in check(settings, (*self.parts.registry.list_tools(), *self.parts.unlisted.values())):
            if finding.level == ERROR:  # the rest is for `policy check`, where somebody asks for it
                line = settings.lines.get(finding.where)
                told = ConfigurationError(finding.text, file=settings.file, line=line, key=finding.where)
                _log.warning("policy: %s", told)

    def background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start work nobody waits for but the closing gate, from any thread: a caller's loop may end before it."""
        if _is_running(self.home):
            self._start(work, self.work)
            return
        with contextlib.suppress(RuntimeError):  # the gate's own loop has ended, and its store with it
            self.home.call_soon_threadsafe(_Arriving(self._start, work, self.work))

    def loop(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start what goes on for as long as the gate is open."""
        self._start(work, self.loops)

    def _start(self, work: Coroutine[Any, Any, Any], among: set[asyncio.Task[Any]]) -> None:
        task = asyncio.ensure_future(work)
        among.add(task)
        task.add_done_callback(among.discard)
        task.add_done_callback(_report)

    async def close(self) -> None:
        """Let calls and their work end, write what waits, sign it, and let go of everything, whatever fails."""
        for task in list(self.loops):
            task.cancel()
        await asyncio.gather(*self.loops, return_exceptions=True)
        await self._let_calls_end()
        while self.sources:
            await self.sources.popitem()[1].close()
        try:
            await self.pinning.try_to_keep()
            if not await self.parts.spool.close():
                _log.error("%d outcomes could not be recorded; they will read unknown", len(self.parts.spool))
            await self.auditor.close()
        except StoreError as error:
            _log.error("the gate closed without its last checkpoint: %s", error)
        finally:
            await self._let_go()

    async def until_closed(self) -> None:
        """Wait for the end of a closing that somebody began, on whatever loop."""
        if not is_waited_for():
            await asyncio.shield(asyncio.wrap_future(self.closed))

    async def _let_calls_end(self) -> None:
        """What runs gets a grace to end and be recorded; what does not is given up as unknown at the next start."""
        now = asyncio.get_running_loop().time  # not the gate's clock, which a test may have standing still
        until = now() + _GRACE
        while self.under_way and now() < until:  # noqa: ASYNC110 - an event would cost every call
            await asyncio.sleep(_LOOK_AGAIN)
        if self.work:
            await asyncio.wait(set(self.work), timeout=_GRACE)
        if self.under_way:
            _log.warning("%d calls had not ended when the gate closed; they will read unknown", self.under_way)

    async def _let_go(self) -> None:
        try:
            await self.sandboxes.close()
            await self.bus.close()
        finally:
            if not self.under_way:  # what still runs keeps its limit
                self.parts.deadlines.close()
            self.parts.threads.close()
            # A handler that still runs keeps its rows: nobody may take it for gone while it can act.
            await self.parts.store.close(still_running=bool(self.parts.late) or self.under_way > 0)


class _Arriving:
    """Work on its way to the gate's loop. A loop may end with what it was told last undone: then it is let go."""

    def __init__(
        self, start: Callable[..., None], work: Coroutine[Any, Any, Any], among: set[asyncio.Task[Any]]
    ) -> None:
        self._start = start
        self._work: Coroutine[Any, Any, Any] | None = work
        self._among = among

    def __call__(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            self._start(work, self._among)

    def __del__(self) -> None:
        if self._work is not None:
            self._work.close()


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this code runs on that loop."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class Face:
    """What the faces of a gate have in common: they work only while it is open."""

    _opened: Opened | None = None

    def _open(self) -> Opened:
        opened = self._opened
        if opened is None or opened.closing:
            raise ConfigurationError("the gate is not open: use `async with Callgate.open(...) as gate:`")
        return opened


def _report(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.warning("work in the background failed: %s", type(task.exception()).__name__)


def at_once(opened: Opened, concurrency: int | None) -> int:
    """How many calls of a flow run at once: what the caller says, else the configuration.

    Raises:
        ConfigurationError: It is no number of calls.
    """
    if concurrency is None:
        return opened.parts.settings.batch_concurrency
    if not isinstance(concurrency, int) or isinstance(concurrency, bool) or concurrency < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - callers write anything
        raise ConfigurationError(f"concurrency must be a whole number from 1, not {concurrency!r}")
    return concurrency
