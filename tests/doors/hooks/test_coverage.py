"""`callgate coverage`: what of this machine is governed, what is not, and what nobody knows."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


def test_a_file_that_cannot_be_read_is_undecidable(cli: Cli, home: Path):
    put(cli.folder / ".vscode" / "mcp.json", "not json")
    put(home / ".cursor" / "hooks.json", "[")
    found = states(cli)
    assert found["vscode", "its MCP servers"] == "undecidable"
    assert found["cursor", "its own tools"] == "undecidable"
    told = [(each["host"], each["what"]) for each in cli("coverage", "--json").body["covered"]]
    assert len(told) == len(set(told)), "each is told once"
    assert cli("coverage").code == 1


def hook_of(document: dict[str, Any], event: str) -> dict[str, Any]:
    return document["hooks"][event][0]


def run_of(document: dict[str, Any], event: str = "PreToolUse") -> dict[str, Any]:
    return hook_of(document, event)["hooks"][0]


def _only_reads(document: dict[str, Any]) -> None:
    hook_of(document, "PreToolUse")["matcher"] = "Read"


def _answer_thrown_away(document: dict[str, Any]) -> None:
    run = run_of(document)
    run["command"] = run["command"].replace(" || exit 2", " >/dev/null 2>&1 || exit 2")


def _always_fine(document: dict[str, Any]) -> None:
    run = run_of(document)
    run["command"] = run["command"].replace(" || exit 2", " ; exit 0")


def _gone_and_open(document: dict[str, Any]) -> None:
    run_of(document)["command"] = "/gone/callgate hook claude-code"


def _another_program(document: dict[str, Any]) -> None:
    evil = Path.cwd() / "bin" / "callgate"
    evil.parent.mkdir()
    evil.write_text("#!/bin/sh\n")
    evil.chmod(0o755)
    run_of(document)["command"] = f"{evil} hook claude-code || exit 2"


def _of_another_host(document: dict[str, Any]) -> None:
    run = run_of(document)
    run["command"] = run["command"].replace("hook claude-code", "hook cursor")


def _too_short(document: dict[str, Any]) -> None:
    run_of(document)["timeout"] = 20


def _in_the_background(document: dict[str, Any]) -> None:
    run_of(document)["async"] = True


def _of_a_model(document: dict[str, Any]) -> None:
    run_of(document)["type"] = "prompt"


def _longer_than_the_host(document: dict[str, Any]) -> None:
    run = run_of(document)
    run["command"] = run["command"].replace(" || exit 2", " --deadline 90 || exit 2")


BROKEN = [
    _only_reads, _answer_thrown_away, _always_fine, _gone_and_open, _another_program, _of_another_host, _too_short,
    _in_the_background, _of_a_model, _longer_than_the_host,
]  # fmt: skip


@pytest.mark.parametrize("change", BROKEN, ids=lambda change: change.__name__.strip("_"))
def test_a_hook_that_does_not_hold_governs_nothing_and_says_why(
    cli: Cli, home: Path, change: Callable[[dict[str, Any]], None]
):
    cli("connect", "claude-code", "--write", "--no-mcp")
    local = cli.folder / ".claude" / "settings.local.json"
    document = json.loads(local.read_text())
    change(document)
    put(local, document)
    [told] = cli("coverage", "--json").body["covered"]
    assert (told["state"], bool(told["why"])) == ("not governed", True)


def test_a_hook_whose_program_is_gone_denies_and_so_governs(cli: Cli, home: Path):
    cli("connect", "claude-code", "cursor", "--write", "--no-mcp")
    for file in (cli.folder / ".claude" / "settings.local.json", cli.folder / ".cursor" / "hooks.json"):
        put(file, file.read_text().replace(sys.executable + " -m callgate", "/gone/callgate"))
    found = cli("coverage", "--json").body["covered"]
    assert {each["state"] for each in found} == {"governed"}
    assert all("every tool is denied" in each["why"] for each in found)


def test_a_cursor_hook_has_to_fail_closed_in_one_way_or_the_other(cli: Cli, home: Path):
    cli("connect", "cursor", "--write", "--no-mcp")
    file = cli.folder / ".cursor" / "hooks.json"
    put(file, file.read_text().replace(" || exit 2", ""))
    assert states(cli) == {("cursor", "its own tools"): "governed"}
    document = json.loads(file.read_text())
    hook_of(document, "beforeMCPExecution")["failClosed"] = False
    put(file, document)
    assert states(cli) == {("cursor", "its own tools"): "not governed"}


@pytest.mark.parametrize("env", [{}, {"PYTHONPATH": "evil"}], ids=["another program", "turned"])
def test_a_server_that_is_only_called_callgate_does_not_govern(cli: Cli, home: Path, env: dict[str, str]):
    evil = cli.folder / "bin" / "callgate"
    put(evil, "#!/bin/sh\n")
    evil.chmod(0o755)
    entry = (
        {"command": sys.executable, "args": ["-m", "callgate", "mcp"], "env": env}
        if env
        else {"command": str(evil), "args": ["mcp"]}
    )
    put(cli.folder / ".mcp.json", {"mcpServers": {"callgate": entry}})
    assert states(cli)["claude-code", "MCP server callgate"] == "not governed"
