"""The declaration of a tool and its fail-closed rules: what is not declared is assumed worst.

Every adapter declares through here. Nothing here knows where the tool comes from, or who judges it later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypedDict

from callgate.adapters.fields import HOOKS, READERS, guess
from callgate.errors import ConfigurationError
from callgate.model.levels import Caller, Effect, Origin, Risk
from callgate.model.tool import NO_HOOKS, Hooks, reading_fault
from callgate.model.visible import brief

MAX_ARGUMENT_BYTES = 1024 * 1024
_NETWORK_FAMILIES = frozenset({"net", "mcp"})

Words = str | Iterable[str]


class Fields(TypedDict, total=False):
    """What an author may say about a tool. Absent, or None, is: not stated."""

    id: str | None
    name: str | None
    description: str | None
    connector: str | None
    category: str | None
    tags: Words | None
    capabilities: Words | None
    scopes: Words | None
    effects: Words | Iterable[Effect] | None
    destructive: bool | None
    idempotent: bool | None
    deterministic: bool | None
    concurrency_safe: bool | None
    risk: str | Risk | None
    timeout: float | None
    allowed_callers: Words | Iterable[Caller] | None
    untrusted_output: bool | None
    sensitive_output: bool | None
    egress: bool | None
    isolation: str | None
    horizon: float | None
    examples: Iterable[Mapping[str, Any]] | None
    marks_effect: bool | None
    input_schema: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | None
    check_output: bool | None
    max_argument_bytes: int | None
    source: str | Origin | None
    source_name: str | None
    config_ref: str | None
    unavailable: str | None
    preview: Callable[..., Any] | None
    check: Callable[..., Any] | None
    verify: Callable[..., Any] | None
    undo: Callable[..., Any] | None
    targets: Callable[..., Any] | None
    broadcast: Callable[..., Any] | None
    blast_radius: Callable[..., Any] | None
    cost: Callable[..., Any] | None
    reads: Callable[..., Any] | None
    redact: Callable[..., Any] | None
    resources: Callable[..., Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a tool says about itself, after the rules. Made by `declare`."""

    stated: Mapping[str, Any]
    """What the author wrote, field by field, already read."""
    id: str | None
    name: str | None
    description: str | None
    connector: str | None
    category: str
    tags: tuple[str, ...]
    capabilities: tuple[str, ...]
    scopes: frozenset[str]
    effects: frozenset[Effect]
    destructive: bool
    idempotent: bool
    deterministic: bool
    concurrency_safe: bool
    base_risk: Risk
    risk_declared: bool
    timeout: float | None
    allowed_callers: frozenset[Caller]
    untrusted_output: bool
    sensitive_output: bool
    egress: bool
    isolation: str
    horizon: float
    examples: tuple[Mapping[str, Any], ...]
    marks_effect: bool | None
    """None: not stated."""
    input_schema: dict[str, Any] | None
    output_schema: dict[str, Any] | None
    check_output: bool | None
    max_argument_bytes: int
    source: Origin
    source_name: str
    config_ref: str | None
    unavailable: str | None
    hooks: Hooks
    declared: bool
    """False when none of effects, scopes or check is stated."""

    def with_more(self, fields: Mapping[str, Any]) -> Declaration:
        """This declaration with more fields stated; what is stated later stands.

        Raises:
            ConfigurationError: As `declare`.
        """
        return declare(**{**self.stated, **fields}) if fields else self


def declare(**fields: Any) -> Declaration:
    """Read what an author declared and apply the rules.

    Args:
        **fields: See `Fields`. None is the same as not stated.

    Raises:
        ConfigurationError: An unknown field (naming the nearest), a value that cannot be, or values that
            contradict each other.
    """
    _refuse_unknown(fields)
    stated = {key: READERS[key](key, value) for key, value in fields.items() if value is not None}
    effects: frozenset[Effect] = stated.get("effects", frozenset())
    _refuse_contradictions(effects, stated)
    scopes: frozenset[str] = stated.get("scopes", frozenset())
    read_only = Effect.READ_ONLY in effects
    network = Effect.NETWORK_ACCESS in effects or any(scope.split(":")[0] in _NETWORK_FAMILIES for scope in scopes)
    egress = bool(stated.get("egress", network))
    return Declaration(
        stated=MappingProxyType(stated),
        scopes=scopes,
        effects=effects,
        egress=egress,
        untrusted_output=stated.get("untrusted_output", network),
        destructive=stated.get("destructive", not read_only and "risk" not in stated),
        concurrency_safe=stated.get("concurrency_safe", read_only),
        base_risk=_base_risk(stated.get("risk"), read_only=read_only, egress=egress),
        risk_declared="risk" in stated,
        declared=bool(effects or scopes or "check" in stated),
        hooks=_hooks(stated),
        **_plain(stated),
    )


def _plain(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that no other field changes."""
    return {
        "id": stated.get("id"),
        "name": stated.get("name"),
        "description": stated.get("description"),
        "connector": stated.get("connector"),
        "category": stated.get("category", "general"),
        "tags": stated.get("tags", ()),
        "capabilities": stated.get("capabilities", ()),
        "idempotent": stated.get("idempotent", False),
        "deterministic": stated.get("deterministic", False),
        "timeout": stated.get("timeout"),
        "allowed_callers": stated.get("allowed_callers", frozenset({Caller.DIRECT})),
        "sensitive_output": stated.get("sensitive_output", False),
        "isolation": stated.get("isolation", "thread"),
        "horizon": stated.get("horizon", 0.0),
        "examples": stated.get("examples", ()),
        "marks_effect": stated.get("marks_effect"),
        "input_schema": stated.get("input_schema"),
        "output_schema": stated.get("output_schema"),
        "check_output": stated.get("check_output"),
        "max_argument_bytes": stated.get("max_argument_bytes", MAX_ARGUMENT_BYTES),
        "source": stated.get("source", Origin.FUNCTION),
        "source_name": stated.get("source_name", ""),
        "config_ref": stated.get("config_ref"),
        "unavailable": stated.get("unavailable"),
    }


def _refuse_unknown(fields: Mapping[str, Any]) -> None:
    for key in fields:
        if key not in READERS:
            hint = guess(key, READERS) or f"; known are {', '.join(READERS)}"
            raise ConfigurationError(f"a tool declares no {brief(key)!r}{hint}", key=brief(key))


def _refuse_contradictions(effects: frozenset[Effect], stated: Mapping[str, Any]) -> None:
    fault = reading_fault(effects)
    if fault is not None:
        raise ConfigurationError(fault, key="effects")
    if Effect.READ_ONLY in effects and stated.get("destructive"):
        raise ConfigurationError("a tool cannot be read_only and destructive", key="destructive")


def _base_risk(stated: Risk | None, *, read_only: bool, egress: bool) -> Risk:
    if stated is None:
        return Risk.LOW if read_only else Risk.HIGH
    return max(stated, Risk.MEDIUM) if egress and not read_only else stated


def _hooks(stated: Mapping[str, Any]) -> Hooks:
    given = {key: stated[key] for key in HOOKS if key in stated}
    return Hooks(**given) if given else NO_HOOKS
