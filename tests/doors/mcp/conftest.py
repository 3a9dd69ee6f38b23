"""A served gate, and clients of the official SDK that call it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from callgate import Callgate
from tests.doors.http.conftest import Served, served_gate


@pytest.fixture
async def served():
    async with served_gate(Callgate.open("memory://")) as found:
        yield found


@asynccontextmanager
async def client_of(
    served: Served, *, path: str = "/mcp", name: str = "crawler", limits: dict[str, Any] | None = None, **choices: Any
) -> AsyncGenerator[Client]:
    """A client that shows an agent's token."""
    _, token = await served.gate.admit_agent(name, by="operator", **(limits or {}))
    async with with_token(served.url + path, token, **choices) as client:
        yield client


@asynccontextmanager
async def with_token(url: str, token: str, **choices: Any) -> AsyncGenerator[Client]:
    """A client that shows this token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), cache=None, **choices) as client,
    ):
        yield client


def text_of(answer: Any) -> str:
    """What a model reads of a result."""
    return answer.content[0].text


async def begin(client: httpx2.AsyncClient) -> dict[str, str]:
    """A session by hand; the headers that name it."""
    accept = {"Accept": "application/json, text/event-stream"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    begun = await client.post(
        "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, headers=accept
    )
    session = accept | {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
    await client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
    return session
