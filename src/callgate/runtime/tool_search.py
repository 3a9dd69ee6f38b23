"""The tool with which a model finds tools, where they are too many to show. It finds only what its asker may use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from callgate.adapters.convert import convert
from callgate.adapters.function import tool
from callgate.model.context import Context
from callgate.model.levels import Origin
from callgate.model.tool_context import ToolContext

if TYPE_CHECKING:
    from callgate.model.tool import Tool

SEARCH = "search_tools"
_MOST = 20
_LONGEST = 500

Find = Callable[[str, int, Context], Sequence["Tool"]]
"""(words, limit, who asks) -> the tools that fit best, and that the asker may use."""


def make_search_tool(find: Find, *, name: str = SEARCH) -> Tool:
    """The tool itself.

    Raises:
        ConfigurationError: The name is none.
    """
    from pydantic import Field  # noqa: PLC0415 - loaded with the first tool, not with callgate

    @tool(name=name, effects="read_only", category="meta", source=Origin.BUILTIN, check_output=False)
    async def search_tools(  # noqa: D417 - what the gate gives is not for the model
        query: Annotated[str, Field(min_length=1, max_length=_LONGEST)],
        limit: Annotated[int, Field(ge=1, le=_MOST)] = 5,
        *,
        ctx: ToolContext,
    ) -> list[dict[str, Any]]:
        """Find tools by what they do, and how to call them. Use it when no tool you know fits.

        Args:
            query: What you want to do, in a few words.
            limit: How many tools at most.
        """
        # One more, because the search finds itself too.
        found = [each for each in find(query, limit + 1, ctx.context) if each.name != name]
        return [
            {"name": each.name, "description": each.description, "input_schema": each.input_schema}
            for each in found[:limit]
        ]

    [made] = convert(search_tools)
    return made
