"""A process killed in the middle of a move: after the next access all of it has happened, or nothing. TOOL-16."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from tests.tools.vault.calling import call, done, home, opened, put, texts

ROOT = Path(__file__).parent.parent.parent.parent
ROUNDS = 12
BACK_LINKS = 60
_MOVER = """
import asyncio, sys
from pathlib import Path
from tests.tools.vault.calling import done, opened

async def main():
    async with opened(Path(sys.argv[1])) as gate:
        await done(gate, "vault_list")
        print("ready", flush=True)
        here, there = "hub.md", "moved/centre.md"
        while True:
            await done(gate, "vault_move", old_path=here, new_path=there)
            here, there = there, here

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("how", ["in-one-step", "in-two-steps"])
def test_at_whatever_step_it_dies_everything_is_old_or_everything_is_new(how: str) -> None:
    """The note gets its new path as the system can give it."""
    command = [sys.executable, "-m", "tests.tools.vault.dying", how]
    told = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=110).stdout)
    assert told["steps"] > 80, "it died at every one of them"
    assert set(told["found"]) == {"old", "new"}
    assert told["found"].count("new") > told["found"].count("old"), "what is written down is finished"


@pytest.mark.slow
@pytest.mark.crash
async def test_whenever_it_is_killed_no_note_is_lost_and_no_link_is_left_behind(tmp_path: Path) -> None:
    """By the clock, in the middle of whatever it does: the gate, the index and the files of a real process."""
    notes = {f"n/{at}.md": f"{at}: [[hub|alias]] and [x](../hub.md#h)\n" for at in range(BACK_LINKS)}
    put(tmp_path, notes | {"hub.md": "# Hub\n\n[0](n/0.md)\n"})
    luck = random.Random(11)
    seen: set[bool] = set()
    async with opened(tmp_path) as gate:
        for _ in range(ROUNDS):
            await _kill_a_mover(tmp_path, after=luck.uniform(0.0, 0.4))
            seen.add(await _all_old_or_all_new(gate, tmp_path))
            if not (home(tmp_path) / "hub.md").exists():
                await done(gate, "vault_move", old_path="moved/centre.md", new_path="hub.md")
    assert seen == {True, False}, "it was killed on the way there as well as on the way back"


async def _kill_a_mover(folder: Path, *, after: float) -> None:
    mover = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _MOVER, str(folder), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert mover.stdout is not None
    assert await asyncio.wait_for(mover.stdout.readline(), 60) == b"ready\n"
    try:
        await asyncio.wait_for(mover.wait(), after)
    except TimeoutError:
        mover.kill()
    assert await mover.wait() == -9, "it moved until it was killed"


async def _all_old_or_all_new(gate: Callgate, folder: Path) -> bool:
    """Whether the note is at its first place; fails if anything is between the two."""
    listed = {note["path"] for note in (await done(gate, "vault_list"))["notes"]}
    after = texts(folder)
    first = "hub.md" in after
    assert listed == after.keys()
    assert len(after) == BACK_LINKS + 1
    name, address = ("hub", "../hub.md") if first else ("centre", "../moved/centre.md")
    assert after == {
        **{f"n/{at}.md": f"{at}: [[{name}|alias]] and [x]({address}#h)\n" for at in range(BACK_LINKS)},
        "hub.md" if first else "moved/centre.md": f"# Hub\n\n[0]({'' if first else '../'}n/0.md)\n",
    }
    assert not list(home(folder).glob(".*"))
    return first


async def test_what_a_person_did_between_the_crash_and_the_next_access_is_kept(tmp_path: Path) -> None:
    record = {
        "version": 1,
        "placed": False,
        "move": {
            "old": "a.md",
            "new": "b.md",
            "digest": "",
            "rewritings": [
                {"path": path, "before": "", "after": "", "changes": [["wiki", "a", "b"]], "links": 1}
                for path in ("n.md", "gone.md", "link.md")
            ],
        },
    }
    put(tmp_path, {"a.md": "mine", "n.md": "edited since [[a]]"})
    (home(tmp_path) / "link.md").symlink_to("n.md")
    file = home(tmp_path) / ".callgate-move.json"
    async with opened(tmp_path) as gate:
        file.write_text(json.dumps(record))
        assert (await done(gate, "vault_read", path="n.md"))["content"] == "edited since [[b]]"
        assert (await done(gate, "vault_read", path="b.md"))["content"] == "mine"
        assert (home(tmp_path) / "link.md").is_symlink()
        put(tmp_path, {"a.md": "a new one", "n.md": "[[a]]"})
        file.write_text(json.dumps(record))
        assert (await done(gate, "vault_read", path="n.md"))["content"] == "[[a]]", "both are there: it never began"
        assert not file.exists()
        assert (await done(gate, "vault_read", path="a.md"))["content"] == "a new one"


def _forged(*, placed: Any = True, rewriting: dict[str, Any] | None = None, **fields: Any) -> bytes:
    """A record that is one but for these fields; NaN and halves of letters are written as Python does."""
    usual = {"path": "n.md", "before": "", "after": "", "changes": [["wiki", "a", "b"]], "links": 1}
    move = {"old": "gone.md", "new": "n.md", "digest": "", "rewritings": [usual | (rewriting or {})]} | fields
    return json.dumps({"version": 1, "placed": placed, "move": move}).encode()


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"version": 2}',
        b'{"version": 1, "placed": true, "move": {"old": "../x.md", "new": "b.md", "digest": "", "rewritings": []}}',
        b'{"version": 1, "placed": true, "move": {"old": "a.md", "new": "b.md", "digest": "", "rewritings": [1]}}',
        b"\xff\xfe",
        _forged(placed="false"),
        _forged(placed=False, old="a.md", new="a.md"),
        _forged(old=["a"]),
        _forged(new={"a": 1}),
        _forged(digest=None),
        _forged(rewritings={"path": "n.md"}),
        _forged(rewriting={"path": ["n.md"]}),
        _forged(rewriting={"changes": [["wiki", "a", "\ud800"]]}),
        _forged(rewriting={"changes": [["wiki", "\ud800", "b"]]}),
        _forged(rewriting={"changes": [["wiki", "a", "b]] and whatever else\n"]]}),
        _forged(rewriting={"changes": [[["wiki"], "a", "b"]]}),
        _forged(rewriting={"changes": [["wiki", "a"]]}),
        _forged(rewriting={"changes": "abc"}),
        _forged(rewriting={"links": float("inf")}),
        _forged(rewriting={"links": -1}),
        _forged(rewriting={"before": 1}),
    ],
    ids=[
        "empty",
        "half",
        "deep",
        "version",
        "climbing",
        "no-object",
        "no-text",
        "begun-is-no-yes-or-no",
        "to-where-it-is",
        "list-for-a-path",
        "mapping-for-a-path",
        "no-digest",
        "no-list",
        "list-for-a-note",
        "half-a-letter",
        "half-a-letter-before",
        "no-target",
        "list-for-a-form",
        "half-a-change",
        "text-for-changes",
        "endless",
        "less-than-none",
        "number-for-a-digest",
    ],
)
async def test_a_record_that_somebody_else_made_is_set_aside(tmp_path: Path, written: bytes) -> None:
    """It costs that record, and neither a note nor any access after it."""
    notes = {"a.md": "an hour of work", "n.md": "[[a]]"}
    put(tmp_path, notes)
    (home(tmp_path) / ".callgate-move.json").write_bytes(written)
    async with opened(tmp_path) as gate:
        assert (await call(gate, "vault_read", path="a.md")).ok
    assert [file.name for file in home(tmp_path).glob(".*")] == [".callgate-move.unreadable.json"]
    assert texts(tmp_path) == notes


async def test_a_record_with_a_link_that_is_no_text_is_one_of_ours(tmp_path: Path) -> None:
    """Bytes that are no text are kept in a note, and so in what is written down of it."""
    put(tmp_path, {"n.md": "x"})
    (home(tmp_path) / "m.md").write_bytes(b"[[caf\xe9/a]]")
    changes = {"path": "m.md", "changes": [["wiki", "caf\udce9/a", "b"]]}
    (home(tmp_path) / ".callgate-move.json").write_bytes(_forged(rewriting=changes))
    async with opened(tmp_path) as gate:
        assert (await call(gate, "vault_read", path="n.md")).ok
    assert (home(tmp_path) / "m.md").read_bytes() == b"[[b]]"
    assert not list(home(tmp_path).glob(".*"))


async def test_a_record_that_is_a_link_or_a_folder_leads_nowhere(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "a"})
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    record = home(tmp_path) / ".callgate-move.json"
    async with opened(tmp_path) as gate:
        record.symlink_to(outside)
        assert (await call(gate, "vault_list")).ok
        (home(tmp_path) / ".callgate-move.unreadable.json").unlink()
        record.mkdir()
        assert (await call(gate, "vault_list")).ok
    assert outside.read_text() == "{}"
