"""What is Callgate's own, or git's, stays out of a program's reach, whatever shape directories have. TOOL-09."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.tools.code.sandbox import enclosure
from tests.tools.code.small_program import grounds_of, until
from tests.tools.code.test_git_status import do
from tests.tools.code.world import tree

pytestmark = pytest.mark.usefixtures("bubblewrap")
SETTINGS = "autonomy: A4\nscopes: {shell: {requires_approval: false}}\n"


@dataclass(slots=True)
class Place:
    """A granted directory, and a text that no program may get to say."""

    ground: Path
    canary: str
    settings: str = SETTINGS

    async def call(self, tool: str = "run_shell", **arguments: Any) -> Any:
        (self.ground / "callgate.yaml").write_text(self.settings)
        tools = ["run_shell", "lint_code", "git_status"]
        gate = Callgate.open(
            "memory://", self.ground / "callgate.yaml", working_directory=self.ground, builtin_tools=tools
        )
        async with gate:
            return await gate.call(tool, arguments, Context(autonomy=Autonomy.A4))

    async def run(self, command: str) -> dict[str, Any]:
        return (await self.call(command=command)).unwrap()

    def seen(self, name: str) -> tuple[int, Any]:
        """Which directory that is, and what lies in it."""
        return (self.ground / name).lstat().st_ino, tree(self.ground / name)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    ground = tmp_path / "ground"
    ground.mkdir()
    return Place(ground, f"canary_{secrets.token_hex(8)}")


def make_worktree(ground: Path) -> None:
    """A repository without a working tree, and a working tree of it."""
    do(ground, "init", "-q", "--bare", "bare/repo.git")
    store = ground / "bare" / "repo.git"
    empty = do(store, "hash-object", "-w", "-t", "tree", "/dev/null")
    do(store, "branch", "one", do(store, "commit-tree", "-m", "one", empty))
    do(store, "worktree", "add", "-q", str(ground / "tree"), "one")


WAYS_INTO_GIT = {
    "replace-the-directory-above": (
        "mv stores old; mkdir stores; cp -r old/apart stores/apart; echo x > stores/apart/hooks/pre-commit"
    ),
    "replace-what-is-two-above": (
        "mv deep old; mkdir -p deep/er; cp -r old/er/below deep/er; echo x > deep/er/below/config"
    ),
    "write-the-common-directory": "echo x > bare/repo.git/hooks/pre-commit",
    "replace-the-common-directory": "mv bare old; mkdir bare; cp -r old/repo.git bare; echo x > bare/repo.git/config",
    "write-the-worktrees-own": "echo x > bare/repo.git/worktrees/tree/commondir",
    "write-a-bare-repository": "echo x > other.git/hooks/pre-commit",
    "replace-a-bare-repository": "mv other.git o; cp -r o other.git; echo x > other.git/hooks/pre-commit",
}


@pytest.mark.parametrize("way", WAYS_INTO_GIT)
async def test_what_git_keeps_elsewhere_is_neither_written_nor_replaced(way: str, place: Place) -> None:
    for name, store in (("tree1", "stores/apart"), ("tree2", "deep/er/below")):
        (place.ground / store).parent.mkdir(parents=True)
        do(place.ground, "init", "-q", "--separate-git-dir", str(place.ground / store), name)
    make_worktree(place.ground)
    do(place.ground, "init", "-q", "--bare", "other.git")
    places = ("stores/apart", "deep/er/below", "bare/repo.git", "other.git", "tree1/.git", "tree/.git")
    before = [place.seen(name) for name in places]
    ran = await place.run(WAYS_INTO_GIT[way])
    assert [place.seen(name) for name in places] == before, ran
    assert ran["stderr"]


async def test_what_is_made_where_a_git_file_leads_is_set_aside(place: Place) -> None:
    (place.ground / "tree").mkdir()
    (place.ground / "tree" / ".git").write_text("gitdir: ../gone/store\n")
    ran = await place.run("mkdir -p gone/store/hooks; echo x > gone/store/hooks/pre-commit")
    assert "gone/store" in ran["note"]
    assert not (place.ground / "gone" / "store").exists()


async def test_a_git_that_is_found_through_a_link_is_no_ground_for_programs(place: Place) -> None:
    do(place.ground, "init", "-q", "--separate-git-dir", str(place.ground / "store"), "tree")
    (place.ground / "way").symlink_to(".")
    (place.ground / "tree" / ".git").write_text("gitdir: ../way/store\n")
    outcome = await place.call(command="touch ran")
    assert "way is a link" in str(outcome)
    assert not (place.ground / "ran").exists()


async def test_a_git_in_a_git_that_was_made_is_set_aside_as_well(place: Place) -> None:
    ran = await place.run("mkdir -p a/.git/b/.git HEAD objects refs/c/.git")
    assert ran["note"].count("renamed") == 3, ran
    assert [path for path in place.ground.rglob("*") if path.name == ".git"] == []


async def test_a_link_on_the_way_to_our_files_is_no_ground_for_programs(place: Place) -> None:
    place.settings += "plugins: {folders: [way/plugins]}\n"
    (place.ground / "real" / "plugins").mkdir(parents=True)
    (place.ground / "way").symlink_to("real")
    outcome = await place.call(command="rm way; mkdir -p way/plugins/evil; touch real/plugins/evil")
    assert "way is a link" in str(outcome)
    assert (place.ground / "way").is_symlink()
    assert list((place.ground / "real" / "plugins").iterdir()) == []


@pytest.mark.parametrize("tool", ["run_shell", "lint_code", "git_status"])
async def test_a_directory_of_our_own_is_no_ground_for_programs(tool: str, place: Place) -> None:
    own = place.ground
    place.ground = own / "inner"
    place.ground.mkdir()
    do(place.ground, "init", "-q")
    (place.ground / "plugin.py").write_text(f"import {place.canary}\n")
    place.settings += "plugins: {folders: ['..']}\n"
    arguments = {"run_shell": {"command": "cat plugin.py; touch ran"}, "lint_code": {"path": "."}, "git_status": {}}
    outcome = await place.call(tool, **arguments[tool])
    assert not outcome.ok
    assert place.canary not in str(outcome)
    assert "Callgate's own" in str(outcome)
    assert not (place.ground / "ran").exists()


async def test_a_file_where_a_directory_of_ours_would_be_stays(place: Place) -> None:
    place.settings += "plugins: {folders: [file/inner/plugins]}\n"
    (place.ground / "file").write_text("a file")
    ran = await place.run("cat file; rm -f file; mv file f; mkdir -p file/inner/plugins; touch file/inner/plugins/evil")
    assert ran["stdout"] == "a file"
    assert (place.ground / "file").is_file()


async def test_our_files_are_covered_among_the_systems_as_well(place: Place) -> None:
    place.settings += "plugins: {folders: [/usr/share/doc]}\n"
    assert os.listdir("/usr/share")  # noqa: PTH208 - that there is something to see
    ran = await place.run("ls /usr/share/doc | wc -l; ls /usr/share | wc -l")
    assert ran["stdout"].split()[0] == "0"
    assert ran["stdout"].split()[1] != "0"


def own_file_with_second_name(place: Place, second: str) -> None:
    inner = place.ground / "plugins" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "plugin.py").write_text(f"import {place.canary}\n")
    (place.ground / second).parent.mkdir(parents=True, exist_ok=True)
    (place.ground / second).hardlink_to(inner / "plugin.py")
    place.settings += "plugins: {folders: [plugins]}\n"


@pytest.mark.parametrize("second", ["second.py", "x/y/z/second.py", ".git/a/b/second.py", "other.git/x/second.py"])
async def test_second_names_of_our_files_are_covered_wherever_they_are(second: str, place: Place) -> None:
    do(place.ground, "init", "-q")
    do(place.ground, "init", "-q", "--bare", "other.git")
    own_file_with_second_name(place, second)
    ran = await place.run(f"cat {second}; echo x >> {second}; find . -name second.py -exec cat {{}} +")
    assert place.canary not in f"{ran['stdout']}{ran['stderr']}"
    assert (place.ground / second).read_text() == f"import {place.canary}\n"


@pytest.mark.parametrize("fix", [False, True], ids=["look", "fix"])
async def test_lint_code_reads_no_second_name_of_our_files(place: Place, *, fix: bool) -> None:
    own_file_with_second_name(place, "x/y/second.py")
    (place.ground / "x" / "mine.py").write_text("import mine\n")
    said = str(await place.call("lint_code", path="x", fix=fix))
    assert place.canary not in said
    assert (place.ground / "x" / "y" / "second.py").read_text() == f"import {place.canary}\n"


async def test_a_path_that_is_too_long_is_told_shortly(place: Place) -> None:
    deep = "i=0; while test $i -lt 30; do mkdir {n} && cd {n} && i=$((i+1)) || break; done; mkdir .git"
    ran = await place.run(deep.format(n="d" * 200))
    assert "too long" in ran["note"]
    assert len(ran["note"]) < 1000
    outcome = await place.call(command="touch ran")
    assert "too long" in str(outcome)
    assert len(str(outcome)) < 2000
    assert not (place.ground / "ran").exists()
    shutil.rmtree(place.ground)  # which pytest, afterwards, could not


async def test_what_lies_in_a_place_of_our_own_is_handed_to_no_program(tmp_path: Path) -> None:
    grounds = replace(grounds_of(tmp_path / "inner"), closed=(str(tmp_path),))
    (tmp_path / "inner").mkdir()
    for writable, readable in ((grounds.roots, ()), ((), grounds.roots)):
        with pytest.raises(PermissionError, match="which is Callgate's own"):
            async with enclosure(grounds, writable=writable, readable=readable):
                pass


async def test_a_program_is_stopped_when_our_file_is_replaced_meanwhile(place: Place) -> None:
    """What is put over a file goes with that file: the new one can be seen, for a moment."""
    running = asyncio.ensure_future(place.run("touch begun; sleep 600"))
    await until(place.ground / "begun")
    (place.ground / "new").write_text(place.settings)
    (place.ground / "new").replace(place.ground / "callgate.yaml")
    ran = await running
    assert ran["returncode"] == -1
    assert "callgate.yaml, which is Callgate's own, was replaced meanwhile" in ran["note"]


@pytest.mark.parametrize("there", [True, False], ids=["there", "not-yet"])
async def test_what_callgate_writes_before_it_takes_its_place_is_kept_as_well(place: Place, *, there: bool) -> None:
    place.settings += f"secrets: {{backend: file, path: {place.ground}/conf/secrets.sealed}}\n"
    places = [place.ground / "conf" / ".secrets.sealed.writing", place.ground / ".callgate"]
    (place.ground / "conf").mkdir()
    for folder in places if there else ():
        folder.mkdir()
        (folder / "half").write_text(place.canary)
    before = [tree(folder) for folder in places]
    folders = "conf/.secrets.sealed.writing .callgate"
    line = f"for p in {folders}; do cat $p/*; mkdir -p $p; echo x > $p/secrets.sealed.lock; rm -rf $p; mv $p x; done"
    ran = await place.run(f"{line}; ls -A conf")
    assert place.canary not in f"{ran['stdout']}{ran['stderr']}"
    assert [tree(folder) for folder in places] == before


async def test_a_bubblewrap_that_a_program_could_have_written_is_not_started(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.ground / "bin").mkdir()
    (place.ground / "bin" / "bwrap").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (place.ground / "bin" / "bwrap").chmod(0o755)
    monkeypatch.chdir(place.ground)
    monkeypatch.setenv("PATH", f"{place.ground}/bin:bin:{os.environ['PATH']}")
    assert (await place.run("echo inside"))["stdout"] == "inside\n"
    assert not (tmp_path / "ran").exists()


async def test_odd_things_by_the_name_of_git_keep_nobody_waiting(place: Place) -> None:
    for name in ("pipe", "folder", "empty", "circle", "away"):
        (place.ground / name).mkdir()
    os.mkfifo(place.ground / "pipe" / ".git")
    (place.ground / "folder" / ".git" / "commondir").mkdir(parents=True)
    (place.ground / "empty" / ".git").touch()
    (place.ground / "away" / ".git").write_text("gitdir: /nowhere/at/all\n")
    before = [tree(place.ground / name) for name in ("pipe", "folder", "empty", "away")]
    ran = await place.run("echo ran; for d in pipe folder empty away; do rm -rf $d/.git; done")
    assert (ran["stdout"], ran["note"]) == ("ran\n", None)
    assert [tree(place.ground / name) for name in ("pipe", "folder", "empty", "away")] == before
    (place.ground / "circle" / ".git").symlink_to(".git")
    assert "circle of links" in str(await place.call(command="touch ran"))
    assert not (place.ground / "ran").exists()


async def test_a_repository_that_is_the_granted_directory_can_only_be_read_and_that_is_told(place: Place) -> None:
    do(place.ground, "init", "-q", "--bare", ".")
    ran = await place.run("ls; touch made; echo x > hooks/pre-commit")
    assert "HEAD" in ran["stdout"]
    assert "could only be read: it is a git repository" in ran["note"]
    assert not (place.ground / "made").exists()


@pytest.mark.parametrize(
    "command",
    [
        "echo x > env/lib/planted.pth",
        "mv env old; mkdir -p env/lib; cp -r old/lib/. env/lib; echo x > env/lib/planted.pth",
        "rm -rf env",
        "mv env/lib env/gone; mkdir env/lib; echo x > env/lib/planted.pth",
    ],
    ids=["write", "replace-above", "remove", "replace"],
)
async def test_what_callgate_runs_from_is_read_and_started_and_not_written(
    place: Place, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (place.ground / "env" / "lib").mkdir(parents=True)
    program = place.ground / "env" / "lib" / "run"
    program.write_text(f"#!/bin/sh\necho {place.canary}\n")
    program.chmod(0o755)
    monkeypatch.setattr("callgate.policy.kept.own_code", lambda: (str(place.ground / "env" / "lib"),))
    before = place.seen("env")
    assert (await place.run("env/lib/run"))["stdout"].strip() == place.canary
    await place.run(command)
    assert place.seen("env") == before
    assert (await place.run("echo y > beside; cat beside"))["stdout"].strip() == "y"


async def test_a_program_that_meets_what_is_hidden_from_it_is_told_so(place: Place) -> None:
    """To git it is changed, and cannot be read: without a word, that looks like a broken repository."""
    ran = await place.run("cat callgate.yaml; echo done")
    assert "kept from tools, and so found empty or closed by programs" in ran["note"]
    assert ran["note"].endswith(": callgate.yaml")
    assert (await place.run("echo nothing of it"))["note"] is None
