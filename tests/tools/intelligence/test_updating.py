"""The index follows the files: changed, removed, renamed, touched; interrupted, damaged, old, used by two at once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate
from callgate.model.context import Context
from callgate.model.grounds import Grounds
from callgate.model.levels import Category
from callgate.model.tool_context import ToolContext
from callgate.tools.intelligence import apart, updating, walking
from callgate.tools.intelligence.projects import Project, Projects, Unindexed
from tests.tools.intelligence.asking import once, opened, write


def context(folder: Path, *, seconds: float = 60.0, told: list[tuple[float | None, str]] | None = None) -> ToolContext:
    """As a handler gets it, where everything in a directory may be read."""
    place = str(folder.resolve())
    grounds = Grounds(
        directory=place,
        roots=(place,),
        closed=(),
        git=(),
        code=(),
        private_addresses=False,
        path_refused=lambda _place, _status: None,
        host_refused=lambda _host: None,
    )

    def tell(_context: ToolContext, fraction: float | None, note: str) -> None:
        if told is not None:
            told.append((fraction, note))

    return ToolContext(
        context=Context(),
        tool="search_code",
        call_id="1",
        grounds=lambda: grounds,
        deadline=time.monotonic() + seconds,
        progress_sink=tell,
    )


def names(project: Project) -> set[str]:
    return {name for (name,) in project.index.rows("SELECT qualified FROM symbols")}


def known(projects: Projects, folder: Path, **more: Any) -> set[str]:
    with projects.of(context(folder, **more)) as project:
        assert project.pending == 0
        return names(project)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the files that were parsed since it was last emptied."""
    sizes: list[int] = []
    ask = apart.Apart.ask

    def counted(self: apart.Apart, request: dict[str, Any], content: bytes = b"", **more: Any) -> Any:
        sizes.append(len(content))
        return ask(self, request, content, **more)

    monkeypatch.setattr(apart.Apart, "ask", counted)
    return sizes


@pytest.fixture(params=["file", "memory"])
def projects(request: pytest.FixtureRequest, tmp_path: Path) -> Projects:
    return Projects(tmp_path / "indexes" if request.param == "file" else None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "project", {f"m{number}.py": f"def f{number}(): pass\n" for number in range(30)})


def test_only_what_changed_is_parsed_again(projects: Projects, folder: Path, parsed: list[int]) -> None:
    assert known(projects, folder) == {f"f{number}" for number in range(30)}
    assert len(parsed) == 30
    parsed.clear()
    write(folder, {"m3.py": "def changed(): pass\n"})
    assert known(projects, folder) == {f"f{number}" for number in range(30) if number != 3} | {"changed"}
    assert len(parsed) == 1


def test_a_change_of_the_same_size_at_the_same_time_is_seen(projects: Projects, folder: Path) -> None:
    known(projects, folder)
    place = folder / "m3.py"
    before = place.stat()
    place.write_text("def g3(): pass\n")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "g3" in known(projects, folder)


def test_a_file_that_is_only_touched_is_not_parsed(projects: Projects, folder: Path, parsed: list[int]) -> None:
    known(projects, folder)
    parsed.clear()
    os.utime(folder / "m3.py", ns=(1, 1))
    assert "f3" in known(projects, folder)
    assert parsed == []
    with projects.of(context(folder)) as project:
        [(state,)] = project.index.rows("SELECT state FROM files WHERE path = 'm3.py'")
    assert state.startswith("1.")


def test_a_removed_file_is_forgotten(projects: Projects, folder: Path) -> None:
    known(projects, folder)
    (folder / "m3.py").unlink()
    assert "f3" not in known(projects, folder)
    with projects.of(context(folder)) as project:
        for table in ("chunks", "names", "symbols"):
            assert project.index.rows(f"SELECT * FROM {table} WHERE file NOT IN (SELECT id FROM files)") == []
        assert project.index.rows("SELECT count(*) FROM symbol_words") == [(29,)]


def test_a_renamed_file_is_known_by_its_new_name_without_being_parsed(
    projects: Projects, folder: Path, parsed: list[int]
) -> None:
    known(projects, folder)
    parsed.clear()
    (folder / "sub").mkdir()
    (folder / "m3.py").rename(folder / "sub" / "moved.py")
    with projects.of(context(folder)) as project:
        assert project.index.rows("SELECT f.path FROM symbols s JOIN files f ON f.id = s.file WHERE s.name = 'f3'") == [
            ("sub/moved.py",)
        ]
    assert parsed == []


def test_a_file_of_the_same_content_in_another_language_is_parsed(projects: Projects, folder: Path) -> None:
    known(projects, folder)
    (folder / "m3.py").rename(folder / "m3.txt")
    assert "f3" not in known(projects, folder)


def test_swapped_files_are_told_apart(projects: Projects, folder: Path) -> None:
    known(projects, folder)
    (folder / "m1.py").rename(folder / "x")
    (folder / "m2.py").rename(folder / "m1.py")
    (folder / "x").rename(folder / "m2.py")
    with projects.of(context(folder)) as project:
        rows = project.index.rows("SELECT s.name, f.path FROM symbols s JOIN files f ON f.id = s.file")
    assert {("f1", "m2.py"), ("f2", "m1.py")} <= set(rows)
    assert len(rows) == 30


def test_rules_that_come_later_take_files_out(projects: Projects, folder: Path) -> None:
    known(projects, folder)
    write(folder, {".gitignore": "m?.py\n"})
    assert known(projects, folder) == {f"f{number}" for number in range(10, 30)}


def test_an_interrupted_update_goes_on_where_it_was(
    tmp_path: Path, folder: Path, parsed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updating, "_BATCH", 4)
    monkeypatch.setattr(updating, "_MOST_PROCESSES", 1)
    projects = Projects(tmp_path / "indexes")
    ask, stopped = apart.Apart.ask, [12]

    def until_stopped(self: apart.Apart, request: dict[str, Any], content: bytes = b"", **more: Any) -> Any:
        stopped[0] -= 1
        if stopped[0] == 0:
            raise KeyboardInterrupt
        return ask(self, request, content, **more)

    monkeypatch.setattr(apart.Apart, "ask", until_stopped)
    with pytest.raises(KeyboardInterrupt):
        known(projects, folder)
    monkeypatch.setattr(apart.Apart, "ask", ask)
    parsed.clear()
    assert known(projects, folder) == {f"f{number}" for number in range(30)}
    assert 0 < len(parsed) < 30


def test_what_there_is_no_time_for_is_said_and_done_by_the_next_call(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = Projects(tmp_path / "indexes")
    ask, until = apart.Apart.ask, [10]

    def slow(self: apart.Apart, request: dict[str, Any], content: bytes = b"", **more: Any) -> Any:
        until[0] -= 1
        if until[0] <= 0:
            monkeypatch.setattr(time, "monotonic", lambda: 10.0**12)  # the time is up
        return ask(self, request, content, **more)

    monkeypatch.setattr(apart.Apart, "ask", slow)
    monkeypatch.setattr(updating, "_MOST_PROCESSES", 1)
    with projects.of(context(folder)) as project:
        assert 0 < project.pending < 30
        assert 0 < len(names(project)) < 30
        assert len(project.files) == 30
    monkeypatch.undo()
    assert len(known(projects, folder)) == 30


def test_progress_is_told(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updating, "_TELLING", -1.0)
    monkeypatch.setattr(updating, "_BATCH", 10)
    told: list[tuple[float | None, str]] = []
    known(Projects(None), folder, told=told)
    assert told[-1] == (1.0, "indexed 30 of 30 files")
    assert [fraction for fraction, _ in told] == sorted(fraction or 0.0 for fraction, _ in told)


@pytest.mark.parametrize("damage", ["garbage", "middle", "empty", "gone"])
def test_a_damaged_index_is_made_anew(tmp_path: Path, folder: Path, damage: str) -> None:
    projects = Projects(tmp_path / "indexes")
    known(projects, folder)
    [place] = (tmp_path / "indexes").glob("*.db")
    if damage == "garbage":
        place.write_bytes(b"no database at all" * 1000)
    elif damage == "middle":
        content = bytearray(place.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        place.write_bytes(content)
    elif damage == "empty":
        place.write_bytes(b"")
    else:
        place.unlink()
    assert len(known(projects, folder)) == 30


def test_damage_that_is_met_later_costs_one_call(tmp_path: Path, folder: Path) -> None:
    projects = Projects(tmp_path / "indexes")
    known(projects, folder)
    [place] = (tmp_path / "indexes").glob("*.db")
    connection = sqlite3.connect(place)
    connection.execute("DELETE FROM symbol_words_data")
    connection.commit()
    connection.close()
    asked = "SELECT * FROM symbol_words WHERE symbol_words MATCH 'f3'"
    with pytest.raises(Unindexed, match=r"damaged.*ask again"), projects.of(context(folder)) as project:
        project.index.rows(asked)
    with projects.of(context(folder)) as project:
        assert len(project.index.rows(asked)) == 1


def test_an_index_of_another_version_is_made_anew(tmp_path: Path, folder: Path, parsed: list[int]) -> None:
    projects = Projects(tmp_path / "indexes")
    known(projects, folder)
    [place] = (tmp_path / "indexes").glob("*.db")
    connection = sqlite3.connect(place)
    [version] = connection.execute("PRAGMA user_version").fetchone()
    connection.execute(f"PRAGMA user_version = {version + 1}")
    connection.execute("ALTER TABLE symbols RENAME COLUMN doc TO note")
    connection.close()
    parsed.clear()
    assert len(known(projects, folder)) == 30
    assert len(parsed) == 30


_INDEXING = """
import sys
from pathlib import Path
from tests.tools.intelligence.test_updating import context, names
from callgate.tools.intelligence.projects import Projects
with Projects(Path(sys.argv[1])).of(context(Path(sys.argv[2]))) as project:
    print(project.pending, len(names(project)))
"""


def indexing(tmp_path: Path, folder: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", _INDEXING, str(tmp_path / "indexes"), str(folder)]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


@pytest.mark.slow
def test_two_processes_on_one_index_both_find_everything(tmp_path: Path, folder: Path) -> None:
    write(folder, {f"more/m{number}.py": f"def g{number}(): pass\n" for number in range(200)})
    children = [indexing(tmp_path, folder) for _ in range(2)]
    assert [child.communicate(timeout=100)[0].strip() for child in children] == ["0 230", "0 230"]
    assert len(known(Projects(tmp_path / "indexes"), folder)) == 230


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_indexing_leaves_no_process_and_the_next_goes_on(tmp_path: Path, folder: Path) -> None:
    write(folder, {f"more/m{number}.py": f"def g{number}(): pass\n" * 50 for number in range(1500)})
    child = indexing(tmp_path, folder)
    workers = _wait_for_workers(child)
    child.kill()
    child.communicate(timeout=60)
    for worker in workers:
        _wait_until_gone(worker)
    assert len(known(Projects(tmp_path / "indexes"), folder)) >= 1530


def _descendants(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    try:
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _wait_for_workers(child: subprocess.Popen[str]) -> list[int]:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = _descendants(child.pid)
        if found or child.poll() is not None:
            return found
    raise AssertionError("it started none")


def _wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
    raise AssertionError(f"{pid} is still there")


@pytest.mark.parametrize("limit", ["MOST_FILES", "_MOST_SEEN"])
async def test_a_project_that_is_too_large_is_an_input_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(walking, limit, 20)
    outcome = await once(folder, "search_code", query="f1")
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert "work in a directory further down" in outcome.error.message


def test_who_waits_too_long_for_anothers_indexing_is_told(folder: Path) -> None:
    projects = Projects(None)
    with projects.of(context(folder)), pytest.raises(TimeoutError, match="ask again"):
        known(projects, folder, seconds=0.01)


def test_a_write_that_fails_leaves_nothing(folder: Path) -> None:
    with Projects(None).of(context(folder)) as project:
        with pytest.raises(sqlite3.OperationalError), project.index.writing():
            _drop_and_fail(project)
        assert "f1" in names(project)


def _drop_and_fail(project: Project) -> None:
    project.index.drop(["m1.py"])
    project.index.rows("SELECT * FROM nothing")


def test_no_process_is_left_after_a_call(folder: Path) -> None:
    before = _descendants(os.getpid())  # other tests ran in this process, too
    known(Projects(None), folder)
    assert [process for process in _descendants(os.getpid()) if process not in before] == []


async def test_calls_at_once_share_one_indexing(folder: Path, parsed: list[int]) -> None:
    async with opened(folder) as gate:
        outcomes = await gate.batch([Call("search_code", {"query": f"f{number}"}) for number in range(6)])
    assert [outcome.unwrap()["results"][0]["name"] for outcome in outcomes] == [f"f{number}" for number in range(6)]
    assert len(parsed) == 30


async def test_the_index_lasts_where_the_store_does(folder: Path, parsed: list[int]) -> None:
    for _ in range(2):
        async with Callgate.open(
            f"sqlite:///{folder}/.callgate/callgate.db", working_directory=folder, builtin_tools=["intelligence"]
        ) as gate:
            assert (await gate.call("find_definition", {"symbol": "f7"})).unwrap()["path"] == "m7.py"
    assert len(parsed) == 30
    places = [folder / ".callgate" / "indexes", *(folder / ".callgate" / "indexes").glob("*")]
    assert len(places) == 2
    assert all(place.stat().st_mode & 0o077 == 0 for place in places)
