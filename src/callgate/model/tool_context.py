"""ToolContext: what a running handler may ask of the gate. It ends with the call: a late handler gets nothing more."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from callgate.errors import SecretsClosed
from callgate.model.context import Context
from callgate.model.grounds import Grounds
from callgate.model.recorded_calls import RecordedCalls

_marking = threading.Lock()
"""A handler on a thread may pass its point of no return just when its call is given up: one of them is first."""


def _no_secret(connector: str, key: str) -> str:
    raise SecretsClosed(f"secrets are not open here: {connector}/{key} can only be asked for inside a running handler")


def _no_striking(value: str, *, connector: str, key: str) -> None:
    """Nobody strikes."""


def _no_grounds() -> Grounds:
    raise LookupError("where a tool may go is known only inside a gate, and not in a process of its own")


async def no_record() -> RecordedCalls:
    """Nothing: for tools that did not declare that they want it.

    Raises:
        LookupError: Always.
    """
    raise LookupError("what was recorded is given only to tools that declare the capability `record`")


def _anything_was_shown(_state: Any) -> bool:
    """Nobody was asked, so nothing was shown that it could differ from."""
    return True


def _no_progress(_context: ToolContext, _fraction: float | None, _note: str) -> None:
    """Nobody listens."""


@dataclass(slots=True, kw_only=True, eq=False)
class ToolContext:
    """Handed to handlers that ask for it. Knows nothing of permits, stores or policies."""

    context: Context
    tool: str
    call_id: str
    key: str | None = None
    """The idempotency key; pass it downstream where the other side takes one."""
    working_directory: str = "."
    only_reads: bool = False
    """A preview or a check: what it starts through the gate may read, and it begins no effect itself."""
    reaches: frozenset[str] | None = None
    """The only tools that what it starts through the gate may use, under whatever context; None is no such limit."""
    deadline: float | None = None
    """`time.monotonic()` at which the limit is reached."""
    secret_source: Callable[[str, str], str] = _no_secret
    progress_sink: Callable[[ToolContext, float | None, str], None] = _no_progress
    on_mark: Callable[[], None] | None = None
    grounds: Callable[[], Grounds] = _no_grounds
    """Where this call may go: for what it meets on its way, a link or a redirect."""
    recorded: Callable[[], Awaitable[RecordedCalls]] = no_record
    """What was recorded of this trace so far, call by call; for tools that declare the capability `record`."""
    is_as_shown: Callable[[Any], bool] = _anything_was_shown
    """Whether this is the `state` of the preview that a person approved; true where nobody was shown one."""
    strike_from_now: Callable[..., None] = _no_striking
    """Told every secret that a tool's own store gave it: (value, connector=…, key=…)."""
    entered_effect: bool = field(default=False, init=False)
    """Whether the point of no return was passed."""
    effect_inside: bool = field(default=False, init=False)
    """Whether a call made inside entered its effect; what a read marks by itself is none."""
    ends_at: float | None = field(default=None, init=False)
    """`time.monotonic()` at which a time ends that the handler has for all its tries: past it, there is no other one.

    It says so itself, in the first, and finds in the next what it said; not in a process of its own.
    """
    closed: bool = field(default=False, init=False)
    nested: set[Callable[[], object]] = field(default_factory=set["Callable[[], object]"], init=False)
    """How to stop what the handler started and would go on without it, calls through the gate among it; any thread."""
    runs_in: object = field(default=None, init=False)
    """The task the handler runs in, where it is a coroutine."""

    @property
    def session_id(self) -> str:
        """The session, under the name seed 002 gives it."""
        return self.context.session

    @property
    def trace_id(self) -> str:
        """The trace this call belongs to."""
        return self.context.trace_id

    def get_secret(self, connector: str, key: str) -> str:
        """A secret, right before its use; never keep it.

        Raises:
            SecretsClosed: The call has ended, also while the store was asked, or this is a preview.
            SecretNotFound: There is none.
        """
        if self.closed:
            _no_secret(connector, key)
        value = self.secret_source(connector, key)
        if self.closed:
            _no_secret(connector, key)
        return value

    def progress(self, fraction: float | None = None, note: str = "") -> None:
        """Say how far the work is; recorded as an event and shown to whoever waits."""
        if not self.closed:
            self.progress_sink(self, fraction, note)

    @asynccontextmanager
    async def effect(self) -> AsyncGenerator[None]:
        """The point of no return: a failure before it left nothing behind."""
        self._mark()
        yield

    @contextmanager
    def effect_sync(self) -> Generator[None]:
        """`effect()` for handlers that are plain functions."""
        self._mark()
        yield

    def _mark(self) -> None:
        if self.only_reads:
            message = f"{self.tool}: this only looks at what would happen; no effect may start here"
            raise SecretsClosed(message)
        with _marking:
            if self.closed:
                message = f"{self.tool}: the call has ended; its effect must not start now"
                raise SecretsClosed(message)
            self.entered_effect = True
        if self.on_mark is not None:
            self.on_mark()

    def confine(self, tools: frozenset[str]) -> None:
        """From now on only these tools can be reached from inside; what was out of reach stays so."""
        self.reaches = tools if self.reaches is None else self.reaches & tools

    def took_effect(self) -> None:
        """Called by the gate when a call made inside enters its effect: from then on so has this one.

        Raises:
            SecretsClosed: This call has ended, and was told without an effect: none must start inside it now.
        """
        self._mark()
        self.effect_inside = True

    def end(self) -> None:
        """Called by the gate when the call is over, also for a handler that still runs. What it started ends, too."""
        with _marking:
            self.closed = True
        while self.nested:
            self.nested.pop()()

    def remaining(self, now: float) -> float | None:
        """Seconds left at the monotonic time `now`; None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - now)
