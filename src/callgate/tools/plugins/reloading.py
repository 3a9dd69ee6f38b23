"""reload_plugins: the plugins of the gate, loaded again from their folders."""

from __future__ import annotations

from typing import Any

from callgate.adapters.function import tool
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.tools.documents import lent
from callgate.tools.services import Way


def _would_reload(_arguments: dict[str, Any], _ctx: ToolContext) -> Preview:
    return Preview(text="the code of every plugin, as it is in its folder now, is loaded and run")


def make_reload_plugins(way: Way | None) -> Any:
    """The tool, for one gate; None where there is none."""

    # It runs whatever code is in the folders by now, with all that this process may do.
    @tool(
        effects=["local_exec", "system_state"],
        scopes=[],
        risk="high",
        destructive=False,
        idempotent=False,
        concurrency_safe=False,
        marks_effect=True,
        timeout=60,
        preview=_would_reload,
        output_schema={"type": "integer", "minimum": 0},
        examples=[{}],
    )
    async def reload_plugins(*, ctx: ToolContext) -> int:
        """Load every plugin of the gate again; how many serve then. A plugin that is broken now serves as before."""
        gate = lent(way, ctx.tool)
        async with ctx.effect():
            return await gate.reload_plugins()

    return reload_plugins
