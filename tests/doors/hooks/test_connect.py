"""`callgate connect`: hosts are connected, their files shown, kept, put back exactly, and never overrun."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.doors.running import Cli, environment

PROJECT = (".mcp.json", ".claude/settings.local.json")
DESKTOP = ".config/Claude/claude_desktop_config.json"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_claude_code_is_connected_and_put_back_exactly(cli: Cli, home: Path):
    mine = '"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}'
    before = f'{{\n    "permissions": {{"allow": ["Bash(ls)"]}},\n    {mine}\n}}'
    settings = put(cli.folder / ".claude" / "settings.local.json", before)
    settings.chmod(0o640)
    done = cli("connect", "claude-code", "--write")
    assert done.code == 0, done
    assert "+" in done.out
    assert "callgate connect --undo claude-code" in done.out
    written = read(settings)
    assert written["permissions"] == {"allow": ["Bash(ls)"]}
    assert written["hooks"]["PreToolUse"][0] == {"matcher": "Bash", "hooks": []}
    [hook] = written["hooks"]["PreToolUse"][1]["hooks"]
    assert hook["command"].endswith(" || exit 2")
    assert hook["timeout"] == 60
    assert "exit 2" not in written["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    server = read(cli.folder / ".mcp.json")["mcpServers"]["callgate"]
    assert server["args"][server["args"].index("mcp") :][:2] == ["mcp", "--store"]
    assert cli("connect", "claude-code", "--undo").code == 0
    assert settings.read_text() == before
    assert settings.stat().st_mode & 0o777 == 0o640
    assert not (cli.folder / ".mcp.json").exists()
    assert not list((home / ".config" / "callgate" / "connections").iterdir())


def written(cli: Cli) -> str:
    """The command that the host's settings have for before a tool is used."""
    assert cli("connect", "claude-code", "--write", "--no-mcp").code == 0
    [entry] = read(cli.folder / ".claude" / "settings.local.json")["hooks"]["PreToolUse"]
    return entry["hooks"][0]["command"]


def in_a_shell(command: str, said: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As the host does it."""
    words = ["sh", "-c", command]
    return subprocess.run(
        words, cwd=folder, env=environment(), input=said, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("file", "decision"), [("src/a.py", "allow"), ("callgate.yaml", "deny")], ids=["allowed", "denied"]
)
def test_the_hook_that_is_written_judges(cli: Cli, home: Path, file: str, decision: str):
    """The witness is a shell, as the host has one, and the record that another gate reads."""
    put(cli.folder / "callgate.yaml", "version: 1\n")
    put(cli.folder / "src" / "a.py", "")
    told = {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "cwd": str(cli.folder),
        "tool_name": "Read",
        "tool_input": {"file_path": str(cli.folder / file)},
        "tool_use_id": "toolu_1",
    }
    done = in_a_shell(written(cli), json.dumps(told), cli.folder)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == decision, done
    (call,) = cli("audit", "calls", "--json").body["calls"]
    assert (call["tool"], call["status"]) == ("host.read", {"allow": "started", "deny": "refused"}[decision])


def test_a_hook_whose_program_is_gone_blocks(cli: Cli, home: Path):
    words = shlex.split(written(cli).removesuffix(" || exit 2"))
    assert words[words.index("hook") :][:2] == ["hook", "claude-code"]
    gone = shlex.join([str(cli.folder / "gone" / "callgate"), *words[words.index("hook") :]])
    assert in_a_shell(f"{gone} || exit 2", "{}", cli.folder).returncode == 2


def test_connecting_twice_changes_nothing_and_undo_goes_all_the_way_back(cli: Cli, home: Path):
    put(cli.folder / ".mcp.json", "{}")
    assert cli("connect", "claude-code", "--write").code == 0
    after = [(cli.folder / name).read_bytes() for name in PROJECT]
    assert "connected already" in cli("connect", "claude-code", "--write").out
    assert [(cli.folder / name).read_bytes() for name in PROJECT] == after
    # Another place, the same host: still one entry, and one way back.
    assert cli("connect", "claude-code", "--write", "--store", "other.db").code == 0
    assert len(read(cli.folder / ".claude" / "settings.local.json")["hooks"]["PreToolUse"]) == 1
    assert cli("connect", "claude-code", "--undo").code == 0
    assert (cli.folder / ".mcp.json").read_text() == "{}"


def test_undo_leaves_a_file_alone_that_somebody_changed_since(cli: Cli, home: Path):
    cli("connect", "claude-code", "--write", "--no-hooks")
    changed = put(cli.folder / ".mcp.json", '{"mcpServers": {"mine": {"command": "x"}}}')
    done = cli("connect", "claude-code", "--undo")
    assert done.code == 2
    assert "changed since it was connected" in done.err
    assert read(changed) == {"mcpServers": {"mine": {"command": "x"}}}


def test_nothing_is_written_where_nobody_said_yes(cli: Cli, home: Path):
    done = cli("connect", "cursor")
    assert done.code == 2
    assert "nothing was written" in done.err
    assert ".cursor/mcp.json" in done.out
    assert not (cli.folder / ".cursor").exists()


@pytest.mark.parametrize(
    ("host", "name", "key"),
    [
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
    ],
)
def test_each_host_has_its_own_file(cli: Cli, home: Path, *, host: str, name: str, key: str):
    assert cli("connect", host, "--write", "--no-hooks").code == 0
    assert list(read(cli.folder / name)[key]) == ["callgate"]
    assert cli("connect", host, "--undo").code == 0
    assert not (cli.folder / name).exists()


def test_claude_desktop_is_the_users(cli: Cli, home: Path):
    put(home / DESKTOP, '{"theme": "dark"}')
    assert cli("connect", "claude-desktop", "--write").code == 0
    written = read(home / DESKTOP)
    assert written["theme"] == "dark"
    assert Path(written["mcpServers"]["callgate"]["args"][-3]).is_absolute()


def test_cursors_hooks_fail_closed(cli: Cli, home: Path):
    assert cli("connect", "cursor", "--write", "--user").code == 0
    hooks = read(home / ".cursor" / "hooks.json")
    assert hooks["version"] == 1
    assert [each["failClosed"] for each in hooks["hooks"]["preToolUse"]] == [True]


def test_secrets_of_the_file_are_not_shown(cli: Cli, home: Path):
    entry = {
        "command": "npx",
        "args": ["git-mcp", "--token", "hunter2a", "--key=hunter2b"],
        "env": {"TOKEN": 'ghp_"hunter2'},
    }
    put(cli.folder / ".mcp.json", json.dumps({"mcpServers": {"git": entry}}, indent=2))
    done = cli("connect", "claude-code", "--write", "--no-hooks")
    assert "hunter2" not in done.out + done.err
    assert read(cli.folder / ".mcp.json")["mcpServers"]["git"] == entry


def test_servers_that_the_configuration_has_are_reached_through_the_gate_alone(cli: Cli, home: Path):
    put(cli.folder / "callgate.yaml", "mcp_servers: {git: {command: [git-mcp, --stdio]}}\n")
    servers = {"git": {"command": "git-mcp", "args": ["--stdio"]}, "other": {"command": "other"}}
    put(cli.folder / ".mcp.json", json.dumps({"mcpServers": servers}))
    assert cli("connect", "claude-code", "--write", "--no-hooks").code == 0
    assert list(read(cli.folder / ".mcp.json")["mcpServers"]) == ["other", "callgate"]


def test_a_file_with_comments_is_not_rewritten(cli: Cli, home: Path):
    text = '{\n  // mine\n  "servers": {}\n}'
    put(cli.folder / ".vscode" / "mcp.json", text)
    done = cli("connect", "vscode", "--write")
    assert done.code == 2
    assert "has comments" in done.err
    assert (cli.folder / ".vscode" / "mcp.json").read_text() == text


def test_a_link_stays_a_link(cli: Cli, home: Path):
    real = put(home / "dotfiles" / "mcp.json", "{}")
    (cli.folder / ".mcp.json").symlink_to(real)
    assert cli("connect", "claude-code", "--write", "--no-hooks").code == 0
    assert (cli.folder / ".mcp.json").is_symlink()
    assert "callgate" in read(real)["mcpServers"]
    assert cli("connect", "claude-code", "--undo").code == 0
    assert real.read_text() == "{}"


def test_what_was_there_is_kept_for_this_user_alone(cli: Cli, home: Path):
    put(cli.folder / ".mcp.json", '{"mcpServers": {}}')
    cli("connect", "claude-code", "--write", "--no-hooks")
    [kept] = (home / ".config" / "callgate" / "connections").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    assert kept.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["not json", "[]"])
def test_a_file_that_cannot_be_read_is_left_alone(cli: Cli, home: Path, text: str):
    path = put(cli.folder / ".mcp.json", text)
    assert cli("connect", "claude-code", "--write").code == 2
    assert path.read_text() == text
    assert not (cli.folder / ".claude").exists()


def test_a_store_in_memory_cannot_be_connected_to(cli: Cli, home: Path):
    done = cli("connect", "claude-code", "--write", "--store", "memory://")
    assert done.code == 2
    assert "forgotten with every process" in done.err


def test_codex_and_copilot_get_hooks_that_say_what_they_do_not(cli: Cli, home: Path):
    assert cli("connect", "codex", "copilot", "--write").code == 0
    [entry] = read(cli.folder / ".codex" / "hooks.json")["hooks"]["PreToolUse"]
    assert "hook codex" in entry["hooks"][0]["command"]
    assert f"--root {cli.folder}" in entry["hooks"][0]["command"]
    hooks = read(cli.folder / ".github" / "hooks" / "callgate.json")["hooks"]
    assert all(f"--event {event}" in each["bash"] for event, [each] in hooks.items())
    assert cli("connect", "codex", "copilot", "--undo").code == 0
    assert not (cli.folder / ".codex").exists()


def test_undo_takes_back_what_the_same_words_connected(cli: Cli, home: Path):
    yours = put(home / ".cursor" / "mcp.json", '{"mcpServers": {}}')
    assert "callgate connect --undo cursor --user" in cli("connect", "cursor", "--user", "--write", "--no-hooks").out
    assert cli("connect", "cursor", "--write", "--no-hooks").code == 0
    done = cli("connect", "cursor", "--undo")
    assert done.code == 0
    assert "callgate connect --undo --user cursor" in done.out
    assert not (cli.folder / ".cursor" / "mcp.json").exists()
    assert "callgate" in read(yours)["mcpServers"], "it is of every folder"
    assert cli("connect", "cursor", "--undo", "--user").code == 0
    assert yours.read_text() == '{"mcpServers": {}}'


def test_connecting_again_after_a_change_goes_back_to_the_first_original(cli: Cli, home: Path):
    file = put(cli.folder / ".mcp.json", '{"mcpServers": {"first": {"command": "x"}}}')
    cli("connect", "claude-code", "--write", "--no-hooks")
    document = read(file)
    document["mcpServers"]["later"] = {"command": "y"}
    put(file, json.dumps(document))
    assert cli("connect", "claude-code", "--write", "--no-hooks", "--store", "other.db").code == 0
    assert cli("connect", "claude-code", "--write", "--no-hooks", "--store", "third.db").code == 0
    done = cli("connect", "claude-code", "--undo")
    assert file.read_text() == '{"mcpServers": {"first": {"command": "x"}}}'
    kept = Path("".join(done.out.partition("these changes it is in ")[2].split()))
    assert sorted(read(kept)["mcpServers"]) == ["callgate", "first", "later"]
    assert kept.stat().st_mode & 0o077 == 0


def test_who_took_callgate_out_by_hand_begins_anew(cli: Cli, home: Path):
    file = put(cli.folder / ".mcp.json", '{"mcpServers": {"first": {"command": "x"}}}')
    cli("connect", "claude-code", "--write", "--no-hooks")
    put(file, '{"mcpServers": {"second": {"command": "y"}}}')
    assert cli("connect", "claude-code", "--write", "--no-hooks").code == 0
    done = cli("connect", "claude-code", "--undo")
    assert (done.code, "these changes" in done.out) == (0, False)
    assert list(read(file)["mcpServers"]) == ["second"]


def test_servers_of_the_user_and_of_one_project_are_taken_out_with_user_and_told_without(cli: Cli, home: Path):
    git, other = {"command": "git-mcp", "env": {"TOKEN": "nobody-sees-this"}}, {"command": "other-mcp"}
    before = {
        "mcpServers": {"git": git, "other": other},
        "projects": {
            str(cli.folder): {"mcpServers": {"mine": git, "other": other}},
            "/elsewhere": {"mcpServers": {"far": {"command": "git-mcp", "env": {"T": "nobody-sees-this-one"}}}},
        },
    }
    file = put(home / ".claude.json", json.dumps(before, indent=2))
    put(cli.folder / "callgate.yaml", "mcp_servers: {git: {command: [git-mcp]}}\n")
    assert "callgate connect claude-code --user" in str(cli("coverage", "--json").body)
    here = cli("connect", "claude-code", "--write")
    assert here.code == 0, here
    assert read(file) == before
    for name in ("git", "mine"):
        assert f"has {name} as well, which claude-code reaches by itself" in " ".join(here.out.split())
    done = cli("connect", "claude-code", "--user", "--write")
    assert done.code == 0, done
    assert "nobody-sees-this" not in here.out + done.out
    assert "reaches by itself" not in done.out
    written = read(file)
    assert set(written["mcpServers"]) == {"callgate", "other"}
    assert written["projects"][str(cli.folder)]["mcpServers"] == {"other": other}
    assert written["projects"]["/elsewhere"] == before["projects"]["/elsewhere"]
    assert cli("connect", "claude-code", "--user", "--undo").code == 0
    assert read(file) == before
