"""Reads layers: `global`, the roles, and their rules. Selectors are read; who knows CEL is asked about conditions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from callgate.errors import ConfigurationError
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, MapOf, NotBuilt, Reading
from callgate.settings.leaves import Choice, Text
from callgate.settings.nodes import Node
from callgate.settings.read_scopes import ScopeName
from callgate.settings.selectors import LONGEST, PATTERN, parse_selector
from callgate.settings.values import Role
from callgate.settings.wording import quote

AUTONOMY = Choice({level.label: level for level in Autonomy})
CONFIRM_BY = Choice({who.value: who for who in ConfirmBy})
_RISK = Choice({risk.label: risk for risk in Risk})
_ASSURANCE = Choice({assurance.label: assurance for assurance in Assurance})
_VERDICT = Choice(
    {verdict.label: verdict for verdict in Verdict if verdict is not Verdict.ALLOW},
    refused={"allow": "a rule never loosens, so its verdict is never allow; write confirm, preview or deny"},
)
_ASKING = ("by", "assurance", "on_expiry")
_ROLE_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"


def _selector(text: str) -> str:
    parse_selector(text)
    return text


SELECTOR = Text(
    pattern=PATTERN, needs="a tool name, a glob, group:…, category:… or source:…", parse=_selector, longest=LONGEST
)
_SELECTORS = ListOf(SELECTOR)


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition, as far as anybody here can tell whether it is one."""

    text: Text

    def read(self, node: Node, reading: Reading) -> str:
        condition: str = self.text.read(node, reading)
        if reading.check_condition is not None:
            try:
                reading.check_condition(condition)
            except ConfigurationError as error:
                raise Fault(error.message) from None
        return condition

    def schema(self) -> dict[str, Any]:
        return self.text.schema()


def _build_rule(fields: Fields, _: Reading) -> Rule:
    verdict = fields.get("verdict")
    asking = [name for name in _ASKING if name in fields]
    if verdict is None and "risk" not in fields and not asking:
        raise Fault("the rule asks for nothing; give it a verdict, a risk, by, assurance or on_expiry")
    if asking and verdict in {Verdict.PREVIEW, Verdict.DENY}:
        raise Fault(f"{verdict} asks nobody, so {', '.join(asking)} has no meaning here; leave it out")
    return Rule(**fields)


_RULE = Block(
    {
        "match": Key(SELECTOR, "The tools it is for.", required=True),
        "when": Key(
            _Condition(Text(needs="a CEL condition", longest=4000)),
            "A CEL condition over args, tool and context; anything but false counts as true.",
        ),
        "verdict": Key(_VERDICT, "At least this verdict."),
        "risk": Key(_RISK, "At least this risk."),
        "by": Key(CONFIRM_BY, "Who confirms: the user, somebody else, or two people."),
        "assurance": Key(_ASSURANCE, "How certain it must at least be who decided."),
        "on_expiry": Key(
            Choice({"reject": "reject", "proceed": "proceed"}),
            "What happens when nobody decides; proceed is a veto window, for tools that have undo.",
            "reject",
        ),
        "why": Key(Text(longest=500), "The reason, for the person who reads the decision."),
    },
    _build_rule,
)

_LAYER_KEYS = {
    "allow": Key(_SELECTORS, "Tools let in."),
    "deny": Key(_SELECTORS, "Tools kept out; deny wins."),
    "rules": Key(ListOf(_RULE), "Stricter answers for some calls."),
    "max_autonomy": Key(AUTONOMY, "The most autonomy a call has here."),
    "max_risk": Key(_RISK, "Calls of more risk are denied."),
    "limits": Key(NotBuilt("limits"), "Limits on calls, concurrency and amounts; not in this version."),
}


def _build_global(fields: Fields, _: Reading) -> Layer:
    return Layer(name="global", kind=LayerKind.GLOBAL, **fields)


GLOBAL = Block(_LAYER_KEYS, _build_global)


def _build_role(fields: Fields, _: Reading) -> Fields:
    autonomy, most = fields.get("autonomy"), fields.get("max_autonomy")
    if autonomy is not None and most is not None and autonomy > most:
        raise Fault(f"autonomy {autonomy} is above max_autonomy {most}; lower it, or leave it out")
    return fields


def _check_role_name(name: str) -> None:
    if not re.fullmatch(_ROLE_NAME, name):
        raise Fault(f"{quote(name)} is no name of a role; one has letters, digits, _, - and dots")


ROLES = MapOf(
    Block(
        {
            "scopes": Key(ListOf(ScopeName()), "Scopes it gives: family:verb, family:* or *.", []),
            "autonomy": Key(AUTONOMY, "Its autonomy when the context says nothing."),
            **_LAYER_KEYS,
        },
        _build_role,
    ),
    pattern=_ROLE_NAME,
    check=_check_role_name,
)


def make_role(name: str, fields: Fields) -> Role:
    """The role of that name; what is no scope and no autonomy belongs to its layer."""
    own: dict[str, Any] = {key: value for key, value in fields.items() if key in {"scopes", "autonomy"}}
    if "scopes" in own:
        own["scopes"] = frozenset(own["scopes"])
    rest = {key: value for key, value in fields.items() if key not in own}
    return Role(name=name, layer=Layer(name=name, kind=LayerKind.ROLE, **rest), **own)
