"""Relaying: the face of a gate for doors that pass on what MCP servers have beside tools, under the same policy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from callgate.adapters.mcp.back_channel import BackChannel, answered_by, back_channel
from callgate.errors import NotFound
from callgate.model.call import Call
from callgate.model.outcome import Outcome, Succeeded
from callgate.runtime.entering import enter
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.runtime.opened import Opened

_log = logging.getLogger("callgate.mcp")
_PATIENCE = 10.0
_READ = "resources/read"


class Subscriptions(Protocol):
    """What is used of the subscriptions at one source."""

    def hold(self, uri: str) -> None: ...
    def is_made(self, uri: str) -> bool: ...
    async def release(self, uris: Iterable[str], patience: float) -> None: ...


class Relay(Protocol):
    """What is used of a source that passes on more than tools."""

    subscriptions: Subscriptions

    async def listed(self, method: str, patience: float) -> list[dict[str, Any]]: ...
    def listen(self, listener: Callable[[str, str | None], None]) -> Callable[[], None]: ...


class Relayed(NamedTuple):
    """A source that has something besides tools, which an asker may use."""

    source: str
    prefix: str
    tool: str
    """What it is called as: `gate.call(tool, …)`."""


class Held(NamedTuple):
    """A subscription of one who listens, at the source as it was attached then: one that came after it is another."""

    subscriptions: Subscriptions
    uri: str

    def is_made(self) -> bool:
        """Whether the server is still to tell of it."""
        return self.subscriptions.is_made(self.uri)


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

    async def relay_subscribe(
        self, source: str, uri: str, context: Context, *, wait: float | None = None
    ) -> tuple[Held | None, Outcome]:
        """Have a server tell when a resource changes: a call of `PREFIX.resources/read`, judged and recorded as one.

        Args:
            source: Whose resource.
            uri: What the source calls it.
            context: Who asks. A key says nothing here: what a call before it did tells nobody anything now.
            wait: Seconds to wait for a person where one has to decide.

        Returns:
            What to release if it tells from now on, and how the call ended.

        Raises:
            NotFound: As `relay_list`.
        """
        opened, subscriptions = self._open(), self._relay(source).subscriptions
        prefix = getattr(opened.sources[source].source, "prefix", "")
        call = Call(f"{prefix}.{_READ}", {"resource": uri, "subscribe": True})
        made = False
        subscriptions.hold(uri)
        try:
            outcome = await enter(opened, call, replace(context, idempotency_key=None), wait=wait)
            made = _as_asked(outcome) and subscriptions.is_made(uri)
        finally:
            if not made:  # Who asked may have gone; and a server that does not answer holds up nobody's refusal.
                opened.background(subscriptions.release((uri,), _PATIENCE))
        return Held(subscriptions, uri) if made else None, outcome

    async def relay_release(self, held: Iterable[Held]) -> None:
        """The end of what `relay_subscribe` began, once for each; all at once, so that no server keeps another's."""
        by_source: dict[Subscriptions, list[str]] = {}
        for subscriptions, uri in held:
            by_source.setdefault(subscriptions, []).append(uri)
        releases = (subscriptions.release(uris, _PATIENCE) for subscriptions, uris in by_source.items())
        for error in await asyncio.gather(*releases, return_exceptions=True):
            if error is not None:
                _log.debug("a source goes on telling of a resource: %s", type(error).__name__)

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

    def relayed_tools(self) -> tuple[Tool, ...]:
        """What the sources have beside tools, each as the tool that a policy names and judges (`gh.resources/read`)."""
        return tuple(self._open().parts.unlisted.values())

    @staticmethod
    def _is_usable(opened: Opened, tool: Tool) -> bool:
        return opened.parts.health.look(tool) is None


def _as_asked(outcome: Outcome) -> bool:
    """Whether this very call ran, with what it asked for: not a twin of it, nor what a person made of it."""
    return isinstance(outcome, Succeeded) and not outcome.deduped and not outcome.metadata.get("edited")
