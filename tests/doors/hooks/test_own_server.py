"""Callgate's own MCP server at a host is judged there; a server that only looks like it is judged here."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.runtime.own_program import is_own_program
from tests.doors.hooks.host import CodexRun, CopilotRun, CursorRun, HostRun

DENY = "global: {rules: [{match: host.mcp, verdict: deny, why: 'no servers of the host'}]}\n"
SCRIPT = str(Path(sys.executable).parent / "callgate")
MODULE = f"{shlex.quote(sys.executable)} -m callgate"


@pytest.fixture(autouse=True)
def _denied(project: Path) -> None:
    (project / "callgate.yaml").write_text(DENY)


def claude(host: HostRun, tool: str) -> str:
    """What Claude Code hears about a tool of a server; nothing at all where it is judged elsewhere."""
    done = host.event("PreToolUse", tool_name=tool, tool_input={}, tool_use_id=tool)
    return done.body["hookSpecificOutput"]["permissionDecision"] if done.out else "elsewhere"


def add(file: Path, name: str, **entry: Any) -> None:
    document: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"mcpServers": {}}
    document["mcpServers"][name] = entry
    file.write_text(json.dumps(document))


def imitation(folder: Path) -> Path:
    program = folder / "node_modules" / ".bin" / "callgate"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_tools_of_the_connected_server_are_judged_there_and_of_no_other(host: HostRun):
    assert claude(host, "mcp__callgate__pay") == "deny", "nobody connected it"
    assert host.run("connect", "claude-code", "--write", "--no-hooks").code == 0
    assert claude(host, "mcp__callgate__pay") == "elsewhere"
    assert claude(host, "mcp__callgate__mail__send") == "elsewhere"
    for other in ("mcp__callgate2__pay", "mcp__evil__run", "mcp__CALLGATE__pay"):
        assert claude(host, other) == "deny", other
    add(host.folder / ".mcp.json", "callgate mail", command="x")
    assert claude(host, "mcp__callgate__mail__send") == "elsewhere", "its tools are called mcp__callgate_mail__…"
    add(host.folder / ".mcp.json", "callgate__mail", command="x")
    assert claude(host, "mcp__callgate__mail__send") == "deny", "it may be the other one's"
    assert claude(host, "mcp__callgate__pay") == "elsewhere"


@pytest.mark.parametrize("turned", [{}, {"env": {"PYTHONPATH": "evil"}}, {"env": {"LD_PRELOAD": "x"}}], ids=str)
def test_a_server_under_our_name_with_another_program_is_judged(host: HostRun, turned: dict[str, Any]):
    command = sys.executable if turned else str(imitation(host.folder))
    args = ["-m", "callgate", "mcp"] if turned else ["mcp"]
    add(host.folder / ".mcp.json", "callgate", command=command, args=args, **turned)
    assert claude(host, "mcp__callgate__pay") == "deny"


def test_a_module_of_the_project_is_not_taken_for_ours(host: HostRun):
    add(host.folder / ".mcp.json", "callgate", command=sys.executable, args=["-m", "callgate", "mcp"])
    assert claude(host, "mcp__callgate__pay") == "elsewhere"
    (host.folder / "callgate.py").write_text("")
    assert claude(host, "mcp__callgate__run") == "deny"


def test_a_second_server_of_the_same_name_is_judged(host: HostRun):
    host.run("connect", "claude-code", "--write", "--no-hooks")
    add(host.folder.parent / ".claude.json", "callgate", command="npx", args=["evil"])
    assert claude(host, "mcp__callgate__pay") == "deny"
    (host.folder.parent / ".claude.json").write_text("nonsense")
    assert claude(host, "mcp__callgate__pay2") == "deny", "who it is cannot be known"


def test_codex_and_copilot_know_their_own_by_their_files(codex: CodexRun, copilot: CopilotRun):
    assert codex.use("mcp__callgate__pay", {}).code == 2
    assert copilot.use("callgate-pay", {})["permissionDecision"] == "deny"
    assert codex.run("connect", "codex", "copilot", "--write", "--no-hooks").code == 0
    assert (codex.use("mcp__callgate__pay", {}).code, copilot.use("callgate-pay", {})) == (0, {})
    add(copilot.folder.parent / ".copilot" / "mcp-config.json", "callgate-evil", command="x")
    assert copilot.use("callgate-evil-run", {})["permissionDecision"] == "deny"


@pytest.mark.parametrize("command", [f"{SCRIPT} mcp --store x", f"{MODULE} mcp"], ids=["script", "module"])
def test_cursors_own_server_gets_no_opinion(cursor: CursorRun, command: str):
    assert cursor.call("pay", {}, command) == {}


def test_cursors_other_programs_are_judged(cursor: CursorRun):
    others = (
        f"{imitation(cursor.folder)} mcp",
        "/usr/bin/callgate mcp",
        "npx callgate mcp",
        f"{SCRIPT} tools",
        "callgate 'mcp",
    )
    for command in (*others, f"env {SCRIPT} mcp", f"{sys.executable} -m callgate.evil mcp", ""):
        assert cursor.call("run", {}, command)["permission"] == "deny", command


def test_a_link_to_this_program_is_this_program(tmp_path: Path):
    (tmp_path / "callgate").symlink_to(SCRIPT)
    assert is_own_program([str(tmp_path / "callgate"), "mcp"], "mcp")
    assert not is_own_program([], "mcp")
