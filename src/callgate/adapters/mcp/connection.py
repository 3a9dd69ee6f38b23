"""One session with one server, shared by all calls: made, lost, and made again, each time a little later.

A task of its own holds it, because the SDK wants a session entered and left in one place. Knows nothing of tools.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from callgate.adapters.mcp.back_channel import ELICIT, SAMPLE, ask_back, back_channel
from callgate.adapters.mcp.not_taken import NotSent, not_taken
from callgate.errors import CallgateError, SignInFailed, SignInNeeded
from callgate.model.visible import cut

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import ServerCapabilities

_log = logging.getLogger("callgate.mcp")
_CONNECTING = 60.0
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 30.0
_LASTED = 5.0
"""A session that held so long counts as one that worked; the next loss begins with a short pause again."""
_LEAVING = 15.0
_LISTEN_AGAIN = 1.0


@dataclass(slots=True, kw_only=True)
class Listeners:
    """Who is told what becomes of the connection. Each is called on the loop, and must be short."""

    connected: Callable[[], None]
    lost: Callable[[str], None]
    changed: Callable[[], None]
    """The server says that its tools are others now."""
    said: Callable[[Any, str], None]
    """A line of the server's own log, and its level."""
    heard: Callable[[Any], None] = lambda _message: None
    """Anything else the server says of itself."""
    asked: frozenset[str] = frozenset()
    """What the server may ask of who called it, by the protocol's methods."""


@dataclass(slots=True)
class _Session:
    client: Client
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    why: str = "the connection was lost"
    """Why it ended, once it has."""
    told: bool = False
    """Whether the transport itself said so."""


Ended = Callable[[str], None]
"""Called by a transport that notices by itself that nothing more will come."""
Transport = Callable[[Ended], AbstractAsyncContextManager[Any]]
Mend = Callable[[Exception], Awaitable[bool]]
"""Tries to remove what keeps a session from being made; whether it did. May take as long as a person does."""


class Connection:
    """A session that is there again after it was lost.

    Args:
        transport: Makes the streams of a new session; raises what keeps it from doing so.
        listeners: Who is told.
        mend: Asked when no session can be made.
    """

    def __init__(self, transport: Transport, listeners: Listeners, *, mend: Mend | None = None) -> None:
        self._transport = transport
        self._listeners = listeners
        self._mend = mend
        self._waiting = ""
        self._session: _Session | None = None
        self._news = asyncio.Condition()
        self._closing = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self.trouble = ""
        """Why there is no session, in words for a person."""

    @property
    def connected(self) -> bool:
        """Whether there is a session now that nobody has given up."""
        return self._session is not None and not self._session.ended.is_set()

    def start(self) -> None:
        """Begin to connect, and to connect again; twice is once."""
        if self._keeper is None:
            self._keeper = asyncio.ensure_future(self._keep())

    async def client(self, patience: float) -> Client:
        """The session, waited for.

        Raises:
            NotSent: There is none within that many seconds.
        """
        if not self.connected:
            await self._wait_for_one(patience)
        if self._session is None or not self.connected:
            raise NotSent("the connection was closed")
        return self._session.client

    async def _wait_for_one(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience), self._news:
                await self._news.wait_for(lambda: self.connected or self._closing.is_set())
        except TimeoutError:
            raise NotSent(f"there is no connection: {self.trouble or 'it is still being made'}") from None

    async def tried(self, patience: float) -> bool:
        """Wait until there is a session, or the first try has failed, or that many seconds have passed."""
        try:
            async with asyncio.timeout(patience), self._news:
                await self._news.wait_for(lambda: self.connected or self.trouble != "")
        except TimeoutError:
            self.trouble = self._waiting or f"it did not answer within {patience:g} seconds"
        return self.connected

    def doubt(self, client: Client, why: str | None = None) -> None:
        """This session no longer works, and perhaps why: have it left, and another made."""
        if self._session is not None and self._session.client is client:
            self._session.why = why or self._session.why
            self._session.ended.set()

    async def close(self) -> None:
        """Leave the session for good."""
        self._closing.set()
        if self._session is not None:
            self._session.ended.set()
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        if not self.connected:
            # It is on its way to a session nobody wants any more.
            keeper.cancel()
        _, late = await asyncio.wait({keeper}, timeout=_LEAVING)
        if late:
            keeper.cancel()
            await asyncio.wait({keeper}, timeout=_LEAVING)

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._closing.is_set():
            began = loop.time()
            try:
                reason = await self._serve()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
                reason = await self._mended(error)
                if not reason:
                    continue
            failures = 0 if loop.time() - began > _LASTED else failures + 1
            await self._lose(reason)
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(failures, 16)) * random.uniform(0.5, 1)  # noqa: S311 - spreads
            await self._rest(pause)

    async def _mended(self, error: Exception) -> str:
        """Why there is no session; nothing if that was mended."""
        self._waiting = explain(error)
        try:
            mended = self._mend is not None and await self._mend(error)
        except Exception as failed:  # noqa: BLE001 - as above
            return explain(failed)
        else:
            return "" if mended else self._waiting
        finally:
            self._waiting = ""

    async def _rest(self, pause: float) -> None:
        try:
            async with asyncio.timeout(pause):
                await self._closing.wait()
        except TimeoutError:
            return

    async def _lose(self, reason: str) -> None:
        self._session = None
        self.trouble = reason
        if not self._closing.is_set():
            self._listeners.lost(reason)
        async with self._news:
            self._news.notify_all()

    async def _serve(self) -> str:
        """Make a session and hold it until it ends; why it ended."""
        from mcp import Client  # noqa: PLC0415 - the SDK is loaded with the first connection
        from mcp_types import Implementation  # noqa: PLC0415 - as above

        def end(reason: str) -> None:
            session.why, session.told = reason, True
            session.ended.set()
            if self._session is not None and not self._closing.is_set():
                # Told before any call on its way ends, so that the next one is refused and not tried.
                self._listeners.lost(reason)

        client = Client(
            self._transport(end),
            client_info=Implementation(name="callgate", version="1"),
            message_handler=self._heard,
            logging_callback=self._logged,
            log_level="info",
            cache=None,
            sampling_callback=_sampled if SAMPLE in self._listeners.asked else None,
            elicitation_callback=_elicited if ELICIT in self._listeners.asked else None,
        )
        session = _Session(client)
        try:
            async with asyncio.timeout(_CONNECTING) as limit, client:
                limit.reschedule(None)
                await self._hold(session)
        except Exception:
            # A transport that noticed the end knows more of it than whoever was waiting for an answer.
            if not session.told:
                raise
        return session.why

    async def _hold(self, session: _Session) -> None:
        if self._closing.is_set():
            return
        self._session, self.trouble = session, ""
        watching = asyncio.ensure_future(self._watch(session))
        try:
            self._listeners.connected()
            async with self._news:
                self._news.notify_all()
            await session.ended.wait()
        finally:
            # Nobody begins with a session that is being left.
            self._session = None
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, session: _Session) -> None:
        """From 2026-07-28 on a server tells changes only to who listens for them."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - the SDK is loaded by now

        client = session.client
        wanted = _told_of(client.server_capabilities)
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not wanted:
            return
        heard = await self._listen(client, wanted, again=False)
        if not heard:
            return
        while heard:
            await asyncio.sleep(_LISTEN_AGAIN)
            heard = await self._listen(client, wanted, again=True)
        # It told us before: a new session finds out whether the server is still there.
        session.ended.set()

    async def _listen(self, client: Client, wanted: Mapping[str, Any], *, again: bool) -> bool:
        """Listen until the stream ends; whether there was one. A stream may end long before its server does."""
        heard = False
        try:
            asked: dict[str, Any] = dict.fromkeys(wanted, True)
            async with client.listen(**asked) as changes:
                heard = True
                # Whatever changed between two streams was told to nobody.
                for missed in wanted.values() if again else ():
                    await self._heard(missed())
                # What is told there comes to who hears everything, too.
                async for _ in changes:
                    pass
        except Exception as error:  # noqa: BLE001 - a server that will not tell is one that does not tell
            _log.debug("listening for changes ended: %s", type(error).__name__)
        return heard

    async def _heard(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification  # noqa: PLC0415 - the SDK is loaded by now

        if isinstance(message, ToolListChangedNotification):
            self._listeners.changed()
        else:
            self._listeners.heard(message)

    async def _logged(self, params: Any) -> None:
        channel = back_channel()
        if channel is not None:
            await channel.log(params)
        self._listeners.said(params.data, str(params.level))


def _told_of(has: ServerCapabilities) -> dict[str, Callable[[], Any]]:
    """Which lists a server tells changes of, as one listens for them, and how it says so."""
    import mcp_types  # noqa: PLC0415 - the SDK is loaded by now

    offered = {
        "tools_list_changed": (has.tools, mcp_types.ToolListChangedNotification),
        "prompts_list_changed": (has.prompts, mcp_types.PromptListChangedNotification),
        "resources_list_changed": (has.resources, mcp_types.ResourceListChangedNotification),
    }
    return {name: said for name, (offer, said) in offered.items() if offer is not None and offer.list_changed}


async def _sampled(context: Any, params: Any) -> Any:  # noqa: ARG001 - the SDK's form
    return await ask_back(SAMPLE, params)


async def _elicited(context: Any, params: Any) -> Any:  # noqa: ARG001 - as above
    return await ask_back(ELICIT, params)


def explain(error: BaseException) -> str:
    """Why a connection could not be made or held, in one line; ours speak for themselves."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, SignInNeeded | SignInFailed):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"it did not answer within {_CONNECTING:g} seconds"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}"
    turned_away = not_taken(error) if isinstance(error, Exception) else None
    if turned_away is not None:
        return str(turned_away)
    told = str(error) if isinstance(error, CallgateError | OSError) or type(error).__name__ == "MCPError" else ""
    line = cut((told.strip().splitlines() or [""])[0], 300)
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
