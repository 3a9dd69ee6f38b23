"""Sandbox: Monty, a Python interpreter in a process of its own that has no files, no sockets and no environment.

Its blocking client is used on a thread per program. Handing a step over costs more than most steps, so that a program
of many short ones begins again, from its journal, in an interpreter that is used in place. That one gives up a step
that takes long, or is ended, and the program is back on a thread for good.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from callgate.adapters.border import HAND_OVER, UNREAD, Kept, keeping
from callgate.errors import ConfigurationError
from callgate.flows.program.checked import Checked
from callgate.flows.program.machine import ANSWERED
from callgate.flows.program.one_processor import OneProcessor, near, open_pool
from callgate.flows.program.prelude import EDITION, arguments, last_value, prelude_of
from callgate.flows.program.steps import (
    Answer,
    Blocked,
    Called,
    Elsewhere,
    Ended,
    Gone,
    Named,
    Pace,
    SandboxError,
    Start,
    Step,
    System,
    Value,
)
from callgate.flows.program.visits import Visits

if TYPE_CHECKING:
    from pydantic_monty import FunctionSnapshot, FutureSnapshot, Monty, MontySession, NameLookupSnapshot, ResourceLimits

_IN_CHECK = re.compile(r"^program\.py:(\d+):(\d+): error\[([a-z-]+)\]", re.MULTILINE)
_IN_TRACE = re.compile(r'^  File "<python-input-\d+>", line (\d+)', re.MULTILINE)
T = TypeVar("T")
_LIMITS = frozenset(
    {
        "TimeoutError: feed time",
        "MemoryError: memory limit",
        "MemoryError: the worker exceeded",
        "RuntimeError: suspension",
    }
)
_MOST_PROCESSES = 8
_MANY = 50
"""So many short steps, and the program begins again in place."""
_LONGEST_STEP = 0.005
"""Seconds a step may compute in place."""
_GRACE = 0.02
"""Seconds until an interpreter is ended that did not give up such a step by itself."""
_SHORT = 0.001
"""Seconds of a step that is short: the next one may be in place."""
_LONGEST_STRETCH = 0.005
"""Seconds of steps in place without a turn for anybody else."""
_SUSPENSIONS_PER_CALL = 4
_SUSPENSIONS_BESIDES = 10_000


class Sandboxes:
    """The interpreters of one gate: started with the first program, kept warm, ended with the gate."""

    def __init__(self) -> None:
        self._pools: dict[bool, Monty] = {}
        self._opening = asyncio.Lock()
        self._checked = Checked()

    @property
    def engine(self) -> str:
        """Which interpreter it is: a state of another one is not taken up."""
        return f"monty {_monty().__version__} after prelude {EDITION}"

    def knows(self, start: Start) -> bool:
        """Whether it is known that the text fits its functions."""
        return start in self._checked

    async def session(self, start: Start, printed: Callable[[str], None], *, pace: Pace) -> Session:
        """An interpreter of its own for one program.

        Raises:
            ConfigurationError: The extra is not installed.
        """
        bounded = pace is Pace.QUICK
        async with self._opening:
            pool = self._pools.get(bounded)
            if pool is None:
                grace: dict[str, float] = {"turn_duration_limit_grace": _GRACE} if bounded else {}
                pool = _monty().Monty(min_processes=1, max_processes=_MOST_PROCESSES, **grace)
                await asyncio.to_thread(open_pool, pool.__enter__)
                self._pools[bounded] = pool
        return Session(pool, start, printed=printed, checked=self._checked, pace=pace)

    async def close(self) -> None:
        """End every interpreter."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await asyncio.to_thread(pool.__exit__, None, None, None)


class Session:
    """One program in its interpreter, one step at a time."""

    def __init__(
        self, pool: Monty, start: Start, *, printed: Callable[[str], None], checked: Checked, pace: Pace
    ) -> None:
        self._start = start
        self._kept = keeping(start.source)
        self._checked = checked
        self._pace = pace
        self._bounded = pace is Pace.QUICK
        self._printed = printed
        self._session: MontySession = pool.checkout(
            script_name="program.py",
            limits=_limits(start, bounded=self._bounded),
            type_check=True,
            type_check_stubs=start.stubs,
            type_check_format="concise",
            # The clock is journaled and randomness seeded, so that a program that is run again comes to the same.
            os_policy={"datetime": "call_host", "sleep": "call_host", "random_start": {"seed": start.seed}},
        )
        self._at: Any = None
        self._worker: int | None = None
        self._near: OneProcessor | None = None
        self._reworded = False
        self._visits = Visits("callgate-program")
        self._short = False
        self._shorts = 0
        self._rested = time.monotonic()

    async def __aenter__(self) -> Self:
        try:
            await self._do(self._enter)
        except BaseException:
            # It may have been entered all the same, when whoever asked went away just then.
            with contextlib.suppress(Exception):
                await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(  # noqa: PLR0917 - the language's signature
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._near is not None:
                self._near.end()
            # One that is gone already has nothing to give back, and its program may be over.
            with contextlib.suppress(Gone):
                await self._do(lambda: self._session.__exit__(None, None, None))
        finally:
            self._visits.close()

    async def begin(self, *, check: bool) -> Step:
        """Run the program to its first step; with `check`, only if its types fit the functions it has.

        Raises:
            SandboxError: It is no program, does not fit the tools, raised, or reached a limit.
        """
        start, check = self._start, check and self._start not in self._checked
        source = start.source
        if self._bounded and not check and start.unawaited is not None:
            source, self._reworded = start.unawaited, True

        def first() -> Any:
            prelude = prelude_of(source, start, function=_function)
            self._session.feed_start(prelude.text, inputs=prelude.inputs, skip_type_check=True)
            kept = keeping(source) if self._reworded else self._kept
            return self._session.feed_start(
                kept.text, inputs=start.inputs, print_callback=self._print, skip_type_check=not check
            )

        step = await self._go(first)
        if check:
            self._checked.add(start)
        return step

    async def restore(self, state: bytes) -> Step:
        """Take up a state that `dump` gave.

        Raises:
            SandboxError: It cannot be taken up.
        """
        # It brings its own limits along: its steps may be bounded, and may not be.
        self._pace, self._bounded = Pace.SLOW, True
        # And its own words: which of both texts it is can be told at each call.
        self._reworded = self._start.unawaited is not None
        return await self._go(lambda: self._session.load_snapshot(state, print_callback=self._print))

    async def answer(self, answer: Answer) -> Step:
        """Answer the call, or the question to the machine, that the last step was.

        Raises:
            SandboxError: The program raised or reached a limit.
        """
        at: FunctionSnapshot = self._at
        if at.is_os_function or self._is_plain(at):
            return await self._go(lambda: at.resume(_result(answer)))

        def both() -> Any:
            # A call that is awaited is promised and settled in one visit of the thread.
            promised: Any = at.resume({"future": ...})
            return promised.resume({at.call_id: _result(answer)})

        return await self._go(both)

    async def promise(self) -> Step:
        """Let the program go on without the answer of the call that the last step was.

        Raises:
            SandboxError: The program raised or reached a limit.
        """
        at: FunctionSnapshot = self._at
        return await self._go(lambda: at.resume({"future": ...}))

    async def settle(self, answers: dict[int, Answer]) -> Step:
        """Answer calls that were promised.

        Raises:
            SandboxError: The program raised or reached a limit.
        """
        at: FutureSnapshot = self._at
        return await self._go(lambda: at.resume({call: _result(answer) for call, answer in answers.items()}))

    async def define(self, name: str | None) -> Step:
        """Say that the name the last step was is a function to call; None: that nobody knows it.

        Raises:
            SandboxError: The program raised or reached a limit.
        """
        at: NameLookupSnapshot = self._at
        return await self._go(at.resume if name is None else lambda: at.resume(value=_function(name)))

    async def dump(self) -> bytes:
        """The state at the last step.

        Raises:
            Gone: The interpreter ended meanwhile.
        """
        return await self._do(self._at.dump)

    def _enter(self) -> None:
        self._session.__enter__()
        self._worker = self._session.worker_pid
        if self._bounded:
            self._near = near(self._worker)

    def _print(self, _stream: str, text: str) -> None:
        self._printed(text)

    async def _go(self, move: Callable[[], Any]) -> Step:
        if self._pace is Pace.NEW and self._shorts >= _MANY:
            raise Elsewhere(Pace.QUICK)
        begun = time.monotonic()
        if self._short and self._pace is Pace.QUICK:
            step = self._visit_in_place(move)
        else:
            step = await self._visits.do(lambda: self._visit(move), stop=self._kill)
        now = time.monotonic()
        self._short = now - begun < _SHORT
        self._shorts += self._short
        if now - self._rested > _LONGEST_STRETCH:
            # Steps that all end at once would leave the loop no turn for anybody else.
            await asyncio.sleep(0)
            self._rested = time.monotonic()
        return step

    def _visit_in_place(self, move: Callable[[], Any]) -> Step:
        if self._near is None:
            return self._visit(move)
        begun = time.monotonic()
        with self._near:
            step = self._visit(move)
        self._near.took(time.monotonic() - begun)
        return step

    def _visit(self, move: Callable[[], Any]) -> Step:
        try:
            self._at = move()
            if not self._kept.is_read:
                # Before it makes a call: that would have happened, and the program's value could not be known.
                raise SandboxError("value", UNREAD)
            if isinstance(self._at, _monty().MontyComplete):
                return Ended(self._last_value())
            return self._step(self._at)
        except _monty().MontyError as error:
            told = _told(error, self._kept)
            # What the program raised is told with its own words around it.
            reworded = self._reworded and isinstance(told, SandboxError) and told.kind != "limit"
            if reworded or (self._bounded and _overran(error)):
                raise Elsewhere(Pace.SLOW) from None
            raise told from None

    def _last_value(self) -> Any:
        if not self._kept.has_value:
            return None
        return last_value(self._session.feed_start(HAND_OVER, skip_type_check=True), most=self._start.output_bytes)

    def _step(self, at: Any) -> Step:
        monty = _monty()
        if isinstance(at, monty.FunctionSnapshot) and not at.is_os_function:
            awaited = at.allow_eager_await or self._is_plain(at)
            return Called(at.call_id, at.function_name, *arguments(at), awaited)
        if isinstance(at, monty.NameLookupSnapshot):
            return Named(at.variable_name)
        if isinstance(at, monty.FutureSnapshot):
            return Blocked(tuple(at.pending_call_ids))
        # What else can be asked for is refused whatever it is asked with, and may be asked with anything.
        return System(at.function_name, tuple(at.args) if at.function_name in ANSWERED else ())

    def _is_plain(self, at: Any) -> bool:
        """Whether the call wants its value at once."""
        return self._start.plain or (self._reworded and not at.allow_eager_await)

    async def _do(self, work: Callable[[], T]) -> T:
        try:
            return await self._visits.do(work, stop=self._kill)
        except _monty().MontyError as error:
            raise Gone from error

    def _kill(self) -> None:
        """Nobody waits for the program any more, and its code may run for as long as its limit lets it."""
        if self._worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._worker, signal.SIGKILL)


def _limits(start: Start, *, bounded: bool) -> ResourceLimits:
    return {
        "max_turn_duration_secs": _LONGEST_STEP if bounded else None,
        "max_feed_duration_secs": start.seconds,
        "max_memory": start.memory_bytes,
        "max_recursion_depth": start.recursion,
        "max_suspensions": start.calls * _SUSPENSIONS_PER_CALL + _SUSPENSIONS_BESIDES,
    }


def _result(answer: Answer) -> Any:
    if isinstance(answer, Value):
        return {"return_value": answer.value}
    return {"exc_type": answer.kind, "message": answer.message}


def _function(name: str) -> Callable[..., None]:
    def stands_for(*_positional: Any, **_named: Any) -> None:
        """Never run: the sandbox asks for the call by its name."""

    stands_for.__name__ = name
    return stands_for


def _overran(error: Any) -> bool:
    monty = _monty()
    if isinstance(error, monty.MontyRuntimeError):
        return error.display("type-msg").startswith("TimeoutError: turn time")
    return isinstance(error, monty.MontyCrashedError) and error.timed_out


def _told(error: Any, kept: Kept) -> SandboxError | Gone:
    monty = _monty()
    if isinstance(error, monty.MontyTypingError):
        return SandboxError("types", _placed(kept.told(error.display().strip())))
    if isinstance(error, monty.MontySyntaxError):
        return SandboxError("syntax", error.display("type-msg"))
    if isinstance(error, monty.MontyRuntimeError):
        short = error.display("type-msg")
        limit = any(short.startswith(each) for each in _LIMITS) or short.startswith("RecursionError")
        return SandboxError("limit" if limit else "raised", short if limit else _placed(kept.told(error.display())))
    if isinstance(error, monty.MontyConversionError):
        return SandboxError("value", str(error))
    if isinstance(error, monty.MontyCrashedError) and error.timed_out:
        return SandboxError("limit", "its interpreter was ended: it computed for longer than it may")
    return Gone()


def _placed(told: str) -> str:
    """With places as whoever wrote the program knows them: it is no file, and was typed nowhere."""
    return _IN_TRACE.sub(r"  The program, line \1", _IN_CHECK.sub(r"the program, line \1, column \2: \3:", told))


@cache
def _monty() -> Any:
    try:
        import pydantic_monty  # noqa: PLC0415 - an extra, loaded with the first program
    except ModuleNotFoundError:
        raise ConfigurationError("programs need the sandbox: pip install 'callgate[programs]'") from None
    return pydantic_monty
