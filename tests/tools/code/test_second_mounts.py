"""What a program gets where directories are mounted twice: the directories above stay, and nothing is looked into."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from callgate.tools.code.code_links import second_names
from tests.own_mounts import bind, call_among, processes

RENAME = "python3 -c 'import os, sys; os.rename(sys.argv[1], sys.argv[2])'"
pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    ground = tmp_path / "ground"
    (ground / "deep" / "er" / "scripts").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(ground)], check=True)
    return ground


def run_among(ground: Path, mounts: list[tuple[str, ...]], command: str) -> str:
    calls = ("run_shell", {"command": command})
    return call_among(mounts, calls, builtin_tools=["code"], working_directory=ground)[0].said


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_directories_above_a_mount_of_gits_are_not_renamed(ground: Path) -> None:
    """Who could rename them would have it at a path that nothing was put over."""
    scripts = ground / "deep" / "er" / "scripts"
    said = run_among(
        ground,
        [bind(ground / ".git" / "hooks", scripts)],
        f"{RENAME} deep gone; {RENAME} deep/er gone; touch gone/er/scripts/pre-commit gone/scripts/pre-commit; "
        "touch deep/er/beside",
    )
    assert names_in(ground) == [".git", "deep"], said
    assert (ground / "deep" / "er" / "beside").exists()
    assert "pre-commit" not in names_in(ground / ".git" / "hooks")


def test_the_directories_above_a_second_proc_are_not_renamed_and_it_is_not_looked_through(ground: Path) -> None:
    scripts = ground / "deep" / "er" / "scripts"
    command = f"{RENAME} deep gone; ls deep/er/scripts gone/er/scripts; touch deep/x"
    said = run_among(ground, [processes(scripts)], command)
    assert names_in(ground) == [".git", "deep"], said
    assert "'note': 'kept from tools, and so found empty or closed by programs: deep/er/scripts'" in said
    assert (ground / "deep" / "x").exists()


def test_what_only_reads_does_not_see_processes_either(ground: Path) -> None:
    (seen,) = call_among(
        [processes(ground / "deep" / "er" / "scripts")],
        ("git_status", {}),
        builtin_tools=["code"],
        working_directory=ground,
    )
    assert seen.ok, seen
    assert "'untracked': []" in seen.said


def test_one_name_that_is_seen_twice_does_not_stand_for_the_one_in_the_code(tmp_path: Path) -> None:
    """In a tree that is mounted at two paths, a link to the code looks like a file that has both names there."""
    code, ground = tmp_path / "code", tmp_path / "ground"
    code.mkdir()
    ground.mkdir()
    (code / "a.py").touch()
    (ground / "b.py").hardlink_to(code / "a.py")
    seen = [f"{ground}/b.py", f"{ground}/../ground/b.py"]
    assert second_names([str(code)], seen, opened=()) == []
    assert second_names([str(code)], seen, opened=(), seen_twice=True) == seen[::-1]
    assert second_names([str(code)], seen, opened=(), closed=seen, seen_twice=True) == []
