"""Relaying: the face of a gate for doors that pass on what MCP servers have beside tools, under the same policy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from callgate.adapters.mcp.back_channel import BackChannel, answered_by, back_channel
from callgate.errors import NotFound
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.runtime.opened import Opened

_PATIENCE = 10.0


class Relay(Protocol):
    """What is used of a source that passes on more than tools."""

    async def listed(self, method: str, patience: float) -> list[dict[str, Any]]: ...
    async def subscribe(self, uri: str, patience: float) -> None: ...
    async def unsubscribe(self, uri: str, patience: float) -> None: ...
    def listen(self, listener: Callable[[str, str | None], None]) -> Callable[[], None]: ...


class Relayed(NamedTuple):
    """A source that has something besides tools, which an asker may use."""

    source: str
    prefix: str
    tool: str
    """What it is called as: `gate.call(tool, …)`."""


class Relaying(Face):
    """What servers have beside tools."""

    def relayed(self, method: str, context: Context) -> list[Relayed]:
        """The sources at which this asker may use this method of the protocol (`resources/read`), as they came."""
        opened = self._open()
        admitted = opened.parts.policy.admitter(context)
        found: list[Relayed] = []
        for name, attached in opened.sources.items():
            prefix = getattr(attached.source, "prefix", "")
            tool = opened.parts.unlisted.get(f"{prefix}.{method}")
            if tool is not None and tool.source_name == name and self._is_usable(opened, tool) and admitted(tool):
                found.append(Relayed(name, prefix, tool.name))
        return found

    async def relay_list(self, source: str, method: str) -> list[dict[str, Any]]:
        """Everything that a source lists (`resources/list`). Who may see it is the asker's question.

        Raises:
            NotFound: There is no such source, or not any more.
            ToolExecutionError: The server refuses, or says nothing the protocol knows.
            ConnectionError: It cannot be reached.
        """
        return await self._relay(source).listed(method, _PATIENCE)

    async def relay_subscribe(self, source: str, uri: str) -> None:
        """Have a server tell when a resource changes.

        Raises:
            NotFound: As `relay_list`.
            ToolExecutionError: The server refuses.
            ConnectionError: It cannot be reached.
        """
        await self._relay(source).subscribe(uri, _PATIENCE)

    async def relay_unsubscribe(self, source: str, uri: str) -> None:
        """The opposite of `relay_subscribe`, once for each.

        Raises:
            NotFound: As `relay_list`.
            ToolExecutionError: The server refuses.
            ConnectionError: It cannot be reached.
        """
        await self._relay(source).unsubscribe(uri, _PATIENCE)

    def on_relayed(self, source: str, listener: Callable[[str, str | None], None]) -> Callable[[], None]:
        """Hear which list of a source changed, or which resource did; the function returned ends that.

        Raises:
            NotFound: As `relay_list`.
        """
        return self._relay(source).listen(listener)

    @staticmethod
    def asked_back(channel: BackChannel) -> AbstractContextManager[None]:
        """Calls that are made in this block let their servers ask back through this channel."""
        return answered_by(channel)

    @staticmethod
    def asked_through() -> BackChannel | None:
        """The channel of the block that this code runs in."""
        return back_channel()

    def _relay(self, source: str) -> Relay:
        attached = self._open().sources.get(source)
        relay = None if attached is None else getattr(attached.source, "relay", None)
        if relay is None:
            raise NotFound(f"there is no source {source} that passes anything on")
        return cast("Relay", relay)

    @staticmethod
    def _is_usable(opened: Opened, tool: Tool) -> bool:
        return opened.parts.health.look(tool) is None
