"""The connection to a server: lost, made again by itself, and what that means for calls on their way."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from callgate import Failed, Refused, Succeeded, Unknown
from callgate.adapters.mcp import McpServer
from callgate.errors import ConfigurationError
from callgate.model.levels import Happened, HealthStatus
from tests.adapters.mcp.servers import (
    DECLARED,
    FREE,
    READS,
    WRITES,
    command,
    gate_of,
    scripted,
    told,
    until,
    until_available,
    witnessed,
)


def kill(folder: Path) -> None:
    os.kill(int(witnessed(folder, "starts")[-1]), signal.SIGKILL)


async def test_a_read_on_its_way_when_the_server_dies_is_tried_again(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        assert (await gate.call("srv.die_once")).unwrap() == "alive"
        assert len(witnessed(tmp_path, "tries")) == len(witnessed(tmp_path, "starts")) == 2


async def test_a_server_killed_in_the_middle_comes_back_without_the_gate_being_opened_again(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, declare={"hang": WRITES, "echo": READS}))
        effect = asyncio.ensure_future(gate.call("srv.hang", timeout=30))
        await until(lambda: witnessed(tmp_path, "calls"))
        kill(tmp_path)
        assert isinstance(await effect, Unknown)
        await until_available(gate)
        assert (await gate.call("srv.echo", {"text": "back"})).ok
        assert [event["type"] for event in await told(gate, "source.lost", "source.back")] == [
            "source.lost",
            "source.back",
        ]


@pytest.mark.slow
async def test_a_stream_of_changes_that_ends_is_listened_to_again_and_costs_no_session(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, "modern"))
        await until(lambda: len(witnessed(tmp_path, "listens")) == 2)
        assert (await gate.call("srv.echo", {"text": "x"})).ok
        # What may have been missed between the two streams was asked for.
        await until(lambda: len(witnessed(tmp_path, "lists")) == 2)
        assert (await gate.call("srv.note", {"text": "x"})).ok
    assert len(witnessed(tmp_path, "starts")) == 1


@pytest.mark.requirement("ADP-05")
async def test_tools_vanish_come_and_are_unavailable_as_the_server_says(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        assert {"srv.say"} <= {tool.name for tool in gate.tools()}
        await gate.call("srv.change")
        await until(lambda: "srv.brand_new" in {tool.name for tool in gate.tools()})
        assert "srv.say" not in {tool.name for tool in gate.tools()}


def removable(folder: Path) -> tuple[McpServer, Path]:
    """The scripted server, and the file without which it does not start again."""
    starter = folder / "starter.py"
    starter.write_text(f"import runpy, sys\nsys.argv = {command(folder)[2:]!r}\nrunpy.run_path(sys.argv[0])\n")
    return McpServer("srv", command=[sys.executable, "-I", str(starter)], declare=DECLARED), starter


async def test_a_read_whose_server_stays_away_fails_within_its_time(tmp_path: Path) -> None:
    server, starter = removable(tmp_path)
    async with gate_of(config=FREE) as gate:
        await gate.attach(server)
        starter.unlink()
        failed = await gate.call("srv.die_once", timeout=0.7)
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.NONE
    assert len(witnessed(tmp_path, "tries")) == 1


@pytest.mark.requirement("ADP-05", "ADP-09")
async def test_a_server_that_is_gone_makes_its_tools_unavailable_and_is_named(tmp_path: Path) -> None:
    server, starter = removable(tmp_path)
    async with gate_of(config=FREE) as gate:
        await gate.attach(server)
        assert (await gate.call("srv.add")).ok
        away = tmp_path / "away.py"
        starter.rename(away)
        kill(tmp_path)
        await until_available(gate, available=False)
        refused = await gate.call("srv.note", {"text": "x"})
        assert isinstance(refused, Refused)
        assert refused.error is not None
        assert refused.error.code == "tool_unavailable"
        assert "the MCP server srv is gone" in refused.to_human()
        assert [tool.name for tool in gate.pool()] == []
        away.rename(starter)
        await until_available(gate)
        assert isinstance(await gate.call("srv.note", {"text": "y"}), Succeeded)
    assert witnessed(tmp_path, "notes") == ["y"]


@pytest.mark.requirement("ADP-09")
async def test_a_server_that_cannot_be_started_is_named_and_comes_when_it_can(tmp_path: Path) -> None:
    program = tmp_path / "program"
    server = McpServer("srv", command=[str(program), *command(tmp_path)[1:]], declare=DECLARED)
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(server)
        [failure] = report.failures
        assert (failure.name, report.tools) == ("srv", ())
        assert "the MCP server srv cannot be reached: there is no program" in failure.reason
        assert gate.health("mcp.srv").status is HealthStatus.UNAVAILABLE
        program.symlink_to(sys.executable)
        await until(gate.tools)
        assert (await gate.call("srv.add")).ok


CRASHES = """
import os, sys
print("first line, long forgotten", "x" * 300, sep="\\n", file=sys.stderr)
print("loading", "no account for " + os.environ["TOKEN"], sep="\\n", file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.requirement("ADP-09")
async def test_a_server_that_crashes_is_told_with_its_exit_code_and_its_last_words_without_secrets() -> None:
    token = "horse-battery-9917"
    server = McpServer("srv", command=[sys.executable, "-I", "-c", CRASHES], env={"TOKEN": token})
    async with gate_of(config=FREE) as gate:
        [failure] = (await gate.attach(server)).failures
        health = gate.health("mcp.srv").last_error or ""
        recorded = str(await told(gate, "source.failed", "source.lost"))
    assert "cannot be reached: it ended with exit code 3, and wrote last: xxx" in failure.reason
    assert " | loading | no account for " in failure.reason
    assert "long forgotten" not in failure.reason
    assert "x" * 250 not in failure.reason
    assert "it ended with exit code 3" in health
    assert "it ended with exit code 3" in recorded
    assert token not in failure.reason + health + recorded


async def test_a_server_that_does_not_start_again_is_told_with_what_it_says(tmp_path: Path) -> None:
    server, starter = removable(tmp_path)
    async with gate_of(config=FREE) as gate:
        await gate.attach(server)
        starter.unlink()
        kill(tmp_path)
        # First that it was killed, then what became of the next try.
        await until(lambda: "exit code 2, and wrote last: " in (gate.health("mcp.srv").last_error or ""))
        assert "No such file" in (gate.health("mcp.srv").last_error or "")


async def test_a_missing_secret_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(scripted(tmp_path, env={"TOKEN": "secret:nobody/token"}))
        [failure] = report.failures
        assert "nobody" in failure.reason
        assert "SecretNotFound" in failure.reason
    assert witnessed(tmp_path, "starts") == []


@pytest.mark.slow
async def test_detaching_ends_the_program_and_everything_it_started(tmp_path: Path) -> None:
    stubborn = tmp_path / "stubborn.py"
    stubborn.write_text(
        "import signal, sys, runpy, threading, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        f"sys.argv = {command(tmp_path)[2:]!r}\nrunpy.run_path(sys.argv[0])\n"
    )
    async with gate_of(config=FREE) as gate:
        await gate.attach(McpServer("srv", command=[sys.executable, "-I", str(stubborn)], declare=DECLARED))
        [pid] = witnessed(tmp_path, "starts")
        await gate.detach("srv")
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
        assert gate.tools() == ()


@pytest.mark.parametrize("fields", [{}, {"command": ["x"], "url": "http://127.0.0.1/mcp"}])
def test_a_server_has_either_a_command_or_a_url(fields: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="'srv' needs either a command or a url"):
        McpServer("srv", **fields)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("value", ["secret:github", "secret:a/b/c", "Bearer  secret:a/b", "x-secret:a/b hunter2"])
def test_what_looks_like_a_secrets_name_and_is_none_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(ConfigurationError, match="TOKEN names no secret") as caught:
        McpServer("srv", command=["x"], env={"TOKEN": value})
    assert value not in str(caught.value)


async def test_a_server_that_was_let_go_can_be_attached_again(tmp_path: Path) -> None:
    server = scripted(tmp_path)
    for _ in range(2):
        async with gate_of(config=FREE) as gate:
            assert (await gate.attach(server)).ok
            assert (await gate.call("srv.add")).ok
    assert len(witnessed(tmp_path, "starts")) == len(witnessed(tmp_path, "ended")) == 2


def test_a_name_that_can_be_no_prefix_needs_one() -> None:
    with pytest.raises(ConfigurationError, match="needs a prefix in snake_case"):
        McpServer("9", command=["x"])
