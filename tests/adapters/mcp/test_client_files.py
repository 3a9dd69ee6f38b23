"""Files of other clients: read as they are, and what cannot be used is told by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import tool
from callgate.adapters.mcp import McpServers
from callgate.errors import ConfigurationError
from tests.adapters.mcp.servers import FREE, READS, SCRIPT, gate_of, witnessed


def written(folder: Path, document: Any) -> Path:
    file = folder / "mcp.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def entry(folder: Path) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", str(SCRIPT), str(folder), "plain"]}


@pytest.mark.parametrize("shape", ["mcpServers", "servers", "mcp.servers"])
async def test_the_shapes_of_common_clients_are_read(tmp_path: Path, shape: str) -> None:
    document: Any = {"srv": {**entry(tmp_path), "type": "stdio", "alwaysAllow": ["note"], "autoApprove": ["*"]}}
    for key in reversed(shape.split(".")):
        document = {key: document}
    servers = McpServers.from_file(written(tmp_path, document), declare={"srv": {"add": READS}})
    async with gate_of(config=FREE) as gate:
        for server in servers:
            await gate.attach(server)
        assert (await gate.call("srv.add")).unwrap() == {"sum": 3}
        assert not (await gate.call("srv.note", {"text": "allowed elsewhere is not allowed here"})).ok
    assert witnessed(tmp_path, "calls") == ["add"]


async def test_variables_and_comments_are_read_as_the_clients_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE", str(tmp_path))
    monkeypatch.delenv("NOWHERE", raising=False)
    text = """{
      // the servers of this project
      "servers": {
        "srv": {
          "command": "PYTHON", "args": ["-I", "SCRIPT", "${WHERE}", "${NOWHERE:-plain}"],
          "env": {"A": "${env:WHERE}", "B": "http://not/a/comment", "C": 5}, /* and more */
          "cwd": "${workspaceFolder}",
        },
      },
      "inputs": [],
    }"""
    text = text.replace("PYTHON", sys.executable).replace("SCRIPT", str(SCRIPT))
    [server] = McpServers.from_file(written(tmp_path, text), declare={"srv": {"environment": READS}})
    async with gate_of(config=FREE) as gate:
        await gate.attach(server)
        seen = json.loads((await gate.call("srv.environment")).unwrap())
    assert (seen["A"], seen["B"], seen["C"]) == (str(tmp_path), "http://not/a/comment", "5")


@pytest.mark.parametrize(
    ("described", "told"),
    [
        ({"command": "x", "env": {"KEY": "${input:key}"}}, "asks the user for 'input:key'"),
        ({"command": "x", "args": ["${NO_SUCH_VARIABLE}"]}, "no variable 'NO_SUCH_VARIABLE'"),
        ({"type": "sse", "url": "http://127.0.0.1/sse"}, "its transport is sse"),
        ({}, "neither a command nor a url"),
        ({"command": "x", "args": "y"}, "args are no list"),
        ({"command": "x", "env": []}, "no mapping"),
        ({"command": "x", "args": [None]}, "no text"),
    ],
)
def test_what_cannot_be_used_is_told_by_name_and_the_rest_is_there(
    tmp_path: Path, described: dict[str, Any], told: str
) -> None:
    document = {"mcpServers": {"bad": described, "good": entry(tmp_path), "off": {"disabled": True}}}
    servers = McpServers.from_file(written(tmp_path, document))
    assert [server.name for server in servers] == ["good"]
    assert len(servers) == 1
    [failure] = servers.failures
    assert failure.name == "bad"
    assert told in failure.reason
    with pytest.raises(ConfigurationError, match="the MCP server 'bad' cannot be used"):
        servers.get("bad")


@pytest.mark.requirement("ADP-09")
def test_a_server_nobody_configured_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, {"mcpServers": {"git": entry(tmp_path), "time": {"url": "http://127.0.0.1:9/mcp"}}})
    servers = McpServers.from_file(file)
    assert servers.get("time").name == "time"
    with pytest.raises(
        ConfigurationError, match="no MCP server called 'github' is configured; configured are: git, time"
    ):
        servers.get("github")
    with pytest.raises(ConfigurationError, match="no MCP server called 'github'"):
        McpServers.from_file(file, declare={"github": {"*": READS}})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[]", "is not what a client's file"),
        ("{}", "names no MCP servers"),
        ('{"mcpServers": []}', "is not what a client's file"),
        ('{"mcpServers": {"a": 1}}', "is not what a client's file"),
        ("[" * 100_000, "is not JSON"),
        (" " * 2_000_000, "has more than"),
    ],
    ids=range(7),
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        McpServers.from_file(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.json: does not exist"):
        McpServers.from_file(tmp_path / "none.json")


def configured(folder: Path, text: str) -> Path:
    file = folder / "callgate.yaml"
    file.write_text(text)
    return file


async def test_a_configuration_names_the_file_of_another_client_and_its_servers_wait_for_a_declaration(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(tmp_path, {"mcpServers": {"srv": entry(tmp_path), "old": {"type": "sse", "url": "https://example.com/"}}})
    async with gate_of(config=configured(tmp_path, "autonomy: A4\nmcp_files: [mcp.json]\n")) as gate:
        assert [report.source for report in gate.sources()] == ["srv"]
        assert "mcp_files[0]: old: its transport is sse" in caplog.text
        refused = await gate.call("srv.add")
        assert "callgate tools review srv" in refused.to_human()
        reads = [proposal for proposal in gate.proposals("srv") if proposal.tool == "srv.add"]
        await gate.accept(reads, by="ann")
    async with gate_of(config=tmp_path / "callgate.yaml") as gate:
        assert gate.tool("srv.add").declared
        assert not gate.tool("srv.note").declared
    assert witnessed(tmp_path, "calls") == []


async def test_the_file_that_says_which_programs_start_is_out_of_reach_of_tools(tmp_path: Path) -> None:
    file = written(tmp_path, {"mcpServers": {}})

    @tool(effects="modifies_files", risk="low", scopes="fs:write")
    def put(path: str) -> str:
        Path(path).write_text("mine")
        return path

    config = f"autonomy: A4\nscopes: {{fs: {{paths: ['{tmp_path}']}}}}\nmcp_files: [mcp.json]\n"
    async with gate_of(config=configured(tmp_path, config)) as gate:
        gate.add(put)
        assert not (await gate.call("put", {"path": str(file)})).ok
        assert (await gate.call("put", {"path": str(tmp_path / "other.json")})).ok
    assert file.read_text() != "mine"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "mcp_servers: {srv: {command: [x]}}\nmcp_files: [mcp.json]",
            r"callgate\.yaml:2: mcp_files\[0\]: .*srv, and so does mcp_servers\.srv",
        ),
        ("mcp_files: [mcp.json, mcp.json]", r"callgate\.yaml:1: mcp_files\[1\]: .*srv, and so does mcp_files\[0\]"),
        ("mcp_files: [nothing.json]", r"callgate\.yaml:1: mcp_files\[0\]: .*nothing\.json: does not exist"),
    ],
    ids=["both-ways", "two-files", "missing"],
)
async def test_a_server_that_is_named_twice_or_a_file_that_is_missing_is_told_with_its_place(
    tmp_path: Path, text: str, told: str
) -> None:
    written(tmp_path, {"mcpServers": {"srv": entry(tmp_path)}})
    with pytest.raises(ConfigurationError, match=told):
        async with gate_of(config=configured(tmp_path, text)):
            pass
    assert witnessed(tmp_path, "starts") == []


async def test_attaching_several_at_once_says_how_it_is_done(tmp_path: Path) -> None:
    servers: Any = McpServers.from_file(written(tmp_path, {"mcpServers": {}}))
    no_source: Any = len
    async with gate_of() as gate:
        with pytest.raises(TypeError, match=r"one source, not a McpServers; .* for each in …: await gate\.attach"):
            await gate.attach(servers)
        with pytest.raises(TypeError, match=r"add tools with gate\.add"):
            await gate.attach(no_source)
