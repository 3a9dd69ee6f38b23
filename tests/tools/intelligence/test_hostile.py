"""Hostile sources: deep, broken, endless, not to be opened; nothing of a project is ever run or left hanging."""

from __future__ import annotations

import _ctypes
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from callgate.tools.intelligence import apart, updating
from callgate.tools.intelligence.apart import Apart, Lost
from tests.tools.intelligence.asking import answer, opened, write

DEEP = 20_000
HOSTILE: dict[str, str | bytes] = {
    "brackets.py": "x = " + "\n(" * DEEP + "\n)" * DEEP + "\n",
    "open_brackets.js": "a" + "\n[" * DEEP,
    "blocks.c": "int f(void)\n" + "{\n" * DEEP,
    "classes.java": "class A {\n" * 2000,
    "ifs.rb": "if x\n" * DEEP,
    "generics.cpp": "A<\n" * DEEP,
    "nested.py": "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(300)),
    "strings.py": '"""' * 5001 + "\n" + "f'{" * 3000,
    "heredocs.rb": "".join(f"<<A{number}\n" for number in range(3000)),
    "invalid.py": b"def caf\xe9(): pass\n\xff\xfe\x80\ndef fine(): pass\n",
    "broken.go": "package x\nfunc fine2() {}\nfunc ((( {{{ type struct\n",
    "controls.ts": "\x01\x02\x1b[31m export function fine3() {}\n",
    "return.py": "def fine4(): pass\r\n\rdef fine5(): pass\r\n",
    "regex.js": "/" + "(a+)+" * 500 + "$/\n" * 1000,
    "line.py": b"x = [" + b"1, " * 1_700_000 + b"]\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "project", {"good.py": "def good(): pass\n"})


async def test_hostile_sources_cost_themselves_and_nothing_else(project: Path) -> None:
    write(project, HOSTILE)
    async with opened(project) as gate:
        for symbol in ("good", "fine", "fine2", "fine4"):
            found = (await gate.call("find_definition", {"symbol": symbol}, timeout=110)).unwrap()
            assert found["found"], symbol
            assert found["pending"] == 0
        outcome = await gate.call("search_code", {"query": "fine", "limit": 20})
        shown = await gate.call("get_repo_map", {})
        uses = await gate.call("find_references", {"symbol": "x"})
    assert outcome.ok
    assert shown.ok
    assert uses.ok


@pytest.mark.parametrize("way", ["never_ends", "crashes", "answers_nonsense"])
async def test_a_file_that_a_parser_fails_on_is_left_out(
    project: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(apart, "WORKER", "tests.tools.intelligence.faulty_worker")
    monkeypatch.setattr(updating, "_FOR_ONE_FILE", 1.0)
    write(project, {"bad.py": f"def poison(): {way}\n", "zlast.py": "def last(): pass\n"})
    async with opened(project) as gate:
        for symbol, is_found in (("good", True), ("last", True), ("poison", False)):
            output = (await gate.call("find_definition", {"symbol": symbol})).unwrap()
            assert (output["found"], output["pending"]) == (is_found, 0), symbol


@pytest.mark.requirement("TOOL-20")
async def test_where_no_process_starts_nothing_is_blamed_on_the_sources(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(project) as gate:
        with monkeypatch.context() as broken:
            broken.setattr(apart, "WORKER", "no_such_module")
            outcome = await gate.call("find_definition", {"symbol": "good"})
            shown = (await gate.call("get_repo_map", {})).unwrap()
        assert outcome.error is not None
        assert "does not start" in outcome.error.message
        assert shown["source"] == "filesystem"
        assert (await gate.call("find_definition", {"symbol": "good"})).unwrap()["found"]


def test_a_process_that_is_lost_is_ended_and_another_started() -> None:
    with Apart() as child:
        assert child.ask({"do": "extract", "language": "text"}, b"a", seconds=10)["lines"] == 1
        with pytest.raises(Lost):
            child.ask({"what": "no request"}, seconds=10)
        assert child.ask({"do": "extract", "language": "text"}, b"a\nb", seconds=10)["lines"] == 2


async def test_pipes_devices_and_closed_files_are_passed_by(project: Path) -> None:
    os.mkfifo(project / "pipe.py")
    os.mkfifo(project / ".gitignore")
    (project / "null.py").symlink_to("/dev/null")
    write(project, {"closed.py": "def closed(): pass\n", "folder/inner.py": "def inner(): pass\n"})
    (project / "closed.py").chmod(0)
    output = await answer(project, "find_definition", symbol="inner")
    assert output["path"] == "folder/inner.py"


async def test_names_that_cannot_be_written_down_are_passed_by(project: Path) -> None:
    write(project, {os.fsdecode(b"\xff.py"): "def bad(): pass\n", "new\nline.py": "def bad(): pass\n"})
    write(project, {"ünï cödé.py": "def special(): pass\n", "$(touch x).py": "def shell(): pass\n"})
    async with opened(project) as gate:
        for symbol, path in (("special", "ünï cödé.py"), ("shell", "$(touch x).py")):
            assert (await gate.call("find_definition", {"symbol": symbol})).unwrap()["path"] == path
        assert not (await gate.call("find_definition", {"symbol": "bad"})).unwrap()["found"]


TRAP = "import pathlib; pathlib.Path({witness!r}).touch()\n"


async def test_nothing_of_a_project_is_run_or_imported(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file that an import, an interpreter or a start-up could run leaves a witness if it is run."""
    witness = tmp_path / "witness"
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setenv("VIRTUAL_ENV", str(project / "venv"))
    monkeypatch.chdir(project)
    trap = TRAP.format(witness=str(witness))
    script = f'#!/bin/sh\ntouch {witness}\nexec {sys.executable} "$@"\n'
    names = (
        "sitecustomize",
        "usercustomize",
        "jedi",
        "parso",
        "orjson",
        "tree_sitter",
        "typing",
        "re",
        "pack/__init__",
        "conftest",
        "setup",
    )
    write(project, {f"{name}.py": trap + "def made(): pass\n" for name in names})
    write(
        project,
        {
            "pack/base.py": trap + "class Base:\n    def run(self): pass\n",
            "pack/user.py": trap
            + "import native\nfrom pack.base import Base\nfrom pack import spare\nclass User(Base): pass\n",
            "pack/other.py": trap + "class Third:\n    def run(self): pass\nThird().run()\n",
            "venv/bin/python": script,
            "venv/bin/python3": script,
            ".jedi/project.json": (
                f'[1, {{"path": "{project}", "load_unsafe_extensions": true, "environment_path": "{project}/venv"}}]'
            ),
            "evil.pth": f"import pathlib; pathlib.Path({str(witness)!r}).touch()\n",
        },
    )
    (project / "venv/bin/python").chmod(0o755)
    (project / "venv/bin/python3").chmod(0o755)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for name in ("native", "pack/spare"):
        _native(project / f"{name}{suffix}")
    async with opened(project) as gate:
        for symbol in (
            "pack.user.User.run",
            "User.run",
            "pack.user.native.made",
            "pack.made",
            "Base.run",
            "native.anything",
        ):
            assert (await gate.call("find_definition", {"symbol": symbol})).ok
            assert (await gate.call("find_references", {"symbol": symbol})).ok
        found = (await gate.call("find_definition", {"symbol": "User.run"})).unwrap()
    assert (found["path"], found["line"]) == ("pack/base.py", 3)
    assert not witness.exists()
    assert not any(names or folders for _, folders, names in os.walk(home))
    assert not [name for _, _, names in os.walk(project) for name in names if name.endswith(".pyc")]


def _native(place: Path) -> None:
    """A real module in machine code, under another name: to load it would fail loudly or succeed."""
    shutil.copy(str(_ctypes.__file__), place)


async def test_jedi_reads_nothing_outside_and_tells_nothing_of_it(project: Path, tmp_path: Path) -> None:
    """A package that is a link: its definitions are not told, though an import leads there."""
    outside = write(tmp_path / "outside", {"secret.py": "class Secret:\n    def password(self): pass\n"})
    write(project, {"user.py": "from linked.secret import Secret\nclass User(Secret): pass\n"})
    (project / "linked").symlink_to(outside)
    for symbol in ("User.password", "linked.secret.Secret", "linked.secret.Secret.password"):
        output = await answer(project, "find_definition", symbol=symbol)
        assert not output["found"], output
        assert "secret.py" not in str(output["candidates"])


@pytest.mark.parametrize(
    "request_",
    [{"path": "linked.py", "line": 1, "column": 4}, {"path": "fifo.py", "line": 1, "column": 0}],
    ids=["link", "pipe"],
)
def test_the_process_of_jedi_opens_no_link_out_and_waits_at_no_pipe(
    project: Path, tmp_path: Path, request_: dict[str, Any]
) -> None:
    write(tmp_path, {"outside.py": "def secret(): pass\n"})
    (project / "linked.py").symlink_to(tmp_path / "outside.py")
    os.mkfifo(project / "fifo.py")
    with Apart() as child, pytest.raises(Lost):
        child.ask({"do": "resolve", "root": str(project), "closed": [], **request_}, seconds=1.0, left=15.0)
