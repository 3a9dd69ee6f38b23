"""LangChain tools out: tools of a gate for LangChain's agents and graphs. Calling them is calling the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from callgate.adapters.langchain.choices import Choices, ContextOf, Door, SharedOptions
from callgate.errors import ConfigurationError
from callgate.model.context import Context

if TYPE_CHECKING:
    from callgate.model.tool import Tool


def to_langchain(  # noqa: PLR0917 - the promised surface: to_langchain(gate, names, context)
    gate: Any,
    names: Iterable[str] | None = None,
    context: Context | ContextOf | None = None,
    **options: Unpack[SharedOptions],
) -> list[Any]:
    """Tools of a gate as LangChain's `BaseTool`s, as `gate.pool(context).to_langchain(names)` gives them.

    Args:
        gate: An open gate, also one for blocking code.
        names: Which tools; when left out, all that this asker may use.
        context: Who asks; or a function of LangChain's configuration that says so for each call, for a graph that
            serves many. With a function the tools are those of the gate's own context.
        **options: See `SharedOptions`.

    Raises:
        ConfigurationError: LangChain is not installed, or the gate is not open.
        ToolNotFoundError: This asker may use no tool of that name.
    """
    if context is None or isinstance(context, Context):
        return gate.pool(context).to_langchain(names, **options)
    return gate.pool().to_langchain(names, context=context, **options)


def export(tools: Iterable[Tool], *, wires: Mapping[str, str], door: Door, choices: Choices) -> list[Any]:
    """These tools, each as one of LangChain's, under the name by which it travels.

    Raises:
        ConfigurationError: LangChain is not installed.
    """
    try:
        from callgate.adapters.langchain.exported import GateTool  # noqa: PLC0415 - loads LangChain
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("langchain_core"):
            raise ConfigurationError("LangChain is not installed: pip install 'callgate[langchain]'") from error
        raise
    return [GateTool.of(tool, name=wires[tool.name], door=door, choices=choices) for tool in tools]
