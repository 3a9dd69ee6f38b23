"""The rules for a manifest: which keys there are and what each may hold. They find faults, and make nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from callgate.adapters.fields import READERS, guess
from callgate.errors import ConfigurationError
from callgate.model.naming import LONGEST, check_name, is_name_part
from callgate.model.visible import brief

SCHEMA_VERSION = "1.0"
_LONGEST_TEXT = 4000
_MOST_TOOLS = 200
_MOST_FIELDS = 100
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_MODULE = re.compile(rf"{_WORD}(?:[./]{_WORD})*(?:\.py)?")
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_CLAIMS = (
    "effects",
    "scopes",
    "destructive",
    "idempotent",
    "deterministic",
    "concurrency_safe",
    "risk",
    "timeout",
    "allowed_callers",
    "untrusted_output",
    "sensitive_output",
    "egress",
    "tags",
    "capabilities",
    "examples",
    "output_schema",
)

Faults = list[str]
Check = Callable[[Any], str | None]
"""What is wrong with a value, or None."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The keys of one object."""

    checks: Mapping[str, Check]
    needed: tuple[str, ...]


def look(body: Mapping[str, Any], rules: Rules, *, at: str = "") -> Faults:
    """Every fault of an object, each with its place."""
    faults = [f"{at}{key}: is missing" for key in rules.needed if key not in body]
    for key, value in body.items():
        check = rules.checks.get(key)
        fault = f"is no key{guess(key, rules.checks)}" if check is None else check(value)
        if fault is not None:
            faults.append(f"{at}{brief(key)}: {fault}")
    return faults


def each(value: Any, rules: Rules, *, what: str) -> list[tuple[Mapping[str, Any], Faults]]:
    """Every item of a list with its faults; nothing for what is no list, which another rule tells."""
    items = cast("list[Any]", value)[:_MOST_TOOLS] if isinstance(value, list) else []
    found: list[tuple[Mapping[str, Any], Faults]] = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            body = cast("Mapping[str, Any]", item)
            found.append((body, look(body, rules, at=f"{what}[{index}].")))
        else:
            found.append(({}, [f"{what}[{index}]: needs to be an object"]))
    return found


def plugin_name_fault(value: Any) -> str | None:
    """Why this is no plugin's name; a name is also that of a file, and leads nowhere else."""
    if isinstance(value, str) and is_name_part(value) and len(value) <= LONGEST:
        return None
    return f"needs to be snake_case, at most {LONGEST} characters, not {_shown(value)}"


def _text(value: Any) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return f"needs to be text that is not empty, not {_shown(value)}"
    return f"has more than {_LONGEST_TEXT} characters" if len(value) > _LONGEST_TEXT else None


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"needs to be true or false, not {_shown(value)}"


def _anything(_: Any) -> str | None:
    """Words for people: nothing hangs on them."""
    return None


def _schema_version(value: Any) -> str | None:
    return None if value == SCHEMA_VERSION else f'this Callgate reads "{SCHEMA_VERSION}", not {_shown(value)}'


def _tools(value: Any) -> str | None:
    if not isinstance(value, list):
        return f"needs to be a list, not {_kind(value)}"
    many = len(cast("list[Any]", value))
    return f"has {many} tools; {_MOST_TOOLS} at most" if many > _MOST_TOOLS else None


def _packages(value: Any) -> str | None:
    if not isinstance(value, list):
        return f"needs to be a list, not {_kind(value)}"
    for item in cast("list[Any]", value)[:_MOST_FIELDS]:
        if not isinstance(item, str) or _PACKAGE.fullmatch(item) is None:
            return f"{_shown(item)} is no name of a Python package; write the name alone, without a version"
    return None


def _schemas(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"needs to be a mapping, not {_kind(value)}"
    fields = cast("dict[str, Any]", value)
    if len(fields) > _MOST_FIELDS:
        return f"has {len(fields)} entries; {_MOST_FIELDS} at most"
    for name, schema in fields.items():
        if not name.isidentifier():
            return f"{brief(name)!r} cannot be the name of a parameter"
        if not isinstance(schema, dict):
            return f'{brief(name)} needs to be a mapping such as {{"type": "string"}}, not {_kind(schema)}'
        if not isinstance(cast("dict[str, Any]", schema).get("required", False), (bool, list)):
            return f"{brief(name)}.required needs to be true or false"
    return None


def _module(value: Any) -> str | None:
    if isinstance(value, str) and _MODULE.fullmatch(value) and len(value) <= _LONGEST_TEXT:
        return None
    return f"needs to be a Python file of this folder, such as tools.py, not {_shown(value)}"


def _function(value: Any) -> str | None:
    if isinstance(value, str) and value.isascii() and value.isidentifier():
        return None
    return f"needs to be the name of a function, not {_shown(value)}"


def _read_by(key: str) -> Check:
    """The same reader that `@tool` has for the field."""

    def check(value: Any) -> str | None:
        try:
            READERS[key](key, value)
        except ConfigurationError as error:
            return error.message
        return None

    return check


def _tool_name(value: Any) -> str | None:
    try:
        check_name(value)
    except ConfigurationError as error:
        return error.message
    return None


def _kind(value: Any) -> str:
    kinds = {"dict": "a mapping", "list": "a list", "str": "text", "bool": "a truth value", "NoneType": "null"}
    return kinds.get(type(value).__name__, "a number")


def _shown(value: Any) -> str:
    return repr(brief(value)) if isinstance(value, str) else _kind(value)


PLUGIN = Rules(
    {
        "schema_version": _schema_version,
        "name": plugin_name_fault,
        "version": _text,
        "description": _text,
        "enabled": _flag,
        "dependencies": _packages,
        "settings_schema": _schemas,
        "tools": _tools,
        **dict.fromkeys(("author", "license", "homepage", "keywords"), _anything),
    },
    needed=("name", "version", "description"),
)
TOOL = Rules(
    {
        "name": _tool_name,
        "description": _text,
        "module": _module,
        "function": _function,
        "category": _read_by("category"),
        "enabled": _flag,
        "parameters": _schemas,
        **{key: _read_by(key) for key in _CLAIMS},
    },
    needed=("name", "description", "module", "function"),
)
