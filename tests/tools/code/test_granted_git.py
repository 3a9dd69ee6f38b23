"""What is granted stays what it was: no program chooses what a granted path leads to, now or at the next start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from tests.tools.code.test_git_status import do
from tests.tools.code.world import tree

pytestmark = pytest.mark.usefixtures("bubblewrap")
FREE = Context(autonomy=Autonomy.A4)
HOOK = Path(".git", "hooks", "pre-commit")


@dataclass(slots=True)
class Box:
    """A repository around a granted directory, in which one more is granted by its `.git`."""

    path: Path
    settings: Path

    @property
    def ground(self) -> Path:
        return self.path / "ground"

    async def run(self, *commands: str, restart: bool = False) -> list[Any]:
        """One after the other, in one gate or each in its own."""
        told: list[Any] = []
        for some in [[command] for command in commands] if restart else [commands]:
            gate = Callgate.open(
                "memory://", self.settings, working_directory=self.ground, builtin_tools=["run_shell", "write_file"]
            )
            async with gate:
                told += [(await gate.call("run_shell", {"command": command}, FREE)) for command in some]
        return told


@pytest.fixture
def box(tmp_path: Path) -> Box:
    box = Box(tmp_path / "box", tmp_path / "callgate.yaml")
    for place in (box.path, box.ground / "proj", box.ground / "other"):
        place.mkdir(parents=True, exist_ok=True)
        do(place, "init", "-q")
    granted = f"fs: {{paths: [{box.ground}, {box.ground}/proj/.git, {box.ground}/data]}}"
    box.settings.write_text(f"autonomy: A4\nscopes: {{shell: {{requires_approval: false}}, {granted}}}\n")
    return box


async def test_a_granted_git_can_be_written(box: Box) -> None:
    [ran] = await box.run("echo mine > proj/.git/hooks/pre-commit")
    assert (box.ground / "proj" / HOOK).read_text() == "mine\n", ran


@pytest.mark.parametrize("restart", [False, True], ids=["same-gate", "next-start"])
@pytest.mark.parametrize("to", ["..", "other"])
@pytest.mark.parametrize("there", [True, False], ids=["there", "not-yet"])
async def test_a_granted_git_opens_no_other(box: Box, to: str, *, there: bool, restart: bool) -> None:
    if not there:
        (box.ground / "proj").rename(box.path / "elsewhere")
    kept = [box.path / ".git", box.ground / "other" / ".git"]
    before = [tree(place) for place in kept]
    plant = "; ".join(f"echo evil > {place / 'hooks' / 'pre-commit'}" for place in kept)
    ran = await box.run(
        f"mv proj old; ln -s {to} proj", f"echo evil > proj/.git/hooks/pre-commit; {plant}", restart=restart
    )
    assert [tree(place) for place in kept] == before, ran


@pytest.mark.parametrize("restart", [False, True], ids=["same-gate", "next-start"])
async def test_a_granted_directory_in_another_leads_nowhere_else(box: Box, tmp_path: Path, *, restart: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    ran = await box.run(f"rm -rf data; ln -s {outside} data", f"touch data/made {outside}/made", restart=restart)
    assert list(outside.iterdir()) == [], ran


async def test_a_granted_directory_that_is_found_by_such_a_link_is_told(box: Box, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (box.ground / "data").symlink_to(tmp_path / "outside")
    gate = Callgate.open("memory://", box.settings, working_directory=box.ground, builtin_tools=["write_file"])
    async with gate:
        outcome = await gate.call("write_file", {"path": "data/made", "content": "x"}, FREE)
    assert "is a link in another granted directory" in str(outcome)
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_granted_git_that_is_a_link_by_now_is_told(box: Box) -> None:
    (box.ground / "proj").rename(box.path / "elsewhere")
    _, ran = await box.run("mkdir -p other; ln -s other proj", "true")
    assert "a link leads elsewhere" in ran.unwrap()["note"]


async def test_a_granted_git_that_is_a_file_is_not_written_and_what_it_names_is(box: Box) -> None:
    do(box.ground, "init", "-q", "--separate-git-dir", str(box.ground / "store"), "proj")
    said = (box.ground / "proj" / ".git").read_text()
    [ran] = await box.run("echo mine > store/hooks/pre-commit; echo 'gitdir: ../../.git' > proj/.git; rm -f proj/.git")
    assert (box.ground / "proj" / ".git").read_text() == said, ran
    assert (box.ground / "store" / "hooks" / "pre-commit").read_text() == "mine\n"
