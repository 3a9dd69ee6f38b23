"""What is mounted more than once is kept from tools at every path it has, as if each were its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import callgate
from tests.own_mounts import Call, bind, call_among, processes

pytestmark = pytest.mark.usefixtures("bubblewrap")
CANARY = "canary-in-the-configuration"
FILES = ["files", "code"]


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """The granted directory: a repository with a configuration, and room for what is mounted."""
    ground = tmp_path / "ground"
    (ground / "other").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(ground)], check=True)
    (ground / "callgate.yaml").write_text(f"version: 1\n# {CANARY}\n")
    (ground / "notes.txt").touch()
    return ground


@pytest.fixture
def witness() -> Generator[subprocess.Popen[bytes]]:
    """A process with a key in its environment."""
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, "KEY": CANARY})
    yield process
    process.kill()
    process.wait()


def reading(path: str) -> Call:
    return "read_file", {"path": path, "encoding": "latin-1"}


def writing(path: str) -> Call:
    return "write_file", {"path": path, "content": "written\n"}


def running(command: str) -> Call:
    return "run_shell", {"command": command}


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_folder_of_the_store_is_neither_read_nor_written(ground: Path) -> None:
    store = ground / ".callgate"
    store.mkdir()
    calls = (
        reading("other/callgate.db"),
        writing("other/planted"),
        running("head -c 15 other/callgate.db; echo x > other/planted"),
    )
    read, wrote, ran = call_among(
        [bind(store, ground / "other")],
        *calls,
        builtin_tools=FILES,
        working_directory=ground,
        store=f"sqlite:///{store}/callgate.db",
    )
    assert not read.ok
    assert "own files" in read.said
    assert not wrote.ok
    assert "SQLite" not in ran.said
    assert not (store / "planted").exists()


def test_the_root_key_is_not_read_where_the_home_is_mounted_again(ground: Path, home: Path) -> None:
    store = f"sqlite:///{ground}/.callgate/callgate.db"
    call_among([], ("list_directory", {}), builtin_tools=FILES, working_directory=ground, store=store)
    (key,) = (home / ".config" / "callgate" / "keys").glob("*.key")
    path = f"other/{key.relative_to(home)}"
    read, ran = call_among(
        [bind(home, ground / "other")],
        reading(path),
        running(f"cat {path} && echo read"),
        builtin_tools=FILES,
        working_directory=ground,
        store=store,
    )
    assert "own files" in read.said
    assert "'stdout': ''" in ran.said


@pytest.mark.parametrize("late", [False, True])
def test_a_configuration_that_is_mounted_on_a_file_is_neither_read_nor_written(ground: Path, *, late: bool) -> None:
    """Also where that happens while the gate is open."""
    read, wrote, ran = call_among(
        [bind(ground / "callgate.yaml", ground / "notes.txt")],
        reading("notes.txt"),
        writing("notes.txt"),
        running("cat notes.txt; echo 'autonomy: A4' >> notes.txt"),
        late=late,
        builtin_tools=FILES,
        working_directory=ground,
        config=ground / "callgate.yaml",
    )
    assert "own files" in read.said
    assert not wrote.ok
    assert CANARY not in ran.said
    assert (ground / "callgate.yaml").read_text() == f"version: 1\n# {CANARY}\n"


def test_what_lies_beside_is_read_and_written_as_before(ground: Path) -> None:
    (ground / "sub").mkdir()
    wrote, read, ran = call_among(
        [bind(ground / "sub", ground / "other")],
        writing("other/plain.txt"),
        reading("sub/plain.txt"),
        running("echo more >> other/plain.txt"),
        builtin_tools=FILES,
        working_directory=ground,
        config=ground / "callgate.yaml",
    )
    assert wrote.ok, wrote
    assert "written" in read.said
    assert (ground / "sub" / "plain.txt").read_text() == "written\nmore\n", ran


@pytest.mark.parametrize("part", ["hooks", "."])
def test_what_is_gits_is_not_written_where_it_is_mounted_beside_it(part: str, ground: Path) -> None:
    target = "other" if part == "hooks" else "other/hooks"
    wrote, ran = call_among(
        [bind(ground / ".git" / part, ground / "other")],
        writing(f"{target}/pre-commit"),
        running(f"echo x > {target}/post-commit; mv other gone"),
        builtin_tools=FILES,
        working_directory=ground,
    )
    assert "in a .git directory" in wrote.said
    assert not {"pre-commit", "post-commit"} & names_in(ground / ".git" / "hooks"), ran


def test_nor_is_a_repository_without_that_name(ground: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    wrote, ran = call_among(
        [bind(tmp_path / "bare" / "hooks", ground / "other")],
        writing("other/pre-receive"),
        running("echo x > other/post-receive"),
        builtin_tools=FILES,
        working_directory=ground,
    )
    assert "in a .git directory" in wrote.said
    assert not {"pre-receive", "post-receive"} & names_in(tmp_path / "bare" / "hooks"), ran


def test_a_granted_git_is_open_where_it_is_mounted_as_well(ground: Path, tmp_path: Path) -> None:
    config = tmp_path / "callgate.yaml"
    config.write_text(
        "version: 1\nscopes: {fs: {paths: [., .git]}, shell: {paths: [., .git], requires_approval: false}}\n"
    )
    wrote, ran = call_among(
        [bind(ground / ".git" / "hooks", ground / "other")],
        writing("other/pre-commit"),
        running("echo x > other/post-commit"),
        builtin_tools=FILES,
        working_directory=ground,
        config=config,
    )
    assert wrote.ok, wrote
    assert {"pre-commit", "post-commit"} <= names_in(ground / ".git" / "hooks"), ran


def test_what_callgate_runs_from_is_not_written_where_it_is_mounted_again(ground: Path) -> None:
    package = Path(callgate.__file__).parent
    wrote, ran = call_among(
        [bind(package, ground / "other")],
        writing("other/planted_by_a_test.py"),
        running("touch other/planted_by_a_test.py && echo done"),
        builtin_tools=FILES,
        working_directory=ground,
    )
    try:
        assert "run from" in wrote.said
        assert "done" not in ran.said
        assert not (package / "planted_by_a_test.py").exists()
    finally:
        (package / "planted_by_a_test.py").unlink(missing_ok=True)


def test_what_is_another_callgates_is_known_by_its_name_where_it_is_mounted(ground: Path) -> None:
    another = ground / "another"
    (another / ".callgate").mkdir(parents=True)
    (another / ".callgate" / "secret").write_text(CANARY)
    (another / "callgate.yaml").write_text("version: 1\n")
    read, wrote, ran = call_among(
        [bind(another / ".callgate", ground / "other"), bind(another / "callgate.yaml", ground / "notes.txt")],
        reading("other/secret"),
        writing("notes.txt"),
        running("cat other/secret; echo 'autonomy: A4' >> notes.txt"),
        builtin_tools=FILES,
        working_directory=ground,
    )
    assert "own files" in read.said
    assert not wrote.ok
    assert CANARY not in ran.said
    assert (another / "callgate.yaml").read_text() == "version: 1\n"


@pytest.mark.parametrize("late", [False, True])
def test_what_processes_know_is_not_read_where_proc_is_mounted_again(
    ground: Path, witness: subprocess.Popen[bytes], *, late: bool
) -> None:
    process = witness.pid if os.geteuid() == 0 else 1  # who is not root sees its own processes alone
    calls: list[tuple[str, dict[str, Any]]] = [
        reading(f"other/{process}/environ"),
        ("search_files", {"pattern": CANARY, "path": f"other/{process}", "glob": "environ"}),
        running(f"cat other/{process}/environ; ls other; echo ended"),
    ]
    read, found, ran = call_among(
        [processes(ground / "other")], *calls, late=late, builtin_tools=FILES, working_directory=ground
    )
    assert "shows what processes know" in read.said
    assert CANARY not in found.said
    assert "'stdout': 'ended\\n'" in ran.said


def test_a_program_does_not_work_in_what_shows_processes(ground: Path) -> None:
    (ran,) = call_among(
        [processes(ground / "other")], running("ls"), builtin_tools=FILES, working_directory=ground / "other"
    )
    assert not ran.ok
    assert "shows what processes know" in ran.said


def test_a_search_does_not_walk_through_a_second_proc(ground: Path) -> None:
    """It would find nothing that may be told there, and be at it until its time is over."""
    (ground / "notes.txt").write_text("a needle\n")
    search = ("search_files", {"pattern": "a needle|^Name:"})
    (found,) = call_among([processes(ground / "other")], search, builtin_tools=FILES, working_directory=ground)
    assert found.ok
    assert "'count': 1" in found.said
