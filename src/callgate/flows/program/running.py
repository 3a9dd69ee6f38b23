"""Running a program: every step it stops at is answered, from its journal as far as that goes, then by making calls."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from callgate.flows.program.answers import NotNow, answer_of
from callgate.flows.program.functions import Functions, NoSuchCall
from callgate.flows.program.handed import MOST_BYTES, MOST_VALUES, Handing, NotPlain, Unplain, are_few_and_small
from callgate.flows.program.journal import Diverged, Journal
from callgate.flows.program.machine import Machine
from callgate.flows.program.steps import (
    Answer,
    Blocked,
    Called,
    Elsewhere,
    Ended,
    Error,
    Gone,
    Named,
    SandboxError,
    Step,
    System,
)
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.outcome import Outcome, Pending
from callgate.model.tool import Tool


class Asking(NamedTuple):
    """A call a program makes: which of its calls it is, and what it asks for."""

    ordinal: int
    tool: Tool
    arguments: dict[str, Any]


class Sandbox(Protocol):
    """An interpreter that stands at a step."""

    async def answer(self, answer: Answer) -> Step:
        """Answer the step."""
        ...

    async def promise(self) -> Step:
        """Go on without the answer of the call."""
        ...

    async def settle(self, answers: dict[int, Answer]) -> Step:
        """Answer promised calls."""
        ...

    async def define(self, name: str | None) -> Step:
        """Say what a name is."""
        ...


class Asleep(Exception):
    """Nothing of the program can go on before a person decides."""

    def __init__(self, questions: list[Pending], *, at_end: bool = False) -> None:
        super().__init__()
        self.questions = questions
        self.at_end = at_end
        """The program itself is over, and left calls behind that nobody waited for."""


@dataclass(slots=True, kw_only=True)
class Means:
    """What a running program needs of the gate."""

    make: Callable[[Asking], Awaitable[Outcome]]
    check: Callable[[int, Asking | None], None]
    """Whether the program may come to this call; raises where it may not. None for a call that no tool takes."""
    now: Callable[[Asking], Asking]
    """The call with its tool as it is by now: what only read when the program began may have effects since."""
    keep: Callable[[], Awaitable[None]]
    """Make the journal durable."""
    machine: Machine
    calls: int
    """How many it may make."""
    at_once: int


class Running:
    """One run of a program, from where its sandbox stands to its end or to where it has to sleep."""

    def __init__(self, *, functions: Functions, journal: Journal, means: Means) -> None:
        self._functions = functions
        self._journal = journal
        self._means = means
        self._places = asyncio.Semaphore(means.at_once)
        self.promised: dict[int, int] = {}
        """The sandbox's number of every call that it was promised an answer of: its ordinal."""
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._questions: dict[int, Pending] = {}
        self.unanswered: dict[int, Asking] = {}
        """Calls that a person has to decide about."""

    def take_up(self, promised: dict[int, int], unanswered: list[Asking]) -> None:
        """Go on from a kept state of the sandbox: these calls were promised, and these still have no answer."""
        self.promised = dict(promised)
        for asking in unanswered:
            if asking.ordinal in promised.values():
                self._start(asking.ordinal, self._make(asking))

    def begin_again(self) -> None:
        """Another sandbox begins at the beginning; calls that are under way go on."""
        self.promised = {}
        self._journal.rewind()

    async def run(self, sandbox: Sandbox, step: Step) -> Any:
        """Bring the program to its end; the value of its last expression.

        Raises:
            Elsewhere: It has to begin again in another sandbox.
            Asleep: A person has to decide first.
            SandboxError: It raised, or reached a limit.
            Diverged: It did not do again what its journal says.
            NotNow: A call could not be answered now; the program may be tried again later.
            Gone: Its interpreter ended.
        """
        try:
            while not isinstance(step, Ended):
                step = await self._next(sandbox, step)
        except Elsewhere:
            raise
        except (Asleep, SandboxError, Diverged, NotNow, Gone):
            await self._let_calls_end()
            raise
        except BaseException:
            await self.stop_calls()
            raise
        await self._let_calls_end()
        # A call that nobody awaited was still asked for: its failure to be made, or its question, is the program's.
        self._raise_failures(self._tasks)
        if self._questions:
            raise Asleep([self._questions[ordinal] for ordinal in sorted(self._questions)], at_end=True)
        return step.value

    async def _next(self, sandbox: Sandbox, step: Step) -> Step:
        match step:
            case Called():
                return await self._call(sandbox, step)
            case Blocked():
                return await sandbox.settle(await self._settled(step.ids))
            case System():
                return await sandbox.answer(await self._means.machine.ask(step, self._journal))
            case Named(name):
                return await sandbox.define(name if name in self._functions.names else None)
            case Ended():  # pragma: no cover - the loop ends before
                return step

    async def _call(self, sandbox: Sandbox, called: Called) -> Step:
        ordinal, answer, asking = self._enter(called)
        if not called.awaited:
            self.promised[called.id] = ordinal
            # One that is under way already was made before the program began again.
            if asking is not None and ordinal not in self._tasks:
                self._start(ordinal, self._make(asking))
            return await sandbox.promise()
        if asking is not None:
            await self._make(asking)
            if ordinal in self._questions:
                raise Asleep([self._questions[ordinal]])
            answer = self._journal.calls[ordinal].answer
        assert answer is not None  # noqa: S101 - made just now
        return await sandbox.answer(answer)

    def _enter(self, called: Called) -> tuple[int, Answer | None, Asking | None]:
        """The call's place in the journal, with its answer where there is one already, else what to ask for."""
        handed, fault = _handed(called)
        ordinal, answer = self._journal.call(called.name, _digest([called.name, *handed]))
        if ordinal >= self._means.calls:
            raise SandboxError("limit", f"it made {self._means.calls} calls, and may make no more")
        if answer is not None:
            return ordinal, answer, None
        try:
            if fault is not None:
                self._functions.bind(called.name, positional=[], named={})
                raise fault
            [positional, named] = handed
            asking = Asking(ordinal, *self._functions.bind(called.name, positional=positional, named=named))
        except NoSuchCall as error:
            self._means.check(ordinal, None)
            answer = Error(error.kind, str(error))
            self._journal.answered(ordinal, answer)
            return ordinal, answer, None
        self._means.check(ordinal, asking)
        return ordinal, None, asking

    def _start(self, ordinal: int, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[ordinal] = asyncio.ensure_future(work)

    async def _make(self, asking: Asking) -> None:
        """Make a call; its answer goes into the journal, a question to a person beside it."""
        async with self._places:
            asking = self._means.now(asking)
            if not asking.tool.read_only:
                # What led to an effect is durable before the effect: run again, the program comes to this same call.
                await self._means.keep()
            outcome = await self._means.make(asking)
        if isinstance(outcome, Pending):
            self._questions[asking.ordinal] = outcome
            self.unanswered[asking.ordinal] = asking
        else:
            self._journal.answered(asking.ordinal, answer_of(outcome))

    async def _settled(self, ids: tuple[int, ...]) -> dict[int, Answer]:
        """Answers for some of the calls everything waits for."""
        waited = {self.promised[each]: each for each in ids}
        again = self._journal.settle_again()
        if again is not None:
            return {waited[ordinal]: self._known(ordinal) for ordinal in again if ordinal in waited}
        for ordinal in waited:
            self._check_known(ordinal)
        while True:
            done = [ordinal for ordinal in sorted(waited) if self._journal.calls[ordinal].answer is not None]
            if done:
                self._journal.settle(done)
                return {waited[ordinal]: self._known(ordinal) for ordinal in done}
            going = [self._tasks[ordinal] for ordinal in waited if not self._tasks[ordinal].done()]
            if not going:
                self._raise_failures(waited)
                raise Asleep([self._questions[ordinal] for ordinal in sorted(waited)])
            await asyncio.wait(going, return_when=asyncio.FIRST_COMPLETED)

    def _check_known(self, ordinal: int) -> None:
        """A program taken up from a kept state waits for calls that this run has not made yet."""
        made = self._journal.calls[ordinal]
        if made.answer is None and ordinal not in self._tasks:
            raise Diverged(f"call {ordinal} of {made.function} waits, and nobody knows its arguments")

    def _raise_failures(self, ordinals: Iterable[int]) -> None:
        for ordinal in ordinals:
            error = self._tasks[ordinal].exception()
            if error is not None:
                raise error

    def _known(self, ordinal: int) -> Answer:
        answer = self._journal.calls[ordinal].answer
        if answer is None:
            raise Diverged(f"call {ordinal} was settled, and its answer is gone")
        return answer

    async def _let_calls_end(self) -> None:
        """What the program started and no longer waits for still ends, and is journaled."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def stop_calls(self) -> None:
        """Nobody waits for the program any more."""
        for task in self._tasks.values():
            task.cancel()
        await self._let_calls_end()


def _handed(called: Called) -> tuple[list[Any], NoSuchCall | None]:
    """The arguments in the shapes of JSON: those without a name, and those with one; or what is wrong with them."""
    positional, named = called.positional, called.named
    refused = isinstance(positional, Unplain)
    if not refused and are_few_and_small(positional) and (not named or are_few_and_small([*named, *named.values()])):
        return [list(positional), named], None
    handing = Handing(MOST_BYTES, values=MOST_VALUES)
    try:
        return [handing.plain(positional), handing.plain(named)], None
    except NotPlain as error:
        # They are not looked at any further, and known by what is wrong with them.
        return [str(error)], NoSuchCall("ValueError", f"{called.name} cannot be called with this: {error}")


def _digest(said: list[Any]) -> str:
    """What the call is known by when the program is run again, also when its tool is gone by then."""
    try:
        written = dumps(said)
    except NotCanonical:
        written = repr(said).encode("utf-8", "backslashreplace")
    return hashlib.sha256(written).hexdigest()
