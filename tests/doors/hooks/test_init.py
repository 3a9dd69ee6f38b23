"""`callgate init`: a configuration from what other clients here have; their secrets are kept, and shown nowhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.runtime.configuring import read_configuration
from callgate.runtime.keeping import look_for_secret
from tests.adapters.mcp.servers import command
from tests.doors.running import Cli

TOKEN = "ghp_" + "a1B2" * 9


def put(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def test_servers_of_every_client_are_found_once_and_their_secrets_kept(cli: Cli, home: Path):
    git = {"command": "npx", "args": ["-y", "git-mcp"], "env": {"GIT_TOKEN": TOKEN, "LEVEL": "debug"}}
    put(cli.folder / ".mcp.json", {"mcpServers": {"git": git}})
    put(home / ".cursor" / "mcp.json", {"mcpServers": {"git hub": git, "off": {"command": "x", "disabled": True}}})
    put(
        cli.folder / ".vscode" / "mcp.json",
        '{\n// mine\n"servers": {"web": {"type": "http", "url": "https://a.b/mcp", '
        f'"headers": {{"Authorization": "Bearer {TOKEN}"}}}}}}}}',
    )
    put(home / ".claude.json", {"projects": {str(cli.folder): {"mcpServers": {"mine": {"command": "mine"}}}}})
    put(home / ".config" / "Claude" / "claude_desktop_config.json", {"mcpServers": {"git": {"command": "other"}}})
    done = cli("init", "--from", "auto", "--write", "--no-start")
    assert done.code == 0, done
    assert TOKEN not in done.out + done.err
    settings = read_configuration(cli.folder / "callgate.yaml", required=True)
    assert {name: (each.command, each.url) for name, each in settings.mcp_servers.items()} == {
        "git": (("npx", "-y", "git-mcp"), None),
        "mine": (("mine",), None),
        "web": ((), "https://a.b/mcp"),
        "git_2": (("other",), None),
    }
    assert settings.mcp_servers["git"].env == {"GIT_TOKEN": "secret:git/git_token", "LEVEL": "debug"}
    assert settings.mcp_servers["web"].headers == {"Authorization": "Bearer secret:web/authorization"}
    for connector, key in (("git", "git_token"), ("web", "authorization")):
        assert look_for_secret(settings, connector, key) is None
    assert TOKEN not in (cli.folder / "callgate.yaml").read_text()


def test_a_secret_that_is_kept_already_is_left_alone(cli: Cli, home: Path):
    put(cli.folder / ".mcp.json", {"mcpServers": {"git": {"command": "x", "env": {"API_KEY": "first-value"}}}})
    cli("init", "--from", "auto", "--write", "--no-start")
    (cli.folder / "callgate.yaml").unlink()
    put(cli.folder / ".mcp.json", {"mcpServers": {"git": {"command": "x", "env": {"API_KEY": "second-value"}}}})
    assert cli("init", "--from", "auto", "--write", "--no-start").code == 0
    settings = read_configuration(cli.folder / "callgate.yaml", required=True)
    assert settings.mcp_servers["git"].env == {"API_KEY": "secret:git/api_key_2"}


def test_placeholders_are_taken_from_the_environment_or_named(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HERE_TOKEN", "from-the-environment")
    env = {"A": "${HERE_TOKEN}", "B": "${input:token}"}
    put(cli.folder / ".mcp.json", {"mcpServers": {"git": {"command": "x", "env": env}}})
    done = cli("init", "--from", "auto", "--write", "--no-start", "--give", "HERE_TOKEN")
    assert "callgate secrets set git b" in done.out
    settings = read_configuration(cli.folder / "callgate.yaml", required=True)
    assert settings.mcp_servers["git"].env == {"A": "secret:git/a", "B": "secret:git/b"}
    assert look_for_secret(settings, "git", "a") is None
    assert look_for_secret(settings, "git", "b") is not None


def test_what_cannot_be_used_is_told_with_the_reason(cli: Cli, home: Path):
    put(
        cli.folder / ".mcp.json",
        {
            "mcpServers": {
                "old": {"type": "sse", "url": "https://a.b/sse"},
                "keyed": {"url": "https://a.b/mcp?key=hunter22"},
                "empty": {},
                "flagged": {"command": "x", "args": ["--api-key=hunter22"]},
                "callgate": {"command": "callgate", "args": ["mcp"]},
            }
        },
    )
    put(home / ".cursor" / "mcp.json", "not json")
    done = cli("init", "--from", "auto", "--write", "--no-start")
    assert done.code == 0
    for told in ("its transport is sse", "something secret in it", "neither a command", "--api-key", "is not JSON"):
        assert told in done.out, told
    assert list(read_configuration(cli.folder / "callgate.yaml", required=True).mcp_servers) == ["flagged"]


def test_nothing_is_written_where_nobody_said_yes_or_something_is_there(cli: Cli, home: Path):
    put(cli.folder / ".mcp.json", {"mcpServers": {"git": {"command": "x", "env": {"TOKEN": TOKEN}}}})
    done = cli("init", "--from", "auto")
    assert (done.code, (cli.folder / "callgate.yaml").exists()) == (2, False)
    assert not (home / ".config" / "callgate" / "secrets.sealed").exists()
    put(cli.folder / "callgate.yaml", "autonomy: A1\n")
    assert cli("init", "--write").code == 2
    assert (cli.folder / "callgate.yaml").read_text() == "autonomy: A1\n"


def test_without_servers_the_configuration_is_one_to_begin_with(cli: Cli, home: Path):
    assert cli("init", "--write").code == 0
    assert read_configuration(cli.folder / "callgate.yaml", required=True).mcp_servers == {}
    assert cli("init", "--from", "gone.json", "--config", "b.yaml").code == 2


@pytest.mark.slow
def test_declarations_are_proposed_and_connecting_takes_the_servers_over(cli: Cli, home: Path):
    first, *rest = command(cli.folder)
    put(cli.folder / "mine.json", {"mcpServers": {"srv": {"command": first, "args": rest}}})
    put(cli.folder / ".mcp.json", (cli.folder / "mine.json").read_text())
    done = cli("init", "--from", "mine.json", "--write")
    assert done.code == 0, done
    assert "srv.add" in done.out
    assert "callgate tools review" in done.err
    assert not (cli.folder / "callgate.tools.yaml").exists(), "nothing is in force"
    assert cli("connect", "claude-code", "--write", "--no-hooks").code == 0
    assert list(json.loads((cli.folder / ".mcp.json").read_text())["mcpServers"]) == ["callgate"]
