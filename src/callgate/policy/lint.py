"""Lint: what is wrong, unreachable or forgotten in a configuration, seen beside the tools it governs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from callgate.errors import ConfigurationError
from callgate.model.tool import Tool
from callgate.policy.admission import CompiledRole, compile_roles, undeclared
from callgate.policy.conditions import Condition, named_arguments
from callgate.policy.decide import Decider
from callgate.policy.layers import CompiledLayer, compile_layer
from callgate.policy.risk import base_risk
from callgate.policy.scopes import Families
from callgate.policy.selection import Entry, Selection
from callgate.policy.showing import name_all
from callgate.policy.terms import observes
from callgate.policy.trial import why_never_judged
from callgate.settings.selectors import parse_selector
from callgate.settings.values import OPEN_ROLE, Settings
from callgate.settings.wording import instead, quote

ERROR = "error"
WARNING = "warning"
_COMPUTED = frozenset({"group", "source"})
"""Selectors whose every word is known, so that one which matches nothing is not mistyped."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at."""

    level: str
    """`error` or `warning`."""
    where: str
    """The key in the configuration, or the tool."""
    text: str


class _Listed(NamedTuple):
    """One selector of the configuration, in its place."""

    where: str
    entry: Entry
    layer: CompiledLayer
    part: str
    """`allow`, `deny` or `rules`."""


def check(settings: Settings, tools: Sequence[Tool]) -> list[Finding]:
    """Everything there is to say about a configuration: errors first, then warnings, each in file order."""
    house = _House(settings, tools)
    findings = [*_unreadable(settings, house), *house.selectors(), *house.conditions(), *house.timeouts()]
    findings += house.roles_and_tools()
    return sorted(findings, key=lambda finding: finding.level)


def _unreadable(settings: Settings, house: _House) -> Iterator[Finding]:
    try:
        Decider(settings)
    except ConfigurationError as error:
        yield Finding(ERROR, error.key or "", error.message)
    for listed in house.listed():
        if listed.entry.fault:
            yield Finding(ERROR, listed.where, listed.entry.fault)
    for key, layer in house.layers():
        for at, rule in enumerate(layer.rules):
            if rule.fault and not rule.selection.faults:
                yield Finding(ERROR, f"{key}.rules[{at}].when", rule.fault)


class _House:
    """The layers and roles of a configuration beside all tools."""

    def __init__(self, settings: Settings, tools: Sequence[Tool]) -> None:
        self._settings = settings
        self._tools = tools
        self._names = frozenset(tool.name for tool in tools)
        self._global = None if settings.global_layer is None else compile_layer(settings.global_layer)
        self._roles = compile_roles(settings, strict=False)
        self._families = Families(settings.families)

    def layers(self) -> Iterator[tuple[str, CompiledLayer]]:
        """Every layer with its key."""
        if self._global is not None:
            yield "global", self._global
        if self._settings.roles is not None:
            yield from ((f"roles.{name}", role.layer) for name, role in self._roles.items())

    def listed(self) -> Iterator[_Listed]:
        """Every selector with its place."""
        for key, layer in self.layers():
            for part, selection in (("allow", layer.allow or Selection()), ("deny", layer.deny)):
                for at, entry in enumerate(selection.entries):
                    yield _Listed(f"{key}.{part}[{at}]", entry, layer, part)
            for at, rule in enumerate(layer.rules):
                yield _Listed(f"{key}.rules[{at}].match", rule.selection.entries[0], layer, "rules")

    def selectors(self) -> Iterator[Finding]:
        """Names nobody has, selectors that match nothing, and those that never count."""
        for listed in self.listed():
            if listed.entry.fault:
                continue
            matching = [tool for tool in self._tools if listed.entry.matches(tool)]
            if not matching:
                yield from self._matches_nothing(listed)
            elif not any(self._reachable(tool, listed) for tool in matching):
                what = "admits nothing" if listed.part == "allow" else "never counts"
                names = name_all(tool.name for tool in matching)
                yield Finding(WARNING, listed.where, f"{listed.entry.text} {what}: {names} is refused before it")

    def conditions(self) -> Iterator[Finding]:
        """Arguments that none of the tools of a condition can have, and what no call of theirs can be judged by."""
        for key, layer in self.layers():
            for at, rule in enumerate(layer.rules):
                matching = [tool for tool in self._tools if rule.names(tool)]
                for text in _no_arguments(rule.condition, matching):
                    yield Finding(WARNING, f"{key}.rules[{at}].when", text)
                for text in _never_judged(rule.condition, matching):
                    yield Finding(WARNING, f"{key}.rules[{at}].when", text)

    def roles_and_tools(self) -> Iterator[Finding]:
        """Roles that can do nothing, scopes they lack, and tools that are nobody's or not held to the policy."""
        if OPEN_ROLE.name not in self._roles:
            text = f"there is no role {OPEN_ROLE.name}, so a call that names no role is refused"
            yield Finding(WARNING, "roles", text)
        for name, role in self._roles.items():
            yield from self._role(name, role)
        for tool in self._tools:
            yield from self._tool(tool)

    def timeouts(self) -> Iterator[Finding]:
        """Time limits of tools that nobody has."""
        for name in self._settings.tool_timeouts:
            if name not in self._names:
                yield Finding(ERROR, f"timeouts.tools.{name}", self._no_tool(name))

    def _no_tool(self, name: str) -> str:
        advice = instead(name, sorted(self._names)) if self._names else "there are no tools"
        return f"there is no tool {name}; {advice}"

    def _matches_nothing(self, listed: _Listed) -> Iterator[Finding]:
        """What is probably a slip; a group or a source that has no tool yet is a precaution, and is none."""
        text = listed.entry.text
        kind = parse_selector(text).kind
        if kind == "name":
            yield Finding(ERROR, listed.where, self._no_tool(text))
        elif kind not in _COMPUTED:
            yield Finding(WARNING, listed.where, f"{text} matches no tool")

    def _reachable(self, tool: Tool, listed: _Listed) -> bool:
        """Whether the selector makes a difference for this tool."""
        if listed.part == "deny":
            return listed.layer is self._global or _admits(self._global, tool)
        if listed.part == "rules" and listed.layer is self._global:
            return any(self._admitted(tool, role.layer) for role in self._roles.values())
        return self._admitted(tool, listed.layer)

    def _admitted(self, tool: Tool, layer: CompiledLayer) -> bool:
        return _admits(self._global, tool) and _admits(layer, tool)

    def _role(self, name: str, role: CompiledRole) -> Iterator[Finding]:
        admitted = [tool for tool in self._tools if self._admitted(tool, role.layer)]
        if self._tools and not admitted:
            yield Finding(WARNING, f"roles.{name}", f"the role {name} admits no tool at all")
        for tool in admitted:
            missing = role.granted.lacks(tool.scopes)
            if missing:
                text = (
                    f"the role {name} allows {tool.name} and does not grant {name_all(missing)}, so it cannot call it"
                )
                yield Finding(WARNING, f"roles.{name}.scopes", text)

    def _tool(self, tool: Tool) -> Iterator[Finding]:
        if not tool.declared:
            yield Finding(WARNING, tool.name, undeclared(tool).text)
        elif not any(self._admitted(tool, role.layer) for role in self._roles.values()):
            yield Finding(WARNING, tool.name, f"no role admits {tool.name}")
        yield from self._scopes(tool)
        yield from self._ceilings(tool)
        for mode in self._settings.observe:
            if observes(mode, tool):
                text = f"{tool.name} is in observe mode for {mode.source}: decisions are recorded and not enforced"
                yield Finding(WARNING, tool.name, text)
        if tool.hooks.undo is None:
            yield from self._vetoes(tool)

    def _scopes(self, tool: Tool) -> Iterator[Finding]:
        """Scopes of families that nobody declared: nobody may call the tool, or it is held to all there is."""
        for family in self._families.unknown(tool.scopes):
            mistakes = self._families.mistakes([family])
            advice = f"there is no scope family {quote(family)}, so {tool.name} is held to what fs and net allow"
            yield from (Finding(ERROR, tool.name, f"nobody may call {tool.name}: {text}") for text in mistakes)
            if not mistakes:
                yield Finding(WARNING, tool.name, f"{advice} {self._families.advice(family)}")

    def _ceilings(self, tool: Tool) -> Iterator[Finding]:
        for key, layer in self.layers():
            ceiling, risk = layer.layer.max_risk, base_risk(tool).risk
            if ceiling is not None and risk > ceiling and self._admitted(tool, layer):
                text = f"{tool.name} is of {risk.label} risk, so every call of it is denied"
                yield Finding(WARNING, f"{key}.max_risk", text)

    def _vetoes(self, tool: Tool) -> Iterator[Finding]:
        for key, layer in self.layers():
            for at, rule in enumerate(layer.rules):
                if rule.rule.on_expiry == "proceed" and rule.names(tool):
                    text = f"on_expiry: proceed does not count for {tool.name}, which has no undo"
                    yield Finding(WARNING, f"{key}.rules[{at}].on_expiry", text)


def _no_arguments(condition: Condition | None, tools: Sequence[Tool]) -> Iterator[str]:
    """What no call of these tools can have; nothing is said where one of them may take what it does not name."""
    schemas = [tool.input_schema for tool in tools]
    if not all(schema.get("additionalProperties") is False and "patternProperties" not in schema for schema in schemas):
        return
    known = sorted({name for schema in schemas for name in schema.get("properties", {})})
    for name in named_arguments("" if condition is None else condition.source):
        if tools and name not in known:
            advice = instead(name, known) if known else "there are no arguments"
            yield f"{name_all(tool.name for tool in tools)} has no argument {name}; {advice}"


def _never_judged(condition: Condition | None, tools: Sequence[Tool]) -> Iterator[str]:
    """Why the condition counts as true whatever is called; nothing where one call of one tool could be judged."""
    if condition is None or not tools:
        return
    notes = [why_never_judged(condition, tool) for tool in tools]
    if all(notes):
        names = name_all(tool.name for tool in tools)
        yield f"no call of {names} can be judged by it, so it always counts as true: {notes[0]}"


def _admits(layer: CompiledLayer | None, tool: Tool) -> bool:
    return layer is None or layer.judge(tool).verdict is None
