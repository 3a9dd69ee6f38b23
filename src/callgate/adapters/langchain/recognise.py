"""Telling LangChain's tools and toolkits from anything else, without loading LangChain for things that are neither."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from callgate.errors import ConfigurationError
from callgate.model.visible import brief

_WHERE = "langchain_core.tools"


def langchain_tools(thing: Any) -> Sequence[Any] | None:
    """The tools a thing of LangChain's is or has; None for everything else.

    Raises:
        ConfigurationError: A class of tools, or a toolkit that does not give its tools.
    """
    # Whoever has one of its tools has loaded it.
    module = sys.modules.get(_WHERE)
    if module is None:
        return None
    if isinstance(thing, type) and issubclass(thing, module.BaseTool):
        raise ConfigurationError(f"{brief(thing.__qualname__)} is a class of LangChain tools; add an instance of it")
    if isinstance(thing, module.BaseTool):
        return (thing,)
    return _tools_of(thing) if isinstance(thing, module.BaseToolkit) else None


def is_langchain_tool(thing: Any) -> bool:
    """Whether it is a tool of LangChain's, ready to be used; neither a class of them nor a toolkit."""
    module = sys.modules.get(_WHERE)
    return module is not None and isinstance(thing, module.BaseTool)


def _tools_of(toolkit: Any) -> Sequence[Any]:
    try:
        return list(toolkit.get_tools())
    except Exception as error:
        told = f"{type(toolkit).__qualname__} does not give its tools ({type(error).__name__})"
        raise ConfigurationError(told) from error
