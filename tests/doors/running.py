"""Driving the command line: in this process, in a process of its own, and at a terminal of its own."""

import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from callgate.cli.entry import run

ROOT = Path(__file__).parents[2]
TOOLS = "tests.doors.cli_tools"
ODD_TOOLS = "tests.doors.cli_odd_tools"
_SECONDS = 30.0
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
)


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def body(self) -> Any:
        """Stdout as the one JSON document that it must be."""
        return json.loads(self.out)


class Cli:
    """The command line in this process, in a folder of its own. `cli("call", "word_count", "{}")`."""

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._capsys = capsys
        self.folder = folder

    def __call__(self, *words: str) -> Done:
        self._capsys.readouterr()
        code = run(words)
        out, err = self._capsys.readouterr()
        return Done(code, out, err)

    def call(self, tool: str, arguments: Mapping[str, Any] | str = "{}", *options: str) -> Done:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return self("call", tool, text, "--module", TOOLS, *options)

    def ask_to_pay(self, amount: float = 5, *options: str) -> str:
        """Make a payment that waits, and give the id of its approval."""
        done = self.call("pay", {"to": "bob", "amount": amount}, "--json", *options)
        assert done.code == 4, done
        return done.body["metadata"]["approval_id"]


def environment(**more: str) -> dict[str, str]:
    return (
        os.environ
        | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTHONWARNINGS": "error", "TERM": "xterm-256color"}
        | more
    )


def start(*words: str, cwd: Path, text: str = "", **more: str) -> Done:
    """The command line in a process of its own, piped."""
    done = subprocess.run(
        [sys.executable, "-m", "callgate", *words],
        cwd=cwd,
        env=environment(**more),
        input=text,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class Terminal:
    """A command at a terminal that a test types at and reads."""

    def __init__(self, *words: str, cwd: Path, columns: int = 100, more: Mapping[str, str] | None = None) -> None:
        self._screen, line = pty.openpty()
        ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, sys.executable, "-m", "callgate", *words],
            cwd=cwd,
            env=environment(**(more or {})),
            stdin=line,
            stdout=line,
            stderr=line,
            start_new_session=True,
        )
        os.close(line)
        self._told = b""
        self._at = 0

    @property
    def seen(self) -> str:
        """What the screen was told, decoded as a whole: a read may end amid a character or a line's end."""
        return self._told.decode(errors="replace").replace("\r\n", "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.hang_up()

    def hang_up(self) -> None:
        """Close it, as somebody closes a window."""
        screen, self._screen = self._screen, -1
        if screen >= 0:
            os.close(screen)

    def expect(self, text: str) -> None:
        """Read until the text is there, after what was expected before."""
        until = time.monotonic() + _SECONDS
        while (found := self.seen.find(text, self._at)) < 0:
            if not self._read(until):
                pytest.fail(f"{text!r} did not come; what came is:\n{self.seen}")
        self._at = found + len(text)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def end(self) -> int:
        """Read the rest; the exit code."""
        until = time.monotonic() + _SECONDS
        while self._read(until):
            pass
        return self.process.wait(timeout=_SECONDS)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return False
        try:
            found = os.read(self._screen, 65536)
        except OSError:  # what Linux says when the other side is gone
            return False
        self._told += found
        return bool(found)
