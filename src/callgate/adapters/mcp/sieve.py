"""Between a transport and the SDK: takes out of a list of tools what is none, so that it costs nobody but itself.

The SDK reads a page of tools as a whole or not at all. Knows the messages, and nothing of what becomes of the tools.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from callgate.adapters.mcp.lines import Incoming, SessionEnd
from callgate.model.source import Failure
from callgate.model.visible import brief

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage
    from pydantic import ValidationError

_METHOD = "tools/list"
_LATEST_OLD = "2025-11-25"


class Sieve:
    """What one server's lists are passed through; one listing at a time."""

    def __init__(self) -> None:
        self._asked: set[Any] = set()
        self._version = _LATEST_OLD
        self.faults: list[Failure] = []
        """What was taken out since `begin`, by name and reason."""
        self.names: list[str] = []
        """What was left in since `begin`, by the server's names."""

    def begin(self, version: str) -> None:
        """A listing begins, in a session of that version of the protocol."""
        self._version = version
        self.faults, self.names = [], []

    @asynccontextmanager
    async def around(
        self, transport: AbstractAsyncContextManager[TransportStreams]
    ) -> AsyncGenerator[TransportStreams]:
        """The streams of a new session, with the sieve in them."""
        self._asked = set()
        async with transport as (read, write):
            yield _Reading(read, self), _Writing(write, self)

    def sent(self, message: SessionMessage) -> None:
        """Remember which answers will be lists."""
        if getattr(message.message, "method", None) == _METHOD:
            self._asked.add(getattr(message.message, "id", None))

    def came(self, message: SessionMessage | Exception) -> None:
        """Take out of a list what is no tool."""
        if isinstance(message, Exception):
            return
        number, result = getattr(message.message, "id", None), getattr(message.message, "result", None)
        if result is not None and number in self._asked:
            self._asked.discard(number)
            if isinstance(result.get("tools"), list):
                result["tools"] = self._kept(result)

    def _kept(self, page: dict[str, Any]) -> list[Any]:
        entries = cast("list[Any]", page["tools"])
        # Where the page itself is wrong, no entry is to blame, and the SDK refuses all of it.
        sound = self._fault(page) is None or self._fault({**page, "tools": []}) is not None
        kept: list[Any] = []
        for number, entry in enumerate(entries, start=1):
            fault = None if sound else self._fault({**page, "tools": [entry]})
            name = _name(entry)
            if fault is None:
                kept.append(entry)
                self.names.append(name or "")
            else:
                self.faults.append(Failure(name or f"tool {number} of the list", fault))
        return kept

    def _fault(self, page: dict[str, Any]) -> str | None:
        from mcp_types.methods import validate_server_result  # noqa: PLC0415 - the SDK is loaded by now
        from pydantic import ValidationError  # noqa: PLC0415 - as above

        try:
            validate_server_result(_METHOD, self._version, page)
        except ValidationError as error:
            return f"the server's entry for it is not what the protocol says ({_place(error)})"
        except (KeyError, ValueError):
            return None  # The SDK judges what it does not know by itself.
        return None


def _name(entry: Any) -> str | None:
    name = cast("dict[str, Any]", entry).get("name") if isinstance(entry, dict) else None
    return brief(name) if isinstance(name, str) and name else None


def _place(error: ValidationError) -> str:
    """Where it is wrong and how, without what the server wrote there."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part not in {"tools", 0})
    return brief(f"{where}: {first['msg']}" if where else first["msg"])


class _Reading(Incoming):
    """What comes, through the sieve."""

    def __init__(self, stream: Any, sieve: Sieve) -> None:
        super().__init__()
        self._stream = stream
        self._sieve = sieve

    @property
    def last_context(self) -> Context | None:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        message = await self._stream.receive()
        self._sieve.came(message)
        return message

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Writing(SessionEnd):
    """What goes, noted by the sieve."""

    def __init__(self, stream: Any, sieve: Sieve) -> None:
        super().__init__()
        self._stream = stream
        self._sieve = sieve

    async def send(self, item: SessionMessage, /) -> None:
        self._sieve.sent(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()
