"""Sending one call to a server and telling its ends apart: answered, failed, or nobody knows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.adapters.mcp.content import output_of
from callgate.adapters.mcp.not_taken import Forgotten, NotSent, SignedOut, not_taken
from callgate.adapters.mcp.server_log import Allowance
from callgate.errors import ToolExecutionError
from callgate.model.visible import cut, visible

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.shared.dispatcher import ProgressFnT
    from pydantic import TypeAdapter

    from callgate.adapters.mcp.foreign_tool import Request
    from callgate.model.tool_context import ToolContext

_LONGEST_NOTE = 500
_BURST = 20
_PER_SECOND = 10.0


@dataclass(frozen=True, slots=True)
class Line:
    """The session a call is sent through."""

    client: Client
    doubt: Callable[[str | None], None]
    """Called when the session no longer works, perhaps with the reason."""
    can_be_forgotten: bool
    """Whether the server may forget the session and go on running, as one over HTTP may."""


async def call_tool(line: Line, request: Request) -> Any:
    """Send it, and give the output.

    The SDK's own `call_tool` would check the output with the server's patterns in Python, which a hostile one can make
    run for ever; the gate checks it with a compiled schema.

    Raises:
        NotSent: The session was left before the call was, or the server no longer knows it.
        TurnedAway: The server wants somebody to sign in first, or with more rights.
        ConnectionError: The connection was lost on the way: whether it happened is not known.
        ToolExecutionError: The server says that it failed, or asks for what nobody gives here.
    """
    from mcp import MCPError  # noqa: PLC0415 - the SDK is loaded by now
    from mcp_types import CallToolRequest, CallToolRequestParams, InputRequiredResult  # noqa: PLC0415 - as above
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    asked = CallToolRequest(params=CallToolRequestParams(name=request.tool, arguments=request.arguments))
    try:
        session = line.client.session
    except RuntimeError as error:
        raise NotSent("the connection was closed") from error
    try:
        answer = await session.send_request(asked, _answers(), progress_callback=_progress(request.context))
    except MCPError as error:
        raise _translated(error, line) from error
    except ValidationError:
        raise ToolExecutionError("the server's answer is not what the protocol says") from None
    if isinstance(answer, InputRequiredResult):
        raise ToolExecutionError("the server asks for more input, which nobody gives it here")
    return output_of(answer)


@functools.cache
def _answers() -> TypeAdapter[Any]:
    from mcp_types import CallToolResult, InputRequiredResult  # noqa: PLC0415 - the SDK is loaded by now
    from pydantic import TypeAdapter  # noqa: PLC0415 - as above

    return TypeAdapter(CallToolResult | InputRequiredResult)


def _progress(context: ToolContext) -> ProgressFnT:
    allowance = Allowance(_BURST, _PER_SECOND)

    async def forward(progress: float, total: float | None, message: str | None) -> None:  # noqa: PLR0917 - the SDK's form
        if allowance.take():
            fraction = min(1.0, max(0.0, progress / total)) if total and total > 0 else None
            context.progress(fraction, visible(cut(message or "", _LONGEST_NOTE)))

    return forward


def _translated(error: MCPError, line: Line) -> Exception:
    from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST  # noqa: PLC0415 - the SDK is loaded by now

    refused = not_taken(error)
    if isinstance(refused, Forgotten | SignedOut):
        line.doubt(str(refused))
    if refused is not None:
        return refused
    # Our requests are valid, so a server that says otherwise no longer knows the session it is asked in.
    forgotten = line.can_be_forgotten and error.code == INVALID_REQUEST
    if forgotten or error.code == CONNECTION_CLOSED:
        line.doubt(None)
        return ConnectionError(f"the connection to the server was lost ({cut(error.error.message, _LONGEST_NOTE)})")
    return ToolExecutionError(f"the server answered with an error: {cut(error.error.message, _LONGEST_NOTE)}")
