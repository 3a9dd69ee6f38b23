"""A tool for a person, and as JSON: its arguments and what it declares."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from callgate.cli.screen import Cell, Column, Row, Screen
from callgate.model.shapes import as_mapping, as_sequence
from callgate.model.tool import YES_OR_NO, Hooks, Tool

RISKS = {"low": "green", "medium": "yellow", "high": "red", "critical": "red"}


def tool_row(tool: Tool, *, held: str | None) -> Row:
    """One line of a list."""
    risk = tool.base_risk.label
    return [tool.name, Cell(risk, RISKS[risk]), _effects(tool), _note(tool, held) + _first_line(tool.description)]


def tool_document(tool: Tool, *, held: str | None) -> dict[str, Any]:
    """Everything a tool declares, as JSON; `held` is why it waits until somebody looks at it."""
    body: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "output": tool.output_schema,
        "connector": tool.connector,
        "source": tool.source.value,
        "source_name": tool.source_name,
        "category": tool.category,
        "tags": list(tool.tags),
        "capabilities": list(tool.capabilities),
        "scopes": sorted(tool.scopes),
        "effects": sorted(effect.value for effect in tool.effects),
        "read_only": tool.read_only,
        "risk": tool.base_risk.label,
        "timeout": tool.timeout,
        "callers": sorted(caller.value for caller in tool.allowed_callers),
        "hooks": _hooks(tool),
        "declared": tool.declared,
        "unavailable": tool.unavailable,
        "quarantined": held,
        "definition_hash": tool.definition_hash,
    }
    return body | {word: getattr(tool, word) for word in YES_OR_NO}


def show_tool(screen: Screen, tool: Tool, *, held: str | None) -> None:
    """One tool in full."""
    screen.say(tool.name, style="bold")
    screen.say(tool.description or "(no description)", indent=2, mark="")
    screen.say()
    screen.facts(_facts(tool, held), indent=2)
    rows = list(_parameters(tool.input_schema))
    screen.say()
    if rows:
        heads = [Column("ARGUMENT", whole=True), Column("TYPE"), Column("NEEDED"), Column("DESCRIPTION")]
        screen.table(heads, rows)
    else:
        screen.say("It takes no arguments." if not tool.input_schema.get("properties") else "")


def _facts(tool: Tool, held: str | None) -> list[tuple[str, str | Cell]]:
    risk = tool.base_risk.label
    source = f"{tool.source.value} {tool.source_name}".strip()
    return [
        ("state", Cell(_note(tool, held).rstrip(": "), "yellow")),
        ("risk", Cell(risk + ("" if tool.risk_declared or tool.read_only else " (not declared)"), RISKS[risk])),
        ("effects", _effects(tool)),
        ("also", ", ".join(word.replace("_", " ") for word in YES_OR_NO if getattr(tool, word))),
        ("scopes", ", ".join(sorted(tool.scopes))),
        ("connector", tool.connector),
        ("source", source),
        ("category", tool.category),
        ("tags", ", ".join(tool.tags)),
        ("timeout", "" if tool.timeout is None else f"{tool.timeout:g} seconds"),
        ("brings", ", ".join(_hooks(tool))),
        ("definition", tool.definition_hash[:16]),
    ]


def _effects(tool: Tool) -> str:
    return ", ".join(sorted(effect.value for effect in tool.effects)) or "not declared"


def _note(tool: Tool, held: str | None) -> str:
    if held is not None:
        return f"quarantined ({held}): "
    if tool.unavailable is not None:
        return f"unavailable ({tool.unavailable}): "
    return "" if tool.declared else "refused, nothing declared: "


def _hooks(tool: Tool) -> list[str]:
    return sorted(name for name in Hooks.__slots__ if getattr(tool.hooks, name) is not None)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _parameters(schema: Mapping[str, Any]) -> Iterator[Row]:
    needed = as_sequence(schema.get("required")) or []
    for name, given in (as_mapping(schema.get("properties")) or {}).items():
        about = as_mapping(given) or {}
        default = f"no, {json.dumps(about['default'], default=str)}" if "default" in about else "no"
        description = str(about.get("description", ""))
        yield [str(name), _type(about), "yes" if name in needed else default, description]


def _type(about: Mapping[Any, Any]) -> str:
    """A word for the type; whoever wants it exactly asks for the JSON."""
    if "enum" in about or "const" in about:
        return " or ".join(json.dumps(value, default=str) for value in about.get("enum", [about.get("const")]))
    kinds = as_sequence(about.get("type")) or [about.get("type") or "any"]
    inner = as_mapping(about.get("items"))
    if kinds == ["array"] and inner is not None:
        return f"list of {_type(inner)}"
    choices = as_sequence(about.get("anyOf")) or as_sequence(about.get("oneOf")) or []
    if choices and "type" not in about:
        return " or ".join(_type(as_mapping(choice) or {}) for choice in choices)
    return " or ".join(map(str, kinds))
