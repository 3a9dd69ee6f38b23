"""A server's answer to a request of the protocol that is no call of a tool, or an error in words."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from callgate.adapters.mcp.not_taken import NotSent
from callgate.errors import ToolExecutionError
from callgate.model.visible import cut

_LONGEST_ERROR = 500


async def answered(answer: Awaitable[Any]) -> Any:
    """The answer.

    Raises:
        ToolExecutionError: The server refuses, says something else than the protocol, or nothing.
        ConnectionError: The connection was lost meanwhile.
    """
    from mcp import MCPError  # noqa: PLC0415 - the SDK is loaded by now
    from mcp_types import CONNECTION_CLOSED  # noqa: PLC0415 - as above
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    try:
        return await answer
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise ConnectionError("the connection to the server was lost") from error
        raise ToolExecutionError(
            f"the server answered with an error: {cut(error.error.message, _LONGEST_ERROR)}"
        ) from error
    except ValidationError:
        raise ToolExecutionError("the server's answer is not what the protocol says") from None
    except TimeoutError:
        raise ToolExecutionError("the server did not answer in time") from None
    except RuntimeError as error:
        raise NotSent("the connection was closed") from error
