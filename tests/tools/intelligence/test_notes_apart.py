"""The folder of the vault is in nobody's index of code, wherever it lies and by whatever name it is reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.settings.load import parse_settings
from tests.tools.intelligence.asking import answer, write

WHY = "notes of the vault lie there, which are found by the tools of the vault alone"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_code", {"query": "zebrafish"}),
    ("find_definition", {"symbol": "zebrafish"}),
    ("find_references", {"symbol": "zebrafish"}),
    ("get_repo_map", {}),
]


async def test_what_one_notes_in_the_vault_is_not_found_by_another(tmp_path: Path) -> None:
    write(tmp_path, {"main.py": "def main(): pass\n"})
    ann, bob = (Context(user=name, autonomy=Autonomy.A4, session=name) for name in ("ann", "bob"))
    async with Callgate.open("memory://", working_directory=tmp_path, builtin_tools=["vault", "intelligence"]) as gate:
        assert (await gate.call("vault_write", {"path": "a.md", "body": "def zebrafish(): pass\n"}, ann)).ok
        [note] = (tmp_path / "vault").rglob("a.md")
        assert "zebrafish" in note.read_text()
        write(note.parent, {"a.py": "def zebrafish(): pass\nzebrafish()\n"})
        for name, arguments in CALLS:
            told = (await gate.call(name, arguments, bob)).unwrap()
            assert told["left_out"] == [f"vault/: {WHY}"]
            assert "a.md" not in json.dumps(told)
            assert "a.py" not in json.dumps(told)


@pytest.mark.parametrize("linked", [False, True], ids=["folder", "link"])
async def test_a_folder_that_is_configured_is_left_out_and_no_other(tmp_path: Path, linked: bool) -> None:
    code = "def zebrafish(): pass\n"
    write(tmp_path, {"deep/notes/ann/a.py": code, "vault/b.py": code})
    (tmp_path / "link").symlink_to("deep/notes")
    path = "link" if linked else "deep/notes"
    config = parse_settings(f"builtin_tools: {{enable: [intelligence], vault: {{path: {path}}}}}", file="callgate.yaml")
    async with Callgate.open("memory://", config=config, working_directory=tmp_path) as gate:
        told = (await gate.call("search_code", {"query": "zebrafish"})).unwrap()
    assert [each["path"] for each in told["results"]] == ["vault/b.py"]
    assert told["left_out"] == [f"deep/notes/: {WHY}"]


async def test_a_working_directory_in_the_vault_has_no_index(tmp_path: Path) -> None:
    write(tmp_path, {"ann/default/a.py": "def zebrafish(): pass\n"})
    config = parse_settings(f"builtin_tools: {{enable: [intelligence], vault: {{path: '{tmp_path}'}}}}", file="x.yaml")
    async with Callgate.open("memory://", config=config, working_directory=tmp_path / "ann") as gate:
        told = (await gate.call("search_code", {"query": "zebrafish"})).unwrap()
    assert told["results"] == []
    assert told["left_out"] == [f"./: {WHY}"]


async def test_where_there_is_no_vault_nothing_is_said_of_it(tmp_path: Path) -> None:
    write(tmp_path, {"main.py": "def zebrafish(): pass\n"})
    assert "left_out" not in await answer(tmp_path, "search_code", query="zebrafish")
