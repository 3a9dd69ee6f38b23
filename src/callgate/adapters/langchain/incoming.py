"""LangChain tools in: a tool of theirs as one of a gate's. What it says of itself never makes it less watched."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from callgate.adapters.assemble import Parts, about, assemble, named
from callgate.adapters.declare import Declaration
from callgate.adapters.json_schema import compile_schema
from callgate.adapters.langchain.running import call_id, code_of, is_async, make_handler
from callgate.adapters.langchain.shape import Shape, hold_to, read_shape
from callgate.errors import CallgateError, ConfigurationError
from callgate.model.levels import Origin
from callgate.model.naming import snake_case
from callgate.model.shapes import as_mapping
from callgate.model.tool import Tool
from callgate.model.tool_context import ToolContext
from callgate.model.visible import brief

Inject = Mapping[str, Callable[[ToolContext], Any]]
"""Arguments that the operator gives in the model's place, by name, worked out for each call."""

_SPELT_OTHERWISE = re.compile(r"[A-Za-z0-9_. -]+")


def make_langchain_tool(thing: Any, declaration: Declaration, *, inject: Inject | None = None) -> Tool:
    """A LangChain tool as a tool of a gate. Without the operator's declaration it is undeclared, and refused.

    Args:
        thing: Anything of LangChain's class `BaseTool`.
        declaration: The operator's; stands before what the tool says.
        inject: Arguments that are hidden from the model and given by the operator.

    Raises:
        ConfigurationError: Its name or its schema cannot be used.
    """
    from callgate.adapters.langchain.own_model import OwnModel, is_model  # noqa: PLC0415 - loaded with the first tool

    with _readable(thing):
        declaration = named(declaration, tool_name(str(thing.name)), description=str(thing.description or ""))
        with about(declaration.name):
            shape = read_shape(thing)
            given = {name: give for name, give in (inject or {}).items() if name in shape.injected}
            own = declaration.input_schema
            # A model's defaults come from the model: what its schema says of them need not fit the model.
            fill = own is not None or not is_model(thing.args_schema)
            compiled = compile_schema(own or shape.schema, limit=declaration.max_argument_bytes, fill=fill)
            held = hold_to(Shape(schema=compiled.schema, injected=shape.injected), compiled.validator)
            # A model that contains itself is described elsewhere in its schema.
            shown = None if "$ref" in compiled.schema else as_mapping(compiled.schema.get("properties")) or ()
            model = thing.args_schema
            reading = OwnModel(model, shown=shown, injected=shape.injected) if is_model(model) else None
            handler = make_handler(
                thing, {**given, **_call_ids(shape)}, hides=bool(shape.injected), hold=reading and reading.hold
            )
            parts = Parts(
                original=thing,
                handler=handler,
                is_async=is_async(thing),
                input_schema=compiled.schema,
                validator=held if reading is None else reading.behind(held),
                code=code_of(thing),
            )
            return assemble(declaration.with_more(_foreign(shape, given)), parts)


def _call_ids(shape: Shape) -> Inject:
    """LangChain gives the id of the call by itself, whatever others give."""
    return dict.fromkeys(shape.call_ids, call_id)


@contextmanager
def _readable(thing: Any) -> Generator[None]:
    """A tool is an object of anybody's class, and may break when it is looked at."""
    try:
        yield
    except CallgateError:
        raise
    except Exception as error:
        raise ConfigurationError(f"{type(thing).__qualname__} cannot be read ({type(error).__name__})") from error


def tool_name(name: str) -> str:
    """The name as a gate spells it, `Tavily-Search` as `tavily_search`; with other characters it is left to refuse."""
    if _SPELT_OTHERWISE.fullmatch(name) is None:
        return name
    parts = [snake_case(part) for part in name.split(".", 1)]
    return ".".join(part for part in parts if part)


def _foreign(shape: Shape, given: Mapping[str, Any]) -> dict[str, Any]:
    """What holds for every one of them, whoever declares it."""
    fields: dict[str, Any] = {"source": Origin.LANGCHAIN}
    lacking = sorted(shape.needed - given.keys())
    if lacking:
        fields["unavailable"] = (
            f"it needs {', '.join(map(brief, lacking))}, which is hidden from models and nobody gives here; "
            "attach it with LangChainTools(…, inject={…})"
        )
    return fields
