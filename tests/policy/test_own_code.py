"""What Callgate runs from may be read by tools, and not written: whoever writes there decides what starts next."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import callgate
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.model.outcome import Refused, Succeeded
from callgate.policy.own_code import own_code

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
