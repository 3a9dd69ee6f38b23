"""Looking at a store leaves no trace, a copy harms nobody, and a restored backup is found until somebody accepts it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callgate.secrets.root_keys import config_folder
from tests.doors.running import Cli, Terminal

HERE, COPY = Path(".callgate"), Path("copy")
IN_COPY = ("--store", f"{COPY}/callgate.db")
LOOKS = (
    ("audit", "verify"),
    ("audit", "list", "--all"),
    ("audit", "calls"),
    ("audit", "usage"),
    ("audit", "export", "-"),
    ("approvals", "list"),
    ("grants", "list"),
    ("tokens", "list"),
    ("outcomes", "list"),
    ("programs", "list"),
    ("doctor",),
)


@pytest.fixture
def used(cli: Cli) -> Cli:
    """A store in which a call was made and another waits."""
    assert cli.call("word_count", {"text": "a b"}).code == 0
    cli.ask_to_pay(5, "--key", "k1")
    return cli


def trace_of(folder: Path) -> tuple[int, int, int, dict[str, bytes]]:
    """What a gate that opens a store leaves: events, checkpoints, a stream, and anchors outside."""
    database = sqlite3.connect(folder / "callgate.db")
    try:
        tables = ("events", "checkpoints", "streams")
        rows = [database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables]
    finally:
        database.close()
    anchors = {path.name: path.read_bytes() for path in (config_folder() / "anchors").glob("*.json")}
    return rows[0], rows[1], rows[2], anchors


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_looking_leaves_no_trace(used: Cli, words: tuple[str, ...]):
    before = trace_of(HERE)
    assert used(*words).code in {0, 1}
    assert trace_of(HERE) == before


def test_packing_evidence_leaves_no_trace_and_verifies(used: Cli):
    before = trace_of(HERE)
    assert used("evidence", "export", "all.zip").code == 0
    assert trace_of(HERE) == before
    assert used("evidence", "verify", "all.zip").code == 0


def test_looking_at_a_copy_leaves_it_and_the_store_as_they_are(used: Cli):
    shutil.copytree(HERE, COPY)
    before = trace_of(COPY)
    done = used(*IN_COPY, "audit", "verify")
    assert done.code == 0
    assert f"this store is a copy of the one at {(HERE / 'callgate.db').resolve()}" in done.out
    assert trace_of(COPY) == before
    assert used("audit", "verify").code == 0


def test_a_copy_that_the_store_has_left_behind_still_verifies(used: Cli):
    shutil.copytree(HERE, COPY)
    assert used.call("word_count", {"text": "a b c"}).code == 0
    assert used(*IN_COPY, "audit", "verify").code == 0
    assert used("audit", "verify").code == 0


@pytest.mark.parametrize("store_goes_on", [False, True], ids=["the store rests", "the store goes on"])
def test_a_copy_that_is_called_through_is_found_and_the_store_is_not_harmed(used: Cli, *, store_goes_on: bool):
    shutil.copytree(HERE, COPY)
    common = trace_of(COPY)[1] - 1
    if store_goes_on:
        assert used.call("word_count", {"text": "a b c"}).code == 0
    done = used.call("word_count", {"text": "a b c"}, *IN_COPY)
    assert done.err.count("callgate: not anchored: this store is a copy of the one at") == 1, "it is told once"
    accept = f"callgate audit accept-restore --why REASON --store {(COPY / 'callgate.db').resolve()}"
    assert accept in done.err
    found = used(*IN_COPY, "audit", "verify")
    assert found.code == 7
    assert f"up to its checkpoint number {common}" in found.out
    assert accept in found.out
    assert "it was used as a store of its own after it was copied" in found.out
    assert used("audit", "verify").code == 0


def test_a_store_that_was_moved_is_no_copy(used: Cli):
    HERE.rename(COPY)
    assert "copy" not in used.call("word_count", {"text": "a b c"}, *IN_COPY).err
    done = used(*IN_COPY, "audit", "verify")
    assert (done.code, "copy of" in done.out) == (0, False)
    # A new store where it lay is another one.
    assert used.call("word_count", {"text": "a"}).code == 0
    done = used(*IN_COPY, "audit", "verify")
    assert (done.code, "copy of" in done.out) == (0, False)


def test_a_copy_can_take_the_place_of_the_store(used: Cli):
    shutil.copytree(HERE, COPY)
    assert used(*IN_COPY, "audit", "accept-restore", "--why", "moving", "--by", "ann", "--confirmed").code == 0
    assert used(*IN_COPY, "audit", "verify").code == 0
    assert "is a copy of the one at" in used("audit", "verify").out


def test_a_restored_backup_is_found_until_somebody_accepts_it(used: Cli):
    shutil.copytree(HERE, COPY)
    assert used.call("word_count", {"text": "a b c"}).code == 0
    shutil.rmtree(HERE)
    COPY.rename(HERE)
    done = used.call("word_count", {"text": "a b c d"})
    assert done.err.count("callgate: not anchored") == 1, "it is told once"
    assert "an older copy was put in its place" in done.err
    assert "callgate audit accept-restore --why" in done.err
    found = used("audit", "verify")
    assert found.code == 7
    assert "history was rewritten, or an older copy was put in its place and used since" in " ".join(found.out.split())
    assert "callgate audit accept-restore --why" in found.out
    words = ("audit", "accept-restore", "--why", "the disk died", "--by", "ann")
    assert "say --confirmed" in used(*words).err
    assert used(*words, "--confirmed", "--json").body == {"accepted": True, "by": "ann"}
    done = used("audit", "verify")
    assert done.code == 0, "and it says for ever that there was a restore"
    assert "ann accepted" in done.out
    assert "the disk died" in done.out
    (event,) = used("audit", "list", "--type", "audit.restored", "--json").body["events"]
    assert (event["payload"]["by"], event["payload"]["why"]) == ("ann", "the disk died")
    assert event["payload"]["anchored"]["number"] > 0
    assert "not anchored" not in used.call("word_count", {"text": "a"}).err
    assert used("audit", "verify").code == 0


def test_there_is_nothing_to_accept_in_the_store_itself(used: Cli):
    done = used("audit", "accept-restore", "--why", "x", "--confirmed")
    assert (done.code, "there is nothing to accept" in done.err) == (2, True)
    done = used("audit", "accept-restore", "--why", " ", "--confirmed")
    assert (done.code, "--why is empty" in done.err) == (2, True)


def test_nothing_is_accepted_beside_an_anchor_that_cannot_be_read(used: Cli):
    (anchor,) = (config_folder() / "anchors").glob("*.json")
    anchor.write_text("{}")
    done = used("audit", "accept-restore", "--why", "x", "--confirmed")
    assert (done.code, "cannot be relied on" in done.err) == (7, True)
    assert anchor.read_text() == "{}"


def test_a_person_at_a_terminal_is_asked_before_a_restore_is_accepted(used: Cli):
    shutil.copytree(HERE, COPY)
    with Terminal(*IN_COPY, "audit", "accept-restore", "--why", "moving", cwd=used.folder) as terminal:
        terminal.expect("Type accept to go on")
        terminal.type("no\n")
        assert terminal.end() == 2
        assert "nothing was accepted" in terminal.seen


def leave_behind(cli: Cli) -> None:
    """Go on in the store until none of its first checkpoints is anchored any more."""
    for _ in range(3):
        assert cli.call("word_count", {"text": "a"}).code == 0


@pytest.mark.parametrize("called", [False, True], ids=["looked at", "called through"])
def test_a_copy_is_found_however_far_the_store_has_left_it_behind(
    used: Cli, monkeypatch: pytest.MonkeyPatch, *, called: bool
):
    monkeypatch.setattr("callgate.events.anchor._KEPT_AT_MOST", 1)
    shutil.copytree(HERE, COPY)
    common = trace_of(COPY)[1] - 1
    assert used.call("word_count", {"text": "a b c"}, *(IN_COPY if called else ())).code == 0
    leave_behind(used)
    found = used(*IN_COPY, "audit", "verify")
    assert (found.code, "it was used as a store of its own" in found.out) == ((7, True) if called else (0, False))
    assert f"up to its checkpoint number {common}" in found.out
    assert "nobody can tell" not in found.out
    assert used("audit", "verify").code == 0


def test_a_copy_that_was_called_through_is_found_after_the_store_was_restored(used: Cli):
    shutil.copytree(HERE, COPY)
    assert used.call("word_count", {"text": "a b c"}, *IN_COPY).code == 0
    leave_behind(used)
    backup = Path("backup")
    shutil.copytree(HERE, backup)
    assert used.call("word_count", {"text": "a"}).code == 0
    shutil.rmtree(HERE)
    backup.rename(HERE)
    assert used("audit", "accept-restore", "--why", "the disk died", "--by", "ann", "--confirmed").code == 0
    assert used("audit", "verify").code == 0
    assert used(*IN_COPY, "audit", "verify").code == 7


@pytest.mark.parametrize(
    "edit",
    [
        "heads = 'none'",
        """heads = '{"@checkpoints": ["first", "x"]}'""",
        "key_id = x'ff'",
        "signature = 'none'",
        "time = 9e999",
    ],
)
def test_where_the_store_itself_cannot_be_read_nobody_can_tell_whether_a_copy_was_used(
    used: Cli, monkeypatch: pytest.MonkeyPatch, edit: str
):
    monkeypatch.setattr("callgate.events.anchor._KEPT_AT_MOST", 1)
    shutil.copytree(HERE, COPY)
    leave_behind(used)
    with closing(sqlite3.connect(HERE / "callgate.db")) as database, database:
        database.execute(f"UPDATE checkpoints SET {edit}")
    found = used(*IN_COPY, "audit", "verify")
    assert (found.code, "nobody can tell whether it was used since" in found.out) == (0, True)
