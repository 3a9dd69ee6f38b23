"""Servers of the configuration: attached when the gate opens, in a program and in the shell; nobody else pays."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from callgate import Callgate, Refused
from callgate.errors import ConfigurationError
from tests.adapters.mcp.servers import command, gate_of, told, witnessed
from tests.waiting import until


def configured(folder: Path, *, program: str = sys.executable, declare: str = "{add: {effects: read_only}}") -> Path:
    words = json.dumps([program, *command(folder)[1:]])
    file = folder / "callgate.yaml"
    server = f"{{command: {words}, prefix: srv, trust: pinned, startup: 20s, declare: {declare}}}"
    file.write_text(f"store: sqlite:///{folder / 'gate.db'}\nmcp_servers:\n  scripted: {server}\n")
    return file


async def test_the_servers_of_a_configuration_are_there_when_the_gate_is_open(tmp_path: Path) -> None:
    async with gate_of(config=configured(tmp_path)) as gate:
        assert (await gate.call("srv.add")).unwrap() == {"sum": 3}
        [report] = gate.sources()
        assert report.source == "scripted"
        registered = [event async for event in gate.events(types=["tool.registered"])]
        assert len(registered) == len(report.tools)


async def test_opening_again_records_no_tool_that_is_known(tmp_path: Path) -> None:
    file = configured(tmp_path)
    async with Callgate.open(config=file):
        pass
    async with Callgate.open(config=file) as gate:
        known = [event["tool_name"] for event in await told(gate, "tool.registered")]
    assert len(known) == len(set(known)) > 0


async def test_a_server_that_is_not_there_keeps_no_gate_shut_and_comes_by_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = tmp_path / "program"
    with caplog.at_level(logging.WARNING, logger="callgate"):
        async with gate_of(config=configured(tmp_path, program=str(program))) as gate:
            assert "the MCP server scripted cannot be reached" in caplog.text
            assert isinstance(await gate.call("srv.add"), Refused)
            program.symlink_to(sys.executable)
            await until(gate.tools)
            assert (await gate.call("srv.add")).ok


async def test_a_declaration_that_cannot_be_is_told_with_its_place(tmp_path: Path) -> None:
    file = configured(tmp_path, declare="{add: {effects: [read_only, modifies_files]}}")
    with pytest.raises(ConfigurationError, match=r"callgate\.yaml:3: mcp_servers\.scripted: add: effects: read_only"):
        async with gate_of(config=file):
            pass
    assert witnessed(tmp_path, "starts") == []


def test_a_gate_for_blocking_code_has_them_too(tmp_path: Path) -> None:
    with Callgate.open_sync("memory://", configured(tmp_path)) as gate:
        assert gate.call("srv.add").unwrap() == {"sum": 3}
    assert witnessed(tmp_path, "ended") == [""]


def shell(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "callgate", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
def test_the_shell_calls_them_and_starts_none_for_a_look_at_the_record(tmp_path: Path) -> None:
    configured(tmp_path)
    called = shell(tmp_path, "call", "srv.add", "{}", "--json")
    assert called.returncode == 0, called.stderr
    assert '"sum": 3' in called.stdout
    assert len(witnessed(tmp_path, "starts")) == 1
    assert "srv.add" in shell(tmp_path, "tools", "list").stdout
    assert len(witnessed(tmp_path, "starts")) == 2
    assert shell(tmp_path, "audit", "calls").returncode == 0
    assert len(witnessed(tmp_path, "starts")) == 2


async def test_a_tool_of_a_server_that_is_away_is_unavailable_and_not_unknown(tmp_path: Path) -> None:
    async with gate_of(config=configured(tmp_path, program=str(tmp_path / "nothing"))) as gate:
        refused = await gate.call("srv.add")
        unknown = await gate.call("other.add")
    assert refused.error is not None
    assert unknown.error is not None
    assert refused.error.code == "tool_unavailable"
    assert "srv.add is unavailable: the MCP server scripted cannot be reached: there is no program" in str(refused)
    assert unknown.error.code == "tool_not_found"


@pytest.mark.slow
def test_checking_a_policy_knows_the_tools_of_servers_and_of_files_of_servers(tmp_path: Path) -> None:
    roles = "roles:\n  default: {allow: [srv.add, listed.add], scopes: ['*']}\n"
    file = configured(tmp_path)
    file.write_text(file.read_text() + roles)
    done = shell(tmp_path, "policy", "check")
    assert "there is no tool listed.add" in done.stdout, done
    assert "there is no tool srv.add" not in done.stdout
    program, *words = command(tmp_path)
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"listed": {"command": program, "args": words}}}))
    file.write_text(file.read_text() + "mcp_files: [mcp.json]\n")
    assert "there is no tool" not in shell(tmp_path, "policy", "check").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("tools", "list"), 1, "not among them: the tools of scripted, which could not be reached"),
        (("tools", "search", "add"), 1, "not among them: the tools of scripted, which could not be reached"),
        (("tools", "review"), 1, "not among them: the tools of scripted, which could not be reached"),
        (("tools", "review", "scripted"), 2, "no tool of scripted is here: the MCP server scripted cannot be reached"),
        (("call", "srv.add"), 3, "srv.add is unavailable: the MCP server scripted cannot be reached: there is no"),
    ],
    ids=["list", "search", "review", "review-of-it", "call"],
)
def test_the_shell_says_which_server_is_away_and_never_that_there_is_none(
    tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    configured(tmp_path, program=str(tmp_path / "nothing"))
    done = shell(tmp_path, *words)
    assert done.returncode == code, done
    assert (
        "mcp_servers.scripted: scripted: the MCP server scripted cannot be reached: there is no program" in done.stderr
    )
    assert told in " ".join(done.stderr.split())
    assert "no tools are known" not in done.stderr
    assert "nothing to review" not in done.stderr


@pytest.mark.slow
def test_the_sdk_is_loaded_by_who_has_servers_and_by_nobody_else() -> None:
    code = (
        "import sys, callgate, callgate.adapters.mcp\n"
        "from callgate import Callgate\n"
        "assert not {'mcp', 'mcp_types', 'anyio', 'httpx2'} & sys.modules.keys(), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_without_the_sdk_the_command_that_installs_it_is_told(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "sys.modules['mcp'] = None\n"
        "from callgate import Callgate\n"
        "async def main():\n"
        f"    async with Callgate.open('memory://', {str(configured(tmp_path))!r}): pass\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "pip install 'callgate[mcp]'" in done.stderr
    assert witnessed(tmp_path, "starts") == []
