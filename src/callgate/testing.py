"""For tests of tools and agents: a gate in memory, a clock turned by hand, approvers that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from callgate.model.approval import Approval
from callgate.model.levels import Assurance
from callgate.ports import Answer
from callgate.runtime.gate import Callgate

_EPOCH = 1_750_000_000.0


class HandClock:
    """A clock that stands still until `turn` moves it."""

    def __init__(self, now: float = _EPOCH) -> None:
        self._now = now
        self._monotonic = 0.0

    def now(self) -> float:
        """Seconds since the epoch, as far as this clock was turned."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self._monotonic

    def turn(self, seconds: float) -> None:
        """Let so much time pass; negative moves only the wall clock, as a wall clock can."""
        self._now += seconds
        self._monotonic += max(0.0, seconds)


class ScriptedApprover:
    """Answers questions by a script: one answer after the other, or a function of the approval.

    `seen` has every question that was asked. When the script is used up, nobody answers and calls stay pending.
    """

    def __init__(
        self,
        *answers: Answer | str,
        decide: Callable[[Approval], Answer | str] | None = None,
        by: str = "tester",
        assurance: Assurance = Assurance.LOCAL,
    ) -> None:
        self._answers: list[Answer | str] = list(answers)
        self._decide = decide
        self._by = by
        self._assurance = assurance
        self.seen: list[Approval] = []
        self.told: list[str] = []
        """Why answers did not count."""

    @property
    def assurance(self) -> Assurance:
        """How certain it is who answers."""
        return self._assurance

    async def ask(self, approval: Approval) -> Answer:
        """The next answer of the script."""
        self.seen.append(approval)
        if self._decide is not None:
            answer: Answer | str = self._decide(approval)
        else:
            answer = self._answers.pop(0) if self._answers else "wait"
        given = Answer(answer) if isinstance(answer, str) else answer
        return given if given.by else given._replace(by=self._by)

    def tell(self, message: str) -> None:
        """Remember why the answer did not count."""
        self.told.append(message)


def memory_gate(
    *tools: Any, clock: HandClock | None = None, answers: Iterable[Answer | str] = (), **options: Any
) -> Callgate:
    """An unopened gate on a memory store with these tools added; `answers` makes a scripted approver.

    Args:
        tools: Whatever `gate.add` takes.
        clock: A clock turned by hand; the machine's when left out.
        answers: What the person says, one after the other: "approve", "reject", or `Answer` values.
        options: Everything else `Callgate.open` takes.
    """
    script = list(answers)
    if script:
        options.setdefault("ask", ScriptedApprover(*script))
    gate = Callgate.open(options.pop("store", "memory://"), clock=clock, **options)
    if tools:
        gate.add(*tools)
    return gate
