"""In front of another MCP server: what it has beside tools passes through, under the same policy."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from callgate.errors import NotFound
from callgate.serve.mcp.http import McpEndpoint
from callgate.serve.rates import Rates
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import client_of, text_of, with_token
from tests.doors.mcp.everything_server import Everything, everything_server

_OPEN = {"effects": ["read_only", "network_access"]}
ALL = {"*": _OPEN, "sampling/createMessage": _OPEN, "elicitation/create": _OPEN}
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@asynccontextmanager
async def _gateway(declare: dict[str, Any] | None = None) -> AsyncGenerator[tuple[Served, Everything]]:
    async with everything_server() as (server, url), served_gate(Callgate.open("memory://")) as served:
        await served.gate.attach(McpServer("everything", url=url, prefix="every_thing", declare=declare or ALL))
        yield served, server


@ERAS
async def test_a_source_has_an_endpoint_of_its_own_with_its_own_names(era: str):
    async with _gateway() as (served, _), client_of(served, path="/mcp/everything", mode=era) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        image = await client.call_tool("test_image_content")
        foreign = await client.call_tool("word_count", {"text": "a"})
    assert "test_simple_text" in listed
    assert "word_count" not in listed
    assert image.content[0].type == "image"
    assert foreign.is_error
    assert "tool_not_found" in text_of(foreign)


@ERAS
async def test_resources_prompts_and_completion_pass_through(era: str):
    async with _gateway() as (served, server), client_of(served, mode=era) as client:
        [first, *_] = (await client.list_resources()).resources
        [template] = (await client.list_resource_templates()).resource_templates
        read = await client.read_resource(first.uri)
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        prompt = await client.get_prompt("every_thing__test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        done = await client.complete(
            types.PromptReference(name="every_thing__test_prompt_with_arguments"), {"name": "arg1", "value": "par"}
        )
    assert first.uri == "every-thing+test://static-text"
    assert template.uri_template == "every-thing+test://template/{id}/data"
    assert read.contents[0].uri == first.uri
    assert server.read == ["test://static-text"]
    assert "every_thing__test_simple_prompt" in prompts
    assert "arg1='a'" in prompt.messages[0].content.text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert done.completion.values == ["paris", "park", "party"]


async def test_what_the_operator_did_not_declare_does_not_pass():
    tools_only = {"test_*": {"effects": ["read_only", "network_access"]}}
    async with (
        _gateway(tools_only) as (served, server),
        client_of(served, path="/mcp/everything", mode="legacy") as client,
    ):
        assert (await client.list_resources()).resources == []
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource("test://static-text")
        refused = await client.call_tool("test_sampling", {"prompt": "hello"})
    assert server.read == []
    assert refused.is_error


async def test_who_may_not_reach_servers_sees_and_reads_nothing():
    async with _gateway() as (served, server), client_of(served, limits={"scopes": frozenset({"fs:read"})}) as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource("every-thing+test://static-text")
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("every_thing__test_simple_prompt")
    assert server.read == []


async def test_reading_a_resource_is_recorded_as_a_call():
    async with _gateway() as (served, _), client_of(served) as client:
        await client.read_resource("every-thing+test://static-text")
        types_seen = [event.type async for event in served.gate.events() if _is_of(event, "every_thing.resources/read")]
    assert types_seen[-1] == "tool_call.succeeded"


@ERAS
async def test_changes_of_a_resource_reach_who_subscribed(era: str):
    uri = "every-thing+test://watched-resource"
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(message.params.uri)

    async with _gateway() as (served, server), client_of(served, mode=era, message_handler=hear) as client:
        if era == "legacy":
            await client.session.send_request(types.SubscribeRequest(params={"uri": uri}), types.EmptyResult)  # pyright: ignore[reportArgumentType]
            await server.change("test://watched-resource")
            assert await asyncio.wait_for(heard.get(), 10) == uri
            await client.session.send_request(types.UnsubscribeRequest(params={"uri": uri}), types.EmptyResult)  # pyright: ignore[reportArgumentType]
        else:
            async with client.listen(resource_subscriptions=[uri]) as changes:
                await server.change("test://watched-resource")
                event: Any = await asyncio.wait_for(anext(aiter(changes)), 10)
            assert event.uri == uri
        await asyncio.wait_for(server.left.wait(), 10)
        assert server.watched == {}


async def test_a_revoked_credential_hears_nothing_more():
    uri = "every-thing+test://watched-resource"
    mine: asyncio.Queue[str] = asyncio.Queue()
    theirs: asyncio.Queue[str] = asyncio.Queue()

    def hear(into: asyncio.Queue[str]) -> Any:
        async def heard(message: Any) -> None:
            into.put_nowait(type(message).__name__)

        return heard

    async with _gateway() as (served, server):
        credential, token = await served.gate.admit_agent("revoked", by="operator")
        async with (
            with_token(f"{served.url}/mcp", token, mode="legacy", message_handler=hear(mine)) as one,
            client_of(served, mode="legacy", message_handler=hear(theirs)) as two,
        ):
            for client in (one, two):
                await client.session.send_request(types.SubscribeRequest(params={"uri": uri}), types.EmptyResult)  # pyright: ignore[reportArgumentType]
            await served.gate.revoke_credential(credential.id, by="operator")
            served.gate.remove("pay")
            assert await asyncio.wait_for(theirs.get(), 10) == "ToolListChangedNotification"
            await server.change("test://watched-resource")
            assert await asyncio.wait_for(theirs.get(), 10) == "ResourceUpdatedNotification"
            assert mine.empty()


async def test_a_server_that_does_not_answer_is_left_out_and_the_log_says_which(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "callgate.mcp")
    async with served_gate(Callgate.open("memory://")) as served:
        async with everything_server() as (_, url):
            await served.gate.attach(McpServer("everything", url=url, prefix="every_thing", declare=ALL))
        async with client_of(served, mode="legacy") as client:
            assert (await client.list_resources()).resources == []
    assert "resources/list of everything is left out" in caplog.text


async def test_a_source_that_is_gone_is_not_found():
    async with Callgate.open("memory://") as gate:
        with pytest.raises(NotFound, match="gone"):
            await gate.relay_list("gone", "resources/list")
        with pytest.raises(NotFound, match="gone"):
            await gate.relay_subscribe("gone", "test://a", gate.context)


async def test_an_address_is_decoded_once():
    async with _gateway() as (served, _), client_of(served, path="/mcp/every%2574hing", mode="legacy") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"approval_result"}


async def test_a_door_that_cannot_begin_says_so_and_does_not_wait():
    async with Callgate.open("memory://") as gate:
        endpoint = McpEndpoint(gate, url="http://127.0.0.1:1", body_bytes=1000, rates=Rates(per_second=1, burst=1))
        async with endpoint.open():
            pass
        deadline = asyncio.timeout(10)
        with pytest.raises(RuntimeError, match="once"):
            async with deadline, endpoint.open():
                pytest.fail("it began twice")
        assert not deadline.expired()


async def test_a_server_asks_the_client_whose_call_it_answers():
    def person(name: str) -> Any:
        async def elicit(_context: Any, _params: Any) -> types.ElicitResult:
            return types.ElicitResult(action="accept", content={"response": name})

        return elicit

    async with (
        _gateway() as (served, _),
        client_of(served, name="one", mode="legacy", elicitation_callback=person("one")) as one,
        client_of(served, name="two", mode="legacy", elicitation_callback=person("two")) as two,
    ):
        calls = [each.call_tool("every_thing__test_elicitation", {"message": "who?"}) for each in (one, two) * 5]
        answers = [text_of(answer) for answer in await asyncio.gather(*calls)]
    assert [("one" in answer, "two" in answer) for answer in answers] == [(True, False), (False, True)] * 5


async def test_log_lines_of_a_call_reach_its_client_and_nobody_else():
    mine: list[str] = []
    theirs: list[str] = []

    def log(into: list[str]) -> Any:
        async def line(params: Any) -> None:
            into.append(params.data)

        return line

    async with (
        _gateway() as (served, _),
        client_of(served, mode="legacy", logging_callback=log(mine)) as client,
        client_of(served, name="other", mode="legacy", logging_callback=log(theirs)),
    ):
        await client.call_tool("every_thing__test_tool_with_logging")
    assert mine == ["Tool execution started", "Tool processing data", "Tool execution completed"]
    assert theirs == []


def _is_of(event: Any, tool: str) -> bool:
    payload: dict[str, Any] = event.payload or {}
    return payload.get("tool") == tool
