"""For tests of tools and agents: a gate in memory, a clock turned by hand, approvers that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from callgate.approvals.answer import fault_of
from callgate.errors import ConfigurationError
from callgate.model.approval import Approval
from callgate.model.levels import Assurance
from callgate.ports import Answer
from callgate.runtime.gate import Callgate
from callgate.settings.values import Settings

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

    Args:
        answers: "approve", "reject", "wait" (nobody answers), or `Answer` values, also of the kinds "respond" (with
            its text) and "edit" (with the arguments).
        decide: Gives the answer to a question. What is none leaves the question open, and is in `told`; so is what it
            raises, a failed assertion of a test as well.
        by: Who answers.
        assurance: How certain that is.

    Raises:
        ConfigurationError: Something in the script is no answer.
    """

    def __init__(
        self,
        *answers: Answer | str,
        decide: Callable[[Approval], Answer | str] | None = None,
        by: str = "tester",
        assurance: Assurance = Assurance.LOCAL,
    ) -> None:
        self._answers = [_answer(each) for each in answers]
        self._decide = decide
        self._by = by
        self._assurance = assurance
        self.seen: list[Approval] = []
        self.told: list[str] = []
        """Why answers did not count, what was none, and what `decide` raised."""

    @property
    def assurance(self) -> Assurance:
        """How certain it is who answers."""
        return self._assurance

    async def ask(self, approval: Approval) -> Answer:
        """The next answer of the script."""
        self.seen.append(approval)
        if self._decide is not None:
            given = self._decided(approval)
        else:
            given = self._answers.pop(0) if self._answers else Answer("wait")
        return given if given.by else given._replace(by=self._by)

    def _decided(self, approval: Approval) -> Answer:
        assert self._decide is not None  # noqa: S101 - asked by the caller
        try:
            return _answer(self._decide(approval))
        except Exception as error:
            # The gate leaves the question open, whatever broke: a test finds an assertion of its own here.
            self.told.append(
                str(error) if isinstance(error, ConfigurationError) else f"{type(error).__name__}: {error}"
            )
            raise

    def tell(self, message: str) -> None:
        """Remember why the answer did not count."""
        self.told.append(message)


def _answer(given: Answer | str) -> Answer:
    """What a script says, as an answer. Another word would read as a no, and a test of a refusal pass by mistake."""
    answer = Answer(given) if isinstance(given, str) else given
    fault = fault_of(answer)
    if fault is not None:
        raise ConfigurationError(fault)
    return answer


def memory_gate(
    *tools: Any, clock: HandClock | None = None, answers: Iterable[Answer | str] = (), **options: Any
) -> Callgate:
    """An unopened gate on a memory store with these tools added; `answers` makes a scripted approver.

    It is the same in whatever folder a test is run: `./callgate.yaml` is read only where `config` names it.

    Args:
        tools: Whatever `gate.add` takes.
        clock: A clock turned by hand; the machine's when left out.
        answers: What the person says, one after the other, as `ScriptedApprover` takes it: "approve", "reject",
            "wait", or `Answer` values.
        options: Everything else `Callgate.open` takes; without `config`, a gate of tests has no configuration file.

    Raises:
        ConfigurationError: Something given here cannot be.
    """
    script = list(answers)
    if script:
        options.setdefault("ask", ScriptedApprover(*script))
    if options.get("config") is None:
        options["config"] = Settings()
    gate = Callgate.open(options.pop("store", "memory://"), clock=clock, **options)
    if tools:
        gate.add(*tools)
    return gate
