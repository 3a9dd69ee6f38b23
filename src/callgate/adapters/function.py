"""Functions as tools: the decorator `tool`, and the adapter for anything that can be called."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, Unpack, cast, overload

from callgate.adapters.assemble import Parts, about, assemble, named
from callgate.adapters.declare import Declaration, Fields, declare
from callgate.adapters.docstrings import read_docstring
from callgate.adapters.function_defaults import give_back, say_defaults
from callgate.adapters.invoke import make_handler
from callgate.adapters.json_schema import compile_schema
from callgate.adapters.marking import enters_effect
from callgate.adapters.parameters import Parameters, read_parameters
from callgate.adapters.target import HINTS, MARK, Target, find_target
from callgate.errors import ConfigurationError
from callgate.model.tool import Tool

F = TypeVar("F")


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(**fields: Unpack[Fields]) -> Callable[[F], F]: ...


def tool(function: Any = None, /, **fields: Any) -> Any:
    """Declare a function as a tool: `@tool`, or `@tool(effects="read_only", …)`.

    The function stays what it is: calling it runs it, without a gate, as unit tests want. Added to a gate, it
    becomes a `Tool`. Its name, description and schema come from the function unless given.

    Args:
        function: The function, where the decorator has no fields.
        **fields: What it declares; see `Fields`. What is not declared is assumed worst.

    Raises:
        ConfigurationError: A field is unknown or wrong, or the thing cannot be a tool.
    """
    frame = inspect.currentframe()
    written = None if frame is None else frame.f_back
    try:
        declaration = declare(**fields)
    except ConfigurationError as error:
        if written is None or error.file is not None:
            raise
        # The decorator runs before the function has a name here, so the place is what helps to find it.
        place = Path(written.f_code.co_filename).name
        raise ConfigurationError(error.message, file=place, line=written.f_lineno, key=error.key) from None
    # Hints may name what is only known where the function is written.
    names = {} if written is None else written.f_locals

    def mark(thing: Any) -> Any:
        _mark(thing, declaration)
        keep_hints(thing, names)
        return thing

    return mark if function is None else mark(function)


def make_function_tool(thing: Any, declaration: Declaration) -> Tool:
    """Anything that can be called, as a tool.

    Raises:
        ConfigurationError: It cannot be one; says why.
    """
    target = find_target(thing)
    words = read_docstring(target.doc)
    declaration = named(declaration, _need_name(target, declaration), description=words.description)
    with about(declaration.name):
        parameters = read_parameters(target)
        parts = _make_parts(target, parameters, declaration=declaration, descriptions=words.parameters)
        return assemble(declaration, parts)


def marked_declaration(thing: Any) -> Declaration | None:
    """What `@tool` left on a thing, or on what a partial is made of, if it did."""
    holder = thing
    while isinstance(holder, functools.partial) and not hasattr(holder, MARK):  # pyright: ignore[reportUnknownArgumentType]
        holder = cast("Any", holder).func
    found = getattr(cast("Any", holder), MARK, None)
    return found if isinstance(found, Declaration) else None


def _make_parts(
    target: Target, parameters: Parameters, *, declaration: Declaration, descriptions: dict[str, str]
) -> Parts:
    # Loaded with the first tool, not with callgate: pydantic is heavy.
    from callgate.adapters import outputs  # noqa: PLC0415
    from callgate.adapters.signature import compile_signature  # noqa: PLC0415

    limit = declaration.max_argument_bytes
    to_python = None
    if declaration.input_schema is not None:
        said = say_defaults(parameters, only_json=declaration.isolation == "process")
        compiled = compile_schema(declaration.input_schema, limit=limit, functions=said)
        to_python = give_back(parameters, said)
    else:
        compiled = compile_signature(parameters, descriptions=descriptions, limit=limit)
        to_python = compiled.to_python
    needs_json = not outputs.is_json_already(parameters.returns)
    return Parts(
        original=target.call,
        handler=make_handler(
            target, parameters, to_python=to_python, to_json=outputs.to_json_value if needs_json else None
        ),
        is_async=target.is_async,
        input_schema=compiled.schema,
        validator=compiled.validator,
        code=target.call,
        output_schema=outputs.output_schema(parameters.returns),
        output_check=outputs.output_check(parameters.returns),
        runs_elsewhere=to_python is None and not parameters.positional,
        marks_effect=_marks_effect(target, parameters, declaration=declaration),
    )


def _marks_effect(target: Target, parameters: Parameters, *, declaration: Declaration) -> bool:
    if parameters.context is None:
        if declaration.marks_effect:
            raise ConfigurationError("marks its effect, but takes no ToolContext to do it with", key="marks_effect")
        return False
    return enters_effect(target.written, parameters.context)


def _need_name(target: Target, declaration: Declaration) -> str:
    if not (target.name or declaration.name):
        raise ConfigurationError('a lambda has no name of its own; give it one: name="…"', key="name")
    return target.name


def _mark(thing: Any, declaration: Declaration) -> None:
    holder: Any = getattr(thing, "__func__", thing)
    kind: str = type(thing).__name__
    if isinstance(holder, type) or not callable(holder):
        raise ConfigurationError(f"@tool stands over a function, not over {kind}")
    try:
        setattr(holder, MARK, declaration)
    except (AttributeError, TypeError):
        message = f"{kind} cannot be marked; declare it where it is added: gate.add(it, effects=…)"
        raise ConfigurationError(message) from None


def keep_hints(thing: Any, names: Mapping[str, Any]) -> None:
    """Read hints written as text now, while the names around the function are there; later is tried again."""
    written = getattr(thing, "__func__", thing)
    if not isinstance(written, FunctionType) or not any(isinstance(h, str) for h in written.__annotations__.values()):
        return
    try:
        hints = typing.get_type_hints(written, localns=dict(names), include_extras=True)
    except Exception:  # noqa: BLE001 - a name that comes later in the file
        return
    setattr(written, HINTS, hints)
