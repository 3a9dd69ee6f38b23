"""Decision: allow, confirm, preview or deny, with every reason that led there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from callgate.model.canonical import dumps
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that led to a decision, in words a person can read."""

    step: str
    """Where it was found: resolve, validate, declaration, role, scopes, layer:<name>, callers, context, resources,
    check, recall, risk, override, matrix, observe, grant, stopped.
    """
    text: str
    verdict: Verdict | None = None
    """The answer this reason asks for, where it asks for one."""
    code: str = ""
    """The error code, where it refuses."""
    raises: bool = False
    """Whether it made the risk higher than what was declared: a person who is asked is shown it."""

    def to_json(self) -> dict[str, Any]:
        """For events, approvals and the API."""
        body: dict[str, Any] = {"step": self.step, "text": self.text}
        if self.verdict is not None:
            body["verdict"] = self.verdict.label
        if self.code:
            body["code"] = self.code
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the gate answers to one call, and why."""

    verdict: Verdict
    risk: Risk
    autonomy: Autonomy
    reasons: tuple[Reason, ...] = ()
    code: str = ""
    """Why it is refused, as an error code; empty unless the verdict is deny."""
    by: ConfirmBy = ConfirmBy.USER
    assurance: Assurance = Assurance.ASSERTED
    """The least assurance a confirm needs."""
    plus: bool = False
    """The *confirm +* of the matrix: a signed-in person, and another than the user where there is one."""
    grantable: bool = True
    """Whether a standing grant may answer this confirm."""
    on_expiry: str = "reject"
    observed: Verdict | None = None
    """In observe mode: what would have been decided."""
    _written: orjson.Fragment | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def allowed(self) -> bool:
        """Whether the call may run without asking anyone."""
        return self.verdict is Verdict.ALLOW

    @property
    def asks(self) -> tuple[str, ...]:
        """The reasons that ask for something, in words; where a person is asked and none says why, the matrix."""
        strict = tuple(each.text for each in self.reasons if each.verdict is not None and each.verdict > Verdict.ALLOW)
        if strict or self.allowed:
            return strict
        return (f"risk {self.risk.label} at autonomy {self.autonomy.label} needs a person",)

    @property
    def written(self) -> orjson.Fragment:
        """`to_json` in canonical bytes, made once: most calls share their decision with many others."""
        found = self._written
        if found is None:
            found = orjson.Fragment(dumps(self.to_json()))
            object.__setattr__(self, "_written", found)
        return found

    def to_json(self) -> dict[str, Any]:
        """For events, approvals and the API."""
        body: dict[str, Any] = {
            "verdict": self.verdict.label,
            "risk": self.risk.label,
            "autonomy": self.autonomy.label,
            "reasons": [reason.to_json() for reason in self.reasons],
        }
        if self.code:
            body["code"] = self.code
        if self.verdict is Verdict.CONFIRM:
            body |= {"by": self.by.value, "assurance": self.assurance.label, "plus": self.plus}
        if self.observed is not None:
            body["observed"] = self.observed.label
        return body
