"""Layer: one level of policy. A layer can only narrow what the levels before it allow."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from callgate.model.levels import Assurance, Autonomy, Risk, Verdict


class LayerKind(enum.StrEnum):
    """The four levels, outermost first."""

    GLOBAL = "global"
    ROLE = "role"
    TASK = "task"
    DELEGATION = "delegation"


class ConfirmBy(enum.StrEnum):
    """Who has to confirm: the user, somebody else, or two people."""

    USER = "user"
    OTHER = "other"
    TWO = "two"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A stricter answer for the calls it matches. A rule never loosens."""

    match: str
    """A selector: a tool name, a glob, `group:…`, `category:…`, `source:…`."""
    when: str | None = None
    """A CEL condition over `args`, `tool`, `context`, `labels`; anything but False counts as true."""
    verdict: Verdict | None = None
    """At least this verdict."""
    risk: Risk | None = None
    """At least this risk."""
    by: ConfirmBy | None = None
    assurance: Assurance | None = None
    """The least assurance a decision about this call needs."""
    on_expiry: str | None = None
    """`proceed` makes the question a veto window, where the tool has `undo`."""
    why: str = ""
    """Shown to the person who reads the decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One level of policy: who is let in, who is kept out, and the ceilings."""

    name: str
    kind: LayerKind = LayerKind.DELEGATION
    allow: tuple[str, ...] | None = None
    """Selectors let in; None inherits (in a role: admits nothing), an empty tuple admits nothing."""
    deny: tuple[str, ...] = ()
    """Selectors kept out; deny wins."""
    max_autonomy: Autonomy | None = None
    max_risk: Risk | None = None
    rules: tuple[Rule, ...] = ()
