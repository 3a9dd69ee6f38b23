"""Terms: working out what holds for every call of one tool under one authority: ceilings, rules, observe modes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from callgate.model.context import Context
from callgate.model.decision import Reason
from callgate.model.levels import Autonomy, Origin, Risk, Verdict
from callgate.model.tool import Tool
from callgate.policy.admission import Admission
from callgate.policy.answers import Terms
from callgate.policy.layers import CompiledLayer, CompiledRule
from callgate.settings.values import Observe, Settings

_ORIGINS = frozenset(origin.value for origin in Origin)


class _Level(NamedTuple):
    autonomy: Autonomy
    known: bool
    notes: tuple[Reason, ...]


def work_out(tool: Tool, context: Context, *, admission: Admission, settings: Settings) -> Terms:
    """Everything a decision needs that no argument can change."""
    layers = admission.layers(context)
    level = _level(_asked(context, admission, settings=settings), layers)
    max_risk, max_risk_layer = _lowest_risk(layers)
    rules = tuple(admission.rules(tool, context))
    refusing = tuple(rule for rule in rules if _refuses_before_the_gate(rule))
    return Terms(
        autonomy=level.autonomy,
        autonomy_known=level.known,
        notes=level.notes,
        max_risk=max_risk,
        max_risk_layer=max_risk_layer,
        rules=tuple(rule for rule in rules if not _refuses_before_the_gate(rule)),
        refusing=refusing,
        observed=tuple(mode for mode in settings.observe if observes(mode, tool)),
        reach=admission.reaches.of(tool),
    )


def _asked(context: Context, admission: Admission, *, settings: Settings) -> Any:
    if context.autonomy is not None:
        return context.autonomy
    role = admission.roles.get(context.role)
    return settings.autonomy if role is None or role.autonomy is None else role.autonomy


def _level(asked: Any, layers: Iterable[CompiledLayer]) -> _Level:
    try:
        level = Autonomy(asked)
    except ValueError:
        return _Level(Autonomy.A0, known=False, notes=(Reason("matrix", "the level of autonomy is none there is"),))
    notes: list[Reason] = []
    for layer in layers:
        ceiling = layer.layer.max_autonomy
        if ceiling is not None and ceiling < level:
            notes.append(
                Reason(f"layer:{layer.layer.name}", f"{layer.title} lowers the autonomy from {level} to {ceiling}")
            )
            level = ceiling
    return _Level(level, known=True, notes=tuple(notes))


def _lowest_risk(layers: Iterable[CompiledLayer]) -> tuple[Risk | None, str]:
    ceilings = ((layer.layer.max_risk, layer.layer.name) for layer in layers if layer.layer.max_risk is not None)
    return min(ceilings, key=lambda ceiling: ceiling[0], default=(None, ""))


def _refuses_before_the_gate(rule: CompiledRule) -> bool:
    return rule.verdict is Verdict.DENY and rule.condition is not None


def observes(mode: Observe, tool: Tool) -> bool:
    """Whether an observe mode names the tool: by `*`, by its origin, or by the name of its source."""
    if mode.source == "*":
        return True
    prefix, _, name = mode.source.partition(":")
    if prefix != "source":
        return False
    return tool.source.value == name if name in _ORIGINS else bool(name) and tool.source_name == name
