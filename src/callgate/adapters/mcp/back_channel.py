"""What a server may ask of who called it while the call runs: a word of their model, a form, a line in their log."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"


class BackChannel(Protocol):
    """The way back to who made a call. It ends with the call."""

    async def ask(self, method: str, params: Any, /) -> Any:
        """The answer of the protocol's type, or an `ErrorData` where nobody gives one."""
        ...

    async def log(self, params: Any, /) -> None:
        """Pass on a line of the server's log."""
        ...


_current: ContextVar[BackChannel | None] = ContextVar("callgate_mcp_back_channel", default=None)


def back_channel() -> BackChannel | None:
    """The way back to who made the call that this code runs for."""
    return _current.get()


@contextmanager
def answered_by(channel: BackChannel) -> Generator[None]:
    """Calls that are made in this block have this way back."""
    token = _current.set(channel)
    try:
        yield
    finally:
        _current.reset(token)


async def ask_back(method: str, params: Any) -> Any:
    """Ask who made the call; an `ErrorData` where there is no way back."""
    from mcp_types import INVALID_REQUEST, ErrorData  # noqa: PLC0415 - the SDK is loaded by now

    channel = back_channel()
    if channel is None:
        return ErrorData(code=INVALID_REQUEST, message=f"nobody answers {method} here")
    return await channel.ask(method, params)
