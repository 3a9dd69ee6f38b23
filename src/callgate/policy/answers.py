"""Answers: what the policy says at each step of a call, and what it needs to be told. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from callgate.model.decision import Decision, Reason
from callgate.model.levels import Autonomy, Risk
from callgate.model.tool import Tool
from callgate.policy.layers import CompiledRule
from callgate.policy.reach import Reach
from callgate.policy.showing import show
from callgate.settings.values import Observe


class Facts(NamedTuple):
    """What a decision depends on beyond the call and the policy."""

    now: float
    """Seconds since the epoch."""
    repeated: bool = False
    """An identical call of this session succeeded within the window."""
    unknown: str = ""
    """The key of an identical call of this session whose outcome is unknown; empty if there is none."""
    label_reasons: tuple[Reason, ...] = ()
    """Why the session's labels tighten this call: with a verdict, at least that; those without one, together, raise
    the risk by a level."""
    persons: tuple[str, ...] = ()
    """Who is known to be able to decide."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """What the policy has worked out about one tool for one authority, before any arguments are known."""

    autonomy: Autonomy
    """After every ceiling."""
    autonomy_known: bool
    """False when the context's level is none there is, which denies."""
    notes: tuple[Reason, ...] = ()
    """Ceilings that lowered the autonomy."""
    max_risk: Risk | None = None
    """The lowest ceiling on risk."""
    max_risk_layer: str = ""
    rules: tuple[CompiledRule, ...] = ()
    """Judged at the gate."""
    refusing: tuple[CompiledRule, ...] = ()
    """Denials with a condition, judged before it."""
    observed: tuple[Observe, ...] = ()
    """Observe modes that name the tool; whether one still runs, the clock says."""
    reach: Reach | None = None
    """Which arguments name paths and hosts; None when none can."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """Whether this authority may use this tool at all, and what follows for every call of it."""

    tool: Tool
    refusal: Reason | None
    """The first reason to refuse, with its code."""
    reasons: tuple[Reason, ...]
    """Every reason to refuse."""
    terms: Terms
    risk: Risk
    """The least risk a call of it has, whatever its arguments."""
    fixed: Decision | None = None
    """The complete decision, when neither arguments nor time nor labels can change it."""
    lasting: bool = False
    """Whether only a repetition, the hour and labels can change the decision."""
    decided: dict[tuple[bool, bool], Decision] = field(default_factory=dict[tuple[bool, bool], Decision])
    """Of a lasting one, the decisions made so far: by whether it is a repetition, and whether the hours are quiet."""
    touches_nothing: bool = field(init=False)
    """Derived: no argument of a call can make it refused."""
    always_allowed: bool = field(init=False)
    """Derived: the complete decision is known, and it is a yes."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "touches_nothing", self.terms.reach is None and not self.terms.refusing)
        put(self, "always_allowed", self.fixed is not None and self.fixed.allowed)

    @property
    def autonomy(self) -> Autonomy:
        """The autonomy that counts, after every ceiling."""
        return self.terms.autonomy

    def told_to(self, principal: str) -> Standing:
        """The same answer, naming who asked; the answer itself is shared by everyone of one authority."""
        reasons = tuple(name_asker(reason, principal) for reason in self.reasons)
        return replace(self, refusal=reasons[0] if reasons else None, reasons=reasons)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Authorization:
    """What the arguments of one call mean for the question who may do it."""

    refusal: Reason | None = None
    reasons: tuple[Reason, ...] = ()
    resources: tuple[str, ...] = ()
    """What it will touch, resolved: `path:/abs/…`, `host:example.com`."""


NOTHING_TOUCHED = Authorization()

ASKER = "{asker}"
"""Stands in a cached reason where the asker's name belongs."""


def name_asker(reason: Reason, principal: str) -> Reason:
    """The reason with the asker's name in its place."""
    if reason.code != "scope_violation":
        return reason
    return replace(reason, text=reason.text.replace(ASKER, show(principal)))
