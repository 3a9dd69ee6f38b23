"""The way back: what a server behind the gate asks of the client whose call it is answering, while it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    CreateMessageRequest,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitResult,
    ErrorData,
    LoggingMessageNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_LEVEL = "callgate.level"


class ClientChannel:
    """The client of one request, for as long as the request lasts.

    Args:
        asked: The request.
    """

    def __init__(self, asked: ServerRequestContext[Any, Any]) -> None:
        self._asked: ServerRequestContext[Any, Any] | None = asked

    def close(self) -> None:
        """The call is over: nothing more is asked."""
        self._asked = None  # What was begun meanwhile may keep us for longer, and must not keep the session.

    async def ask(self, method: str, params: Any, /) -> Any:
        """What the client answers, or why nobody does."""
        asked, form = self._asked, method == "elicitation/create"
        if asked is None or not _is_able(asked, form=form):
            return ErrorData(code=INVALID_REQUEST, message=f"the client does not answer {method}")
        request: Any = ElicitRequest(params=params) if form else CreateMessageRequest(params=params)
        with_tools = getattr(params, "tools", None) is not None
        result: Any = ElicitResult if form else (CreateMessageResultWithTools if with_tools else CreateMessageResult)
        try:
            related = ServerMessageMetadata(related_request_id=asked.request_id)
            return await asked.session.send_request(request, result, metadata=related)
        except MCPError as error:
            return error.error
        except ValidationError:
            return ErrorData(code=INVALID_REQUEST, message="the client's answer is not what the protocol says")

    async def log(self, params: Any, /) -> None:
        """Pass on a line that the client asked to see."""
        asked = self._asked
        if asked is not None and _LEVELS.index(params.level) >= _LEVELS.index(_level(asked)):
            line = LoggingMessageNotification(params=params)
            await asked.session.send_notification(line, related_request_id=asked.request_id)


class SoleClient:
    """The one client of a process that serves nobody else: whatever a server asks, and for whichever call, it is asked.

    A program on stdio does not say for whose call it asks. Where all calls are of one client, nobody has to know.
    """

    def __init__(self) -> None:
        self._open: list[ClientChannel] = []

    def begin(self, channel: ClientChannel) -> None:
        """A request of the client begins."""
        self._open.append(channel)

    def end(self, channel: ClientChannel) -> None:
        """It has ended."""
        self._open.remove(channel)

    async def ask(self, method: str, params: Any, /) -> Any:
        """What the client answers, while it waits for anything; else nobody does."""
        if not self._open:
            return ErrorData(code=INVALID_REQUEST, message=f"nobody waits for an answer, so nobody answers {method}")
        return await self._open[-1].ask(method, params)

    async def log(self, params: Any, /) -> None:
        """Pass on a line, while the client waits for anything."""
        if self._open:
            await self._open[-1].log(params)


def _is_able(asked: ServerRequestContext[Any, Any], *, form: bool) -> bool:
    can = asked.session.client_capabilities
    return (
        can is not None and (can.elicitation if form else can.sampling) is not None and asked.session.can_send_request
    )


def _level(asked: ServerRequestContext[Any, Any]) -> str:
    if asked.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return (asked.meta or {}).get(LOG_LEVEL_META_KEY) or _LEVELS[-1]
    return state_of(asked).get(_LEVEL, "info")


def set_level(asked: ServerRequestContext[Any, Any], level: str) -> None:
    """From now on this session sees lines of that level and above."""
    state_of(asked)[_LEVEL] = level


def state_of(asked: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    """What is kept for as long as a session lasts."""
    return asked.session._connection.state  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the SDK has no other way to it
