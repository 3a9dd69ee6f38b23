"""A resource that is a file is judged as a path, however its address is spelled; the witness is the server behind."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from mcp import MCPError

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import client_of
from tests.doors.mcp.everything_server import Everything, everything_server

ALL = {"*": {"effects": ["read_only", "network_access"]}}
INSIDE = Path.cwd() / "README.md"


@pytest.fixture
async def gateway() -> AsyncGenerator[tuple[Served, Everything]]:
    async with everything_server() as (server, url), served_gate(Callgate.open("memory://")) as served:
        await served.gate.attach(McpServer("everything", url=url, prefix="every_thing", declare=ALL))
        yield served, server


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "file:etc/passwd",
        "file:/etc/passwd",
        "file://etc/passwd",
        "file:\\\\\\etc\\passwd",
        "file:\\etc\\passwd",
        "file://elsewhere/etc/passwd",
        "file:////etc/passwd",
        " file:///etc/passwd",
        "\x01file:///etc/passwd",
        "fi\tle:///etc/passwd",
        "file\n:///etc/passwd",
        "file:///etc/pass\twd",
        "file:///%65tc/passwd",
        f"file://{INSIDE}?/../../../../../../etc/passwd",
        f"file://{INSIDE}#/../../../../../../etc/passwd",
        f"file://{INSIDE.parent}/\\..\\..\\..\\..\\etc\\passwd",
        f"file://{INSIDE.parent}/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    ],
    ids=ascii,
)
async def test_a_file_outside_is_not_asked_for(gateway: tuple[Served, Everything], address: str):
    served, server = gateway
    async with client_of(served, mode="legacy") as client:
        with pytest.raises(MCPError):
            await client.read_resource(f"every-thing+{address}")
    assert server.read == []


@pytest.mark.parametrize("address", [f"file://{INSIDE}", f"FILE://LOCALHOST{INSIDE}", "test://file:etc/passwd"])
async def test_a_file_inside_and_what_is_no_file_is_asked_for(gateway: tuple[Served, Everything], address: str):
    served, server = gateway
    async with client_of(served, mode="legacy") as client:
        with pytest.raises(MCPError):  # it has no such resource, and says so itself
            await client.read_resource(f"every-thing+{address}")
    assert server.read == [address]
