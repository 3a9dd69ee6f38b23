"""Calls by somebody who is not root, whom the system refuses things: a process that gives up what it may."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from callgate import Failed, Succeeded
from callgate.model.outcome import Outcome
from tests.tools.files.calling import call, opened

ROOT = Path(__file__).parents[3]
ANOTHER, GROUP, SOMEBODY = 1001, 4242, 65534
_CALLING = "import sys; from tests.tools.files.somebody import run; run(*sys.argv[1:])"
Call = tuple[str, dict[str, Any]]


class Told(NamedTuple):
    """What came of a call."""

    ok: bool
    happened: str
    """What the outcome says of it, or that it succeeded."""
    said: Any


@contextmanager
def shared_folder() -> Generator[Path]:
    """A directory of somebody else that a group may use: those of pytest are closed to others."""
    with TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        folder = Path(above) / "work"
        folder.mkdir()
        os.chown(folder, ANOTHER, GROUP)
        folder.chmod(0o770)
        yield folder


def call_as_somebody(folder: Path, *calls: Call, groups: Sequence[int] = (GROUP,)) -> list[Told]:
    """Make these calls one after the other, as a user in these groups; only root can be another."""
    done = subprocess.run(
        [sys.executable, "-c", _CALLING, str(folder), json.dumps(calls), json.dumps(groups)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Told(*each) for each in json.loads(done.stdout)]


def run(folder: str, calls: str, groups: str) -> None:
    """What that process does."""
    sys.stdout.write(json.dumps(asyncio.run(_calls(Path(folder), json.loads(calls), json.loads(groups)))))


async def _calls(folder: Path, calls: list[Call], groups: list[int]) -> list[Told]:
    async with opened(folder) as gate:
        for name, arguments in calls:
            # What it imports only root may be able to read here.
            await call(gate, name, **{**arguments, "path": "nothing/nowhere"})
        os.chdir(folder)
        os.setgroups(groups)
        os.setresgid(SOMEBODY, SOMEBODY, SOMEBODY)
        os.setresuid(SOMEBODY, SOMEBODY, SOMEBODY)
        return [_told(await call(gate, name, **arguments)) for name, arguments in calls]


def _told(outcome: Outcome) -> Told:
    if isinstance(outcome, Succeeded):
        return Told(ok=True, happened="succeeded", said=outcome.output)
    assert isinstance(outcome, Failed)
    return Told(ok=False, happened=outcome.happened.value, said=str(outcome.error))
