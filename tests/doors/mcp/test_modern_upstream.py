"""In front of a server of 2026-07-28: what changes there reaches who may hear it, over a stream that the gate opens."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
)

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import client_of
from tests.doors.mcp.everything_server import at_free_port

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
_ALL = {"*": {"effects": ["read_only", "network_access"]}}
URIS = ("notes://a", "notes://b")


class Modern(Server[Any]):
    """Has resources and prompts; who listens, and for what, is kept as a witness."""

    def __init__(self) -> None:
        super().__init__(
            "modern",
            version="1",
            on_list_tools=self._tools,
            on_list_resources=self._resources,
            on_read_resource=self._read,
            on_list_prompts=self._prompts,
            on_get_prompt=self._prompt,
            on_subscriptions_listen=self._listen,
        )
        self.bus = InMemorySubscriptionBus()
        self.listening: list[set[str]] = []
        self.gone: set[str] = set()
        """What it does not tell of any more."""
        self.strict = False
        """Whether it refuses all where it does not tell of one."""
        self.news = asyncio.Condition()
        self._handlers: set[ListenHandler] = set()

    def create_initialization_options(self, *_given: Any, **_more: Any) -> Any:
        changes = NotificationOptions(tools_changed=True, resources_changed=True, prompts_changed=True)
        return super().create_initialization_options(changes)

    async def until(self, *followed: set[str]) -> None:
        """Wait until exactly these are followed, each set by a stream."""
        async with asyncio.timeout(20), self.news:
            await self.news.wait_for(lambda: [each for each in self.listening if each] == list(followed))

    async def until_lists(self) -> None:
        """Wait until somebody listens for changes of lists."""
        async with asyncio.timeout(20), self.news:
            await self.news.wait_for(lambda: set[str]() in self.listening)

    def hang_up(self) -> None:
        """End all streams, as a server that is busy may."""
        for handler in self._handlers:
            handler.close()

    async def _listen(self, asked: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        asked_for = set(params.notifications.resource_subscriptions or ())
        wanted = asked_for - self.gone
        if self.strict and wanted != asked_for:
            raise MCPError(types.INVALID_PARAMS, f"there is no {min(asked_for - wanted)}")
        params.notifications.resource_subscriptions = sorted(wanted)
        handler = ListenHandler(self.bus)
        self._handlers.add(handler)
        await self._note(lambda: self.listening.append(wanted))
        try:
            return await handler(asked, params)
        finally:
            self._handlers.discard(handler)
            self.listening.remove(wanted)
            asyncio.get_running_loop().call_soon(asyncio.ensure_future, self._note(lambda: None))

    async def _note(self, change: Any) -> None:
        async with self.news:
            change()
            self.news.notify_all()

    async def _tools(self, _asked: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    async def _resources(self, _asked: Any, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource(uri=uri, name=uri) for uri in URIS])

    async def _read(self, _asked: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="x")])

    async def _prompts(self, _asked: Any, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name="p")])

    async def _prompt(self, _asked: Any, _params: Any) -> types.GetPromptResult:
        return types.GetPromptResult(messages=[])


@asynccontextmanager
async def _modern() -> AsyncGenerator[tuple[Modern, Served]]:
    server = Modern()
    async with (
        at_free_port(server.streamable_http_app()) as url,
        served_gate(Callgate.open("memory://")) as served,
    ):
        await served.gate.attach(McpServer("modern", url=f"{url}/mcp", declare=_ALL))
        yield server, served


class Hearer:
    """Puts what one client hears into a queue."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def __call__(self, message: Any) -> None:
        uri = str(message.params.uri) if isinstance(message, types.ResourceUpdatedNotification) else ""
        if "Resource" in type(message).__name__ or "Prompt" in type(message).__name__:
            self.heard.put_nowait((type(message).__name__, uri))

    async def next(self) -> tuple[str, str]:
        return await asyncio.wait_for(self.heard.get(), 20)


def _subscribe(uri: str) -> Any:
    return types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))


async def test_changes_of_resources_are_followed_on_one_stream_and_told_to_who_subscribed():
    mine, theirs = Hearer(), Hearer()
    async with (
        _modern() as (server, served),
        client_of(served, path="/mcp/modern", name="one", mode="legacy", message_handler=mine) as one,
        client_of(served, path="/mcp/modern", name="two", mode="legacy", message_handler=theirs) as two,
    ):
        await one.session.send_request(_subscribe(URIS[0]), types.EmptyResult)
        await server.until({URIS[0]})
        await two.session.send_request(_subscribe(URIS[1]), types.EmptyResult)
        await server.until(set(URIS))
        for uri in URIS:
            await server.bus.publish(ResourceUpdated(uri=uri))
        assert await mine.next() == ("ResourceUpdatedNotification", URIS[0])
        assert await theirs.next() == ("ResourceUpdatedNotification", URIS[1])
        left = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=URIS[0]))
        await one.session.send_request(left, types.EmptyResult)
        await server.until({URIS[1]})
        assert mine.heard.empty()


async def test_who_leaves_is_followed_for_no_more_and_a_stream_that_ended_is_opened_again():
    hearer = Hearer()
    async with _modern() as (server, served):
        async with client_of(served, path="/mcp/modern", mode="legacy", message_handler=hearer) as client:
            await client.session.send_request(_subscribe(URIS[0]), types.EmptyResult)
            await server.until({URIS[0]})
            server.hang_up()
            # What changed meanwhile was told to nobody, so it may be another by now.
            while await hearer.next() != ("ResourceUpdatedNotification", URIS[0]):
                pass
            await server.until({URIS[0]})
        await server.until()


@ERAS
async def test_changes_of_lists_are_told(era: str):
    hearer = Hearer()
    async with (
        _modern() as (server, served),
        client_of(served, path="/mcp/modern", mode=era, message_handler=hearer) as client,
    ):
        await server.until_lists()
        if era == "legacy":
            await client.list_prompts()  # It is let in by then.
            await server.bus.publish(ResourcesListChanged())
            assert await hearer.next() == ("ResourceListChangedNotification", "")
            await server.bus.publish(PromptsListChanged())
            assert await hearer.next() == ("PromptListChangedNotification", "")
            return
        async with client.listen(resources_list_changed=True, prompts_list_changed=True) as changes:
            await server.bus.publish(PromptsListChanged())
            assert isinstance(await asyncio.wait_for(anext(aiter(changes)), 20), PromptsListChanged)
