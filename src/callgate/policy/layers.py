"""Layers: what each level of policy lets in and keeps out.

A layer can only narrow, by construction: a tool passes when every layer admits it, and no layer sees what another said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from callgate.errors import ConfigurationError
from callgate.model.decision import Reason
from callgate.model.layer import Layer, LayerKind, Rule
from callgate.model.levels import Verdict
from callgate.model.tool import Tool
from callgate.policy.conditions import Condition, Held, Subject, compile_condition
from callgate.policy.selection import Selection, select


@dataclass(frozen=True, slots=True, eq=False)
class CompiledRule:
    """A rule, the layer it stands in, and its condition."""

    rule: Rule
    layer: Layer
    selection: Selection
    condition: Condition | None = None
    configured: bool = False
    """Whether the operator wrote it into the configuration, and not a context of a call."""
    fault: str = ""
    """Why it cannot be read; then it counts as a deny."""

    @property
    def step(self) -> str:
        """Where its reasons say they come from."""
        return f"layer:{self.layer.name}"

    @property
    def verdict(self) -> Verdict | None:
        """The least verdict it asks for."""
        return Verdict.DENY if self.fault else self.rule.verdict

    def names(self, tool: Tool) -> bool:
        """Whether it is about this tool at all."""
        return self.selection.first(tool) is not None

    def holds(self, subject: Subject) -> Held:
        """Whether it applies to this call."""
        return Held(applies=True) if self.condition is None else self.condition.holds(subject)

    def told(self, held: Held) -> str:
        """The rule in words, with why it was written and whether its condition could be judged."""
        text = self.fault or f"a rule of the {self.layer.kind} layer {self.layer.name!r} for {self.rule.match}"
        if self.rule.when is not None and not self.fault:
            text += f" applies when {self.rule.when}"
        if not held.certain:
            text += f", which could not be judged ({held.note}) and counts as true"
        return f"{text}: {self.rule.why}" if self.rule.why else text


@dataclass(frozen=True, slots=True, eq=False)
class CompiledLayer:
    """One level of policy, ready to be asked."""

    layer: Layer
    allow: Selection | None
    deny: Selection
    rules: tuple[CompiledRule, ...]

    @property
    def title(self) -> str:
        """The layer in words."""
        return f"the {self.layer.kind} layer {self.layer.name!r}"

    def admits(self, tool: Tool) -> bool:
        """Whether this layer admits the tool: what `judge` says, without the words."""
        if self.deny.first(tool) is not None:
            return False
        if self.allow is None:
            return self.layer.kind is not LayerKind.ROLE
        return self.allow.first(tool) is not None

    def judge(self, tool: Tool) -> Reason:
        """Whether this layer admits the tool, and by which selector."""
        denied = self.deny.first(tool)
        if denied is not None:
            fault = f" (which cannot be read: {denied.fault})" if denied.fault else ""
            return self._refuse(f"{self.title} denies {tool.name} by {denied.text}{fault}; a deny always wins")
        if self.allow is None:
            return self._inherit(tool)
        allowed = self.allow.first(tool)
        if allowed is not None:
            return Reason(f"layer:{self.layer.name}", f"{self.title} allows {tool.name} by {allowed.text}")
        return self._refuse(self._not_allowed(tool, self.allow))

    def _inherit(self, tool: Tool) -> Reason:
        if self.layer.kind is LayerKind.ROLE:
            advice = f"a role without allow admits nothing; add {tool.name} to its allow"
            return self._refuse(f"{self.title} does not allow {tool.name}: {advice}")
        return Reason(f"layer:{self.layer.name}", f"{self.title} has no allow of its own and adds no limit")

    def _not_allowed(self, tool: Tool, allow: Selection) -> str:
        faults = "; ".join(f"{entry.text} cannot be read: {entry.fault}" for entry in allow.faults)
        listed = ", ".join(entry.text for entry in allow.entries) or "nothing"
        text = f"{self.title} allows {listed}, which does not name {tool.name}; add it to that allow to admit it"
        return f"{text} ({faults})" if faults else text

    def _refuse(self, text: str) -> Reason:
        return Reason(f"layer:{self.layer.name}", text, Verdict.DENY, "policy_denied")


def compile_layer(layer: Layer, *, key: str | None = None) -> CompiledLayer:
    """Compile a layer.

    What cannot be read narrows: an allow that admits nothing, a deny and a rule that hold for everything. With a
    `key`, the layer's place in the configuration, it is an error instead.

    Raises:
        ConfigurationError: A selector or condition of the configuration cannot be read.
    """
    allow = None if layer.allow is None else select(layer.allow, lets_in=True)
    deny = select(layer.deny, lets_in=False)
    rules = tuple(_compile_rule(rule, layer, key=_at(key, f"rules[{at}]")) for at, rule in enumerate(layer.rules))
    if key is not None:
        _refuse_faults(allow or Selection(), key=f"{key}.allow")
        _refuse_faults(deny, key=f"{key}.deny")
    return CompiledLayer(layer, allow, deny, rules)


def resolve(layers: Sequence[Layer], tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The tools that every one of the layers admits, in the order they came in."""
    compiled = [compile_layer(layer) for layer in layers]
    return tuple(tool for tool in tools if all(layer.admits(tool) for layer in compiled))


def _compile_rule(rule: Rule, layer: Layer, *, key: str | None) -> CompiledRule:
    selection = select(rule.match, lets_in=False)
    configured = key is not None
    if key is not None:
        _refuse_faults(selection, key=f"{key}.match")
    try:
        condition = None if rule.when is None else compile_condition(rule.when, key=_at(key, "when"))
    except ConfigurationError as error:
        if configured:
            raise
        return CompiledRule(rule, layer, selection, fault=f"a rule for {rule.match} cannot be read: {error.message}")
    if selection.faults:
        fault = f"a rule names {rule.match}, which cannot be read: {selection.faults[0].fault}"
        return CompiledRule(rule, layer, selection, fault=fault)
    return CompiledRule(rule, layer, selection, condition, configured=configured)


def _at(key: str | None, part: str) -> str | None:
    return None if key is None else f"{key}.{part}"


def _refuse_faults(selection: Selection, *, key: str) -> None:
    for at, entry in enumerate(selection.entries):
        if entry.fault:
            place = key if key.endswith("match") else f"{key}[{at}]"
            raise ConfigurationError(entry.fault, key=place)
