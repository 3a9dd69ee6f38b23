"""Sandbox: Monty, a Python interpreter in a process of its own that has no files, no sockets and no environment.

Its blocking client is used on a thread per program: handing a step over costs less than the client's own asyncio form
takes, and the event loop never waits for a program's code.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from callgate.errors import ConfigurationError
from callgate.flows.program.steps import (
    Answer,
    Blocked,
    Called,
    Ended,
    Named,
    SandboxError,
    Start,
    Step,
    System,
    Value,
)

if TYPE_CHECKING:
    from pydantic_monty import FunctionSnapshot, FutureSnapshot, Monty, MontySession, NameLookupSnapshot, ResourceLimits

_IN_CHECK = re.compile(r"^program\.py:(\d+):(\d+): error\[([a-z-]+)\]", re.MULTILINE)
_IN_TRACE = re.compile(r'^  File "<python-input-\d+>", line (\d+)', re.MULTILINE)
T = TypeVar("T")
_LIMITS = frozenset({"TimeoutError: feed time", "MemoryError: memory limit", "RuntimeError: suspension"})
_MOST_PROCESSES = 8
_GLANCE_SECONDS = 0.0003
_SUSPENSIONS_PER_CALL = 4
_SUSPENSIONS_BESIDES = 10_000


class Sandboxes:
    """The interpreters of one gate: started with the first program, kept warm, ended with the gate."""

    def __init__(self) -> None:
        self._pool: Monty | None = None
        self._opening = asyncio.Lock()

    @property
    def engine(self) -> str:
        """Which interpreter it is: a state of another one is not taken up."""
        return f"monty {_monty().__version__}"

    async def session(self, start: Start, printed: Callable[[str], None]) -> Session:
        """An interpreter of its own for one program.

        Raises:
            ConfigurationError: The extra is not installed.
        """
        async with self._opening:
            pool = self._pool
            if pool is None:
                pool = _monty().Monty(min_processes=1, max_processes=_MOST_PROCESSES)
                await asyncio.to_thread(pool.__enter__)
                self._pool = pool
        return Session(pool, start, printed=printed)

    async def close(self) -> None:
        """End every interpreter."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.__exit__, None, None, None)


class Session:
    """One program in its interpreter, one step at a time."""

    def __init__(self, pool: Monty, start: Start, *, printed: Callable[[str], None]) -> None:
        self._start = start
        self._printed = printed
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="callgate-program")
        self._session: MontySession = pool.checkout(
            script_name="program.py",
            limits=_limits(start),
            type_check=True,
            type_check_stubs=start.stubs,
            type_check_format="concise",
            # The clock is journaled and randomness seeded, so that a program that is run again comes to the same.
            os_policy={"datetime": "call_host", "sleep": "call_host", "random_start": {"seed": start.seed}},
        )
        self._at: Any = None
        self._worker: int | None = None

    async def __aenter__(self) -> Self:
        await self._do(self._enter)
        return self

    async def __aexit__(  # noqa: PLR0917 - the language's signature
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._do(lambda: self._session.__exit__(None, None, None))
        finally:
            self._thread.shutdown(wait=False)

    async def begin(self, *, check: bool) -> Step:
        """Run the program to its first step; with `check`, only if its types fit the functions it has.

        Raises:
            SandboxError: It is no program, does not fit the tools, raised, or reached a limit.
        """
        start = self._start
        return await self._go(
            lambda: self._session.feed_start(
                start.source, inputs=start.inputs, print_callback=self._print, skip_type_check=not check
            )
        )

    async def restore(self, state: bytes) -> Step:
        """Take up a state that `dump` gave.

        Raises:
            SandboxError: It cannot be taken up.
        """
        return await self._go(lambda: self._session.load_snapshot(state, print_callback=self._print))

    async def answer(self, answer: Answer) -> Step:
        """Answer the call, or the question to the machine, that the last step was.

        Raises:
            SandboxError: The program raised or reached a limit.
        """
        at: FunctionSnapshot = self._at
        if at.is_os_function or self._start.plain:
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
        """The state at the last step."""
        return await self._do(self._at.dump)

    def _enter(self) -> None:
        self._session.__enter__()
        self._worker = self._session.worker_pid

    def _print(self, _stream: str, text: str) -> None:
        self._printed(text)

    async def _go(self, move: Callable[[], Any]) -> Step:
        def visit() -> Step:
            try:
                self._at = move()
                return _step(self._at, plain=self._start.plain)
            except _monty().MontyError as error:
                raise _told(error) from None

        return await self._do(visit)

    async def _do(self, work: Callable[[], T]) -> T:
        visit = self._thread.submit(work)
        # Most steps are over before the event loop could turn to something else and be woken again.
        _glance(visit)
        if visit.done():
            return visit.result()
        waiting = asyncio.wrap_future(visit)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._kill()
            with contextlib.suppress(Exception):
                await waiting
            raise

    def _kill(self) -> None:
        """Nobody waits for the program any more, and its code may run for as long as its limit lets it."""
        if self._worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._worker, signal.SIGKILL)


def _limits(start: Start) -> ResourceLimits:
    return {
        "max_feed_duration_secs": start.seconds,
        "max_memory": start.memory_bytes,
        "max_recursion_depth": start.recursion,
        "max_suspensions": start.calls * _SUSPENSIONS_PER_CALL + _SUSPENSIONS_BESIDES,
    }


def _step(at: Any, *, plain: bool) -> Step:
    monty = _monty()
    if isinstance(at, monty.MontyComplete):
        return Ended(at.output)
    if isinstance(at, monty.NameLookupSnapshot):
        return Named(at.variable_name)
    if isinstance(at, monty.FutureSnapshot):
        return Blocked(tuple(at.pending_call_ids))
    if at.is_os_function:
        return System(at.function_name, tuple(at.args))
    return Called(at.call_id, at.function_name, tuple(at.args), dict(at.kwargs), plain or at.allow_eager_await)


def _result(answer: Answer) -> Any:
    if isinstance(answer, Value):
        return {"return_value": answer.value}
    return {"exc_type": answer.kind, "message": answer.message}


def _function(name: str) -> Callable[..., None]:
    def stands_for(*_positional: Any, **_named: Any) -> None:
        """Never run: the sandbox asks for the call by its name."""

    stands_for.__name__ = name
    return stands_for


def _told(error: Any) -> SandboxError:
    monty = _monty()
    if isinstance(error, monty.MontyTypingError):
        return SandboxError("types", _placed(error.display().strip()))
    if isinstance(error, monty.MontySyntaxError):
        return SandboxError("syntax", error.display("type-msg"))
    if isinstance(error, monty.MontyRuntimeError):
        short = error.display("type-msg")
        limit = any(short.startswith(each) for each in _LIMITS) or short.startswith("RecursionError")
        return SandboxError("limit" if limit else "raised", short if limit else _placed(error.display()))
    if isinstance(error, monty.MontyConversionError):
        return SandboxError("value", str(error))
    return SandboxError("limit", "its interpreter ended: it used more than it may, or was stopped")


def _placed(told: str) -> str:
    """With places as whoever wrote the program knows them: it is no file, and was typed nowhere."""
    return _IN_TRACE.sub(r"  The program, line \1", _IN_CHECK.sub(r"the program, line \1, column \2: \3:", told))


def _monty() -> Any:
    try:
        import pydantic_monty  # noqa: PLC0415 - an extra, loaded with the first program
    except ModuleNotFoundError:
        raise ConfigurationError("programs need the sandbox: pip install 'callgate[programs]'") from None
    return pydantic_monty


def _glance(visit: Future[Any]) -> None:
    with contextlib.suppress(BaseException):
        visit.exception(timeout=_GLANCE_SECONDS)
