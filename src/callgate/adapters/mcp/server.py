"""McpServer: one MCP server as a source of tools. All calls share its session, which comes back when it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from callgate.adapters.declare import declare
from callgate.adapters.mcp.back_channel import ELICIT, SAMPLE
from callgate.adapters.mcp.calling import Line, call_tool, is_known
from callgate.adapters.mcp.connection import Connection, Ended, Listeners, explain
from callgate.adapters.mcp.foreign_tool import Home, Request
from callgate.adapters.mcp.http import http_transport
from callgate.adapters.mcp.listing import list_tools
from callgate.adapters.mcp.not_taken import Forgotten, NotSent, Renewed
from callgate.adapters.mcp.oauth.asking import Ask, check_oauth, oauth_of
from callgate.adapters.mcp.oauth.drawer import DeskDrawer
from callgate.adapters.mcp.oauth.keeper import Keeper
from callgate.adapters.mcp.relay import Relay
from callgate.adapters.mcp.sdk import need_sdk
from callgate.adapters.mcp.server_log import ServerLog
from callgate.adapters.mcp.sieve import Sieve
from callgate.adapters.mcp.stdio import Child, child_transport
from callgate.adapters.mcp.taking import take
from callgate.adapters.mcp.values import check_references, child_environment, resolve, strike_credentials
from callgate.errors import ConfigurationError, SignInNeeded
from callgate.model.levels import Origin
from callgate.model.naming import is_name_part, snake_case
from callgate.model.source import Failure, Loaded
from callgate.model.visible import brief
from callgate.settings.values import McpServerSettings, OAuthSettings

if TYPE_CHECKING:
    from mcp import Client

    from callgate.ports import Desk

_PATIENCE = 10.0
"""Seconds a call waits for a session that is being made again; its own time limit counts too."""
_NOT_THEIRS = frozenset(
    {
        "id", "name", "description", "source", "source_name", "connector", "input_schema", "isolation", "config_ref",
        "marks_effect", "unavailable", "tags",
    }
)  # fmt: skip


class ServerFields(TypedDict, total=False):
    """How a server is reached, and what is declared of its tools."""

    command: Sequence[str]
    """The program and its arguments, for a server over stdio."""
    url: str
    """Where it is, for a server over streamable HTTP."""
    env: Mapping[str, str]
    """Variables for the program; a value may be `secret:connector/key`."""
    headers: Mapping[str, str]
    """Sent with every request; a value may be `Bearer secret:connector/key`."""
    auth: OAuthSettings | Ask | None
    """How to sign in, for a server that asks for it: an `OAuth`, or only who is asked (see `Ask`)."""
    cwd: str | None
    """Where the program runs."""
    prefix: str
    """Stands before the names of its tools, with a dot; the server's name when left out."""
    startup: float
    """Seconds the first loading waits for the server. Later it comes by itself."""
    declare: Mapping[str, Mapping[str, Any]]
    """What its tools do, by the server's name of a tool or a glob. What is not declared cannot be called."""


class McpServer:
    """An MCP server, for `gate.attach`.

    Args:
        name: Names the server; `source_name` of its tools.
        settings: As a configuration describes it.
        **fields: See `ServerFields`; they stand before the settings.

    Raises:
        ConfigurationError: It can neither be started nor reached so, or a declaration is wrong.
    """

    origin = Origin.MCP

    def __init__(self, name: str, settings: McpServerSettings | None = None, **fields: Unpack[ServerFields]) -> None:
        configured = settings or McpServerSettings()
        self._oauth = oauth_of(fields.pop("auth", None), configured.auth)
        how = replace(configured, **fields)
        if bool(how.command) == bool(how.url):
            raise ConfigurationError(f"the MCP server {brief(name)!r} needs either a command or a url")
        check_references({**how.env, **how.headers})
        if self._oauth is not None:
            check_oauth(self._oauth, how.url, headers=how.headers)
        self.name = name
        self._how = how
        self._home = Home(
            name=name,
            prefix=_prefix(name, how.prefix),
            connector=f"mcp.{name}",
            place=how.url or " ".join(how.command),
            declared={tool: _read(name, tool, fields=given) for tool, given in how.declare.items()},
            send=self._send,
        )
        # By name alone: who declares all tools with one pattern has not said that the server may ask people anything.
        self._asked = frozenset({SAMPLE, ELICIT} & self._home.declared.keys())
        self.relay = Relay(self._home, self._session)
        """What else it has beside tools."""
        self._connection: Connection | None = None
        self._keeper: Keeper | None = None
        self._sieve = Sieve()
        self._listed: Mapping[str, str] = {}
        self._fresh = asyncio.Event()
        """Set while what was listed last is what the server says it has."""
        self._changes = 0
        self._loading = False
        self._loaded = False

    @property
    def prefix(self) -> str:
        """Stands before the names of its tools."""
        return self._home.prefix

    @property
    def connector(self) -> str:
        """What `gate.health` knows it by."""
        return self._home.connector

    async def load(self, desk: Desk) -> Loaded:
        """The server's tools now. A server that is not there yet gives none, and its tools come when it does.

        Raises:
            ConfigurationError: The SDK is missing, or a server that was there is not; its tools stay, unavailable.
        """
        connection = self._connect(desk)
        if self._keeper is not None:
            self._keeper.may_ask = True
        self._loading = True
        try:
            return await self._look(desk, connection)
        finally:
            self._loading = False

    async def _look(self, desk: Desk, connection: Connection) -> Loaded:
        if not await connection.tried(self._how.startup):
            return self._unreachable(desk, connection.trouble)
        client = await connection.client(self._how.startup)
        changes = self._changes
        try:
            listed = await list_tools(client, self._sieve)
        except Exception as error:  # noqa: BLE001 - whatever it answers, it is asked again in a new session
            connection.doubt(client)
            return self._unreachable(desk, f"its tools could not be listed ({explain(error)})")
        loaded, self._listed = take(listed.tools, self._home)
        self._loaded = True
        if changes == self._changes:
            self._fresh.set()
        desk.available(self.connector)
        unlisted = self.relay.tools(client.server_capabilities)
        await self._resume()
        return replace(loaded, failures=(*listed.failures, *loaded.failures), unlisted=unlisted)

    async def _resume(self) -> None:
        """A session that is lost meanwhile is made again, and looked at again."""
        with contextlib.suppress(ConnectionError, NotSent):
            await self.relay.subscriptions.resume(self._how.startup)

    async def close(self) -> None:
        """Leave the session, and end the program."""
        connection, self._connection = self._connection, None
        self._loaded, self._listed = False, {}
        await self.relay.subscriptions.close()
        if connection is not None:
            await connection.close()

    def _connect(self, desk: Desk) -> Connection:
        if self._connection is None:
            need_sdk()
            self._fresh = asyncio.Event()
            strike_credentials(
                {**self._how.env, **self._how.headers},
                lambda value, key: desk.strike(value, connector=self.connector, key=key),
            )
            log = ServerLog(desk)
            listeners = Listeners(
                connected=lambda: self._connected(desk),
                lost=lambda reason: desk.unavailable(self.connector, f"the MCP server {self.name} is gone: {reason}"),
                changed=lambda: self._changed(desk),
                said=lambda text, level: log.said(text, level=level),
                heard=self.relay.heard,
                asked=self._asked,
            )
            self._keeper = self._make_keeper(desk)
            self._connection = Connection(
                lambda ended: self._sieve.around(self._transport(desk, log, ended=ended)), listeners, mend=self._mend
            )
            self._connection.start()
        return self._connection

    def _transport(self, desk: Desk, log: ServerLog, *, ended: Ended) -> AbstractAsyncContextManager[Any]:
        how = self._how
        if how.url:
            if self._keeper is not None:
                self._keeper.load()
            shown = self._keeper or self._wants_sign_in()
            return http_transport(how.url, resolve(how.headers, desk.secret), shown=shown)
        child = Child(
            command=tuple(how.command),
            env=child_environment(how.env, desk.secret),
            cwd=how.cwd,
            on_line=lambda text, where: log.said(text, level=where),
            on_end=ended,
        )
        return child_transport(child)

    def _make_keeper(self, desk: Desk) -> Keeper | None:
        how = self._how
        if self._oauth is None or how.url is None:
            return None
        drawer = DeskDrawer(desk, self.connector)
        return Keeper(
            self.name, how.url, oauth=self._oauth, drawer=drawer, headers=lambda: resolve(how.headers, desk.secret)
        )

    async def _mend(self, error: Exception) -> bool:
        return isinstance(error, SignInNeeded) and self._keeper is not None and await self._keeper.sign_in()

    def _wants_sign_in(self) -> str:
        if any(name.lower() == "authorization" for name in self._how.headers):
            return "the server does not take the header Authorization that it is given"
        advice = f"write auth: {{oauth: {{}}}} for it, and run: callgate tools login {self.name}"
        return f"the server asks for a sign-in; {advice}"

    def _unreachable(self, desk: Desk, reason: str) -> Loaded:
        text = f"the MCP server {self.name} cannot be reached: {reason}"
        desk.unavailable(self.connector, text)
        if self._loaded:
            raise ConfigurationError(text)
        return Loaded(failures=(Failure(self.name, f"{text}; its tools come when it does"),))

    def _connected(self, desk: Desk) -> None:
        # Its tools may be others now: nothing is sent, and it is not available, before they have been looked at.
        self._fresh.clear()
        if not self._loading:
            desk.changed()

    def _changed(self, desk: Desk) -> None:
        self._changes += 1
        self._fresh.clear()
        desk.changed()

    async def _send(self, request: Request) -> Any:
        line = await self._line(request)
        # An effect is sent once. Whether the server would take it is found out before, with what may be sent twice.
        asks_first = bool(self._how.url) and not request.repeatable
        if asks_first and not await is_known(line, self._patience(request)):
            line = await self._line(request)
        # From here on it may happen; before, nothing was sent.
        async with request.context.effect():
            try:
                return await call_tool(line, request)
            except (Forgotten, Renewed):
                return await call_tool(await self._line(request), request)

    async def _session(self, patience: float) -> Client:
        if self._connection is None:
            raise NotSent(f"the MCP server {self.name} was let go")
        return await self._connection.client(patience)

    @staticmethod
    def _patience(request: Request) -> float:
        left = request.context.remaining(time.monotonic())
        return _PATIENCE if left is None else min(_PATIENCE, left)

    async def _line(self, request: Request) -> Line:
        """The session for a call, which is still what was judged when it is sent.

        Raises:
            NotSent: There is none in time, or the tool is another by now.
        """
        connection = self._connection
        if connection is None:
            raise NotSent(f"the MCP server {self.name} was let go")
        patience = self._patience(request)
        await connection.client(patience)
        await self._look_again(request, patience)
        # It may be another session by now.
        client = await connection.client(patience)
        return Line(
            client,
            lambda why: connection.doubt(client, why),
            can_be_forgotten=bool(self._how.url),
            asked=self._asked,
        )

    async def _look_again(self, request: Request, patience: float) -> None:
        """What is sent must be what was judged, also when the server changed its tools a moment ago."""
        if not self._fresh.is_set():
            await self._wait_for_look(patience)
        if self._listed.get(request.tool) != request.digest:
            raise NotSent(f"{request.tool} of the MCP server {self.name} changed while it was about to be called")

    async def _wait_for_look(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                await self._fresh.wait()
        except TimeoutError:
            raise NotSent(f"the tools of the MCP server {self.name} are being looked at again") from None


def _prefix(name: str, prefix: str | None) -> str:
    chosen = snake_case(name) if prefix is None else prefix
    if not is_name_part(chosen):
        message = f"the MCP server {brief(name)!r} needs a prefix in snake_case, such as gh"
        raise ConfigurationError(message, key="prefix")
    return chosen


def _read(server: str, tool: str, *, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        stated = declare(**fields).stated
    except ConfigurationError as error:
        raise ConfigurationError(f"{tool}: {error}", key=f"mcp_servers.{server}.declare") from error
    foreign = sorted(_NOT_THEIRS & stated.keys())
    if foreign:
        message = f"{tool}: {foreign[0]} is the server's own, and not declared"
        raise ConfigurationError(message, key=f"mcp_servers.{server}.declare")
    return stated
