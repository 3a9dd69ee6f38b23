"""What Callgate runs from may be read by tools, and not written: whoever writes there decides what starts next."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import callgate
from callgate import Callgate, Context, tool
from callgate.model.levels import Autonomy
from callgate.model.outcome import Refused, Succeeded
from callgate.policy.own_code import own_code, ways_to_code

PACKAGE = callgate.__path__[0]
LIBRARIES = sysconfig.get_path("purelib")
FREE = Context(autonomy=Autonomy.A4)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "callgate.yaml"
    file.write_text("scopes: {fs: {paths: ['/']}}\nbuiltin_tools: {enable: [files]}\n")
    return file


@pytest.mark.parametrize(
    "folder", [PACKAGE, LIBRARIES, sysconfig.get_path("stdlib")], ids=["own", "libraries", "standard"]
)
async def test_nothing_is_written_where_callgate_runs_from(config: Path, folder: str) -> None:
    planted = Path(folder) / "planted.pth"
    async with Callgate.open("memory://", config, working_directory=config.parent) as gate:
        outcome = await gate.call("write_file", {"path": str(planted), "content": "import os"}, FREE)
        assert isinstance(outcome, Refused)
        assert "read-only to tools" in outcome.to_human()
        link = config.parent / "link"
        link.symlink_to(folder)
        assert isinstance(await gate.call("write_file", {"path": "link/planted.pth", "content": "x"}, FREE), Refused)
    assert not planted.exists()


async def test_it_may_be_read(config: Path) -> None:
    async with Callgate.open("memory://", config, working_directory=config.parent) as gate:
        outcome = await gate.call("read_file", {"path": f"{PACKAGE}/__init__.py"}, FREE)
    assert isinstance(outcome, Succeeded)


def test_none_of_the_places_lies_in_another_and_all_are_real() -> None:
    places = own_code()
    assert str(Path(PACKAGE).resolve()) in places or any(PACKAGE.startswith(place) for place in places)
    assert all(Path(place) == Path(place).resolve() for place in places)
    assert not [place for place in places for other in places if place != other and place.startswith(f"{other}/")]


async def test_a_link_over_which_it_is_found_is_not_changed(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = config.parent / ".venv"
    (config.parent / "elsewhere").mkdir()
    link.symlink_to("elsewhere")
    monkeypatch.setattr("callgate.policy.kept.ways_to_code", lambda: (str(link),))

    @tool(effects="modifies_files", destructive=True)
    def remove(path: str) -> None:
        Path(path).unlink()

    async with Callgate.open("memory://", config, working_directory=config.parent) as gate:
        gate.add(remove)
        outcome = await gate.call("remove", {"path": str(link)}, FREE)
        assert isinstance(outcome, Refused)
        assert "read-only to tools" in outcome.to_human()
    assert link.is_symlink()


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where Python says that it runs from; what is remembered of it is forgotten around the test."""
    place = tmp_path / "env"
    place.mkdir()
    for name in ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix"):
        monkeypatch.setattr(sys, name, str(place))
    monkeypatch.setattr("site.ENABLE_USER_SITE", False)
    own_code.cache_clear()
    ways_to_code.cache_clear()
    yield place
    own_code.cache_clear()
    ways_to_code.cache_clear()


def test_an_environment_counts_as_a_whole_if_nothing_else_lies_in_it(prefix: Path) -> None:
    for name in ("bin", "lib", "lib64", "share"):
        (prefix / name).mkdir()
    (prefix / "pyvenv.cfg").touch()
    assert str(prefix) in own_code()
    (prefix / "my_project.py").touch()
    own_code.cache_clear()
    assert str(prefix) not in own_code()
    assert {f"{prefix}/bin", f"{prefix}/lib", f"{prefix}/pyvenv.cfg"} <= set(own_code())


def test_a_prefix_that_is_not_there_counts_by_its_parts(prefix: Path) -> None:
    prefix.rmdir()
    assert f"{prefix}/bin" in own_code()


def test_packages_of_the_user_count_where_python_takes_them(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prefix.exists()
    packages = site.getusersitepackages()
    assert os.path.realpath(packages) not in own_code()
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    own_code.cache_clear()
    assert os.path.realpath(packages) in own_code()


def test_links_on_the_way_to_it_are_known_and_circles_lead_nowhere(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way, circle = prefix.parent / "way", prefix.parent / "circle"
    way.symlink_to(prefix)
    circle.symlink_to(circle)
    monkeypatch.setattr(sys, "prefix", str(way))
    monkeypatch.setattr(sys, "exec_prefix", str(circle))
    assert str(way) in ways_to_code()


@pytest.mark.parametrize("said", ["sitecustomize.py", "ev?l.pth", "{evil,x}.pth", "new/__init__.py"])
async def test_no_text_leads_a_tool_that_changes_something_there(tmp_path: Path, said: str) -> None:
    did: list[str] = []

    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def replace(name: str) -> str:
        """Replace something."""
        did.append(name)
        return name

    link = tmp_path / "link"
    link.symlink_to(LIBRARIES)
    async with Callgate.open("memory://", working_directory=tmp_path) as gate:
        gate.add(replace)
        outcome = await gate.call("replace", {"name": f"link/{said}"}, FREE)
        assert "read-only to tools" in str(outcome.error)
        assert (await gate.call("replace", {"name": f"other/{said}"}, FREE)).ok
    assert did == [f"other/{said}"]
