"""Sending one call to a server and telling its ends apart: answered, failed, or nobody knows."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.adapters.mcp.back_channel import ask_back
from callgate.adapters.mcp.content import output_of
from callgate.adapters.mcp.not_taken import Forgotten, NotSent, SignedOut, not_taken, unsettled
from callgate.adapters.mcp.server_log import Allowance
from callgate.errors import ToolExecutionError
from callgate.model.visible import cut, visible

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import InputRequiredResult
    from pydantic import TypeAdapter

    from callgate.adapters.mcp.foreign_tool import Request
    from callgate.adapters.mcp.not_taken import TurnedAway
    from callgate.model.tool_context import ToolContext

_LONGEST_NOTE = 500
_BURST = 20
_ROUNDS = 8
"""How often a server may ask for more before it answers."""
_PER_SECOND = 10.0


@dataclass(frozen=True, slots=True)
class Line:
    """The session a call is sent through."""

    client: Client
    doubt: Callable[[str | None], None]
    """Called when the session no longer works, perhaps with the reason."""
    can_be_forgotten: bool
    """Whether the server may forget the session and go on running, as one over HTTP may."""
    asked: frozenset[str] = frozenset()
    """What the server may ask of who made the call, by the protocol's methods."""


async def call_tool(line: Line, request: Request) -> Any:
    """Send it, and give the output.

    The SDK's own `call_tool` would check the output with the server's patterns in Python, which a hostile one can make
    run for ever; the gate checks it with a compiled schema.

    Raises:
        NotSent: The session was left before the call was; or the server says that it no longer knows it, and the call
            may be sent twice.
        TurnedAway: The server wants somebody to sign in first, or with more rights, and the call may be sent twice.
        ConnectionError: The connection was lost on the way, or the server says of an effect that it did not take it:
            whether it happened is not known.
        ToolExecutionError: The server says that it failed, or asks for what nobody gives here.
    """
    from mcp_types import InputRequiredResult  # noqa: PLC0415 - the SDK is loaded by now

    try:
        _ = line.client.session
    except RuntimeError as error:
        raise NotSent("the connection was closed") from error
    more: dict[str, Any] = {}
    for _ in range(_ROUNDS):
        answer = await _sent(line, request, more=more)
        if not isinstance(answer, InputRequiredResult):
            return output_of(answer)
        more = await _given(answer, line)
    raise ToolExecutionError("the server asks for more input again and again")


async def _given(answer: InputRequiredResult, line: Line) -> dict[str, Any]:
    """What a server of the newest protocol asked for, by who made the call.

    Raises:
        ToolExecutionError: Nobody gives it.
    """
    from mcp_types import ErrorData  # noqa: PLC0415 - the SDK is loaded by now

    responses: dict[str, Any] = {}
    for name, request in (answer.input_requests or {}).items():
        given = await ask_back(request.method, request.params) if request.method in line.asked else None
        if given is None or isinstance(given, ErrorData):
            raise ToolExecutionError("the server asks for more input, which nobody gives it here")
        responses[name] = given
    return {"input_responses": responses, "request_state": answer.request_state}


async def _sent(line: Line, request: Request, *, more: dict[str, Any]) -> Any:
    """Send it once, with what was asked for since."""
    from mcp import MCPError  # noqa: PLC0415 - the SDK is loaded by now
    from mcp_types import CallToolRequest, CallToolRequestParams  # noqa: PLC0415 - as above
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    session = line.client.session
    asked = CallToolRequest(params=CallToolRequestParams(name=request.tool, arguments=request.arguments, **more))
    try:
        return await session.send_request(asked, _answers(), progress_callback=_progress(request.context))
    except MCPError as error:
        refused = _refusal(error, line)
        if refused is not None:
            raise (refused if request.repeatable else unsettled(refused)) from error
        raise _translated(error, line) from error
    except ValidationError:
        raise ToolExecutionError("the server's answer is not what the protocol says") from None


async def is_known(line: Line, patience: float) -> bool:
    """Ask the server for nothing, so that what it does not take is no effect: whether it still knows the session.

    Raises:
        NotSent: It does not answer in time.
        TurnedAway: It wants somebody to sign in first.
    """
    from mcp import MCPError  # noqa: PLC0415 - the SDK is loaded by now
    from mcp_types import DiscoverRequest, PingRequest, Result  # noqa: PLC0415 - as above
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - as above
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    modern = line.client.protocol_version in MODERN_PROTOCOL_VERSIONS
    try:
        async with asyncio.timeout(patience):
            await line.client.session.send_request(DiscoverRequest() if modern else PingRequest(), Result)
    except TimeoutError:
        raise NotSent(f"the server did not answer within {patience:g} seconds") from None
    except MCPError as error:
        refused = _refusal(error, line)
        if refused is not None and not isinstance(refused, Forgotten):
            raise refused from error
        return refused is None and not isinstance(_translated(error, line), ConnectionError)
    except (ValidationError, RuntimeError):
        return True  # It answered, or the session was left: whoever sends the call is told.
    return True


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


def _refusal(error: MCPError, line: Line) -> Forgotten | TurnedAway | None:
    refused = not_taken(error)
    if isinstance(refused, Forgotten | SignedOut):
        line.doubt(str(refused))
    return refused


def _translated(error: MCPError, line: Line) -> Exception:
    from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST  # noqa: PLC0415 - the SDK is loaded by now

    # Our requests are valid, so a server that says otherwise no longer knows the session it is asked in.
    forgotten = line.can_be_forgotten and error.code == INVALID_REQUEST
    if forgotten or error.code == CONNECTION_CLOSED:
        line.doubt(None)
        return ConnectionError(f"the connection to the server was lost ({cut(error.error.message, _LONGEST_NOTE)})")
    return ToolExecutionError(f"the server answered with an error: {cut(error.error.message, _LONGEST_NOTE)}")
