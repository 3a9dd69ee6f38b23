"""Servers that others wrote, as they are installed: git, time and fetch (Python), everything and filesystem (npm)."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Failed, Pending, Refused
from callgate.adapters.mcp import McpServer, McpServers
from callgate.model.levels import Autonomy, Happened
from callgate.settings.values import DEFAULT_FAMILIES, Family, Settings
from tests.adapters.mcp import real_servers
from tests.adapters.mcp.pages import site
from tests.adapters.mcp.processes import come, free_port, running
from tests.adapters.mcp.real_servers import git, npm_server, python_server, repository
from tests.adapters.mcp.servers import FREE, READS, WRITES, gate_of, told, until_told

pytestmark = pytest.mark.slow

MODERATE = Settings(autonomy=Autonomy.A2)
LOCAL_PAGES = {**DEFAULT_FAMILIES, "net": Family(hosts=("127.0.0.1",), private_addresses=True)}
PNG = b"\x89PNG\r\n"


@pytest.mark.parametrize(("ci", "ending"), [("true", "Failed"), ("", "Skipped")])
def test_a_missing_npm_server_is_skipped_here_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, ending: str
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(real_servers, "NPM", tmp_path)
    with pytest.raises(BaseException, match="the npm servers are not installed; run make setup") as caught:
        npm_server("server-everything")
    assert type(caught.value).__name__ == ending


@pytest.mark.requirement("ADP-04")
async def test_git_reads_by_itself_and_asks_before_it_writes(tmp_path: Path) -> None:
    repository(tmp_path)
    declared = {
        **dict.fromkeys(["git_status", "git_log", "git_diff_unstaged", "git_show", "git_branch"], READS),
        "git_add": WRITES,
        "git_reset": {"effects": "modifies_files"},
    }
    server = McpServer("git", command=python_server("mcp_server_git"), declare=declared, startup=30)
    there = {"repo_path": str(tmp_path)}
    async with gate_of(config=MODERATE, working_directory=str(tmp_path)) as gate:
        report = await gate.attach(server)
        assert report.ok
        assert {"git.git_status", "git.git_commit", "git.git_checkout"} < set(report.tools)
        assert "b.txt" in str((await gate.call("git.git_status", there)).unwrap())
        assert "first" in str((await gate.call("git.git_log", there)).unwrap())
        assert "+one" in str((await gate.call("git.git_show", {**there, "revision": "HEAD"})).unwrap())
        (tmp_path / "a.txt").write_text("other\n")
        changed = (await gate.call("git.git_diff_unstaged", there)).unwrap()
        assert "+other" in str(changed)
        pending = await gate.call("git.git_add", {**there, "files": ["b.txt"]})
        assert isinstance(pending, Pending)
        assert git(tmp_path, "diff", "--cached", "--name-only") == ""
        await gate.approve(pending.approval_id, by="olga")
        assert (await gate.resume(pending.approval_id)).ok
        assert git(tmp_path, "diff", "--cached", "--name-only") == "b.txt"
        assert isinstance(await gate.call("git.git_commit", {**there, "message": "x"}), Refused)
    assert git(tmp_path, "rev-list", "--count", "HEAD") == "1"


async def test_time_from_a_clients_file_tells_the_time_and_its_own_errors(tmp_path: Path) -> None:
    command = python_server("mcp_server_time")
    file = tmp_path / "mcp.json"
    words = ", ".join(f'"{word}"' for word in command[1:])
    file.write_text(f'{{"mcpServers": {{"time": {{"command": "{command[0]}", "args": [{words}]}}}}}}')
    servers = McpServers.from_file(file, declare={"time": {"*": {**READS, "egress": False}}})
    async with gate_of(config=FREE) as gate:
        for server in servers:
            report = await gate.attach(server)
            assert set(report.tools) == {"time.get_current_time", "time.convert_time"}
        answer = (await gate.call("time.get_current_time", {"timezone": "Asia/Tokyo"})).unwrap()
        assert "Asia/Tokyo" in str(answer)
        zones = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        converted = str((await gate.call("time.convert_time", zones)).unwrap())
        assert "21:00" in converted
        assert "+9.0h" in converted
        failed = await gate.call("time.get_current_time", {"timezone": "Nowhere/Land"})
        assert isinstance(failed, Failed)
        assert "Nowhere/Land" in failed.to_human()


async def test_fetch_reads_a_page_its_hosts_are_judged_and_it_heeds_who_wants_no_robots() -> None:
    command = [*python_server("mcp_server_fetch"), "--allow-private-ips"]
    server = McpServer("fetch", command=command, declare={"*": READS}, startup=30)
    with site() as pages:
        async with gate_of(config=FREE) as gate:
            await gate.attach(server)
            refused = await gate.call("fetch.fetch", {"url": pages.url("/page")})
            assert isinstance(refused, Refused)
            assert "names the private host" in refused.to_human()
        assert pages.asked == []
        async with gate_of(config=replace(FREE, families=LOCAL_PAGES)) as gate:
            assert (await gate.attach(server)).ok
            outcome = await gate.call("fetch.fetch", {"url": pages.url("/page")})
            assert "Hello from a page of our own." in str(outcome.unwrap())
            kept_out = await gate.call("fetch.fetch", {"url": pages.url("/private/page")})
            assert isinstance(kept_out, Failed)
            assert "robots.txt" in kept_out.to_human()
        assert "/page" in pages.asked
        assert "/private/page" not in pages.asked


async def test_filesystem_stays_in_its_folder_and_asks_before_it_writes(tmp_path: Path) -> None:
    inside = tmp_path / "work"
    inside.mkdir()
    (inside / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "outside.txt").write_text("not for it")
    confined = {"effects": "read_only", "scopes": "fs:read"}
    declared = {"read_text_file": confined, "write_file": {**WRITES, "scopes": "fs:write"}, "list_*": READS, "*": READS}
    server = McpServer("files", command=npm_server("server-filesystem", str(inside)), declare=declared, startup=30)
    async with gate_of(config=MODERATE, working_directory=str(inside)) as gate:
        report = await gate.attach(server)
        assert len(report.tools) == 14
        text = (await gate.call("files.read_text_file", {"path": str(inside / "a.txt"), "head": 1})).unwrap()
        assert text == {"content": "one"}
        listed = (await gate.call("files.list_directory", {"path": str(inside)})).unwrap()
        assert listed == {"content": "[FILE] a.txt"}
        refused = await gate.call("files.read_text_file", {"path": str(tmp_path / "outside.txt")})
        assert isinstance(refused, Refused)
        # What the gate does not know to be a path, the server judges by itself.
        kept_out = await gate.call("files.get_file_info", {"path": str(tmp_path / "outside.txt")})
        assert isinstance(kept_out, Failed)
        assert "Access denied" in kept_out.to_human()
        # The server says that it destroys, which the operator denied; the stricter counts.
        assert "the server says that it is" in str(report.failures)
        pending = await gate.call("files.write_file", {"path": str(inside / "b.txt"), "content": "three"})
        assert isinstance(pending, Pending)
        assert not (inside / "b.txt").exists()
        await gate.approve(pending.approval_id, by="olga")
        assert (await gate.resume(pending.approval_id)).ok
        assert (inside / "b.txt").read_text() == "three"


@asynccontextmanager
async def everything(over: str) -> AsyncGenerator[Callgate]:
    """A gate with the server that has everything, over one transport or the other."""
    port = free_port()
    declared = {"toggle-*": WRITES, "gzip-*": WRITES, "simulate-*": WRITES, "*": READS}
    options: Any = {"declare": declared, "startup": 30}
    if over == "stdio":
        server = McpServer("all", command=npm_server("server-everything", "stdio"), **options)
        async with gate_of(config=FREE) as gate:
            assert (await gate.attach(server)).ok
            yield gate
        return
    with running(*npm_server("server-everything", "streamableHttp"), env={"PORT": str(port)}):
        await come(port)
        async with gate_of(config=FREE) as gate:
            assert (await gate.attach(McpServer("all", url=f"http://127.0.0.1:{port}/mcp", **options))).ok
            yield gate


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_everything_gives_text_numbers_structure_images_and_resources(over: str) -> None:
    async with everything(over) as gate:
        assert {"all.echo", "all.get_sum", "all.simulate_research_query"} < {tool.name for tool in gate.tools()}
        assert (await gate.call("all.echo", {"message": "hello"})).unwrap() == "Echo: hello"
        assert (await gate.call("all.get_sum", {"a": 2, "b": 40})).unwrap() == "The sum of 2 and 40 is 42."
        weather = (await gate.call("all.get_structured_content", {"location": "Chicago"})).unwrap()
        assert weather == {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
        assert isinstance(await gate.call("all.get_structured_content", {"location": "Nowhere"}), Refused)
        [image] = (await gate.call("all.get_tiny_image")).unwrap()["blocks"]
        assert (image["type"], image["mimeType"]) == ("image", "image/png")
        assert base64.b64decode(image["data"]).startswith(PNG)
        annotated = (
            await gate.call("all.get_annotated_message", {"messageType": "error", "includeImage": True})
        ).unwrap()
        assert annotated["text"] == "Error: Operation failed"
        assert annotated["blocks"][0]["annotations"]["audience"] == ["user"]
        links = (await gate.call("all.get_resource_links", {"count": 2})).unwrap()["blocks"]
        assert [link["type"] for link in links] == ["resource_link", "resource_link"]
        [resource] = (await gate.call("all.get_resource_reference", {"resourceId": 7})).unwrap()["blocks"]
        assert resource["resource"]["uri"] == "demo://resource/dynamic/text/7"
        assert resource["resource"]["text"].startswith("Resource 7: ")


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_everything_tells_how_far_it_is_logs_and_refuses_what_it_must(over: str) -> None:
    async with everything(over) as gate:
        done = await gate.call("all.trigger_long_running_operation", {"duration": 0.4, "steps": 4})
        assert "completed" in done.unwrap()
        steps = [step["fraction"] for step in await told(gate, "tool_call.progress")]
        assert steps == [0.25, 0.5, 0.75, 1.0]
        assert (await gate.call("all.toggle_simulated_logging")).ok
        await until_told(gate, "source.said")
        # It needs the protocol's tasks, which nobody keeps here: told as its own error, after an effect perhaps.
        failed = await gate.call("all.simulate_research_query", {"topic": "gates"})
        assert isinstance(failed, Failed)
        assert "task" in failed.to_human()
        assert failed.happened is Happened.POSSIBLE
