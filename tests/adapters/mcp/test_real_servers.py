"""Servers that others wrote, as they are installed: git, time and fetch, over stdio."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from callgate import Failed, Pending, Refused
from callgate.adapters.mcp import McpServer, McpServers
from callgate.model.levels import Autonomy
from callgate.settings.values import DEFAULT_FAMILIES, Family, Settings
from tests.adapters.mcp.servers import FREE, READS, WRITES, gate_of

pytestmark = pytest.mark.slow

MODERATE = Settings(autonomy=Autonomy.A2)


def installed(module: str) -> list[str]:
    return [sys.executable, "-m", module]


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=tests", "-c", "user.email=tests@example.com"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.requirement("ADP-04")
async def test_git_reads_by_itself_and_asks_before_it_writes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("one\n")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "b.txt").write_text("two\n")
    declared = {"git_status": READS, "git_log": READS, "git_add": WRITES, "git_reset": {"effects": "modifies_files"}}
    server = McpServer("git", command=installed("mcp_server_git"), declare=declared, startup=30)
    repository = {"repo_path": str(tmp_path)}
    async with gate_of(config=MODERATE, working_directory=str(tmp_path)) as gate:
        report = await gate.attach(server)
        assert report.ok
        assert "b.txt" in str((await gate.call("git.git_status", repository)).unwrap())
        assert "first" in str((await gate.call("git.git_log", repository)).unwrap())
        pending = await gate.call("git.git_add", {**repository, "files": ["b.txt"]})
        assert isinstance(pending, Pending)
        assert git(tmp_path, "diff", "--cached", "--name-only") == ""
        await gate.approve(pending.approval_id, by="olga")
        assert (await gate.resume(pending.approval_id)).ok
        assert git(tmp_path, "diff", "--cached", "--name-only") == "b.txt"
        assert isinstance(await gate.call("git.git_commit", {**repository, "message": "x"}), Refused)
    assert git(tmp_path, "rev-list", "--count", "HEAD") == "1"


async def test_time_from_a_clients_file_tells_the_time_and_its_own_errors(tmp_path: Path) -> None:
    command = installed("mcp_server_time")
    file = tmp_path / "mcp.json"
    words = ", ".join(f'"{word}"' for word in command[1:])
    file.write_text(f'{{"mcpServers": {{"time": {{"command": "{command[0]}", "args": [{words}]}}}}}}')
    servers = McpServers.from_file(file, declare={"time": {"*": {**READS, "egress": False}}})
    async with gate_of(config=FREE) as gate:
        for server in servers:
            assert (await gate.attach(server)).ok
        answer = (await gate.call("time.get_current_time", {"timezone": "Asia/Tokyo"})).unwrap()
        assert "Asia/Tokyo" in str(answer)
        failed = await gate.call("time.get_current_time", {"timezone": "Nowhere/Land"})
        assert isinstance(failed, Failed)
        assert "Nowhere/Land" in failed.to_human()


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><body><p>Hello from a page of our own.</p></body></html>"
        self.send_response(200 if self.path != "/robots.txt" else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
        """Nobody reads it."""


async def test_fetch_reads_a_page_and_its_hosts_are_judged() -> None:
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    try:
        server = McpServer(
            "fetch", command=[*installed("mcp_server_fetch"), "--allow-private-ips"], declare={"*": READS}, startup=30
        )
        url = f"http://127.0.0.1:{pages.server_port}/page"
        async with gate_of(config=FREE) as gate:
            await gate.attach(server)
            refused = await gate.call("fetch.fetch", {"url": url})
            assert isinstance(refused, Refused)
            assert "names the private host" in refused.to_human()
        families = {**DEFAULT_FAMILIES, "net": Family(hosts=("127.0.0.1",), private_addresses=True)}
        async with gate_of(config=replace(FREE, families=families)) as gate:
            assert (await gate.attach(server)).ok
            outcome = await gate.call("fetch.fetch", {"url": url})
            assert "Hello from a page of our own." in str(outcome.unwrap())
    finally:
        pages.shutdown()
        pages.server_close()
