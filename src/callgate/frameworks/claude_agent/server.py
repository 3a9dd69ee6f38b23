"""The gate as an in-process MCP server: its tools are the pool of one asker, and each call goes through the gate.

The SDK's own decorator for tools is not used, because it does not tell which tool use a call belongs to.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from claude_agent_sdk import McpSdkServerConfig
from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult
from mcp.types import Tool as McpTool

from callgate.errors import ConfigurationError, Conflict, NotFound
from callgate.formats import mcp
from callgate.frameworks.desk import Desk
from callgate.model.ids import uuid7
from callgate.model.outcome import Pending
from callgate.model.requested import requested
from callgate.model.tool import Tool
from callgate.runtime.telling import is_error, told

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from callgate.runtime.gate import Callgate

COLLECT = "approval_result"
"""The tool with which a model collects a call that waited for a person for too long."""
_TOOL_USE_ID = "claudecode/toolUseId"
_MCP = 2
_HOW = f" Once it is decided, {COLLECT} with this id makes the call and gives its result."
_COLLECTS = {
    "name": COLLECT,
    "description": "Collect the result of a call that waits for a person: it runs once the person has allowed it.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The approval that the call waits for."},
            "wait": {"type": "number", "description": "Seconds to wait for the person at most."},
        },
        "required": ["id"],
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
}


class GateServer:
    """Lists the pool of an asker and makes the calls that come.

    Args:
        desk: The gate, for whom.
        wait: Seconds a call waits for a person before the model is told that it does.
    """

    def __init__(self, desk: Desk, *, wait: float) -> None:
        self._desk = desk
        self._wait = wait

    def config(self, name: str) -> McpSdkServerConfig:
        """The server as the SDK takes it.

        Raises:
            ConfigurationError: The installed MCP SDK is too old.
        """
        found = version("mcp")
        if int(found.split(".")[0]) < _MCP:
            raise ConfigurationError(f"mcp {found} is too old for this: pip install 'callgate[claude,mcp]'")
        server = Server(name, on_list_tools=self._list, on_call_tool=self._call)
        return McpSdkServerConfig(type="sdk", name=name, instance=server)

    async def names(self) -> list[str]:
        """By which names the tools are offered now."""
        return [*await self._desk.do(self._pool), COLLECT]

    async def _pool(self, gate: Callgate) -> dict[str, Tool]:
        pool = gate.pool(self._desk.context)
        return {wire: pool.get(name) for name, wire in pool.wire_names.items()}

    async def _list(self, _context: Any, _params: Any) -> ListToolsResult:
        listed = await self._desk.do(self._definitions)
        # A tool of that very name keeps it; then a call that waited is collected by its asker alone.
        more = [] if any(each["name"] == COLLECT for each in listed) else [_COLLECTS]
        return ListToolsResult(tools=[McpTool.model_validate(each) for each in (*listed, *more)])

    async def _definitions(self, gate: Callgate) -> list[dict[str, Any]]:
        pool = gate.pool(self._desk.context)
        # The host hands the schemas on to the model, so they are those that its provider takes.
        schemas = [definition["input_schema"] for definition in pool.to_anthropic()]
        return [
            {name: shown[name] for name in ("name", "description", "annotations")} | {"inputSchema": schema}
            for shown, schema in zip(pool.to_mcp(), schemas, strict=True)
        ]

    async def _call(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        pool = await self._desk.do(self._pool)
        tool = pool.get(params.name)
        if tool is None and params.name == COLLECT:
            return await self._collect(arguments)
        meta = cast("dict[str, Any]", context.meta or {})
        # Without an id of the host's nothing says that two calls are one.
        call = requested(meta.get(_TOOL_USE_ID) or uuid7(), name=params.name, arguments=arguments)
        outcome = await self._desk.make(call, alone=tool is None or not tool.concurrency_safe)
        outcome = await self._desk.wait(outcome, self._wait)
        collectable = isinstance(outcome, Pending) and COLLECT not in pool
        return _result(f"{told(outcome)}{_HOW if collectable else ''}", is_error=is_error(outcome))

    async def _collect(self, arguments: dict[str, Any]) -> CallToolResult:
        """What became of a call that waited; only for who asked."""
        approval_id, wait = arguments.get("id"), arguments.get("wait")
        seconds = min(wait, self._wait) if isinstance(wait, int | float) else self._wait
        try:
            outcome = await self._desk.do(
                lambda gate: gate.resume(str(approval_id), self._desk.context, wait=max(0, seconds))
            )
        except (Conflict, NotFound) as error:
            return _result(f"There is nothing to collect: {error}", is_error=True)
        return _result(told(outcome), is_error=is_error(outcome))


def _result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult.model_validate(mcp.result(text, is_error=is_error))
