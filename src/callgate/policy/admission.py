"""Admission: the static half of authorize: declaration, role, scopes, layers, callers, and the context's own limits.

It sees who asks and what the tool declares, and never an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from callgate.model.context import Context
from callgate.model.decision import Reason
from callgate.model.layer import Layer, LayerKind
from callgate.model.levels import FOREIGN, Autonomy, Caller, Origin, Verdict
from callgate.model.tool import Tool
from callgate.policy.answers import ASKER
from callgate.policy.conditions import Held
from callgate.policy.groups import effects_unknown, reaches_network
from callgate.policy.layers import CompiledLayer, CompiledRule, compile_layer
from callgate.policy.reach import Reaches
from callgate.policy.scopes import OPEN, Families, Granted
from callgate.policy.showing import name_all, show
from callgate.settings.values import OPEN_ROLE, Settings

_ROUTING = frozenset({"delegate", "escalate"})
_ACCEPT = (
    'declare it where it is added: gate.add(..., effects="read_only"), or accept a declaration: callgate tools review'
)
MOST_LAYERS = 1024
"""So many layers of contexts are remembered compiled; beyond it, remembering starts anew."""


@dataclass(frozen=True, slots=True, eq=False)
class CompiledRole:
    """What a role grants, and the layer it is."""

    granted: Granted
    layer: CompiledLayer
    autonomy: Autonomy | None = None


class Admission:
    """The compiled layers and roles of one configuration.

    Raises:
        ConfigurationError: A selector or a condition of the configuration cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        layer = settings.global_layer
        self._global = None if layer is None else compile_layer(layer, key="global")
        self.roles = compile_roles(settings)
        self._families = Families(settings.families)
        self.reaches = Reaches(self._families)
        self._layers: dict[Layer, CompiledLayer] = {}

    def layers(self, context: Context) -> tuple[CompiledLayer, ...]:
        """Every layer that counts for this context, outermost first."""
        role = self.roles.get(context.role)
        own = (self._global, None if role is None else role.layer)
        given = (self._compiled(layer) for layer in context.layers)
        return (*(layer for layer in own if layer is not None), *given)

    def trace(self, tool: Tool, context: Context) -> Iterator[Reason]:
        """Every reason in its order: those that refuse have a code."""
        if not tool.declared:
            yield undeclared(tool)
        # It opens and asks for what its family is set to: a slip would lift the confinement or the question.
        for mistake in self._families.mistakes(tool.scopes):
            yield _refuse("scopes", f"{tool.name} needs {name_all(tool.scopes)}, and {mistake}", code="scope_violation")
        yield from self._role(tool, context)
        for layer in self.layers(context):
            yield layer.judge(tool)
            yield from (_denied_by(rule) for rule in layer.rules if _always_denies(rule, tool))
        yield from _callers(tool, context)
        yield from _context_limits(tool, context)

    def admitter(self, context: Context) -> Callable[[Tool], bool]:
        """The question whether `trace` would refuse a tool: asked of thousands, told to none."""
        role = self.roles.get(context.role)
        layers = self.layers(context)
        denials = [rule for layer in layers for rule in layer.rules if _denies(rule)]
        grants = [] if role is None else [role.granted]
        if context.scopes is not None:
            grants.append(Granted(context.scopes))

        def admitted(tool: Tool) -> bool:
            return (
                tool.declared
                and role is not None
                and not self._families.mistyped(tool.scopes)
                and not any(granted.lacks(tool.scopes) for granted in grants if tool.scopes)
                and all(layer.admits(tool) for layer in layers)
                and not any(rule.names(tool) for rule in denials)
                and _may_call(tool, context)
                and next(_context_limits(tool, context), None) is None
            )

        return admitted

    def rules(self, tool: Tool, context: Context) -> Iterator[CompiledRule]:
        """The rules about this tool that depend on a call."""
        for layer in self.layers(context):
            yield from (rule for rule in layer.rules if rule.names(tool) and not _always_denies(rule, tool))

    def _role(self, tool: Tool, context: Context) -> Iterator[Reason]:
        role = self.roles.get(context.role)
        if role is None:
            known = name_all(self.roles) or "none"
            text = f"there is no role {show(context.role)}; the roles are {known}"
            yield _refuse("role", text)
            return
        yield from _scopes(tool, role.granted, whose=f"the role {context.role!r} does not grant")
        if context.scopes is not None:
            yield from _scopes(tool, Granted(context.scopes), whose="the context does not grant")

    def _compiled(self, layer: Layer) -> CompiledLayer:
        known = self._layers.get(layer)
        if known is None:
            if len(self._layers) >= MOST_LAYERS:
                self._layers.clear()
            known = self._layers[layer] = compile_layer(layer)
        return known


def compile_roles(settings: Settings, *, strict: bool = True) -> Mapping[str, CompiledRole]:
    """Every role there is; without any in the configuration, the open `default`.

    Raises:
        ConfigurationError: If strict, a selector or a condition of a role cannot be read.
    """
    if settings.roles is None:
        return {OPEN_ROLE.name: CompiledRole(OPEN, compile_layer(OPEN_ROLE))}
    return {
        name: CompiledRole(
            Granted(role.scopes),
            # Whatever it was called on the way here, a role's layer follows the rule for roles.
            compile_layer(replace(role.layer, kind=LayerKind.ROLE), key=f"roles.{name}" if strict else None),
            role.autonomy,
        )
        for name, role in settings.roles.items()
    }


def _scopes(tool: Tool, granted: Granted, *, whose: str) -> Iterator[Reason]:
    missing = granted.lacks(tool.scopes)
    if missing:
        text = f"{tool.name} needs {name_all(missing)}, which {whose} to {ASKER}"
        yield _refuse("scopes", text, code="scope_violation")
    elif tool.scopes:
        yield Reason("scopes", f"{tool.name} needs {name_all(tool.scopes)}, and nothing of it is lacking")


def undeclared(tool: Tool) -> Reason:
    """Why a tool that declares nothing is refused, with the line to add."""
    if tool.source in FOREIGN and tool.given is not None:
        stale = (
            f"what was accepted for {tool.name} in callgate.tools.yaml was for another definition of it (the tool, or "
            "what the configuration declares for it, changed since), so nobody may call it; review it again: "
            f"callgate tools review {tool.source_name}"
        )
        return _refuse("declaration", stale.rstrip() + ", or take its entry out of that file")
    text = f"{tool.name} declares no effects, no scopes and no check, so nobody may call it; "
    if tool.source in FOREIGN and tool.config_ref is not None:
        line = (
            f"look at what is proposed for it with: callgate tools review {tool.source_name}; or say what it does "
            f"in the configuration, under {tool.config_ref}, for example effects: read_only"
        )
        return _refuse("declaration", text + line)
    if tool.source is Origin.PLUGIN:
        text = (
            f"{tool.name} declares nothing that was accepted, so nobody may call it; accept what its plugin declares: "
        )
        line = f"plugins: {{accept: [{tool.connector}]}} in callgate.yaml, or a declaration: callgate tools review"
        return _refuse("declaration", text + line)
    if tool.source in FOREIGN:
        return _refuse("declaration", text + _ACCEPT)
    return _refuse(
        "declaration", text + 'add for example effects="read_only" or scopes={"fs:write"} to its declaration'
    )


def _denies(rule: CompiledRule) -> bool:
    return rule.verdict is Verdict.DENY and rule.condition is None


def _always_denies(rule: CompiledRule, tool: Tool) -> bool:
    return _denies(rule) and rule.names(tool)


def _denied_by(rule: CompiledRule) -> Reason:
    return _refuse(rule.step, rule.told(Held(applies=True)))


def _may_call(tool: Tool, context: Context) -> bool:
    if context.caller is Caller.CHAIN and _routes(tool):
        return False
    return context.caller in tool.allowed_callers or (tool.read_only and context.caller is Caller.CHAIN)


def _routes(tool: Tool) -> bool:
    """Whether it hands the work on to others, which is the model's to do and never a text's that it wrote before."""
    return tool.name.rpartition(".")[2] in _ROUTING


def _callers(tool: Tool, context: Context) -> Iterator[Reason]:
    if _may_call(tool, context):
        return
    if _routes(tool) and context.caller is Caller.CHAIN:
        yield _refuse("callers", f"{tool.name} hands work on to others, and is never called from a chain")
        return
    allowed = name_all(caller.value for caller in tool.allowed_callers) or "nobody"
    text = f"{tool.name} may be called by {allowed}, and this caller is {context.caller.value}"
    yield _refuse("callers", f'{text}; add allowed_callers={{"{context.caller.value}"}} to its declaration to admit it')


def _context_limits(tool: Tool, context: Context) -> Iterator[Reason]:
    if context.read_only and not tool.read_only:
        yield _refuse("context", f"this context is read-only, and {tool.name} is not declared read_only")
    if context.no_web and (reaches_network(tool) or effects_unknown(tool)):
        how = "declares no effects, so network access is assumed" if effects_unknown(tool) else "uses the network"
        yield _refuse("context", f"this context may not use the web, and {tool.name} {how}")


def _refuse(step: str, text: str, *, code: str = "policy_denied") -> Reason:
    return Reason(step, text, Verdict.DENY, code)
