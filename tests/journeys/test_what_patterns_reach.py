"""What a tool of one's own finds by a pattern is judged before it looks: the tools here note what they came to."""

from __future__ import annotations

import glob
import shutil
from pathlib import Path
from typing import Any

import pytest

from callgate import tool
from callgate.settings.load import parse_settings
from tests.journeys.gates import gate_of


def collecting(folder: Path, came_to: list[str]) -> Any:
    @tool(effects="read_only", scopes=["fs:read"])
    def collect(pattern: str) -> list[str]:
        """Read all that fit."""
        matched = glob.glob(pattern, root_dir=folder, include_hidden=True, recursive=True)  # noqa: PTH207 - as tools do
        came_to.extend(found for found in matched if (folder / found).is_file())
        return came_to

    return collect


@pytest.mark.parametrize("pattern", ["callgate.ya?l", "[c]allgate.yaml", ".callgat?/callgate.db", "*", "**", "*/*.db*"])
async def test_no_pattern_leads_to_the_configuration_or_the_store(pattern: str, tmp_path: Path) -> None:
    (tmp_path / "callgate.yaml").write_text("version: 1\n")
    (tmp_path / "plain.txt").write_text("plain")
    came_to: list[str] = []
    config = parse_settings("version: 1\n", file=str(tmp_path / "callgate.yaml"))
    store = f"sqlite:///{tmp_path / '.callgate' / 'callgate.db'}"
    async with gate_of(collecting(tmp_path, came_to), config=config, working_directory=tmp_path, store=store) as gate:
        outcome = await gate.call("collect", {"pattern": pattern})
        assert came_to == []
        assert "Callgate's own files" in str(outcome.error)
        assert (await gate.call("collect", {"pattern": "*.tx?"})).unwrap() == ["plain.txt"]


@pytest.mark.parametrize("pattern", ["lin?/secret", "*/secret", "**/secret"])
async def test_no_pattern_leads_out_over_a_link(pattern: str, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "folder").mkdir(parents=True)
    (inside / "folder" / "secret").write_text("ours")
    outside.mkdir()
    (outside / "secret").write_text("theirs")
    (inside / "link").symlink_to(outside)
    came_to: list[str] = []
    async with gate_of(collecting(inside, came_to), working_directory=inside) as gate:
        outcome = await gate.call("collect", {"pattern": pattern})
        assert came_to == []
        assert "leads to" in str(outcome.error)
        (inside / "link").unlink()
        await gate.call("collect", {"pattern": pattern.replace("lin?", "fol*")})
    assert came_to == ["folder/secret"]


async def test_a_directory_with_own_files_is_not_moved_away_by_a_tool_that_changes_files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "notes").mkdir()

    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def move(source: str, target: str) -> str:
        """Move a file or a directory."""
        shutil.move(tmp_path / source, tmp_path / target)
        return "moved"

    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def tidy(path: str) -> str:
        """Put files in order, below a directory."""
        return path

    config = parse_settings("version: 1\nautonomy: A4\n", file="callgate.yaml")
    store = f"sqlite:///{tmp_path / 'data' / 'gate.db'}"
    async with gate_of(move, tidy, config=config, working_directory=tmp_path, store=store) as gate:
        for source in ("data", "dat?"):
            outcome = await gate.call("move", {"source": source, "target": "mine"})
            assert "could move it away" in str(outcome.error)
            assert (tmp_path / "data" / "gate.db").exists()
        assert (await gate.call("move", {"source": "notes", "target": "kept"})).ok
        assert (await gate.call("tidy", {"path": "."})).ok, "all that is granted goes nowhere inside of itself"
