"""What governs another Callgate, and its store, also where links lead there: no program changes it. TOOL-09."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from callgate.tools.code import enclosure, git_links
from tests.own_mounts import bind, call_among
from tests.tools.code.test_git_status import do
from tests.tools.code.test_kept_places import SETTINGS, Place

pytestmark = pytest.mark.usefixtures("bubblewrap")
STRICT = "autonomy: A1\n"
LOOSE = "echo 'autonomy: A4'"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    ground = tmp_path / "ground"
    ground.mkdir()
    return Place(ground, f"canary_{secrets.token_hex(8)}")


@pytest.fixture
def policy(place: Place) -> Path:
    """A link that leads to a file of another name."""
    (place.ground / "sub" / "conf").mkdir(parents=True)
    (place.ground / "sub" / "conf" / "base.yaml").write_text(STRICT)
    (place.ground / "sub" / "callgate.yaml").symlink_to("conf/base.yaml")
    return place.ground / "sub" / "callgate.yaml"


@pytest.fixture
def store(place: Place) -> Path:
    """A folder, beside a link by which it is found."""
    (place.ground / "sub" / "data").mkdir(parents=True)
    (place.ground / "sub" / "data" / "callgate.db").write_text(place.canary)
    (place.ground / "sub" / ".callgate").symlink_to("data")
    return place.ground / "sub" / "data" / "callgate.db"


def seen(path: Path) -> tuple[int, str, str]:
    """Which file or link that is, where it leads, and what is read there."""
    return path.lstat().st_ino, str(path.readlink()) if path.is_symlink() else "", path.read_text()


WAYS_TO_A_POLICY = {
    "write": f"{LOOSE} > sub/callgate.yaml",
    "write-behind": f"{LOOSE} > sub/conf/base.yaml",
    "remove": "rm sub/callgate.yaml",
    "replace": f"rm sub/callgate.yaml; {LOOSE} > sub/callgate.yaml",
    "replace-by-a-folder": "rm sub/callgate.yaml; mkdir sub/callgate.yaml",
    "lead-elsewhere": f"{LOOSE} > x; ln -sf ../x sub/callgate.yaml",
    "replace-where-it-leads": f"mv sub/conf sub/old; mkdir sub/conf; {LOOSE} > sub/conf/base.yaml",
    "replace-what-it-lies-in": f"mv sub old; mkdir sub; {LOOSE} > sub/callgate.yaml",
    "rename-and-back": "mv sub/callgate.yaml x; mv x sub/callgate.yaml",
    "hide": f"rm sub/callgate.yaml; {LOOSE} > sub/callgate.yaml; chmod 0 sub",
}


@pytest.mark.parametrize("way", WAYS_TO_A_POLICY)
async def test_a_policy_that_is_a_link_is_neither_written_nor_led_elsewhere(
    place: Place, policy: Path, way: str
) -> None:
    ran = await place.run(f"cat sub/callgate.yaml; {WAYS_TO_A_POLICY[way]}")
    assert ran["stdout"] == STRICT
    assert seen(policy)[1:] == ("conf/base.yaml", STRICT), ran
    assert (await place.run("echo later"))["stdout"] == "later\n"


async def test_a_link_that_a_program_replaced_is_put_back_and_that_is_told(place: Place, policy: Path) -> None:
    ran = await place.run("echo mine > sub/beside; rm sub/callgate.yaml; echo evil > sub/callgate.yaml")
    assert f"it made {policy}, which tools may not: it was renamed" in ran["note"]
    assert f"the link {policy} is another Callgate's, and was put back" in ran["note"]
    assert (policy.parent / "beside").read_text() == "mine\n"
    before = seen(policy)
    assert (await place.run("echo more > sub/beside"))["note"] is None
    assert seen(policy) == before


async def test_a_link_that_cannot_be_put_back_is_told(
    place: Place, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "symlink", full)
    ran = await place.run("rm sub/callgate.yaml")
    assert f"the link {policy} is another Callgate's, and could not be put back" in ran["note"]
    assert "(No space left on device): it led to conf/base.yaml" in ran["note"]


async def test_what_takes_the_place_of_a_link_and_cannot_be_renamed_is_told_once(
    place: Place, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "rename", refused)
    ran = await place.run("rm sub/callgate.yaml; echo evil > sub/callgate.yaml")
    assert ran["note"].count(str(policy)) == 1
    assert "remove it, since it could not be renamed" in ran["note"]


@pytest.mark.parametrize(
    "command",
    [
        "echo evil > sub/.callgate/callgate.db; cat sub/.callgate/callgate.db",
        "cat sub/data/callgate.db; echo evil > sub/data/callgate.db",
        "mv sub/data x; cat x/callgate.db; mkdir sub/data; echo evil > sub/data/callgate.db",
        "rm sub/.callgate; mkdir sub/.callgate; echo evil > sub/.callgate/callgate.db",
        "echo evil > callgate.db; ln -sfn .. sub/.callgate",
    ],
    ids=["over-the-link", "behind-it", "replace-where-it-leads", "replace", "lead-elsewhere"],
)
async def test_a_store_that_is_found_through_a_link_is_neither_read_nor_replaced(
    place: Place, store: Path, command: str
) -> None:
    ran = await place.run(command)
    assert place.canary not in f"{ran['stdout']}{ran['stderr']}"
    assert (place.ground / "sub" / ".callgate").readlink() == Path("data"), ran
    assert seen(store)[2] == place.canary, ran


@pytest.mark.parametrize("leads", [None, "data"])
async def test_of_a_store_who_may_only_read_sees_nothing_either(place: Place, leads: str | None) -> None:
    folder = place.ground / "sub" / (leads or ".callgate")
    folder.mkdir(parents=True)
    if leads is not None:
        (place.ground / "sub" / ".callgate").symlink_to(leads)
    (folder / "plugin.py").write_text(f"import os\n{place.canary}\n")
    (place.ground / "sub" / "mine.py").write_text("import os\n")
    do(place.ground, "init", "-q")
    do(place.ground, "add", ".")
    do(place.ground, "commit", "-q", "-m", "one")
    looked = (await place.call("lint_code", path="sub", select=["F"])).unwrap()
    assert [issue["file"] for issue in looked["issues"]] == [str(place.ground / "sub" / "mine.py")]
    (folder / "plugin.py").write_text("changed\n")
    said = (await place.call("git_status")).unwrap()
    assert (said["modified"], said["deleted"]) == ([], [])
    assert f"sub/{folder.name}" in said["note"]


async def test_a_store_that_is_all_around_is_no_ground_for_programs(place: Place) -> None:
    (place.ground / "sub").mkdir()
    (place.ground / "sub" / ".callgate").symlink_to("..")
    outcome = await place.call(command="touch ran")
    assert "which is the store of another Callgate" in str(outcome)
    assert not (place.ground / "ran").exists()


async def test_a_policy_that_leads_to_our_own_does_not_show_it(place: Place) -> None:
    place.settings += f"# {place.canary}\n"
    (place.ground / "sub").mkdir()
    (place.ground / "sub" / "callgate.yaml").symlink_to("../callgate.yaml")
    ran = await place.run("cat callgate.yaml sub/callgate.yaml")
    assert place.canary not in f"{ran['stdout']}{ran['stderr']}"
    assert (place.ground / "sub" / "callgate.yaml").read_text() == place.settings


async def test_what_is_made_where_such_a_link_leads_and_nothing_was_is_set_aside(place: Place) -> None:
    (place.ground / "sub").mkdir()
    (place.ground / "sub" / "callgate.yaml").symlink_to("../gone/base.yaml")
    (place.ground / "sub" / ".callgate").symlink_to("../gone/data")
    await place.run("mkdir -p gone/data; touch gone/data/callgate.db gone/base.yaml gone/mine")
    assert not (place.ground / "gone" / "base.yaml").exists()
    assert not (place.ground / "gone" / "data").exists()
    assert (place.ground / "gone" / "mine").exists()


@pytest.mark.parametrize("by", ["callgate.yaml", ".git"])
@pytest.mark.parametrize("made", ["ln -s nowhere gone", "ln -s gone gone", "mkdir gone; ln -s nowhere gone/there"])
async def test_a_link_on_the_way_to_nothing_is_set_aside_and_the_next_program_runs(
    place: Place, by: str, made: str
) -> None:
    """Left, it could be led elsewhere later, and so every program would be refused."""
    (place.ground / "sub").mkdir()
    if by == ".git":
        (place.ground / "sub" / by).write_text("gitdir: ../gone/there\n")
    else:
        (place.ground / "sub" / by).symlink_to("../gone/there")
    await place.run(made)
    assert (await place.run("echo later"))["stdout"] == "later\n"


async def test_a_policy_that_is_found_over_two_links_is_no_ground_for_programs(place: Place, policy: Path) -> None:
    (place.ground / "sub" / "conf").rename(place.ground / "sub" / "real")
    (place.ground / "sub" / "conf").symlink_to("real")
    outcome = await place.call(command="touch ran")
    assert f"{policy.parent / 'conf'} is a link" in str(outcome)
    assert not (place.ground / "ran").exists()


async def test_a_new_link_to_a_store_is_set_aside_and_a_new_folder_is_left(place: Place) -> None:
    """A folder may be the store of a Callgate that somebody started meanwhile."""
    ran = await place.run("mkdir a b; ln -s . a/.callgate; mkdir b/.callgate; touch b/.callgate/callgate.db")
    assert f"{place.ground}/a/.callgate, which tools may not: it was renamed" in ran["note"]
    assert not (place.ground / "a" / ".callgate").is_symlink()
    assert (place.ground / "b" / ".callgate" / "callgate.db").exists()


@pytest.mark.parametrize("name", ["callgate.yaml", "conf/base.yaml"], ids=["file", "behind-a-link"])
async def test_a_policy_is_not_written_by_its_second_name(place: Place, policy: Path, name: str) -> None:
    if name == "callgate.yaml":
        (place.ground / "sub" / "conf" / "base.yaml").replace(policy)
    (place.ground / "notes").mkdir()
    (place.ground / "notes" / "second.yaml").hardlink_to(place.ground / "sub" / name)
    ran = await place.run(f"cat notes/second.yaml; {LOOSE} > notes/second.yaml; mv notes n; {LOOSE} > n/second.yaml")
    assert ran["stdout"] == seen(policy)[2] == STRICT, ran


async def test_too_many_second_names_of_a_policy_are_refused(
    place: Place, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.ground / "second.yaml").hardlink_to(policy.parent / "conf" / "base.yaml")
    monkeypatch.setattr(git_links, "MOST_NAMES", 0)
    outcome = await place.call(command="touch ran")
    assert "more than 0 files in the granted directories are hard links of what governs another Callgate" in str(
        outcome
    )
    assert not (place.ground / "ran").exists()


def test_what_such_a_link_leads_to_is_kept_where_it_is_mounted_as_well(place: Place, policy: Path) -> None:
    (place.ground / "callgate.yaml").write_text(SETTINGS)
    (place.ground / "beside").mkdir()
    [told] = call_among(
        [bind(policy.parent / "conf", place.ground / "beside")],
        ("run_shell", {"command": f"cat beside/base.yaml; {LOOSE} > beside/base.yaml"}),
        builtin_tools=["run_shell"],
        working_directory=place.ground,
    )
    assert STRICT.strip() in told.said
    assert policy.read_text() == STRICT, told


async def test_too_much_that_is_kept_is_refused_by_what_there_is_the_most_of(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bubblewrap would say only that it was told too much."""
    do(place.ground, "init", "-q")
    monkeypatch.setattr(enclosure, "_MOST_MOUNTS", 20)
    made = "for i in $(seq 25); do mkdir -p r/$i/objects r/$i/refs; touch r/$i/HEAD; done"
    assert (await place.run(made))["note"] is None
    outcome = await place.call(command="touch ran")
    assert f"at most 20 are made; 25 of them in {place.ground}/r alone (it is a git repository)" in str(outcome)
    assert not (place.ground / "ran").exists()
    for folder in list((place.ground / "r").iterdir())[:15]:
        (folder / "HEAD").unlink()
    assert (await place.run("echo later"))["stdout"] == "later\n"


async def test_files_of_too_many_callgates_are_refused_by_one_of_them(place: Place) -> None:
    for at in range(1001):
        (place.ground / f"{at}.d").mkdir()
        (place.ground / f"{at}.d" / "callgate.yaml").touch()
    outcome = await place.call(command="touch ran")
    assert "hold files of more than 1000 Callgates, too many to look after, such as" in str(outcome)
    assert not (place.ground / "ran").exists()
