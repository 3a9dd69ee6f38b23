"""`callgate coverage`: what of this machine is governed, what is not, and what nobody knows."""

import json
from pathlib import Path
from typing import Any

from tests.doors.running import Cli


def put(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def states(cli: Cli) -> dict[tuple[str, str], str]:
    done = cli("coverage", "--json")
    assert done.body["ok"] == (done.code == 0)
    return {(each["host"], each["what"]): each["state"] for each in done.body["covered"]}


def test_a_machine_without_hosts_has_nothing_to_govern(cli: Cli, home: Path):
    assert cli("coverage").code == 0
    assert states(cli) == {}


def test_what_is_not_connected_is_named_and_connecting_governs_it(cli: Cli, home: Path):
    put(cli.folder / ".mcp.json", {"mcpServers": {"git": {"command": "git-mcp"}}})
    (home / ".cursor").mkdir()
    assert states(cli) == {
        ("claude-code", "MCP server git"): "not governed",
        ("claude-code", "its own tools"): "not governed",
        ("cursor", "its own tools"): "not governed",
    }
    put(cli.folder / "callgate.yaml", "mcp_servers: {git: {command: [git-mcp]}}\n")
    assert cli("connect", "claude-code", "cursor", "--write").code == 0
    assert set(states(cli).values()) == {"governed"}
    shown = cli("coverage")
    assert shown.code == 0
    assert "everything that was found goes through Callgate" in shown.out


def test_hooks_that_are_switched_off_or_not_whole_govern_nothing(cli: Cli, home: Path):
    cli("connect", "claude-code", "--write", "--no-mcp")
    local = cli.folder / ".claude" / "settings.local.json"
    whole = json.loads(local.read_text())
    put(home / ".claude" / "settings.json", {"disableAllHooks": True})
    assert states(cli) == {("claude-code", "its own tools"): "not governed"}
    (home / ".claude" / "settings.json").unlink()
    assert states(cli) == {("claude-code", "its own tools"): "governed"}
    del whole["hooks"]["PreToolUse"]
    put(local, whole)
    assert states(cli) == {("claude-code", "its own tools"): "not governed"}


def test_a_program_that_is_gone_is_told(cli: Cli, home: Path):
    put(
        cli.folder / ".cursor" / "mcp.json",
        {"mcpServers": {"callgate": {"command": "/gone/callgate", "args": ["mcp"]}}},
    )
    done = cli("coverage", "--json")
    [server, _] = done.body["covered"]
    assert (server["state"], "not there any more" in server["why"]) == ("not governed", True)


def test_a_file_that_cannot_be_read_is_unknown(cli: Cli, home: Path):
    put(cli.folder / ".vscode" / "mcp.json", "not json")
    put(home / ".cursor" / "hooks.json", "[")
    found = states(cli)
    assert found["vscode", "its MCP servers"] == "unknown"
    assert found["cursor", "its own tools"] in {"unknown", "not governed"}
    assert cli("coverage").code == 1
