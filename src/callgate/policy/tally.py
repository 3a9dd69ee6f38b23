"""Tally: a decision while it is being worked out. It only gets stricter, and remembers why."""

from __future__ import annotations

from dataclasses import dataclass, field

from callgate.model.decision import Reason
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Verdict


@dataclass(slots=True)
class Tally:
    """The strictest answer so far, and what a confirm needs."""

    by: ConfirmBy
    verdict: Verdict = Verdict.ALLOW
    assurance: Assurance = Assurance.ASSERTED
    plus: bool = False
    standing_answer: bool = True
    """Whether a grant may answer the confirm."""
    silence_answers: bool = True
    """Whether nobody's veto may."""
    reasons: list[Reason] = field(default_factory=list[Reason])

    def at_least(self, verdict: Verdict, *, step: str, text: str) -> None:
        """This verdict or a stricter one."""
        self.reasons.append(Reason(step, text, verdict, "gate_denied" if verdict is Verdict.DENY else ""))
        self.verdict = max(self.verdict, verdict)

    def ask_a_person(self, *, step: str, text: str) -> None:
        """At least confirm, and silence is no answer."""
        self.at_least(Verdict.CONFIRM, step=step, text=text)
        self.silence_answers = False

    def needs(self, *, by: ConfirmBy | None = None, assurance: Assurance | None = None) -> None:
        """A confirm by these people, and this certain who they are."""
        if by is not None and by.strictness > self.by.strictness:
            self.by = by
        if assurance is not None:
            self.assurance = max(self.assurance, assurance)

    def ask_anew(self) -> None:
        """No standing answer counts: a person looks at this very call."""
        self.standing_answer = False

    @property
    def grantable(self) -> bool:
        """Whether a grant may answer: one person's standing word is no second person, and proves no identity."""
        alone = self.by is ConfirmBy.USER and self.assurance is Assurance.ASSERTED
        return self.standing_answer and alone and not self.plus
