"""A context as JSON and back, for the sealed table: `resume` runs under the asker's own context."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any

from callgate.model.context import Context
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Caller, Risk, Verdict

_PLAIN = tuple(
    field.name
    for field in fields(Context)
    if field.init and field.name not in {"scopes", "autonomy", "caller", "layers", "outer_directories"}
)
_PERHAPS = tuple(name for name in _PLAIN if getattr(Context(), name) is None)
_ALWAYS = tuple(name for name in _PLAIN if name not in _PERHAPS)
_NONE_SET = (None,) * len(_PERHAPS)
_perhaps_values, _always_values = attrgetter(*_PERHAPS), attrgetter(*_ALWAYS)
_RULE_LEVELS = {"verdict": Verdict, "risk": Risk, "assurance": Assurance}
_LAYER_LEVELS = {"max_autonomy": Autonomy, "max_risk": Risk}


def context_to_json(context: Context) -> dict[str, Any]:
    """Everything but what is derived, and what is not set."""
    body: dict[str, Any] = dict(zip(_ALWAYS, _always_values(context), strict=True))
    perhaps = _perhaps_values(context)
    if perhaps != _NONE_SET:
        body |= {name: value for name, value in zip(_PERHAPS, perhaps, strict=True) if value is not None}
    if context.scopes is not None:
        body["scopes"] = sorted(context.scopes)
    if context.autonomy is not None:
        body["autonomy"] = context.autonomy.label
    if context.outer_directories:
        body["outer_directories"] = list(context.outer_directories)
    body["caller"] = context.caller._value_
    body["layers"] = [_layer_to_json(layer) for layer in context.layers] if context.layers else []
    return body


def context_from_json(body: dict[str, Any]) -> Context:
    """The context that was written."""
    plain = {name: body[name] for name in _PLAIN if name in body}
    return Context(
        **plain,
        scopes=None if body.get("scopes") is None else frozenset(body["scopes"]),
        autonomy=None if body.get("autonomy") is None else Autonomy[body["autonomy"]],
        outer_directories=tuple(body.get("outer_directories", ())),
        caller=Caller(body["caller"]),
        layers=tuple(_layer_from_json(layer) for layer in body["layers"]),
    )


def _layer_to_json(layer: Layer) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": layer.name,
        "kind": layer.kind.value,
        "allow": None if layer.allow is None else list(layer.allow),
        "deny": list(layer.deny),
        "rules": [_rule_to_json(rule) for rule in layer.rules],
    }
    return body | {name: _label(getattr(layer, name)) for name in _LAYER_LEVELS}


def _layer_from_json(body: dict[str, Any]) -> Layer:
    return Layer(
        name=body["name"],
        kind=LayerKind(body["kind"]),
        allow=None if body["allow"] is None else tuple(body["allow"]),
        deny=tuple(body["deny"]),
        rules=tuple(_rule_from_json(rule) for rule in body["rules"]),
        max_autonomy=None if body["max_autonomy"] is None else Autonomy[body["max_autonomy"]],
        max_risk=None if body["max_risk"] is None else Risk[body["max_risk"].upper()],
    )


def _rule_to_json(rule: Rule) -> dict[str, Any]:
    body: dict[str, Any] = {name: getattr(rule, name) for name in ("match", "when", "on_expiry", "why")}
    body["by"] = None if rule.by is None else rule.by.value
    return body | {name: _label(getattr(rule, name)) for name in _RULE_LEVELS}


def _rule_from_json(body: dict[str, Any]) -> Rule:
    levels = {name: None if body[name] is None else scale[body[name].upper()] for name, scale in _RULE_LEVELS.items()}
    plain = {name: body[name] for name in ("match", "when", "on_expiry", "why")}
    return Rule(**plain, by=None if body["by"] is None else ConfirmBy(body["by"]), **levels)  # pyright: ignore[reportArgumentType]


def _label(level: Any) -> str | None:
    return None if level is None else level.label
