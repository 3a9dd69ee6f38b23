"""Entry points of installed packages: each loads or is told by name, and none is believed because it is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate.adapters.entry_points import EntryPoints
from callgate.model.levels import Origin, Risk
from callgate.model.source import Loaded

CODE = '''
"""What a package offers."""
import asyncio
from callgate import Toolkit, tool

closed = []

@tool(effects="read_only", idempotent=True)
def count_letters(text: str) -> int:
    """Count."""
    return len(text)

class BirdToolkit(Toolkit):
    async def setup(self):
        await asyncio.sleep(0)
        self.song = "la"

    @tool(effects="system_state", risk="low")
    def sing(self) -> str:
        """Sing."""
        return self.song

    def close(self):
        closed.append(self.song)
        raise OSError
'''


def install(folder: Path, package: str, **points: str) -> None:
    """What an installer leaves behind, as far as entry points go."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[callgate.tools]", *lines, ""]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python finds packages in."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "bird_tools.py").write_text(CODE)
    (tmp_path / "ends_tools.py").write_text("raise SystemExit(3)")
    yield tmp_path
    for name in ("bird_tools", "ends_tools"):
        sys.modules.pop(name, None)


async def load(source: EntryPoints) -> Loaded:
    return await source.load(None)  # pyright: ignore[reportArgumentType] - it needs no desk


@pytest.mark.requirement("ADP-08")
async def test_each_entry_point_loads_or_is_told_by_name(site: Path):
    install(
        site,
        "bird-tools",
        letters="bird_tools:count_letters",
        birds="bird_tools:BirdToolkit",
        absent="bird_tools:nothing",
        missing="not_there_at_all",
        ends="ends_tools",
        odd="bird_tools:closed",
    )
    source = EntryPoints(accept=["bird-tools"], include=["letters", "birds", "absent", "missing", "ends", "typo"])
    loaded = await load(source)
    assert {each.name for each in loaded.tools} == {"count_letters", "sing"}
    reasons = {failure.name: failure.reason for failure in loaded.failures}
    assert set(reasons) == {"absent", "missing", "ends", "typo"}
    assert "ModuleNotFoundError" in reasons["missing"]
    assert "ended the process" in reasons["ends"]
    letters, sing = sorted(loaded.tools, key=lambda each: each.name)
    assert (letters.source, letters.source_name, letters.read_only) == (Origin.PLUGIN, "entry_points", True)
    assert letters.tags == ("source:plugin", "package:bird-tools")
    assert sing.tags == ("source:plugin", "package:bird-tools", "toolkit:bird")
    assert sing.handler is not None
    assert sing.handler({}, None) == "la"
    assert len((await load(source)).tools) == 2
    await source.close()
    await source.close()
    assert sys.modules["bird_tools"].closed == ["la"]


async def test_a_package_that_is_not_accepted_is_not_believed(site: Path):
    install(site, "bird-tools", whole="bird_tools")
    for accept in (False, ["other"]):
        [tool] = (await load(EntryPoints(accept=accept))).tools
        assert (tool.declared, tool.read_only, tool.idempotent, tool.destructive) == (False, False, False, True)
        assert tool.base_risk is Risk.HIGH
        assert tool.claims == {"effects": ["read_only"], "destructive": False, "idempotent": True, "risk": "low"}
    for accepted in (True, "whole"):
        [tool] = (await load(EntryPoints(accept=accepted))).tools
        assert (tool.declared, tool.read_only, tool.idempotent) == (True, True, True)


async def test_nothing_installed_is_nothing_loaded():
    assert await load(EntryPoints(group="callgate.tools.of.nobody")) == Loaded()


async def test_what_is_not_included_is_not_imported(site: Path):
    install(site, "bird-tools", letters="bird_tools:count_letters", ends="ends_tools")
    found: list[Any] = list((await load(EntryPoints(include="letters", accept=True))).tools)
    assert [each.name for each in found] == ["count_letters"]
    assert "ends_tools" not in sys.modules
