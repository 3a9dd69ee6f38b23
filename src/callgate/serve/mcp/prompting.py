"""The door of a coding agent that asks before its own tools run: MCP, and one tool more, for the host itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.formats import mcp
from callgate.serve.hooks.permission_prompt import DEFINITION, PERMISSION_PROMPT, answer_prompt
from callgate.serve.mcp.door import McpDoor
from callgate.serve.mcp.results import COMPLETE
from callgate.serve.mcp.waiting import HOLD

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams


class PromptingDoor(McpDoor):
    """An `McpDoor` that its host may ask whether a tool of the host's own may run."""

    async def _list_tools(self, asked: Any, _params: Any) -> Any:
        listed = await super()._list_tools(asked, _params)
        return listed | {"tools": [*listed["tools"], DEFINITION]}

    async def _call_tool(self, asked: Any, params: CallToolRequestParams) -> Any:
        if params.name != PERMISSION_PROMPT:
            return await super()._call_tool(asked, params)
        context = self._who(asked).context
        arguments = params.arguments or {}
        told = await answer_prompt(self._gate, context, arguments=arguments, wait=HOLD, show=self._show)
        return COMPLETE | mcp.result(told, is_error=False)
