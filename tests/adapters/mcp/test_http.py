"""Servers over streamable HTTP, of both eras of the protocol: the same promises as over stdio."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, Failed, Refused, Unknown
from callgate.adapters.mcp import McpServer
from tests.adapters.mcp.processes import HERE, come, free_port, running_script
from tests.adapters.mcp.servers import FREE, READS, WRITES, gate_of, told, until_available, witnessed
from tests.waiting import until

pytestmark = pytest.mark.slow

DECLARED = {"note": WRITES, "die_after": WRITES, "hang": WRITES, "*": READS}


def at(port: int, **fields: object) -> McpServer:
    options: Any = {"url": f"http://127.0.0.1:{port}/mcp", "declare": DECLARED, "startup": 20, **fields}
    return McpServer("srv", **options)


@pytest.mark.parametrize("over", ["http", "stdio"])
async def test_a_server_of_the_newest_protocol_keeps_every_promise(tmp_path: Path, over: str) -> None:
    port = free_port()
    script = str(HERE / "modern_server.py")
    with running_script("modern_server.py", tmp_path, port):
        await come(port)
        if over == "http":
            server = at(port)
        else:
            server = McpServer("srv", command=[sys.executable, script, str(tmp_path)], declare=DECLARED, startup=20)
        async with gate_of(config=FREE) as gate:
            assert (await gate.attach(server)).ok
            assert (await gate.call("srv.add", {"a": 1, "b": 2})).unwrap() == {"result": 3}
            assert (await gate.call("srv.note", {"text": over})).ok
            [image] = (await gate.call("srv.picture")).unwrap()["blocks"]
            assert (image["type"], image["mimeType"]) == ("image", "image/png")
            assert (await gate.call("srv.steps")).unwrap() == {"result": "done over 2026-07-28"}
            assert [step["note"] for step in await told(gate, "tool_call.progress")] == ["half", "whole"]
            assert isinstance(await gate.call("srv.hang", timeout=1), Unknown)
            await until(lambda: witnessed(tmp_path, "cancelled"))
            assert (await gate.call("srv.change")).ok
            await until(lambda: "srv.brand_new" in {tool.name for tool in gate.tools()})
            assert "srv.picture" not in {tool.name for tool in gate.tools()}
            assert isinstance(await gate.call("srv.brand_new"), Refused)
    assert witnessed(tmp_path, "notes") == [over]


@pytest.mark.requirement("ADP-05")
@pytest.mark.parametrize("script", ["http_server.py", "modern_server.py"])
async def test_a_server_killed_and_started_again_is_back_without_the_gate_being_opened_again(
    tmp_path: Path, script: str
) -> None:
    port = free_port()
    async with gate_of(config=FREE) as gate:
        with running_script(script, tmp_path, port):
            await come(port)
            await gate.attach(at(port))
            assert isinstance(await gate.call("srv.die_after", {"text": "paid"}, Context(idempotency_key="k")), Unknown)
        await until_available(gate, available=False)
        refused = await gate.call("srv.note", {"text": "while it is gone"})
        assert isinstance(refused, Refused)
        assert "the MCP server srv" in refused.to_human()
        with running_script(script, tmp_path, port):
            await until_available(gate)
            assert (await gate.call("srv.note", {"text": "back"})).ok
            again = await gate.call("srv.die_after", {"text": "paid"}, Context(idempotency_key="k"))
            assert isinstance(again, Refused)
    assert witnessed(tmp_path, "notes") == ["paid", "back"]


@pytest.mark.parametrize("tool", ["echo", "note"], ids=["a read", "an effect"])
async def test_a_server_that_forgot_the_session_is_asked_in_a_new_one(tmp_path: Path, tool: str) -> None:
    port = free_port()
    async with gate_of(config=FREE) as gate:
        with running_script("http_server.py", tmp_path, port):
            await come(port)
            await gate.attach(at(port))
        with running_script("http_server.py", tmp_path, port):
            await come(port)
            assert (await gate.call(f"srv.{tool}", {"text": "x"})).unwrap() == f"{tool} x"
    assert witnessed(tmp_path, "calls") == [tool]


async def test_a_read_on_its_way_when_the_server_dies_is_tried_again(tmp_path: Path) -> None:
    port = free_port()
    async with gate_of(config=FREE) as gate:
        with running_script("http_server.py", tmp_path, port) as first:
            await come(port)
            await gate.attach(at(port))
            reading = asyncio.ensure_future(gate.call("srv.die_once", {"text": "x"}))
            await asyncio.to_thread(first.wait, 20)
        with running_script("http_server.py", tmp_path, port):
            assert (await reading).unwrap() == "die_once x"
    assert witnessed(tmp_path, "calls") == ["die_once", "die_once"]


async def test_answers_without_an_end_bombs_and_garbage_harm_nobody(tmp_path: Path) -> None:
    port = free_port()
    async with gate_of(config=FREE) as gate:
        with running_script("http_server.py", tmp_path, port):
            await come(port)
            await gate.attach(at(port))
            for name in ("huge", "bomb", "garbage"):
                assert isinstance(await gate.call(f"srv.{name}", timeout=20), Failed)
                await until_available(gate)
            assert (await gate.call("srv.echo", {"text": "still here"})).ok


async def test_headers_carry_secrets_which_come_back_struck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_SECRET_SRV_TOKEN", "header-secret-0815")
    port = free_port()
    headers = {"Authorization": "Bearer secret:srv/token", "X-Plain": "plain"}
    with running_script("http_server.py", tmp_path, port):
        await come(port)
        async with gate_of(config=FREE) as gate:
            await gate.attach(at(port, headers=headers))
            output = (await gate.call("srv.header")).unwrap()
    assert witnessed(tmp_path, "headers") == ["Bearer header-secret-0815 plain"]
    assert "header-secret-0815" not in output
    assert witnessed(tmp_path, "goodbyes") == [""]


async def test_a_server_that_is_not_there_gives_no_tools_and_comes_by_itself(tmp_path: Path) -> None:
    port = free_port()
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(at(port))
        [failure] = report.failures
        assert "the MCP server srv cannot be reached" in failure.reason
        with running_script("http_server.py", tmp_path, port):
            await until(gate.tools)
            assert (await gate.call("srv.echo", {"text": "hello"})).ok
