"""`callgate demo`: the story is told to its end, and nothing of the user's is touched."""

from pathlib import Path

import pytest

from tests.doors.running import Done, Terminal, start

TITLES = (
    "1  Reading passes",
    "2  At A0 an effect is shown, not run",
    "3  A payment waits for a person",
    "4  The same key again",
    "5  The process dies in the middle of an effect",
    "6  A program waits for a person, and wakes in another process",
    "7  Somebody edits the record",
    "Where to go next",
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path, Path]:
    """The demo, once, with a home and a folder of its own."""
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("folder")
    temporary = tmp_path_factory.mktemp("temporary")
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "TMPDIR": str(temporary)}
    done = start("demo", "--fast", cwd=folder, **env)
    assert list(temporary.iterdir()) == []
    return done, home, folder


@pytest.mark.slow
@pytest.mark.crash
def test_every_scene_is_told_and_ends_as_it_should(told: tuple[Done, Path, Path]):
    done = told[0]
    assert done.code == 0, done
    places = [done.out.index(title) for title in TITLES]
    assert places == sorted(places)
    for line in (
        "said   succeeded: 2000",
        "| -tea 3.00",
        "prices.txt is as it was",
        "nobody sits here, so the demo says yes",
        "said   succeeded: paid 650.00 to the landlord",
        "(from the ledger, not run again)",
        "said   unknown: ",
        "said   refused: ",
        "for that key: happened",
        "a third process takes the program up where it slept",
        "said   finished: [650.0, 455.0]",
        "4 bookings in its own books",
        "that is the row they edited",
    ):
        assert line in done.out, line
    assert done.out.count("1 booking in its own books") == 2
    assert done.out.count("2 bookings in its own books") == 1
    assert done.err == ""


@pytest.mark.slow
@pytest.mark.crash
def test_nothing_is_left_behind_and_nothing_of_the_users_is_touched(told: tuple[Done, Path, Path]):
    _, home, folder = told
    assert list(home.iterdir()) == []
    assert list(folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize(("key", "said"), [("y", "approved it"), ("n", "rejected it")])
def test_the_viewer_decides_and_the_story_goes_on(tmp_path: Path, key: str, said: str):
    with Terminal("demo", "--fast", cwd=tmp_path) as terminal:
        terminal.expect("You decide")
        terminal.type(f"perhaps\n{key}\n")
        assert terminal.end() == 0
        assert said in terminal.seen
        assert terminal.seen.count("1 booking in its own books") == 2
        assert "that is the row they edited" in terminal.seen


@pytest.mark.slow
@pytest.mark.crash
def test_the_folder_can_be_kept_to_look_around_in(tmp_path: Path):
    done = start("demo", "--fast", "--keep", cwd=tmp_path, TMPDIR=str(tmp_path))
    (kept,) = tmp_path.iterdir()
    assert f"XDG_CONFIG_HOME={kept}/config callgate audit list --store sqlite:///{kept}/callgate.db" in done.out
    looked = start(
        "audit",
        "calls",
        "--json",
        cwd=tmp_path,
        XDG_CONFIG_HOME=str(kept / "config"),
        CALLGATE_STORE=str(kept / "callgate.db"),
    )
    assert "pay" in {call["tool"] for call in looked.body["calls"]}
    assert list(tmp_path.iterdir()) == [kept]


def test_surplus_words_are_a_usage_error(tmp_path: Path):
    assert start("demo", "extra", cwd=tmp_path).code == 2
