"""Moves that cannot be made or finished: nothing is lost, no other note is stopped by it, and it is said. TOOL-16."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.vault import moving
from tests.tools.vault.calling import call, done, home, opened, put, texts

ROOT = Path(__file__).parent.parent.parent.parent
RECORD = ".callgate-move.json"
_WITHOUT = "-dac_override,-dac_read_search,-fowner"
_UNPRIVILEGED = ("setpriv", f"--bounding-set={_WITHOUT}", f"--inh-caps={_WITHOUT}") if os.getuid() == 0 else ()
_CALLS = """
import asyncio, json, sys
from pathlib import Path
from tests.tools.vault.calling import call, opened

async def main():
    told = []
    for name, arguments in json.loads(sys.argv[2]):
        async with opened(Path(sys.argv[1])) as gate:
            outcome = await call(gate, name, **arguments)
            told.append([outcome.ok, "" if outcome.error is None else outcome.error.message])
    print(json.dumps(told))

asyncio.run(main())
"""


def _as_anybody(folder: Path, *calls: tuple[str, dict[str, str]]) -> list[tuple[bool, str]]:
    """Calls, each on a gate of its own, by somebody whom permissions bind; whether each was well, and what was said."""
    told = subprocess.run(
        [*_UNPRIVILEGED, sys.executable, "-c", _CALLS, str(folder), json.dumps(calls)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-2000:]
    return [(ok, said) for ok, said in json.loads(told.stdout)]


READ = ("vault_read", {"path": "other.md"})
SEARCH = ("vault_search", {"query": "water"})


@pytest.mark.parametrize("new", ["locked/tea.md", "locked/new/tea.md", "chai.md"])
def test_a_folder_that_cannot_be_written_stops_the_move_before_it_begins(tmp_path: Path, new: str) -> None:
    """The note is to go there, or a link to it lies there."""
    put(tmp_path, {"tea.md": "tea\n", "other.md": "water\n", "locked/n.md": "[[tea]]\n"})
    before = texts(tmp_path)
    (home(tmp_path) / "locked").chmod(0o555)
    moved, read, found = _as_anybody(tmp_path, ("vault_move", {"old_path": "tea.md", "new_path": new}), READ, SEARCH)
    assert not moved[0]
    assert "nothing can be written in the folder locked" in moved[1]
    assert read[0], read[1]
    assert found[0], found[1]
    assert texts(tmp_path) == before
    assert not list(home(tmp_path).glob(".*"))


def _record(*, placed: bool, new: str = "chai.md", paths: tuple[str, ...] = ()) -> str:
    rewritings = [
        {"path": path, "before": "", "after": "", "changes": [["wiki", "tea", "chai"]], "links": 1} for path in paths
    ]
    move = {"old": "tea.md", "new": new, "digest": "", "rewritings": rewritings}
    return json.dumps({"version": 1, "placed": placed, "move": move})


def test_a_move_that_was_written_down_and_cannot_begin_any_more_is_forgotten(tmp_path: Path) -> None:
    put(tmp_path, {"tea.md": "tea\n", "other.md": "water\n", "locked/n.md": "n\n"})
    before = texts(tmp_path)
    (home(tmp_path) / RECORD).write_text(_record(placed=False, new="locked/tea.md"))
    (home(tmp_path) / "locked").chmod(0o555)
    assert [ok for ok, _ in _as_anybody(tmp_path, READ, SEARCH)] == [True, True]
    assert texts(tmp_path) == before
    assert not list(home(tmp_path).glob(".*"))


def test_a_move_that_cannot_be_finished_is_set_aside_and_said_once(tmp_path: Path) -> None:
    put(tmp_path, {"chai.md": "tea\n", "other.md": "water\n", "locked/n.md": "[[tea]]\n", "m.md": "[[tea]]\n"})
    (home(tmp_path) / RECORD).write_text(_record(placed=True, paths=("m.md", "locked/n.md")))
    (home(tmp_path) / "locked").chmod(0o555)
    first, second, found = _as_anybody(tmp_path, READ, READ, SEARCH)
    assert not first[0]
    assert "the move of tea.md to chai.md" in first[1]
    assert ".callgate-move.unfinished.json" in first[1]
    assert second[0], second[1]
    assert found[0], found[1]
    assert texts(tmp_path)["m.md"] == "[[chai]]\n"
    assert [file.name for file in home(tmp_path).glob(".*")] == [".callgate-move.unfinished.json"]


@pytest.mark.parametrize("name", [".callgate-move.new", ".callgate-move.unreadable.json"])
async def test_a_folder_in_the_place_of_a_record_stops_nobody(tmp_path: Path, name: str) -> None:
    put(tmp_path, {"a.md": "text\n", "n.md": "[[a]]\n"})
    (home(tmp_path) / name).mkdir()
    async with opened(tmp_path) as gate:
        if "unreadable" in name:
            (home(tmp_path) / RECORD).write_text("no record")
        assert (await done(gate, "vault_read", path="a.md"))["content"] == "text\n"
        await done(gate, "vault_move", old_path="a.md", new_path="b.md")
    assert texts(tmp_path) == {"b.md": "text\n", "n.md": "[[b]]\n"}


async def _refused(gate: Callgate, **arguments: str) -> str:
    outcome = await call(gate, "vault_move", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    return outcome.error.message


async def test_a_move_that_would_make_a_note_too_large_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "# A\n", "diary.md": "[[a]] and so on, on this day.\n" * 33_000})
    before = texts(tmp_path)
    new = "drinks/" + " ".join(["a rather long name for a small note"] * 5) + ".md"
    async with opened(tmp_path) as gate:
        said = await _refused(gate, old_path="a.md", new_path=new)
    assert "the links in diary.md would make that note larger than 1048576 bytes" in said
    assert texts(tmp_path) == before


async def test_a_move_that_cannot_be_written_down_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written down is bound by what is read afterwards."""
    monkeypatch.setattr(moving, "LARGEST", 2000)
    put(tmp_path, {"tea.md": "tea\n", "n.md": "".join(f"[[tea#{at}]] [x](./{'./' * at}tea.md)\n" for at in range(40))})
    before = texts(tmp_path)
    async with opened(tmp_path) as gate:
        said = await _refused(gate, old_path="tea.md", new_path="chai.md")
    assert "changes too many different links" in said
    assert texts(tmp_path) == before
    assert not list(home(tmp_path).glob(".*"))
