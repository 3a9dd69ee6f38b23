"""A new `.git` is set aside whatever it looks like, and nothing is renamed but what the program made. TOOL-09."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.tools.code import aside
from callgate.tools.code.sandbox import enclosure
from tests.tools.code.small_program import grounds_of
from tests.tools.code.test_kept_places import Place

pytestmark = pytest.mark.usefixtures("bubblewrap")
MAKE = (
    "mkdir -p proj/.git/objects proj/.git/refs; echo 'ref: refs/heads/main' > proj/.git/HEAD; "
    "printf '[core]\\n\\tfsmonitor = touch WITNESS\\n' > proj/.git/config; "
)
BESIDE = {
    "nothing": "true",
    "a-circle": "mkdir a; ln -s .git a/.git",
    "a-file-to-a-circle": "mkdir a; ln -s loop loop; echo 'gitdir: ../loop' > a/.git",
    "a-nul": "mkdir a; printf 'gitdir: x\\000y' > a/.git",
    "a-nul-in-a-shape": "mkdir a; touch a/HEAD; printf 'x\\000y' > a/commondir",
    "no-utf-8": "d=$(printf 'a\\377'); mkdir $d; ln -s .git $d/.git",
    "closed": "mkdir -p a/b/.git; chmod 0 a/b a",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    ground = tmp_path / "ground"
    ground.mkdir()
    return Place(ground, "")


@pytest.mark.parametrize("beside", BESIDE)
async def test_a_new_git_is_set_aside_whatever_lies_beside_it(place: Place, tmp_path: Path, beside: str) -> None:
    witness = tmp_path / "witness"
    outcome = await place.call(command=(MAKE + BESIDE[beside]).replace("WITNESS", str(witness)))
    subprocess.run(["git", "-C", str(place.ground / "proj"), "status"], capture_output=True, check=False)  # noqa: ASYNC221
    assert not witness.exists(), outcome
    assert [path for path in place.ground.rglob("*") if path.name == ".git"] == [], outcome
    assert (await place.run("echo later"))["stdout"] == "later\n"


async def test_what_is_told_of_many_is_bounded(place: Place) -> None:
    """What has to be done by hand is told first, however much else was made."""
    ran = await place.run("for i in $(seq 300); do mkdir -p d/$i/.git; done")
    assert [path for path in place.ground.rglob("*") if path.name == ".git"] == []
    assert ran["note"].count("it was renamed to") == 50
    assert ran["note"].endswith("and so on, for 250 more")
    notes = [*(f"it made {at}{aside.RENAMED}x" for at in range(99)), "it made one: remove it"]
    assert next(aside.first(notes)) == "it made one: remove it"


async def test_a_link_where_a_git_leads_is_renamed_and_nothing_behind_it(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("key")
    await place.run("mkdir r; echo x > r/HEAD; echo ../missing/key > r/commondir")
    ran = await place.run(f"ln -s {outside} missing")
    assert [each.name for each in outside.iterdir()] == ["key"], ran
    assert not (place.ground / "missing").exists()
    assert "missing.set-aside-" in ran["note"]


async def test_a_working_tree_whose_repository_is_gone_leads_to_no_other(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "main" / ".git" / "worktrees" / "wt"
    other.mkdir(parents=True)
    (place.ground / "wt").mkdir()
    (place.ground / "wt" / ".git").write_text(f"gitdir: {place.ground}/main/.git/worktrees/wt\n")
    ran = await place.run(f"ln -s {tmp_path}/main main")
    assert other.exists(), ran
    assert not (place.ground / "main").exists()


async def test_our_own_files_are_not_set_aside_by_a_link(place: Place) -> None:
    own = place.ground / "conf" / "secrets.sealed"
    own.parent.mkdir()
    own.write_text("sealed")
    place.settings += f"secrets: {{backend: file, path: {own}}}\n"
    await place.run("mkdir r; echo x > r/HEAD; echo ../missing/secrets.sealed > r/commondir")
    ran = await place.run("ln -s conf missing")
    assert own.read_text() == "sealed", ran


@pytest.mark.parametrize("leads", ["conf/own", "conf"])
async def test_an_own_file_that_is_made_meanwhile_where_a_git_leads_stays(tmp_path: Path, leads: str) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "HEAD").touch()
    (tmp_path / "r" / "commondir").write_text(f"../{leads}\n")
    grounds = replace(grounds_of(tmp_path), closed=(str(tmp_path / "conf" / "own"),))
    async with enclosure(grounds, writable=grounds.roots) as inside:
        (tmp_path / "conf" / "own").mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / "own" / "file").write_text("own")
    assert (tmp_path / "conf" / "own" / "file").read_text() == "own"
    assert "is Callgate's own" in str(inside.notes)
