"""`callgate connect codex copilot`: their MCP servers, one of them in a TOML file that keeps its comments."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.doors.running import Cli

MINE = """\
# mine
model = "gpt-5"   # the usual

[mcp_servers.git]   # taken over
command = "git-mcp"
args = ["--stdio"]

[mcp_servers.git.env]
TOKEN = "hunter2a"

# about the other one
[mcp_servers."the other"]
url = "http://127.0.0.1:9/mcp"
http_headers = { X-Key = "hunter2b" }

[tui]
notifications = true
"""


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def servers(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())["mcp_servers"]


def states(cli: Cli) -> dict[tuple[str, str], str]:
    return {(each["host"], each["what"]): each["state"] for each in cli("coverage", "--json").body["covered"]}


def test_codex_is_connected_with_its_comments_kept_and_put_back_exactly(cli: Cli, home: Path):
    put(cli.folder / "callgate.yaml", "mcp_servers: {git: {command: [git-mcp, --stdio]}}\n")
    config = put(cli.folder / ".codex" / "config.toml", MINE)
    assert states(cli)["codex", "MCP server git"] == "not governed"
    done = cli("connect", "codex", "--write", "--no-hooks")
    assert done.code == 0, done
    assert "+[mcp_servers.callgate]" in done.out
    assert "hunter2" not in done.out + done.err
    written = config.read_text()
    for line in ("# mine", 'model = "gpt-5"   # the usual', "# about the other one", "notifications = true"):
        assert line in written
    assert "git-mcp" not in written
    assert list(servers(config)) == ["the other", "callgate"]
    own = servers(config)["callgate"]
    assert own["args"][own["args"].index("mcp") :][:2] == ["mcp", "--config"]
    assert own["args"][-2:] == ["--principal", "codex"]
    assert states(cli)["codex", "MCP server callgate"] == "governed"
    assert states(cli)["codex", "MCP server the other"] == "not governed"
    assert "connected already" in cli("connect", "codex", "--write", "--no-hooks").out
    # Another place, the same host: still one entry.
    assert cli("connect", "codex", "--write", "--no-hooks", "--store", "other.db").code == 0
    assert list(servers(config)) == ["the other", "callgate"]
    assert cli("connect", "codex", "--undo").code == 0
    assert config.read_text() == MINE


@pytest.mark.parametrize("before", [None, "", "model = 'x'", "a = 1\r\n[b]\r\nc = 2\r\n"])
def test_codex_is_connected_whatever_was_there(cli: Cli, home: Path, before: str | None):
    config = home / ".codex" / "config.toml"
    if before is not None:
        config.parent.mkdir()
        config.write_bytes(before.encode())
    assert cli("connect", "codex", "--write", "--no-hooks", "--user").code == 0
    read = tomllib.loads(config.read_bytes().decode())
    assert list(read.pop("mcp_servers")) == ["callgate"]
    assert read == tomllib.loads(before or "")
    assert cli("connect", "codex", "--undo", "--user").code == 0
    assert (config.read_bytes().decode() if config.exists() else None) == before


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { git = { command = "git-mcp" } }\n',
        'mcp_servers.git.command = "git-mcp"\n',
    ],
    ids=["inline", "dotted"],
)
def test_servers_in_another_form_are_left_to_their_owner_with_what_to_add(cli: Cli, home: Path, text: str):
    put(cli.folder / "callgate.yaml", "mcp_servers: {git: {command: [git-mcp]}}\n")
    config = put(cli.folder / ".codex" / "config.toml", text)
    done = cli("connect", "codex", "--write", "--no-hooks")
    assert done.code == 2
    assert "[mcp_servers.callgate]" in done.err
    assert config.read_text() == text


def test_where_servers_should_be_and_something_else_is_nothing_is_written(cli: Cli, home: Path):
    for host, name, text in (
        ("codex", ".codex/config.toml", "mcp_servers = 5\n"),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": []}'),
    ):
        config = put(cli.folder / name, text)
        done = cli("connect", host, "--write", "--no-hooks")
        assert (done.code, "something else" in done.err) == (2, True), done
        assert config.read_text() == text


def test_a_text_that_only_looks_like_a_table_is_no_table(cli: Cli, home: Path):
    text = 'note = """\n[mcp_servers.git]\ncommand = "git-mcp"\n"""\n[mcp_servers.git]\ncommand = "git-mcp"\n'
    put(cli.folder / "callgate.yaml", "mcp_servers: {git: {command: [git-mcp]}}\n")
    config = put(cli.folder / ".codex" / "config.toml", text)
    assert cli("connect", "codex", "--write", "--no-hooks").code == 2
    assert config.read_text() == text


def test_a_file_that_is_no_toml_is_left_alone_and_undecidable(cli: Cli, home: Path):
    config = put(cli.folder / ".codex" / "config.toml", "not toml")
    done = cli("connect", "codex", "--write")
    assert (done.code, "is not TOML" in done.err) == (2, True)
    assert config.read_text() == "not toml"
    assert states(cli)["codex", "its MCP servers"] == "undecidable"


def test_copilot_is_connected_for_the_user(cli: Cli, home: Path):
    config = put(home / ".copilot" / "mcp-config.json", '{"mcpServers": {"mine": {"command": "x"}}}')
    assert cli("connect", "copilot", "--write", "--no-hooks").code == 0
    entry = json.loads(config.read_text())["mcpServers"]["callgate"]
    assert (entry["type"], entry["tools"]) == ("local", ["*"])
    assert entry["args"][-2:] == ["--principal", "copilot"]
    assert states(cli)["copilot", "MCP server mine"] == "not governed"
    assert cli("connect", "copilot", "--undo").code == 0
    assert config.read_text() == '{"mcpServers": {"mine": {"command": "x"}}}'


def test_init_finds_what_codex_has(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HUB_TOKEN", "hunter2-from-outside")
    more = '\n[mcp_servers.hub]\nurl = "http://127.0.0.1:9/hub"\nbearer_token_env_var = "HUB_TOKEN"\n'
    put(home / ".codex" / "config.toml", MINE + more + '[mcp_servers.off]\ncommand = "off"\nenabled = false\n')
    done = cli("init", "--from", "auto", "--write", "--no-start")
    assert done.code == 0, done
    written = (cli.folder / "callgate.yaml").read_text()
    assert "hunter2" not in written + done.out + done.err
    for word in ("git-mcp", "secret:the_other/x-key", "Bearer secret:hub/authorization"):
        assert word in written, written
    assert "off" not in written.split()
