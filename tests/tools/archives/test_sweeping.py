"""What extractions leave that were killed: nothing, from the next one on; and those that live are left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.tools.archives import stage
from tests.tools.archives.building import HONEST, zipped
from tests.tools.files.calling import call, opened

_PROGRAM = """
import asyncio, os, signal, sys
from callgate import Callgate, Context
from callgate.tools.archives import stage
write = stage.write_all
def killed(fd, data):
    write(fd, data)
    os.kill(os.getpid(), signal.SIGKILL)
stage.write_all = killed
async def main():
    async with Callgate.open("memory://", working_directory=sys.argv[1], builtin_tools=["archives"]) as gate:
        who = Context(autonomy="A4")
        await gate.call("archive_open", {"path": "a.zip"}, who)
        await gate.call("archive_extract", {}, who)
asyncio.run(main())
"""


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def test_what_a_killed_extraction_left_is_gone_after_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode < 0  # noqa: ASYNC221 - nothing else runs here
    assert len(_names(tmp_path)) == 2
    (tmp_path / ".callgate-unpacking-mine").mkdir()
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        assert (await call(gate, "archive_extract")).ok
    assert _names(tmp_path) == [".callgate-unpacking-mine", "a", "a.zip"]


async def test_an_extraction_that_is_under_way_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"a.txt": b"a"}))
    usual = stage.write_all
    answers: list[Any] = []

    def meanwhile(fd: int, data: bytes) -> None:
        monkeypatch.setattr(stage, "write_all", usual)
        command = [sys.executable, "-c", _PROGRAM.replace("stage.write_all = killed", ""), str(tmp_path)]
        answers.append(subprocess.run(command, check=False).returncode)
        usual(fd, data)

    monkeypatch.setattr(stage, "write_all", meanwhile)
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        assert (await call(gate, "archive_extract")).unwrap()["stored_in"] == str(tmp_path / "a-2")
    assert answers == [0]
    assert _names(tmp_path) == ["a", "a-2", "a.zip"]
