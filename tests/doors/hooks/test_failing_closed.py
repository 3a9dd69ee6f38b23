"""Whatever is wrong with the gate, every host is told no, and before it stops waiting. Each hook is a process here."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate.serve.hooks.hosts import HOSTS
from tests.doors.running import ROOT, Cli, Done, environment

pytestmark = pytest.mark.slow
_PATH = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
EACH = pytest.mark.parametrize("host", ["claude-code", "codex", "cursor", "copilot"])
_WAITS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "claude-code": (".claude/settings.local.json", lambda hooks: hooks["PreToolUse"][0]["hooks"][0]["timeout"]),
    "codex": (".codex/hooks.json", lambda hooks: hooks["PreToolUse"][0]["hooks"][0]["timeout"]),
    "cursor": (".cursor/hooks.json", lambda hooks: hooks["preToolUse"][0]["timeout"]),
    "copilot": (".github/hooks/callgate.json", lambda hooks: hooks["preToolUse"][0]["timeoutSec"]),
}
"""Where `callgate connect` writes how long the host waits for its hook."""


def asks(host: str, folder: Path) -> str:
    """A read that the gate allows, as each host asks about it."""
    path = str(folder / "a.txt")
    said: dict[str, Any] = {
        "claude-code": {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Read", "tool_use_id": "t"}
        | {"tool_input": {"file_path": path}},
        "codex": {"hook_event_name": "PreToolUse", "session_id": "s", "turn_id": "1", "tool_use_id": "t"}
        | {"tool_name": "apply_patch", "tool_input": {"command": _PATCH}},
        "cursor": {"hook_event_name": "preToolUse", "conversation_id": "c", "generation_id": "g", "tool_use_id": "t"}
        | {"tool_name": "Read", "tool_input": {"file_path": path}, "workspace_roots": [str(folder)]},
        "copilot": {"sessionId": "s", "toolName": "view", "toolArgs": json.dumps({"path": path})},
    }[host]
    return json.dumps({"cwd": str(folder), **said})


_PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** End Patch"


def command(host: str, deadline: str) -> list[str]:
    words = ["hook", host, "--deadline", deadline, *(("--event", "preToolUse") if host == "copilot" else ())]
    return [sys.executable, "-m", "callgate", *words]


def run(host: str, folder: Path, text: str, *, deadline: str = "20") -> Done:
    done = subprocess.run(
        command(host, deadline),
        cwd=folder,
        env=environment(PYTHONPATH=_PATH),
        input=text,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def is_no(done: Done) -> bool:
    """By exit code, which every host takes, or in the host's own words."""
    if done.code == 2:
        return True
    body: dict[str, Any] = done.body if done.code == 0 and done.out else {}
    told = body.get("hookSpecificOutput", body)
    return "deny" in {told.get("permissionDecision"), told.get("permission")}


@pytest.fixture
def free(project: Path) -> Path:
    (project / "callgate.yaml").write_text("autonomy: A4\n")
    (project / "a.txt").write_text("a\n")
    return project


@EACH
def test_a_gate_that_works_allows_and_one_whose_store_is_held_denies(free: Path, host: str):
    allowed = run(host, free, asks(host, free))
    assert (allowed.code, is_no(allowed)) == (0, False), allowed
    with _held(free / ".callgate" / "callgate.db"):
        no = run(host, free, asks(host, free).replace('"t"', '"t2"'), deadline="8")
    assert is_no(no), no
    assert "Nothing has happened" in no.out + no.err


@contextmanager
def _held(store: Path) -> Generator[None]:
    holder = sqlite3.connect(store, isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        holder.close()


@EACH
def test_a_store_that_never_answers_is_a_no_within_the_hooks_own_deadline(free: Path, host: str):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        (free / "callgate.yaml").write_text(f"store: postgresql://127.0.0.1:{silent.getsockname()[1]}/x\n")
        no = run(host, free, asks(host, free), deadline="6")
    assert is_no(no), no
    assert "Nothing has happened" in no.out + no.err


@EACH
def test_a_host_that_never_comes_to_an_end_is_told_no_at_the_deadline(free: Path, host: str):
    with subprocess.Popen(
        command(host, "4"),
        cwd=free,
        env=environment(PYTHONPATH=_PATH),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as hook:
        assert hook.stdin is not None
        hook.stdin.write(asks(host, free).encode()[:-1])
        hook.stdin.flush()
        code = hook.wait(timeout=100)
        assert hook.stdout is not None
        assert hook.stderr is not None
        no = Done(code, hook.stdout.read().decode(), hook.stderr.read().decode())
    assert is_no(no), no
    assert "within 4 seconds" in no.out + no.err


@EACH
@pytest.mark.parametrize(
    "broken",
    [
        "autonomy: A9\n",
        "store: postgresql://127.0.0.1:9/nothing\n",
        "store: /dev/null/callgate.db\n",
    ],
    ids=["configuration", "database down", "no place for a store"],
)
def test_a_gate_that_cannot_be_opened_denies(free: Path, host: str, broken: str):
    (free / "callgate.yaml").write_text(broken)
    no = run(host, free, asks(host, free))
    assert is_no(no), no
    assert "could not judge" in no.out + no.err


@EACH
def test_what_cannot_be_read_is_denied_however_large(free: Path, host: str):
    asked = asks(host, free)
    for text in ("", "nonsense", asked[:-1], '{"a": ' * 50_000, asked[:-1] + ', "x": "' + "y" * 34_000_000 + '"}'):
        no = run(host, free, text)
        assert is_no(no), (text[:50], no)


@EACH
def test_the_hooks_deadline_is_below_the_time_its_host_waits(cli: Cli, home: Path, host: str):
    name, waits = _WAITS[host]
    assert cli("connect", host, "--write", "--no-mcp").code == 0
    written = json.loads((cli.folder / name).read_text())["hooks"]
    assert waits(written) >= HOSTS[host].seconds > HOSTS[host].seconds - 10 > 0
