"""Subscribing to a resource takes what reading it takes: the same rules, the same people, a place in the record."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from callgate.model.event import Event
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import client_of
from tests.doors.mcp.everything_server import Everything, at_free_port, everything_server
from tests.doors.mcp.test_modern_upstream import URIS, Hearer, Modern

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
ALL = {"*": {"effects": ["read_only", "network_access"]}}
READ = "every_thing.resources/read"
SECRET, OPEN = "test://secret", "test://open"
PREFIX = "every-thing+"
_SECONDS = 20
_RULES = """\
version: 1
global:
  rules:
    - {match: "%s", when: 'args.resource == "%s"', verdict: %s, why: "not everybody's"}
"""


def _policy(folder: Path, *, verdict: str, match: str = READ, uri: str = SECRET) -> Callgate:
    config = folder / "callgate.yaml"
    config.write_text(_RULES % (match, uri, verdict))
    return Callgate.open("memory://", config=str(config))


@asynccontextmanager
async def _gateway(gate: Callgate) -> AsyncGenerator[tuple[Served, Everything]]:
    async with everything_server() as (server, url), served_gate(gate) as served:
        await served.gate.attach(McpServer("everything", url=url, prefix="every_thing", declare=ALL))
        yield served, server


async def _subscribe(client: Client, uri: str, **meta: Any) -> None:
    params = types.SubscribeRequestParams.model_validate({"uri": PREFIX + uri, "_meta": meta or None})
    await client.session.send_request(types.SubscribeRequest(params=params), types.EmptyResult)


async def _unsubscribe(client: Client, uri: str) -> None:
    params = types.UnsubscribeRequestParams(uri=PREFIX + uri)
    await client.session.send_request(types.UnsubscribeRequest(params=params), types.EmptyResult)


@asynccontextmanager
async def _watching(client: Client, era: str, *uris: str) -> AsyncGenerator[None]:
    """Subscribed, as this era does it."""
    if era == "legacy":
        for uri in uris:
            await _subscribe(client, uri)
        yield
        return
    async with client.listen(resource_subscriptions=[PREFIX + uri for uri in uris]):
        yield


async def _recorded(served: Served) -> list[Event]:
    found = [event async for event in served.gate.events()]
    return [event for event in found if (event.payload or {}).get("tool") == READ]


@ERAS
async def test_a_resource_that_a_rule_denies_is_not_subscribed_to_and_the_refusal_is_recorded(tmp_path: Path, era: str):
    async with _gateway(_policy(tmp_path, verdict="deny")) as (served, server), client_of(served, mode=era) as client:
        with pytest.raises(MCPError, match="not everybody's"):
            async with _watching(client, era, SECRET):
                pytest.fail("it is watched")
        assert server.watched == {}
        [refused] = await _recorded(served)
        assert refused.type == "tool_call.refused"
        assert (refused.payload or {})["arguments"] == {"resource": SECRET, "subscribe": True}
        async with _watching(client, era, OPEN):
            assert set(server.watched) == {OPEN}


async def test_a_subscription_is_recorded_as_a_call():
    async with _gateway(Callgate.open("memory://")) as (served, server), client_of(served, mode="legacy") as client:
        await _subscribe(client, OPEN)
        assert [event.type for event in await _recorded(served)] == ["tool_call.attempted", "tool_call.succeeded"]
        assert server.read == []


async def test_a_server_of_the_newest_protocol_is_asked_only_for_what_was_let_through(tmp_path: Path):
    server = Modern()
    gate = _policy(tmp_path, verdict="deny", match="modern.resources/*", uri=URIS[1])
    async with (
        at_free_port(server.streamable_http_app()) as url,
        served_gate(gate) as served,
        client_of(served, path="/mcp/modern", mode="2026-07-28") as client,
    ):
        await served.gate.attach(McpServer("modern", url=f"{url}/mcp", declare=ALL))
        with pytest.raises(MCPError, match="not everybody's"):
            async with client.listen(resource_subscriptions=[*URIS]):
                pytest.fail("it is watched")
        async with client.listen(resource_subscriptions=[URIS[0]]):
            await server.until({URIS[0]})


async def test_a_file_out_of_reach_is_not_subscribed_to():
    async with _gateway(Callgate.open("memory://")) as (served, server), client_of(served, mode="legacy") as client:
        with pytest.raises(MCPError, match="policy_denied"):
            await _subscribe(client, "file:///etc/passwd")
        assert server.watched == {}


async def test_where_a_person_has_to_decide_nothing_is_subscribed_to_before(tmp_path: Path):
    async with (
        _gateway(_policy(tmp_path, verdict="confirm")) as (served, server),
        client_of(served, mode="legacy") as client,
    ):
        asking = asyncio.ensure_future(_subscribe(client, SECRET))
        question = await served.question()
        assert server.watched == {}
        await served.gate.approve(question.id, by="ada")
        await asyncio.wait_for(asking, _SECONDS)
        assert set(server.watched) == {SECRET}


async def test_what_a_person_made_another_resource_of_is_not_subscribed_to(tmp_path: Path):
    async with (
        _gateway(_policy(tmp_path, verdict="confirm")) as (served, server),
        client_of(served, mode="legacy") as client,
    ):
        asking = asyncio.ensure_future(_subscribe(client, SECRET))
        question = await served.question()
        await served.gate.approve(question.id, by="ada", arguments={"resource": OPEN, "subscribe": True})
        with pytest.raises(MCPError, match="nobody listens"):
            await asyncio.wait_for(asking, _SECONDS)
        assert server.watched == {}


async def test_what_a_person_made_a_reading_of_is_not_subscribed_to(tmp_path: Path):
    async with (
        _gateway(_policy(tmp_path, verdict="confirm", uri="test://static-text")) as (served, server),
        client_of(served, mode="legacy") as client,
    ):
        asking = asyncio.ensure_future(_subscribe(client, "test://static-text"))
        question = await served.question()
        await served.gate.approve(question.id, by="ada", arguments={"resource": "test://static-text"})
        with pytest.raises(MCPError, match="was not subscribed to"):
            await asyncio.wait_for(asking, _SECONDS)
        assert server.watched == {}


async def test_a_call_subscribes_to_nothing_where_nobody_listens():
    async with _gateway(Callgate.open("memory://")) as (served, server):
        failed = await served.gate.call(READ, {"resource": OPEN, "subscribe": True})
        assert failed.error is not None
        assert "nobody listens" in failed.error.message
        assert server.watched == {}


async def test_a_key_makes_no_subscription_of_one_that_was_before():
    wishes = {"callgate/context": {"idempotency_key": "k1"}}
    async with _gateway(Callgate.open("memory://")) as (served, server), client_of(served, mode="legacy") as client:
        await _subscribe(client, OPEN, **wishes)
        await _unsubscribe(client, OPEN)
        assert server.watched == {}
        await _subscribe(client, OPEN, **wishes)
        assert set(server.watched) == {OPEN}


async def test_what_a_request_gives_up_counts_for_its_subscription():
    async with _gateway(Callgate.open("memory://")) as (served, server), client_of(served, mode="legacy") as client:
        with pytest.raises(MCPError, match="Unknown resource"):
            await _subscribe(client, OPEN, **{"callgate/context": {"scopes": ["fs:read"]}})
        assert server.watched == {}


async def test_one_subscription_that_is_asked_for_twice_at_once_ends_with_one_word():
    async with _gateway(Callgate.open("memory://")) as (served, server), client_of(served, mode="legacy") as client:
        await asyncio.gather(*(_subscribe(client, OPEN) for _ in range(5)))
        await _unsubscribe(client, OPEN)
        await asyncio.wait_for(server.left.wait(), _SECONDS)
        assert server.watched == {}


@ERAS
async def test_who_leaves_leaves_all_of_them_and_nobody_elses(era: str):
    async with _gateway(Callgate.open("memory://")) as (served, server), client_of(served, mode="legacy") as stays:
        await _subscribe(stays, OPEN)
        async with client_of(served, name="other", mode=era) as leaves, _watching(leaves, era, OPEN, "test://1"):
            assert set(server.watched) == {OPEN, "test://1"}
        await asyncio.wait_for(server.left.wait(), _SECONDS)
        assert set(server.watched) == {OPEN}


async def test_who_subscribed_at_a_source_that_came_again_since_ends_nobody_elses_subscription():
    heard = Hearer()
    async with everything_server() as (server, url), served_gate(Callgate.open("memory://")) as served:
        await served.gate.attach(McpServer("everything", url=url, prefix="every_thing", declare=ALL))
        async with client_of(served, name="before", mode="legacy") as before:
            await _subscribe(before, OPEN)
            await served.gate.detach("everything")
            await served.gate.attach(McpServer("everything", url=url, prefix="every_thing", declare=ALL))
            async with client_of(served, name="after", mode="legacy", message_handler=heard) as after:
                await _subscribe(after, OPEN)
                await _unsubscribe(before, OPEN)
                assert not server.left.is_set()
                await server.change(OPEN)
                assert await heard.next() == ("ResourceUpdatedNotification", PREFIX + OPEN)
                await _unsubscribe(after, OPEN)
                assert server.watched == {}


async def test_the_policy_knows_what_servers_have_beside_tools(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with _gateway(_policy(tmp_path, verdict="deny", match=READ)) as (served, _):
        assert (await served.gate.call("word_count", {"text": "a"})).ok
        assert READ in {each.name for each in served.gate.relayed_tools()}
        assert READ not in {each.name for each in served.gate.tools()}
    assert "there is no tool" not in caplog.text


@pytest.mark.slow
async def test_checking_and_testing_a_policy_know_it_too(tmp_path: Path):
    cases = [
        {"tool": READ, "arguments": {"resource": uri, "subscribe": True}, "expect": verdict}
        for uri, verdict in ((SECRET, "deny"), (OPEN, "allow"))
    ]
    (tmp_path / "cases.yaml").write_text(json.dumps(cases))
    async with everything_server() as (_, url):
        server = {"url": url, "prefix": "every_thing", "declare": {"resources/read": ALL["*"]}}
        rules = _RULES % (READ, SECRET, "deny")
        (tmp_path / "callgate.yaml").write_text(f"{rules}mcp_servers: {json.dumps({'everything': server})}\n")
        checked = await _shell(tmp_path, "policy", "check")
        tested = await _shell(tmp_path, "policy", "test", "cases.yaml")
        (tmp_path / "callgate.yaml").write_text(
            f"{rules.replace('read', 'raed')}mcp_servers: {json.dumps({'everything': server})}\n"
        )
        mistyped = await _shell(tmp_path, "policy", "check")
    assert "there is no tool" not in checked
    assert "2 cases, 0 not as expected" in tested
    assert f"did you mean {READ}?" in mistyped


async def _shell(folder: Path, *words: str) -> str:
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "callgate", *words, cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await asyncio.wait_for(started.communicate(), 60)
    return told.decode()
