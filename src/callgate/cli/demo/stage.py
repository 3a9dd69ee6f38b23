"""The stage of the demo: a folder and a key of its own, and a narrator who leaves time to read."""

from __future__ import annotations

import os
import select
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from callgate.cli.demo.shop import Shop, make_tools
from callgate.cli.outcome_text import value_text
from callgate.cli.screen import Cell, Screen
from callgate.model.outcome import Outcome, Previewed, Succeeded
from callgate.ports import Asker
from callgate.runtime.gate import Callgate

_ENVIRONMENT = ("XDG_CONFIG_HOME", "CALLGATE_KEY", "CALLGATE_STORE", "CALLGATE_CONFIG")
_STYLES = {"succeeded": "green", "previewed": "cyan", "pending": "yellow", "unknown": "yellow"}
_BEAT = 1.6


class Stage:
    """Where the scenes play, and how they are told."""

    def __init__(self, folder: Path, *, fast: bool) -> None:
        self.folder = folder
        self.shop = Shop(folder)
        self.screen = Screen(sys.stdout)
        self.store = f"sqlite:///{folder / 'callgate.db'}"
        self._paced = self.screen.is_terminal and not fast
        self._scene = 0

    def gate(self, ask: Asker | None = None) -> Callgate:
        """A gate over the demo's own store, with the shop's tools."""
        gate = Callgate.open(self.store, working_directory=self.folder, ask=ask)
        gate.add(*make_tools(self.shop))
        return gate

    def scene(self, title: str, *told: str) -> None:
        """Begin a scene."""
        self._scene += 1
        self.pause(2)
        self.screen.say()
        self.screen.say(f"{self._scene}  {title}", style="bold")
        for line in told:
            self.screen.say(line, indent=3)
        self.pause()

    def asked(self, tool: str, arguments: dict[str, Any], *, how: str = "") -> None:
        """What the agent asks for."""
        words = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        self.fact("asked", f"{tool}({words}){how and f', {how}'}", style="bold")

    def said(self, outcome: Outcome, *, why: bool = True) -> None:
        """What the gate answered, and why."""
        self.fact("said", _answer(outcome), style=_STYLES.get(outcome.status, "red"))
        reasons = outcome.decision.reasons if outcome.decision else ()
        for reason in [reason for reason in reasons if why and reason.verdict is not None][-1:]:
            self.fact("why", reason.text)
        if isinstance(outcome, Previewed) and outcome.preview is not None:
            self.screen.say(outcome.preview.text, indent=10, mark="| ")

    def fact(self, label: str, text: str, *, style: str = "") -> None:
        """Something that is so."""
        self.screen.facts([(label.ljust(5), Cell(text, style))], indent=3)
        self.pause()

    def books(self) -> None:
        """What the bank has booked."""
        booked = self.shop.bookings()
        self.fact("bank", f"{len(booked)} booking{'' if len(booked) == 1 else 's'} in its own books")

    def pause(self, beats: float = 1) -> None:
        """Time to read; a viewer in a hurry presses Enter."""
        if not self._paced:
            return
        if not sys.stdin.isatty():
            time.sleep(beats * _BEAT)
        elif select.select([sys.stdin], [], [], beats * _BEAT)[0]:
            sys.stdin.readline()


@contextmanager
def staged(*, fast: bool, keep: bool) -> Generator[Stage]:
    """A stage in a folder that is gone afterwards, with nothing of the user's in reach."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    folder = tempfile.mkdtemp(prefix="callgate-demo-") if keep else None
    with tempfile.TemporaryDirectory(prefix="callgate-demo-") as passing:
        place = Path(folder or passing).resolve()
        for name in _ENVIRONMENT:
            os.environ.pop(name, None)
        os.environ["XDG_CONFIG_HOME"] = str(place / "config")
        try:
            stage = Stage(place, fast=fast)
            stage.shop.open()
            yield stage
        finally:
            _restore(before)


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _answer(outcome: Outcome) -> str:
    if isinstance(outcome, Succeeded):
        known_by = outcome.metadata.get("resolved_by")
        what = f"it happened, found out by {known_by}" if known_by else value_text(outcome.output)
        return f"succeeded: {what}" + (" (from the ledger, not run again)" if outcome.deduped else "")
    if isinstance(outcome, Previewed):
        return "previewed; nothing was run"
    message = f": {outcome.error.message}" if outcome.error else ""
    return f"{outcome.status}{message}"
