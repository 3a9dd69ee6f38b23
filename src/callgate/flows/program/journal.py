"""Journal: every answer a program was given, in order. Run again against it, the program comes to where it was.

A journal only grows. What was added since it was last kept is a segment; keeping is somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from callgate.flows.program.steps import Answer, Error, Value


class Diverged(Exception):
    """The program did not do again what the journal says it did."""


@dataclass(slots=True)
class Made:
    """A call the program made."""

    function: str
    digest: str
    """Of what was called with which arguments."""
    answer: Answer | None = None


@dataclass(slots=True)
class Journal:
    """What a program was answered, and how far a run of it has come through that."""

    calls: list[Made] = field(default_factory=list[Made])
    settled: list[list[int]] = field(default_factory=list[list[int]])
    """Which calls were answered together, whenever everything waited: that order is part of what happens next."""
    moments: list[float | None] = field(default_factory=list[float | None])
    """What the clock said; None where the program only slept."""
    new: list[list[Any]] = field(default_factory=list[list[Any]])
    """Not kept yet."""
    _called: int = 0
    _settled: int = 0
    _asked: int = 0

    def call(self, function: str, digest: str) -> tuple[int, Answer | None]:
        """The program makes its next call: its ordinal, and its answer if it was answered before.

        Raises:
            Diverged: It made another call here before.
        """
        ordinal = self._called
        self._called += 1
        if ordinal == len(self.calls):
            self.calls.append(Made(function, digest))
            self.new.append(["call", function, digest])
            return ordinal, None
        made = self.calls[ordinal]
        if (made.function, made.digest) != (function, digest):
            message = f"call {ordinal} was {made.function}, and is {function} now or has other arguments"
            raise Diverged(message)
        return ordinal, made.answer

    def answered(self, ordinal: int, answer: Answer) -> None:
        """A call has its answer."""
        self.calls[ordinal].answer = answer
        self.new.append(["answer", ordinal, *_written(answer)])

    def settle_again(self) -> list[int] | None:
        """Which calls were answered when everything waited for the next time; None once that is not known yet."""
        if self._settled == len(self.settled):
            return None
        self._settled += 1
        return self.settled[self._settled - 1]

    def settle(self, ordinals: list[int]) -> None:
        """Everything waited, and these were answered."""
        self.settled.append(ordinals)
        self._settled += 1
        self.new.append(["settled", *ordinals])

    def moment(self) -> tuple[bool, float | None]:
        """What the clock said the next time it was asked, and whether that is known."""
        if self._asked == len(self.moments):
            return False, None
        self._asked += 1
        return True, self.moments[self._asked - 1]

    def clocked(self, moment: float | None) -> None:
        """The clock was asked, or the program slept."""
        self.moments.append(moment)
        self._asked += 1
        self.new.append(["clock", moment])

    def kept(self, entries: int) -> None:
        """So many of what is new are durable."""
        del self.new[:entries]

    def rewind(self) -> None:
        """The program begins again, and is answered again what it was answered."""
        self._called = self._settled = self._asked = 0

    def skip_to_end(self, *, at_call: bool) -> None:
        """The run was taken up from a state at the journal's end; `at_call`, with its last call still to be made."""
        self._called, self._settled, self._asked = len(self.calls), len(self.settled), len(self.moments)
        if at_call:
            self._called -= 1


def read_journal(segments: list[list[list[Any]]]) -> Journal:
    """A journal from its segments, in order.

    Raises:
        Diverged: A segment is missing or was put together by nobody of ours.
    """
    journal = Journal()
    try:
        for entry in (entry for segment in segments for entry in segment):
            _read(journal, entry)
    except (LookupError, TypeError, ValueError) as error:
        message = "the journal has a gap or an entry nobody wrote"
        raise Diverged(message) from error
    return journal


def _read(journal: Journal, entry: list[Any]) -> None:
    match entry:
        case ["call", str(function), str(digest)]:
            journal.calls.append(Made(function, digest))
        case ["answer", int(ordinal), *answer] if ordinal >= 0:
            journal.calls[ordinal].answer = _answer(answer)
        case ["settled", *ordinals]:
            journal.settled.append([int(each) for each in ordinals])
        case ["clock", moment] if moment is None or isinstance(moment, int | float):
            journal.moments.append(moment)
        case _:
            raise ValueError(entry)


def _written(answer: Answer) -> tuple[Any, ...]:
    return ("value", answer.value) if isinstance(answer, Value) else ("error", answer.kind, answer.message)


def _answer(written: list[Any]) -> Answer:
    match written:
        case ["value", value]:
            return Value(value)
        case ["error", str(kind), str(message)]:
            return Error(kind, message)
        case _:
            raise ValueError(written)
