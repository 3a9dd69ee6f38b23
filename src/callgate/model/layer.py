"""Layer: one level of policy. A layer can only narrow what the levels before it allow."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.model.words import member, several, texts

_EXPIRIES = (None, "reject", "proceed")


class LayerKind(enum.StrEnum):
    """The four levels, outermost first."""

    GLOBAL = "global"
    ROLE = "role"
    TASK = "task"
    DELEGATION = "delegation"


class ConfirmBy(enum.StrEnum):
    """Who has to confirm: the user, somebody else, or two people. Each asks for more than the one before it."""

    USER = "user"
    OTHER = "other"
    TWO = "two"

    @property
    def strictness(self) -> int:
        """Its place in that order; compared as they are, they would stand as their words do in a dictionary."""
        return list(ConfirmBy).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A stricter answer for the calls it matches. A rule never loosens.

    Raises:
        ValueError: It has a word that is none; `verdict="deny"` is read.
    """

    match: str
    """A selector: a tool name, a glob, `group:…`, `category:…`, `source:…`."""
    when: str | None = None
    """A CEL condition over `args`, `tool`, `context`; anything but False counts as true."""
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

    def __post_init__(self) -> None:
        _read_words(self, verdict=Verdict, risk=Risk, by=ConfirmBy, assurance=Assurance)
        for name in ("match", "when", "why"):
            text: Any = getattr(self, name)
            if not isinstance(text, str) and (name != "when" or text is not None):
                message = f"{name} of a rule must be text, not {text!r}"
                raise ValueError(message)
        if self.on_expiry not in _EXPIRIES:
            message = f"on_expiry must be reject or proceed, not {self.on_expiry!r}"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One level of policy: who is let in, who is kept out, and the ceilings.

    Raises:
        ValueError: It has a word that is none (`kind="role"` is read, and a bare text is one selector), or something
            else than several selectors or rules. Lists of them are taken as they are when it is made.
    """

    name: str
    kind: LayerKind = LayerKind.DELEGATION
    allow: tuple[str, ...] | None = None
    """Selectors let in; None inherits (in a role: admits nothing), an empty tuple admits nothing."""
    deny: tuple[str, ...] = ()
    """Selectors kept out; deny wins."""
    max_autonomy: Autonomy | None = None
    max_risk: Risk | None = None
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        if type(self.kind) is not LayerKind:
            object.__setattr__(self, "kind", member(LayerKind, self.kind, name="kind"))
        _read_words(self, max_autonomy=Autonomy, max_risk=Risk)
        if self.allow is not None:
            object.__setattr__(self, "allow", _selectors(self.allow, name="allow"))
        object.__setattr__(self, "deny", _selectors(self.deny, name="deny"))
        object.__setattr__(self, "rules", several(self.rules, Rule, name="rules"))
        name: Any = self.name
        if not isinstance(name, str):
            message = f"name of a layer must be text, not {name!r}"
            raise ValueError(message)  # noqa: TRY004 - as for every other fault in it


def _selectors(given: Any, *, name: str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else texts(given, name=name)


def _read_words(of: Rule | Layer, **kinds: type[enum.Enum]) -> None:
    for name, kind in kinds.items():
        given: Any = getattr(of, name)
        if given is not None and type(given) is not kind:
            object.__setattr__(of, name, member(kind, given, name=name))
