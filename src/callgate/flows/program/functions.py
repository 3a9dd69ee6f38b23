"""Functions: the tools of a pool as a program sees them, with names Python accepts and stubs to check it by."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable
from typing import Any

from callgate.flows.program.hints import hint
from callgate.formats.names import wire_names
from callgate.model.shapes import as_mapping
from callgate.model.tool import Tool

_TAKEN = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"asyncio"}
_LONGEST_NOTE = 300
_PLAIN = frozenset({str, int, float, bool, type(None)})
_HEAD = """from typing import Any, Literal
class PermissionError(OSError): ...
class FileNotFoundError(OSError): ...
class FileExistsError(OSError): ...
class ImportError(Exception): ...
class ModuleNotFoundError(ImportError): ...
"""
"""What the sandbox has and its type checker does not know."""


class NoSuchCall(Exception):
    """A call that no tool takes; the message is for whoever wrote it, the kind an exception of Python's."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Functions:
    """The functions a program may call, by the names it calls them."""

    def __init__(self, tools: Iterable[Tool], *, plain: bool) -> None:
        self._plain = plain
        listed = {tool.name: tool for tool in tools}
        wires = wire_names(listed)
        self._tools = {_identifier(wires[name]): tool for name, tool in listed.items()}
        self._orders: dict[str, tuple[str, ...]] = {}

    @property
    def names(self) -> frozenset[str]:
        """What can be called."""
        return frozenset(self._tools)

    def find(self, name: str) -> Tool | None:
        """The tool behind a function; None if there is no such function."""
        return self._tools.get(name)

    def bind(self, name: str, *, positional: list[Any], named: dict[str, Any]) -> tuple[Tool, dict[str, Any]]:
        """The tool a call means, and its arguments: those without a name are for parameters in the stub's order.

        Raises:
            NoSuchCall: There is no such function, it has fewer parameters, or one is given twice.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise NoSuchCall("NameError", f"there is no function {name} for this program")
        order = self._orders.get(name)
        if order is None:
            order = self._orders[name] = tuple(_parameters(tool))
        if len(positional) > len(order):
            raise NoSuchCall("TypeError", f"{tool.name} takes {len(order)} arguments at most, not {len(positional)}")
        arguments: dict[str, Any] = dict(zip(order, positional, strict=False))
        for each, value in named.items():
            if each in arguments:
                raise NoSuchCall("TypeError", f"{tool.name} got {each} twice")
            arguments[each] = value
        return tool, arguments

    @property
    def stubs(self) -> str:
        """What every function takes and gives, as Python says it."""
        return _HEAD + "".join(_stub(name, tool, plain=self._plain) for name, tool in sorted(self._tools.items()))


def _parameters(tool: Tool) -> dict[str, tuple[Any, bool]]:
    """Parameters whose names Python accepts: (schema, whether it is required); the required ones first."""
    properties = as_mapping(tool.input_schema.get("properties")) or {}
    required = tool.input_schema.get("required") or ()
    named = {str(name): schema for name, schema in properties.items() if _speakable(str(name))}
    first = {name: (schema, True) for name, schema in named.items() if name in required}
    return first | {name: (schema, False) for name, schema in named.items() if name not in required}


def _speakable(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _identifier(wire: str) -> str:
    name = wire.replace("-", "_")
    name = name if name.isidentifier() else f"_{name}"
    return f"{name}_" if name in _TAKEN else name


def _stub(name: str, tool: Tool, *, plain: bool) -> str:
    definitions = as_mapping(tool.input_schema.get("$defs")) or {}
    told = [
        f"{parameter}: {hint(schema, definitions)}" + ("" if required else " = ...")
        for parameter, (schema, required) in _parameters(tool).items()
    ]
    properties = as_mapping(tool.input_schema.get("properties")) or {}
    if len(told) < len(properties) or tool.input_schema.get("additionalProperties", True) is not False:
        told.append("**more: Any")
    output = tool.output_schema
    returns = "Any" if output is None else hint(output, as_mapping(output.get("$defs")) or {})
    kind = "def" if plain else "async def"
    note = tool.description.strip().split("\n", 1)[0][:_LONGEST_NOTE]
    return f"{kind} {name}({', '.join(told)}) -> {returns}:\n    {note!r}\n    ...\n"


def plain_value(value: Any) -> Any:
    """What a program hands over, in the shapes of JSON where it has one; the gate refuses the rest."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple | list):
        return [plain_value(each) for each in value]  # pyright: ignore[reportUnknownVariableType] - anyone's values
    mapping = as_mapping(value)
    return value if mapping is None else {name: plain_value(each) for name, each in mapping.items()}
