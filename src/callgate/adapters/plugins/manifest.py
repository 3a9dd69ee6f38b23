"""Manifest: what a plugin says of itself, read strictly. Every fault is told at once; nothing here runs its code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from callgate.adapters.plugins.manifest_rules import PLUGIN, TOOL, Faults, each, look
from callgate.errors import ConfigurationError
from callgate.model.canonical import NotCanonical, loads
from callgate.model.visible import first_hidden

DEFAULT_CATEGORY = "specialized"
_DEEPEST = 32
_NOT_CLAIMS = frozenset({"name", "description", "module", "function", "category", "enabled", "parameters"})


class ManifestFaults(ConfigurationError, ValueError):
    """A manifest that cannot be used; `faults` has every fault."""

    def __init__(self, faults: list[str], *, file: str) -> None:
        super().__init__("; ".join(faults), file=file)
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """One tool of a manifest."""

    name: str
    description: str
    module: str
    """Relative to the plugin's folder, dotted."""
    function: str
    category: str = DEFAULT_CATEGORY
    enabled: bool = True
    parameters: Mapping[str, Mapping[str, Any]] | None = None
    """None: they come from the function's own hints."""
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it declares about effects, scopes and the like: the plugin's word, and nobody else's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A plugin's manifest."""

    name: str
    version: str
    description: str
    enabled: bool = True
    dependencies: tuple[str, ...] = ()
    settings_schema: Mapping[str, Mapping[str, Any]] | None = None
    """Name of a setting to its JSON Schema; None when the plugin has none."""
    tools: tuple[ToolEntry, ...] = ()


def parse_manifest(content: bytes, *, file: str) -> Manifest:
    """Read a manifest.

    Raises:
        ManifestFaults: With every fault; those of a tool name its index.
    """
    body = _read(content, file=file)
    faults = look(body, PLUGIN)
    tools = each(body.get("tools"), TOOL, what="tools")
    faults += [fault for _, found in tools for fault in found]
    faults += _twice([tool for tool, _ in tools])
    if faults:
        raise ManifestFaults(faults, file=file)
    return Manifest(
        **{key: body[key] for key in ("name", "version", "description", "enabled") if key in body},
        dependencies=tuple(body.get("dependencies", ())),
        settings_schema=_frozen(body.get("settings_schema")),
        tools=tuple(_entry(tool) for tool, _ in tools),
    )


def _entry(body: Mapping[str, Any]) -> ToolEntry:
    said = {key: body[key] for key in ("name", "description", "function", "category", "enabled") if key in body}
    claims = {key: value for key, value in body.items() if key not in _NOT_CLAIMS}
    module = str(body["module"]).removesuffix(".py").replace("/", ".")
    parameters = _frozen(body.get("parameters"))
    return ToolEntry(**said, module=module, parameters=parameters, claims=MappingProxyType(claims))


def _frozen(value: Any) -> Mapping[str, Any] | None:
    return None if value is None else MappingProxyType(value)


def _twice(tools: list[Mapping[str, Any]]) -> Faults:
    first: dict[Any, int] = {}
    faults: Faults = []
    for index, tool in enumerate(tools):
        name = tool.get("name")
        if isinstance(name, str) and first.setdefault(name, index) != index:
            faults.append(f"tools[{index}].name: is the name of tools[{first[name]}] already")
    return faults


def _read(content: bytes, *, file: str) -> Mapping[str, Any]:
    try:
        body = loads(content)
    except (NotCanonical, UnicodeDecodeError) as error:
        raise ManifestFaults([f"cannot be read: {error}"], file=file) from None
    if not isinstance(body, dict):
        raise ManifestFaults(["needs to be a JSON object"], file=file)
    _refuse_depth(body, file=file)
    hidden = _hidden_in(body)
    if hidden is not None:
        raise ManifestFaults([f"has the hidden character {hidden}; remove it"], file=file)
    return cast("Mapping[str, Any]", body)


def _refuse_depth(body: Any, *, file: str) -> None:
    level = [body]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise ManifestFaults([f"is nested deeper than {_DEEPEST} levels"], file=file)


def _hidden_in(body: Any) -> str | None:
    waiting = [body]
    while waiting:
        item = waiting.pop()
        text = item if isinstance(item, str) else "\n".join(item) if isinstance(item, dict) else ""  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        hidden = first_hidden(text)
        if hidden is not None:
            return hidden
        waiting.extend(_inside(item))
    return None


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return list(cast("list[Any]", value)) if isinstance(value, list) else []
