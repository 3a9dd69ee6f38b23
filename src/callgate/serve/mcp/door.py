"""The door: what an MCP client can ask of a gate, and who answers it. Knows no transport and no credential."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
from mcp import MCPError
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import event_to_notification
from mcp_types import INVALID_REQUEST, NotificationParams, SetLevelRequestParams

import callgate
from callgate.formats import mcp
from callgate.serve.mcp.asking_back import set_level, state_of
from callgate.serve.mcp.calling import Calling, asked_back
from callgate.serve.mcp.changes import Changes, Follower
from callgate.serve.mcp.hearing import still_counts, until_ended
from callgate.serve.mcp.line import Line
from callgate.serve.mcp.names import Names
from callgate.serve.mcp.news import Ear
from callgate.serve.mcp.results import COMPLETE
from callgate.serve.mcp.tracing import traced
from callgate.serve.mcp.upstream import Upstream
from callgate.serve.mcp.waiting import COLLECT, DEFINITION, Waiting
from callgate.serve.showing import Show, show_here

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp_types import (
        CallToolRequestParams,
        CompleteRequestParams,
        GetPromptRequestParams,
        ReadResourceRequestParams,
        SubscribeRequestParams,
        SubscriptionsListenRequestParams,
        UnsubscribeRequestParams,
    )

    from callgate.model.tool import Tool
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker, Who

_ABOUT = (
    "Every tool here is called through Callgate. A call may be refused, with the reason, or wait for a person; "
    f"then call {COLLECT} with the id you are told, and do not repeat the call itself."
)
_LIST = COMPLETE | {"ttlMs": 0, "cacheScope": "private"}
_EAR = "callgate.ear"
_LEAVING = 5.0


class McpDoor(Server[Any]):
    """The SDK's server in front of a gate.

    Args:
        gate: An open gate.
        who: Finds out who asks.
        url: Where people decide; None where there is no console.
        show: How people find a question where there is none.
    """

    def __init__(self, gate: Callgate, who: Who, *, url: str | None, show: Show = show_here) -> None:
        super().__init__(
            "callgate",
            version=callgate.__version__,
            instructions=_ABOUT,
            get_tool_input_schema=self._schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._listen,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        self.middleware[:] = [traced]
        self._gate = gate
        self._who = who
        self._show = show
        self._names = Names(gate)
        self._listening: set[ListenHandler] = set()
        self._upstream = Upstream(gate)
        self._calling = Calling(gate, self._names, waiting=Waiting(gate, url=url, show=show))
        self._changes = Changes(gate, self._seen)
        self.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
        self.add_notification_handler("notifications/initialized", NotificationParams, self._initialized)

    def create_initialization_options(self, *_given: Any, **_more: Any) -> InitializationOptions:
        """What a client is told at the handshake."""
        changes = NotificationOptions(tools_changed=True, resources_changed=True, prompts_changed=True)
        return super().create_initialization_options(changes)

    def end_streams(self) -> None:
        """End what only waits for news, with a last word."""
        for listening in list(self._listening):
            listening.close()

    def close(self) -> None:
        """Let go of the gate."""
        self._changes.close()
        self._names.forget()

    async def _initialized(self, asked: Any, _params: Any) -> None:
        """Before 2026-07-28: whoever has a session is told over it. Who may hear is asked where its stream is open."""
        if _EAR in state_of(asked):  # said again
            return
        asker, session = self._who(asked), asked.session
        line = Line(lambda event: session.send_notification(event_to_notification(event, {})))
        ear = Ear(self._gate, asker, line=line)
        follower = Follower(asker, line)
        self._changes.follow(follower)
        state_of(asked)[_EAR] = ear
        # The SDK has no other word for the end of a session.
        ends = session._connection.exit_stack  # noqa: SLF001
        ends.callback(self._changes.leave, follower)
        ends.push_async_callback(ear.close)
        ends.callback(line.close)

    async def _listen(self, asked: Any, params: SubscriptionsListenRequestParams) -> Any:
        """From 2026-07-28 on: whoever listens is told, until they leave or may not hear any more."""
        asker, bus = self._who(asked), InMemorySubscriptionBus()
        listening = ListenHandler(bus)
        line = Line(bus.publish, may_hear=lambda: self._may_hear(asker), end=listening.close)
        ear = Ear(self._gate, asker, line=line)
        follower = Follower(asker, line)
        self._changes.follow(follower)
        self._listening.add(listening)
        watching = asyncio.ensure_future(self._end_with(asker, listening))
        try:
            for uri in params.notifications.resource_subscriptions or ():
                await ear.subscribe(uri, asker)
            return await listening(asked, params)
        finally:
            watching.cancel()
            line.close()
            self._listening.discard(listening)
            self._changes.leave(follower)
            with anyio.move_on_after(_LEAVING, shield=True):  # Who leaves is cancelled here.
                await ear.close()

    async def _may_hear(self, asker: Asker) -> bool:
        return asker.credential is None or await still_counts(self._gate, asker.credential)

    async def _end_with(self, asker: Asker, listening: ListenHandler) -> None:
        if asker.credential is not None:
            await until_ended(self._gate, asker.credential)
            listening.close()

    async def _list_tools(self, asked: Any, _params: Any) -> Any:
        asker = self._who(asked)
        shown = self._names.shown(self._gate.pool(asker.context), asker.source)
        listed = [_definition(tool, name) for name, tool in shown]
        # A tool of that very name keeps it; then a call that waited is made again by its asker.
        taken = any(each["name"] == COLLECT for each in listed)
        return _LIST | {"tools": listed if taken else [*listed, DEFINITION]}

    async def _call_tool(self, asked: Any, params: CallToolRequestParams) -> Any:
        return await self._calling.call(params, asked, asker=self._who(asked))

    async def _list_resources(self, asked: Any, _params: Any) -> Any:
        return _LIST | await self._upstream.resources(self._who(asked))

    async def _list_templates(self, asked: Any, _params: Any) -> Any:
        return _LIST | await self._upstream.templates(self._who(asked))

    async def _list_prompts(self, asked: Any, _params: Any) -> Any:
        return _LIST | await self._upstream.prompts(self._who(asked))

    async def _read_resource(self, asked: Any, params: ReadResourceRequestParams) -> Any:
        asker = self._who(asked)
        with asked_back(self._gate, asked):
            return _LIST | await self._upstream.read(params.uri, asker)

    async def _get_prompt(self, asked: Any, params: GetPromptRequestParams) -> Any:
        asker = self._who(asked)
        with asked_back(self._gate, asked):
            return COMPLETE | await self._upstream.prompt(params.name, params.arguments, asker=asker)

    async def _complete(self, asked: Any, params: CompleteRequestParams) -> Any:
        body = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        return COMPLETE | await self._upstream.complete(body, self._who(asked))

    async def _subscribe(self, asked: Any, params: SubscribeRequestParams) -> Any:
        ear, asker = _ear(asked), self._who(asked)
        with asked_back(self._gate, asked):
            await ear.subscribe(params.uri, asker)
        return {}

    async def _unsubscribe(self, asked: Any, params: UnsubscribeRequestParams) -> Any:
        await _ear(asked).unsubscribe(params.uri)
        return {}

    def _seen(self, asker: Asker) -> object:
        shown = self._names.shown(self._gate.pool(asker.context), asker.source)
        return [(name, tool.definition_hash) for name, tool in shown]

    def _schema(self, name: str) -> Any:
        """What the newest protocol compares with the headers of a call; who may see it is found out later."""
        tool = self._names.find(name, None)
        return None if tool is None else tool.input_schema


async def _set_level(asked: Any, params: SetLevelRequestParams) -> Any:
    set_level(asked, params.level)
    return {}


def _ear(asked: Any) -> Ear:
    ear = state_of(asked).get(_EAR)
    if ear is None:
        raise MCPError(INVALID_REQUEST, "say that you are initialized first")
    return ear


def _definition(tool: Tool, name: str) -> dict[str, Any]:
    schema = tool.input_schema
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
    return mcp.definition(tool, name=name, schema=schema)
