"""python_eval: every way out that we know, with a witness outside, and once in a Python that is not confined."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.needed import needs
from tests.tools.code.python_ways import WAYS, WAYS_OF_MONTY

needs("pydantic_monty")
CANARY = f"canary-{secrets.token_hex(12)}"
HOST = """
import asyncio, json, sys
from callgate import Callgate

async def main():
    async with Callgate.open("memory://", builtin_tools=["python_eval"]) as gate:
        for line in sys.stdin:
            outcome = await gate.call("python_eval", json.loads(line))
            print(json.dumps([outcome.status, str(outcome), repr(outcome.output)]), flush=True)

asyncio.run(main())
"""
FREE = """
import ast, asyncio, inspect, json, subprocess, sys
names = json.loads(sys.argv[1])
body = ast.parse(sys.stdin.read())
if isinstance(body.body[-1], ast.Expr):
    body.body[-1] = ast.Assign([ast.Name("value_of_it", ast.Store())], body.body[-1].value)
code = compile(ast.fix_missing_locations(body), "expression.py", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
begun = eval(code, names)
if inspect.iscoroutine(begun):
    asyncio.run(begun)
print(names.get("value_of_it"), flush=True)
"""
"""Plain Python, which says the value of the last line as python_eval does."""


def around() -> dict[str, str]:
    """An environment that has the secret from the start: what is set later is not in the files of the system."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "CALLGATE_TEST_SECRET": CANARY}


@dataclass(slots=True, kw_only=True)
class Witness:
    """What must not be made, read, heard or ended."""

    folder: Path
    listener: socket.socket
    sleeper: subprocess.Popen[bytes]
    names: dict[str, object] = field(default_factory=dict[str, object])
    heard: bool = False

    def code(self, way: str, *, parent: int) -> str:
        """One way, with what is around it here."""
        port = str(self.listener.getsockname()[1])
        return {**WAYS, **WAYS_OF_MONTY}[way].replace("PORT", port).replace("PARENT", str(parent))

    def saw(self, output: str) -> bool:
        """Whether it got out."""
        with contextlib.suppress(BlockingIOError):
            self.listener.accept()[0].close()
            self.heard = True
        return CANARY in output or (self.folder / "mark").exists() or self.heard or self.sleeper.poll() is not None


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    (tmp_path / "listed").mkdir()
    (tmp_path / "listed" / CANARY).touch()
    (tmp_path / "secret").write_text(CANARY)
    sleeper = subprocess.Popen(["sleep", "600"], env=around())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        names = {"MARK": tmp_path / "mark", "SECRET": tmp_path / "secret", "FOLDER": tmp_path / "listed"}
        given = {name: str(place) for name, place in names.items()}
        yield Witness(folder=tmp_path, listener=listener, sleeper=sleeper, names={**given, "given": {"a": [1]}})
    sleeper.kill()
    sleeper.wait()


@contextlib.contextmanager
def a_host(place: Path) -> Generator[subprocess.Popen[str]]:
    """A Callgate of its own, which is asked line by line."""
    words = [sys.executable, "-c", HOST]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=place, env=around()
    ) as host:
        yield host
        host.kill()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    with a_host(tmp_path_factory.mktemp("host")) as running:
        yield running


def asked(host: subprocess.Popen[str], expression: str, names: dict[str, object]) -> tuple[str, str]:
    """How a call ended, and all that it says."""
    assert host.stdin is not None
    assert host.stdout is not None
    host.stdin.write(json.dumps({"expression": expression, "variables": names}) + "\n")
    host.stdin.flush()
    status, *said = json.loads(host.stdout.readline())
    return status, " ".join(said)


@pytest.mark.parametrize("way", [*WAYS, *WAYS_OF_MONTY])
def test_no_way_leads_out(way: str, witness: Witness, host: subprocess.Popen[str]) -> None:
    """TOOL-08: no attribute walk, import or built-in leads to a file, a process, a socket or the environment."""
    _, said = asked(host, witness.code(way, parent=host.pid), witness.names)
    assert not witness.saw(said), said
    assert asked(host, "SECRET", witness.names)[0] == "succeeded"  # whoever was asked is still there


@pytest.mark.parametrize("way", WAYS)
def test_each_way_leads_out_of_a_python_that_is_not_confined(way: str, witness: Witness) -> None:
    """Else the other test would prove nothing."""
    ran = subprocess.run(
        [sys.executable, "-I", "-c", FREE, json.dumps(witness.names)],
        input=witness.code(way, parent=witness.sleeper.pid),
        capture_output=True,
        text=True,
        cwd=witness.folder,
        env=around(),
        timeout=60,
        check=False,
    )
    until = time.monotonic() + 30
    while not witness.saw(ran.stdout) and time.monotonic() < until:
        time.sleep(0.01)  # what it started may end later than it does
    assert witness.saw(ran.stdout), ran
