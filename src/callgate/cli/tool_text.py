"""A tool for a person, and as JSON: its arguments, what it returns, examples and what it declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from callgate.cli.place import Place
from callgate.cli.schema_words import Field, Words
from callgate.cli.screen import Cell, Column, Row, Screen
from callgate.model.tool import YES_OR_NO, Hooks, Tool
from callgate.model.visible import visible

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
        "examples": [dict(example) for example in tool.examples],
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


def show_tool(screen: Screen, tool: Tool, *, held: str | None, place: Place) -> None:
    """One tool in full; `place` is where its examples can be called."""
    screen.say(tool.name, style="bold")
    screen.say(tool.description or "(no description)", indent=2, mark="")
    screen.say()
    screen.facts(_facts(tool, held), indent=2)
    screen.say()
    _show_arguments(screen, Words(tool.input_schema))
    _show_returns(screen, tool.output_schema)
    _show_examples(screen, tool, place=place)


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


def _show_arguments(screen: Screen, words: Words) -> None:
    arguments = words.fields()
    if arguments:
        screen.table(_heads("ARGUMENT", "TYPE", "NEEDED", "DESCRIPTION"), map(_argument, arguments))
    elif (told := words.unnamed()) is None:
        screen.say("It takes no arguments.")
    elif told:
        screen.say(f"It takes: {told}")
    else:
        screen.say("It names no arguments; its schema allows others (--json shows it).")


def _argument(field: Field) -> Row:
    default = f"no, {json.dumps(field.about['default'], default=str)}" if "default" in field.about else "no"
    return [field.name, field.type, "yes" if field.needed else default, _description(field)]


def _show_returns(screen: Screen, schema: dict[str, Any] | None) -> None:
    """What comes back: its fields on top, or its type."""
    words = None if schema is None else Words(schema)
    fields = None if words is None else words.fields()
    screen.say()
    if fields is None:
        screen.say("RETURNS", style="bold")
        screen.say("not declared" if words is None else words.type(), indent=2)
        return
    rows = [[each.name, each.type, "yes" if each.needed else "no", _description(each)] for each in fields]
    described = any(row[-1] for row in rows)
    heads = _heads("RETURNS", "TYPE", "ALWAYS", *(["DESCRIPTION"] if described else []))
    screen.table(heads, [row[: len(heads)] for row in rows])


def _show_examples(screen: Screen, tool: Tool, *, place: Place) -> None:
    """Calls that can be pasted."""
    if not tool.examples:
        return
    screen.say()
    screen.say("EXAMPLES", style="bold")
    calls = (place.command("call", tool.name, _pasted(example), tools=True) for example in tool.examples)
    screen.facts([("", Cell(call, whole=True)) for call in calls])


def _pasted(example: Mapping[str, Any]) -> str:
    """JSON that is seen as what it is: a hidden character that we made visible would be another one when pasted."""
    text = json.dumps(dict(example), ensure_ascii=False)
    return text if visible(text) == text else json.dumps(dict(example))


def _description(field: Field) -> str:
    return str(field.about.get("description", ""))


def _heads(*titles: str) -> list[Column]:
    """Columns of which none is cut: where they do not fit beside each other, they are shown below each other."""
    return [Column(title, whole=True) for title in titles]
