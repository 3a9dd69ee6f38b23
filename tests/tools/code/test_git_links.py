"""What lies in `.git` is read-only to programs under every name it has. TOOL-09."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callgate.tools.code import git_links
from tests.tools.code.test_git_status import do
from tests.tools.code.test_kept_places import Place

pytestmark = pytest.mark.usefixtures("bubblewrap")
BAD = "import os\nprint(1)\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    ground = tmp_path / "ground"
    ground.mkdir()
    do(ground, "init", "-q")
    return Place(ground, "")


@pytest.mark.parametrize(
    "store", [".git", "other.git", "inner/.git", "../store"], ids=["own", "bare", "inner", "elsewhere"]
)
async def test_a_hook_is_not_written_by_its_second_name(place: Place, store: str) -> None:
    for name in ("inner", "tree"):
        (place.ground / name).mkdir()
    do(place.ground, "init", "-q", "--bare", "other.git")
    do(place.ground / "inner", "init", "-q")
    do(place.ground, "init", "-q", "--separate-git-dir", str(place.ground.parent / "store"), "tree")
    hook = place.ground / store / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    script = place.ground / "scripts" / "pre-commit"
    script.parent.mkdir()
    script.hardlink_to(hook)
    writing = (
        "echo evil >> scripts/pre-commit; mv scripts s; echo evil >> s/pre-commit; ln s/pre-commit x; echo evil >> x"
    )
    ran = await place.run(f"cat scripts/pre-commit; {writing}")
    assert ran["stdout"] == hook.read_text() == "#!/bin/sh\n", ran


async def test_a_git_file_is_not_written_by_its_second_name(place: Place) -> None:
    do(place.ground, "init", "-q", "--separate-git-dir", str(place.ground / "store"), "tree")
    said = (place.ground / "tree" / ".git").read_text()
    (place.ground / "second").hardlink_to(place.ground / "tree" / ".git")
    ran = await place.run("echo 'gitdir: ../elsewhere' > second")
    assert (place.ground / "tree" / ".git").read_text() == said, ran


@pytest.mark.parametrize("path", ["tool.py", "sub"], ids=["file", "directory"])
async def test_lint_code_mends_no_second_name_of_what_is_in_git(place: Place, path: str) -> None:
    hook = place.ground / ".git" / "hooks" / "tool.py"
    hook.write_text(BAD)
    (place.ground / "sub").mkdir()
    for second in ("tool.py", "sub/tool.py"):
        (place.ground / second).hardlink_to(hook)
    outcome = await place.call("lint_code", path=path, fix=True)
    assert hook.read_text() == BAD, outcome


async def test_other_hard_links_and_those_of_a_granted_git_can_be_written(place: Place) -> None:
    (place.ground / "granted").mkdir()
    do(place.ground / "granted", "init", "-q")
    hook = place.ground / "granted" / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    (place.ground / "script").hardlink_to(hook)
    (place.ground / "one").write_text("1\n")
    (place.ground / "two").hardlink_to(place.ground / "one")
    granted = f"fs: {{paths: ['.', {place.ground}/granted/.git]}}"
    place.settings = f"autonomy: A4\nscopes: {{shell: {{requires_approval: false}}, {granted}}}\n"
    ran = await place.run("echo more >> script; echo more >> two")
    assert hook.read_text() == "#!/bin/sh\nmore\n", ran
    assert (place.ground / "one").read_text() == "1\nmore\n"


async def test_what_a_granted_git_shares_with_another_can_only_be_read(place: Place) -> None:
    (place.ground / "granted").mkdir()
    do(place.ground / "granted", "init", "-q")
    hook = place.ground / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    (place.ground / "granted" / ".git" / "hooks" / "pre-commit").hardlink_to(hook)
    granted = f"fs: {{paths: ['.', {place.ground}/granted/.git]}}"
    place.settings = f"autonomy: A4\nscopes: {{shell: {{requires_approval: false}}, {granted}}}\n"
    ran = await place.run("echo evil >> granted/.git/hooks/pre-commit; echo mine > granted/.git/hooks/other")
    assert hook.read_text() == "#!/bin/sh\n", ran
    assert (place.ground / "granted" / ".git" / "hooks" / "other").read_text() == "mine\n"


@pytest.mark.parametrize("bound", ["MOST_NAMES", "MOST_ENTRIES"])
async def test_too_many_to_look_after_are_refused(place: Place, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = place.ground / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    (place.ground / "second").hardlink_to(hook)
    monkeypatch.setattr(git_links, bound, 0)
    outcome = await place.call(command="touch ran")
    assert not outcome.ok
    assert "more than 0 files" in str(outcome)
    assert not (place.ground / "ran").exists()


async def test_what_only_says_to_be_gits_is_not_looked_through(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (place.ground / "tree").mkdir()
    (place.ground / "tree" / ".git").write_text(f"gitdir: {os.sep}\n")
    monkeypatch.setattr(git_links, "MOST_ENTRIES", 1000)
    assert (await place.run("echo ran"))["stdout"] == "ran\n"
