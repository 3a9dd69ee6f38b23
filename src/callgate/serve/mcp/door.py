"""The door: what an MCP client can ask of a gate, and how it is answered. Knows no transport and no credential."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import NotificationParams

import callgate
from callgate.errors import Conflict, NotFound
from callgate.formats import mcp
from callgate.model.outcome import Outcome, Pending
from callgate.serve.mcp.changes import Changes, Follower
from callgate.serve.mcp.elicitation import Elicitation
from callgate.serve.mcp.names import Names, unknown
from callgate.serve.mcp.progress import Teller, progress_told
from callgate.serve.mcp.results import result_of
from callgate.serve.mcp.waiting import COLLECT, DEFINITION, HOLD, WAIT, Waiting, nothing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.models import InitializationOptions
    from mcp_types import CallToolRequestParams, SubscriptionsListenRequestParams

    from callgate.model.approval import Approval
    from callgate.model.tool import Tool
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker, Who

_ABOUT = (
    "Every tool here is called through Callgate. A call may be refused, with the reason, or wait for a person; "
    f"then call {COLLECT} with the id you are told, and do not repeat the call itself."
)
_COMPLETE = {"resultType": "complete"}
"""Said from 2026-07-28 on; the SDK takes it out for those before."""


class _Waited(NamedTuple):
    """A call that waits for a person, and who may be asked."""

    pending: Pending
    asked: Any
    asker: Asker
    teller: Teller
    question: Approval | None
    """Put to the person at the client, where one sits there."""


class McpDoor(Server[Any]):
    """The SDK's server in front of a gate.

    Args:
        gate: An open gate.
        who: Finds out who asks.
        url: Where people decide; None where there is no console.
        hold: Seconds a call that waits for a person is held.
    """

    def __init__(self, gate: Callgate, who: Who, *, url: str | None, hold: float = HOLD) -> None:
        super().__init__(
            "callgate",
            version=callgate.__version__,
            instructions=_ABOUT,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._listen,
            get_tool_input_schema=self._schema,
        )
        # Spans are made where calls are recorded, once, and not here as well.
        self.middleware.clear()
        self._gate = gate
        self._who = who
        self._names = Names(gate)
        self._listening: set[ListenHandler] = set()
        self._waiting = Waiting(gate, url=url, hold=hold)
        self._elicitation = Elicitation(gate)
        self._changes = Changes(gate, self._seen)
        self.add_notification_handler("notifications/initialized", NotificationParams, self._initialized)

    def create_initialization_options(self, *_given: Any, **_more: Any) -> InitializationOptions:
        """What a client is told at the handshake."""
        return super().create_initialization_options(NotificationOptions(tools_changed=True))

    def close(self) -> None:
        """Let go of the gate."""
        self._changes.close()
        self._names.forget()

    async def _initialized(self, asked: Any, _params: Any) -> None:
        """Before 2026-07-28: whoever has a session is told over it."""
        follower = Follower(self._who(asked), asked.session.send_tool_list_changed, end=lambda: None)
        self._changes.follow(follower)
        # The SDK has no other word for the end of a session.
        asked.session._connection.exit_stack.callback(self._changes.leave, follower)  # noqa: SLF001

    async def _listen(self, asked: Any, params: SubscriptionsListenRequestParams) -> Any:
        """From 2026-07-28 on: whoever listens is told, until they leave."""
        bus = InMemorySubscriptionBus()
        listening = ListenHandler(bus)
        follower = Follower(self._who(asked), lambda: bus.publish(ToolsListChanged()), end=listening.close)
        self._changes.follow(follower)
        self._listening.add(listening)
        try:
            return await listening(asked, params)
        finally:
            self._listening.discard(listening)
            self._changes.leave(follower)

    def end_streams(self) -> None:
        """End what only waits for news, with a last word."""
        for listening in list(self._listening):
            listening.close()

    def _seen(self, asker: Asker) -> object:
        shown = self._names.shown(self._gate.pool(asker.context), asker.source)
        return [(name, tool.definition_hash) for name, tool in shown]

    async def _list_tools(self, asked: Any, _params: Any) -> Any:
        asker = self._who(asked)
        return _COMPLETE | {"tools": self._listed(asker), "ttlMs": 0, "cacheScope": "private"}

    def _listed(self, asker: Asker) -> list[dict[str, Any]]:
        shown = self._names.shown(self._gate.pool(asker.context), asker.source)
        listed = [_definition(tool, name) for name, tool in shown]
        # A tool of that very name keeps it; then a call that waited is made again by its asker.
        return listed if any(each["name"] == COLLECT for each in listed) else [*listed, DEFINITION]

    async def _call_tool(self, asked: Any, params: CallToolRequestParams) -> Any:
        asker = self._who(asked)
        arguments = params.arguments or {}
        tool = self._names.find(params.name, asker.source)
        async with progress_told(self._gate, asked, context=asker.context) as teller:
            if tool is None and params.name == COLLECT:
                return await self._collect(arguments, asker, teller=teller)
            name = unknown(params.name, asker.source) if tool is None else tool.name
            was_asked = await self._elicitation.take(params, asker)
            outcome = await self._gate.call(name, arguments, asker.context)
            if isinstance(outcome, Pending):
                question = None if was_asked else await self._question(outcome, asked, asker=asker)
                if question is not None and self._elicitation.is_stateless(asked):
                    return self._elicitation.required(question)
                waited = _Waited(outcome, asked, asker, teller, question)
                outcome = await self._held(waited)
            return _COMPLETE | result_of(outcome, tool, more=self._waiting.told(outcome))

    async def _question(self, pending: Pending, asked: Any, *, asker: Asker) -> Approval | None:
        try:
            return await self._elicitation.question(pending.approval_id, asked, asker=asker)
        except (Conflict, NotFound):
            return None

    async def _held(self, waited: _Waited) -> Outcome:
        asked, asker = waited.asked, waited.asker
        asking = (
            contextlib.nullcontext()
            if waited.question is None
            else self._elicitation.asking(waited.question, asked, asker=asker)
        )
        try:
            async with asking:
                return await self._waiting.held(
                    waited.pending, asker.context, teller=waited.teller, wish=_wish(asked.meta)
                )
        except (Conflict, NotFound):
            return waited.pending

    async def _collect(self, arguments: dict[str, Any], asker: Asker, *, teller: Teller) -> dict[str, Any]:
        found = await self._waiting.collected(arguments, asker.context, teller=teller)
        if isinstance(found, str):
            return _COMPLETE | nothing(found)
        return _COMPLETE | result_of(found, self._known(found.tool), more=self._waiting.told(found))

    def _known(self, name: str) -> Tool | None:
        return next((tool for tool in self._gate.tools() if tool.name == name), None)

    def _schema(self, name: str) -> Any:
        """What the newest protocol compares with the headers of a call; who may see it is found out later."""
        tool = self._names.find(name, None)
        return None if tool is None else tool.input_schema


def _wish(meta: Mapping[str, Any] | None) -> Any:
    return None if meta is None else meta.get(WAIT)


def _definition(tool: Tool, name: str) -> dict[str, Any]:
    schema = tool.input_schema
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
    return mcp.definition(tool, name=name, schema=schema)
