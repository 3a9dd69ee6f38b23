"""What a role gives, as JSON: the same at every door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.model.layer import Layer, Rule
    from callgate.runtime.overseeing import RoleGiven


def role_to_json(role: RoleGiven) -> dict[str, Any]:
    """A role: its scopes (None is every scope but `secrets:*`), what it lets in and keeps out, and its ceilings."""
    scopes = None if role.scopes is None else list(role.scopes)
    autonomy = None if role.autonomy is None else role.autonomy.label
    # In a role, what it does not say is not allowed.
    allow = {"allow": list(role.layer.allow or ())}
    return {"name": role.name, "scopes": scopes, "autonomy": autonomy} | layer_to_json(role.layer) | allow


def layer_to_json(layer: Layer) -> dict[str, Any]:
    """What a layer lets in (None is what the layers before it do), keeps out, and at most gives."""
    return {
        "allow": None if layer.allow is None else list(layer.allow),
        "deny": list(layer.deny),
        "max_autonomy": None if layer.max_autonomy is None else layer.max_autonomy.label,
        "max_risk": None if layer.max_risk is None else layer.max_risk.label,
        "rules": [_rule(each) for each in layer.rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "match": rule.match,
        "when": rule.when,
        "verdict": None if rule.verdict is None else rule.verdict.label,
        "risk": None if rule.risk is None else rule.risk.label,
        "by": None if rule.by is None else rule.by.value,
        "assurance": None if rule.assurance is None else rule.assurance.label,
        "on_expiry": rule.on_expiry,
        "why": rule.why,
    }
