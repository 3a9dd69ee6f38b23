"""Adapters of sources: whatever it is, as atomic tools. Conversion is the gate's own; nothing is run here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from callgate.adapters.convert import convert
from callgate.compat.atomic_tool import AtomicTool
from callgate.model.tool import Tool


class FunctionAdapter:
    """Functions of the user's own."""

    @staticmethod
    def from_function(  # noqa: PLR0917 - the convention's own signature
        func: Callable[..., Any], name: str | None = None, description: str | None = None, **tool_kwargs: Any
    ) -> AtomicTool:
        """A function as an atomic tool, its schema from its hints.

        Args:
            func: The function, plain or async; what `@tool` says over it counts.
            name: By default the function's.
            description: By default its docstring's.
            **tool_kwargs: Further fields of an `AtomicTool`.

        Raises:
            ConfigurationError: It cannot be a tool.
            TypeError: An atomic tool has no such field.
        """
        [made] = convert(func, name=name, description=description)
        given = {"name": name, "description": description}
        return _taken(made, said={key: value for key, value in given.items() if value is not None} | tool_kwargs)


class BuiltinAdapter:
    """Toolkits: classes whose methods are tools."""

    @staticmethod
    def from_toolkit(toolkit: Any, toolkit_name: str, **declaration: Any) -> list[AtomicTool]:
        """The methods of a toolkit, each as an atomic tool. A running loop is no hindrance.

        Args:
            toolkit: A toolkit, or the class of one.
            toolkit_name: For the tags.
            **declaration: Fields that hold for all of them, as `@tool` takes them.

        Raises:
            ConfigurationError: It cannot be made, or has to be waited for.
        """
        tags = [f"toolkit:{toolkit_name}", *declaration.pop("tags", ())]
        made = convert(toolkit, tags=tags, **declaration)
        named = {"toolkit_name": toolkit_name, "tags": ["source:builtin", *tags]}
        return [_taken(tool, known=named) for tool in made]


class LangChainAdapter:
    """LangChain's tools."""

    @staticmethod
    def from_langchain_tool(lc_tool: Any, **tool_kwargs: Any) -> AtomicTool:
        """A LangChain tool as an atomic tool. Undeclared, it is refused: say its `side_effect_class` or `permissions`.

        Raises:
            ConfigurationError: It is no tool of LangChain's, or cannot be one here.
            TypeError: An atomic tool has no such field.
        """
        [made] = convert(lc_tool)

        def run(**arguments: Any) -> Awaitable[Any]:
            return lc_tool.ainvoke(arguments)

        return _taken(made, runs=run, said=tool_kwargs)

    @staticmethod
    def from_langchain_tools(tools: Iterable[Any], **tool_kwargs: Any) -> list[AtomicTool]:
        """Each of them.

        Raises:
            ConfigurationError: As for one.
            TypeError: As for one.
        """
        return [LangChainAdapter.from_langchain_tool(each, **tool_kwargs) for each in tools]


def taken_from_mcp(tools: Sequence[Tool], runs: Callable[[Tool], Callable[..., Any]]) -> list[AtomicTool]:
    """Tools of a server as atomic tools, with what each runs when it is run bare."""
    return [_taken(each, runs=runs(each)) for each in tools]


def _taken(
    tool: Tool,
    *,
    runs: Callable[..., Any] | None = None,
    known: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
) -> AtomicTool:
    """The view of a tool; `known` is what it is besides, `said` what is declared of it."""
    atom = AtomicTool.of(tool)
    for name, value in (known or {}).items():
        setattr(atom, name, value)
    atom.bind_tool(tool, runs, said=said or ())
    for name, value in (said or {}).items():
        if name not in _FIELDS:
            message = f"an atomic tool has no {name!r}"
            raise TypeError(message)
        setattr(atom, name, value)
    return atom


_FIELDS = frozenset(name for name in AtomicTool.__dataclass_fields__ if not name.startswith("_"))
