"""One run of a program: its sandbox, its journal and its rows brought together, to where it ends or has to sleep."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import tokenize
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.adapters.border import tree_of
from callgate.errors import LimitExceeded, ProgramConflict, Refusal, StoreError
from callgate.events.vocabulary import (
    PROGRAM_FAILED,
    PROGRAM_FINISHED,
    PROGRAM_INTERRUPTED,
    PROGRAM_PROPOSED,
    PROGRAM_SLEPT,
)
from callgate.flows.program.advice import advised
from callgate.flows.program.answers import NotNow
from callgate.flows.program.functions import Functions
from callgate.flows.program.handed import NotPlain, TooMuch, plain_value
from callgate.flows.program.journal import Diverged, Journal, read_journal
from callgate.flows.program.machine import Machine
from callgate.flows.program.running import Asking, Asleep, Means, Running
from callgate.flows.program.steps import Called, Elsewhere, Gone, Pace, SandboxError, Start, Step
from callgate.flows.program.unawaited import unawaited
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.program import Planned, ProgramError, ProgramRun, ProgramState, Waiting
from callgate.runtime.program_forms import Program, Snapshot, Standing
from callgate.runtime.program_rows import Rows
from callgate.runtime.program_text import Printed, shown

if TYPE_CHECKING:
    from callgate.flows.program.sandbox import Sandboxes, Session
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Parts

_MEGABYTE = 1024 * 1024
_WAITS = frozenset({"await", "async"})
_LONGEST_ADVISED = 100_000


class Proposal(NamedTuple):
    """What a dry run found: for a person's eyes, exactly, and the question about it where there is one."""

    plan: tuple[Planned, ...]
    exact: tuple[dict[str, Any], ...]
    waiting: tuple[Waiting, ...]


def _anything(_ordinal: int, _asking: Asking | None) -> None:
    """A program that was not planned may come to any call."""


class Manner(NamedTuple):
    """How a program's calls are made: at once, as they were planned, or only shown."""

    make: Callable[[Asking], Awaitable[Outcome]]
    check: Callable[[int, Asking | None], None] = _anything
    propose: Callable[[], Awaitable[Proposal]] | None = None
    """Only for a dry run, at its end."""
    stood_in: Callable[[], str] = str
    """What of the program's trouble may come from values that are not real; nothing unless it is a dry run."""


class ProgramOnItsWay:
    """A program that this process runs now."""

    def __init__(
        self,
        parts: Parts,
        rows: Rows,
        program: Program,
        standing: Standing,
        *,
        tools: Iterable[Tool],
        direct: Callable[[], Iterable[Tool]],
        manner: Manner,
    ) -> None:
        self._parts = parts
        self._rows = rows
        self._program = program
        self._standing = standing
        self._propose = manner.propose
        self._stood_in = manner.stood_in
        plain = calls_plainly(program.source)
        self._functions = Functions(tools, plain=plain)
        self._direct = direct
        self._printed = Printed(int(program.limits.output_bytes))
        self._journal = Journal()
        self._keeping = asyncio.Lock()
        self._rested = False
        limits = program.limits
        self._start = Start(
            source=program.source,
            inputs=program.inputs,
            stubs=self._functions.stubs + "".join(f"{name}: Any\n" for name in program.inputs),
            seed=program.id,
            seconds=limits.seconds,
            memory_bytes=int(limits.memory_mb * _MEGABYTE),
            recursion=int(limits.recursion),
            calls=int(limits.calls),
            plain=plain,
            functions=self._functions.names,
            output_bytes=int(limits.output_bytes),
            # A text that this Python cannot read has functions that are awaited later.
            unawaited=unawaited(program.source, self._functions.names) if tree_of(program.source) else None,
        )
        machine = Machine(parts.clock.now)
        self._means = Means(
            make=manner.make,
            check=manner.check,
            now=self._now,
            keep=self._keep,
            machine=machine,
            calls=int(limits.calls),
            at_once=int(limits.at_once),
        )
        self._begin: Callable[[Session, str], Awaitable[Step]] = self._first_step
        self._running = Running(functions=self._functions, journal=self._journal, means=self._means)

    async def go(self, sandboxes: Sandboxes) -> ProgramRun:
        """Run it to its end, or to where it has to sleep.

        Raises:
            ProgramConflict: Somebody else runs it by now, or what was kept of it cannot be trusted.
        """
        check = self._standing.segments == 0
        pace = Pace.QUICK if check and sandboxes.knows(self._start) else Pace.NEW
        try:
            while True:
                try:
                    return await self._go_in(sandboxes, pace)
                except Elsewhere as elsewhere:
                    pace = elsewhere.pace
                    self._begin = partial(self._begin_again, check=check)
        except (asyncio.CancelledError, NotNow, Gone) as stopped:
            await self._running.stop_calls()
            return await self._interrupted(stopped)

    async def _go_in(self, sandboxes: Sandboxes, pace: Pace) -> ProgramRun:
        async with await sandboxes.session(self._start, self._printed.add, pace=pace) as session:
            try:
                step = await self._begin(session, sandboxes.engine)
                value = await self._running.run(session, step)
            except Asleep as asleep:
                return await self._sleep(session, asleep, sandboxes.engine)
            except SandboxError as error:
                message = self._advised(str(error)) + (self._stood_in() if error.kind == "raised" else "")
                return await self._fail(ProgramError(kind=error.kind, message=message))
            except Diverged as error:
                return await self._fail(ProgramError(kind="journal", message=str(error)))
            return await self._finish(value)

    def _advised(self, message: str) -> str:
        """The message with advice; one that is longer than any text of the sandbox's own is the program's."""
        if len(message) > _LONGEST_ADVISED:
            return message
        return advised(message, functions=self._functions, direct=Functions(self._direct(), plain=True))

    async def _begin_again(self, session: Session, _engine: str, *, check: bool) -> Step:
        self._printed.text = ""
        self._running.begin_again()
        return await session.begin(check=check)

    async def _first_step(self, session: Session, engine: str) -> Step:
        if self._standing.segments == 0:
            return await session.begin(check=True)
        journal = read_journal(await self._rows.journal(self._standing))
        self._journal.calls, self._journal.settled, self._journal.moments = (
            journal.calls,
            journal.settled,
            journal.moments,
        )
        snapshot = await self._rows.snapshot(self._standing)
        if snapshot is not None and (snapshot.engine, snapshot.segments) == (engine, self._standing.segments):
            asks = [self._again(*each) for each in snapshot.unanswered]
            if None not in asks:
                return await self._restore(session, snapshot, [each for each in asks if each is not None])
        # The journal alone is enough: everything the program was answered, it is answered again.
        return await session.begin(check=False)

    async def _restore(self, session: Session, snapshot: Snapshot, asks: list[Asking]) -> Step:
        step = await session.restore(snapshot.state)
        self._printed.text = snapshot.printed
        self._journal.skip_to_end(at_call=isinstance(step, Called))
        self._running.take_up(snapshot.promised, asks)
        return step

    def _again(self, ordinal: int, name: str, arguments: dict[str, Any]) -> Asking | None:
        tool = self._parts.registry.find(name)
        return None if tool is None else Asking(ordinal, tool, arguments)

    def _now(self, asking: Asking) -> Asking:
        tool = self._parts.registry.find(asking.tool.name)
        return asking if tool is None or tool is asking.tool else asking._replace(tool=tool)

    async def _keep(self) -> None:
        async with self._keeping:
            entries = list(self._journal.new)
            if not entries:
                return
            standing = replace(self._standing, calls=len(self._journal.calls))
            # Only what is durable counts as kept: what could not be written is part of the next that is.
            self._standing, let_go = await self._rows.add(entries, standing)
            self._journal.kept(len(entries))
        if let_go:
            raise asyncio.CancelledError

    async def _sleep(self, session: Session, asleep: Asleep, engine: str) -> ProgramRun:
        await self._keep()
        waiting = tuple(
            Waiting(tool=each.tool, approval_id=each.approval_id, expires_at=each.expires_at)
            for each in asleep.questions
        )
        snapshot: Snapshot | None = None
        if not asleep.at_end:
            # The journal alone is enough where the interpreter is gone by now.
            with contextlib.suppress(Gone):
                snapshot = await self._snapshot(session, engine)
        return await self._rest(PROGRAM_SLEPT, snapshot, state=ProgramState.SLEEPING, waiting=waiting)

    async def _snapshot(self, session: Session, engine: str) -> Snapshot:
        return Snapshot(
            engine=engine,
            segments=self._standing.segments,
            state=await session.dump(),
            promised=self._running.promised,
            unanswered=tuple(
                (each.ordinal, each.tool.name, each.arguments) for each in self._running.unanswered.values()
            ),
            printed=self._printed.text,
        )

    async def _finish(self, value: Any) -> ProgramRun:
        if self._propose is not None:
            return await self._proposed(self._propose)
        most = self._program.limits.output_bytes
        try:
            plain = plain_value(value, most=int(most))
            size = len(dumps(plain))
        except TooMuch as error:
            return await self._fail(ProgramError(kind="value", message=f"its value is too much: {error}"))
        except (NotPlain, NotCanonical) as error:
            return await self._fail(ProgramError(kind="value", message=f"its value is no JSON: {error}"))
        if size > most:
            message = f"its value is too much: it takes {size} bytes, and may take {most}"
            return await self._fail(ProgramError(kind="value", message=message))
        await self._keep()
        struck = self._parts.striker.strike(plain)
        return await self._rest(PROGRAM_FINISHED, state=ProgramState.FINISHED, value=struck)

    async def _proposed(self, propose: Callable[[], Awaitable[Proposal]]) -> ProgramRun:
        """A dry run is over: the program begins anew, in earnest, when it is resumed."""
        try:
            facts = (await propose())._asdict()
        except LimitExceeded as error:
            return await self._fail(ProgramError(kind="limit", message=f"nobody can be asked about its list: {error}"))
        except Refusal as error:
            return await self._fail(ProgramError(kind="refused", message=f"its list cannot be made: {error}"))
        return await self._rest(PROGRAM_PROPOSED, state=ProgramState.PROPOSED, real=True, **facts)

    async def _fail(self, error: ProgramError) -> ProgramRun:
        await self._keep()
        most = int(self._program.limits.output_bytes)
        told = shown(error.message, self._parts.striker.strike_text, most=most)
        return await self._rest(PROGRAM_FAILED, state=ProgramState.FAILED, error=replace(error, message=told))

    async def _interrupted(self, stopped: BaseException) -> ProgramRun:
        """What it was answered so far is kept, also when nobody waits for it any more."""
        if self._rested:
            raise stopped
        keeping = asyncio.ensure_future(self._keep_place())
        if not isinstance(stopped, asyncio.CancelledError):
            return replace(await keeping, error=ProgramError(kind="interrupted", message=str(stopped)))
        with contextlib.suppress(StoreError, ProgramConflict):
            await asyncio.shield(keeping)
        raise stopped

    async def _keep_place(self) -> ProgramRun:
        await self._keep()
        return await self._rest(PROGRAM_INTERRUPTED, state=ProgramState.INTERRUPTED)

    async def _rest(self, event: str, snapshot: Snapshot | None = None, **change: Any) -> ProgramRun:
        printed = self._printed.shown(self._parts.striker.strike_text)
        standing = replace(self._standing, printed=printed, calls=len(self._journal.calls), **change)
        self._standing, let_go = await self._rows.rest(self._program, standing, event, snapshot)
        self._rested = True
        if let_go:
            raise asyncio.CancelledError
        return self._standing.shown(self._program.id)


def calls_plainly(source: str) -> bool:
    """Whether a program waits for nothing by itself: then its calls are plain ones, each with its value at once."""
    try:
        words = {token.string for token in tokenize.generate_tokens(io.StringIO(source).readline)}
    except (tokenize.TokenError, SyntaxError):
        words = set(re.findall(r"\w+", source))
    return not words & _WAITS
