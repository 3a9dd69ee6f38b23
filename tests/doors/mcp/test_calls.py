"""Calling over MCP: the credential's own pool, the same outcomes as in process, in both eras of the protocol."""

import asyncio
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError

from callgate import ToolContext, tool
from callgate.model.levels import Autonomy
from tests.doors.http.conftest import Served
from tests.doors.mcp.conftest import begin, client_of, text_of, with_token

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@ERAS
async def test_an_agent_lists_and_calls(served: Served, era: str):
    async with client_of(served, mode=era) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("word_count", {"text": "a b"})
    assert {"word_count", "pay", "approval_result"} <= set(listed)
    shown = listed["word_count"]
    assert shown.annotations is not None
    assert shown.annotations.read_only_hint is True
    assert shown.output_schema is not None
    assert shown.output_schema["properties"]["result"]["type"] == "integer"
    assert answer.is_error is False
    assert answer.structured_content == {"result": 2}
    assert text_of(answer) == "2"


@ERAS
async def test_a_refusal_is_a_tool_error_with_its_reason(served: Served, era: str):
    async with client_of(served, mode=era) as client:
        wrong = await client.call_tool("word_count", {"text": 1})
        absent = await client.call_tool("word_cuont", {})
    assert wrong.is_error
    assert "invalid_arguments" in text_of(wrong)
    assert absent.is_error
    assert "tool_not_found" in text_of(absent)


async def test_the_list_and_the_call_are_judged_alike(served: Served):
    async with client_of(served, limits={"read_only": True}) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("pay", {"amount": 3})
    assert "pay" not in listed
    assert refused.is_error
    assert served.paid == []


async def test_nobody_comes_in_without_an_agents_token(served: Served):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with served.nobody() as client:
        nobody = await client.post("/mcp", json=body, headers=accept)
    async with await served.person() as client:
        person = await client.post("/mcp", json=body, headers=accept)
    assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, 'Bearer realm="callgate"')
    assert (person.status_code, person.json()["code"]) == (403, "entry_refused")


async def test_a_session_is_of_its_credential_alone(served: Served):
    async with await served.agent() as mine, await served.agent("other") as theirs:
        session = await begin(mine)
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        stolen = await theirs.post("/mcp", json=body, headers=session)
        own = await mine.post("/mcp", json=body, headers=session)
    assert stolen.status_code == 404
    assert own.status_code == 200


async def test_a_revoked_token_ends_its_session(served: Served):
    credential, token = await served.gate.admit_agent("crawler", by="operator")
    async with with_token(f"{served.url}/mcp", token, mode="legacy") as client:
        await client.call_tool("word_count", {"text": "a"})
        await served.gate.revoke_credential(credential.id, by="operator")
        with pytest.raises((MCPError, RuntimeError, httpx2.HTTPError)):
            await client.call_tool("word_count", {"text": "a"})


@ERAS
async def test_a_request_may_give_up_some_of_its_credential(served: Served, era: str):
    async with client_of(served, mode=era) as client:
        narrowed = await client.call_tool("pay", {"amount": 1}, meta={"callgate/context": {"read_only": True}})
    assert narrowed.is_error
    assert served.paid == []


@ERAS
async def test_one_key_is_one_effect(served: Served, era: str):
    async with client_of(served, mode=era, limits={"autonomy": Autonomy.A4}) as client:
        meta: Any = {"callgate/context": {"idempotency_key": "k1"}}
        first = await client.call_tool("pay", {"amount": 7}, meta=meta)
        second = await client.call_tool("pay", {"amount": 7}, meta=meta)
    assert text_of(first) == text_of(second) == "paid 7"
    assert served.paid == [7]


@ERAS
async def test_progress_is_told_before_the_result(served: Served, era: str):
    @tool(effects="read_only")
    async def walk(steps: int, context: ToolContext) -> str:
        """Walk some steps."""
        for step in range(steps):
            context.progress((step + 1) / steps, f"step {step + 1}")
        return "there"

    served.gate.add(walk)
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with client_of(served, mode=era) as client:
        answer = await client.call_tool("walk", {"steps": 3}, progress_callback=hear)
    assert text_of(answer) == "there"
    assert [message for _, _, message in heard] == ["step 1", "step 2", "step 3"]
    assert heard[-1][:2] == (1.0, 1.0)


@ERAS
async def test_a_cancelled_call_is_stopped(served: Served, era: str):
    begun, stopped = asyncio.Event(), asyncio.Event()

    @tool(effects="read_only")
    async def linger() -> str:
        """Stay for long."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    served.gate.add(linger)
    async with client_of(served, mode=era) as client:
        calling = asyncio.ensure_future(client.call_tool("linger"))
        await asyncio.wait_for(begun.wait(), 10)
        calling.cancel()
        await asyncio.wait_for(stopped.wait(), 10)


@ERAS
async def test_clients_hear_of_new_tools_they_may_call(served: Served, era: str):
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            heard.set()

    async with client_of(served, mode=era, message_handler=hear) as client, _listening(client, era, heard):
        await client.list_tools()

        @tool(effects="read_only")
        def fresh() -> str:
            """Something new."""
            return "new"

        served.gate.add(fresh)
        await asyncio.wait_for(heard.wait(), 10)
        assert "fresh" in {tool.name for tool in (await client.list_tools()).tools}


class _listening:  # noqa: N801 - a context manager
    """From 2026-07-28 on a client hears only what it listens for."""

    def __init__(self, client: Client, era: str, heard: asyncio.Event) -> None:
        self._client, self._era, self._heard = client, era, heard
        self._ready = asyncio.Event()

    async def __aenter__(self) -> None:
        self._task = asyncio.ensure_future(self._listen())
        await asyncio.wait_for(self._ready.wait(), 10)

    async def __aexit__(self, *_given: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _listen(self) -> None:
        if self._era == "legacy":
            self._ready.set()
            return
        async with self._client.listen(tools_list_changed=True) as changes:
            self._ready.set()
            async for _ in changes:
                self._heard.set()
