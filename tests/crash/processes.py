"""A process of its own that plays one part of `parts_played`, hears lines and says lines, and is stopped by its id."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.crash.waiting import WITHIN

ROOT = Path(__file__).resolve().parent.parent.parent


class Process:
    """One such process."""

    def __init__(self, part: str, *, url: str, folder: Path, **more: object) -> None:
        order = {"part": part, "url": url, "folder": str(folder)} | more
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.alone", json.dumps(order)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
        self.wait()

    def hear(self) -> str:
        """The next line it says.

        Raises:
            Empty: It says nothing for far too long.
        """
        return self._lines.get(timeout=WITHIN)

    def say(self, line: str = "") -> None:
        """Let it go on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process and no other."""
        os.kill(self._process.pid, number)

    def wait(self) -> int:
        """Wait until it is gone; its exit status."""
        status = self._process.wait(timeout=WITHIN)
        assert self._process.stdin is not None
        self._process.stdin.close()
        return status

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.rstrip("\n"))
        self._lines.put("gone")
