"""MCPAdapter: the tools behind a session that the caller holds, as atomic tools. It opens and closes nothing.

A server that the gate itself starts, watches and finds again is `callgate.adapters.mcp.McpServer`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from callgate.adapters.declare import declare as read_declaration
from callgate.adapters.mcp.content import output_of
from callgate.adapters.mcp.foreign_tool import Home, Request, tool_name
from callgate.adapters.mcp.sdk import need_sdk
from callgate.adapters.mcp.taking import take
from callgate.compat.source_adapters import taken_from_mcp
from callgate.errors import ConfigurationError
from callgate.model.naming import is_name_part, snake_case
from callgate.model.visible import brief
from callgate.sync import Bridge

if TYPE_CHECKING:
    from mcp_types import Tool as Listed

    from callgate.compat.atomic_tool import AtomicTool

_log = logging.getLogger("callgate")
_MOST_PAGES = 100


class MCPAdapter:
    """Finds the tools of one session.

    Args:
        session: Has `list_tools()` and `call_tool(name, arguments)`, as the clients and sessions of the MCP SDK do.
        server_name: Stands before the names of the tools; by default the session's `server_name`, or what the server
            calls itself.
        declare: What the tools do, by the server's name of a tool or a glob; what is not declared cannot be called.

    Raises:
        ConfigurationError: The server has no name that could stand before a dot, or a declaration is wrong.
    """

    def __init__(
        self,
        session: Any,
        *,
        server_name: str | None = None,
        declare: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._session = session
        self._name = snake_case(server_name or _name_of(session))
        if not is_name_part(self._name):
            raise ConfigurationError("the MCP server needs a name in snake_case: give server_name=")
        self._declared = {tool: read_declaration(**fields).stated for tool, fields in (declare or {}).items()}

    async def discover_tools(self) -> list[AtomicTool]:
        """Everything the server has now. What cannot be a tool is warned of, with the reason.

        Raises:
            ConfigurationError: The SDK is missing, or the list has no end.
        """
        need_sdk()
        # The session belongs to this loop, wherever the gate runs.
        bridge = Bridge(asyncio.get_running_loop())

        async def ask(name: str, arguments: Mapping[str, Any]) -> Any:
            return await bridge.wait(lambda: self._ask(name, arguments))

        async def send(request: Request) -> Any:
            # From here on it may happen; before, nothing was sent.
            async with request.context.effect():
                return await ask(request.tool, request.arguments)

        home = Home(
            name=self._name,
            prefix=self._name,
            connector=f"mcp.{self._name}",
            place=f"session {self._name}",
            declared=self._declared,
            send=send,
        )
        listed = [_listed(each) for each in await self._list()]
        loaded, taken = take(listed, home)
        for failure in loaded.failures:
            _log.warning("%s: %s", failure.name, failure.reason)
        theirs = {tool_name(name, self._name): name for name in taken}
        return taken_from_mcp(loaded.tools, runs=lambda tool: _bare(ask, theirs[tool.name]))

    async def _list(self) -> list[Any]:
        page = await self._session.list_tools()
        found = list(getattr(page, "tools", page))
        for _ in range(_MOST_PAGES):
            cursor = getattr(page, "next_cursor", None)
            if cursor is None:
                return found
            page = await self._session.list_tools(cursor=cursor)
            found += page.tools
        raise ConfigurationError(f"the server's list of tools has more than {_MOST_PAGES} pages")

    async def _ask(self, name: str, arguments: Mapping[str, Any]) -> Any:
        from mcp import MCPError  # noqa: PLC0415 - the SDK is loaded by now
        from mcp_types import CONNECTION_CLOSED, CallToolResult  # noqa: PLC0415 - as above

        try:
            answer = await self._session.call_tool(name, dict(arguments))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise ConnectionError(f"the connection to the MCP server {self._name} was lost") from error
            raise
        return output_of(answer) if isinstance(answer, CallToolResult) else answer


def _bare(ask: Callable[[str, Mapping[str, Any]], Awaitable[Any]], name: str) -> Callable[..., Awaitable[Any]]:
    def run(**arguments: Any) -> Awaitable[Any]:
        return ask(name, arguments)

    return run


def _name_of(session: Any) -> str:
    told = getattr(session, "server_name", None) or getattr(getattr(session, "server_info", None), "name", None)
    return str(told or "")


def _listed(thing: Any) -> Listed:
    """A listed tool as the SDK has it; a session of another kind may list its own."""
    from mcp_types import Tool as SdkTool  # noqa: PLC0415 - the SDK is loaded by now

    if isinstance(thing, SdkTool):
        return thing
    schema = getattr(thing, "inputSchema", None) or {"type": "object"}
    try:
        return SdkTool(name=thing.name, description=thing.description, input_schema=schema)
    except (AttributeError, ValueError) as error:
        raise ConfigurationError(f"{brief(str(thing))} is no tool of a server ({type(error).__name__})") from None
