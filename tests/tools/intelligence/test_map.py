"""get_repo_map: ranked symbols within a budget, or the directories where there is no index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.model.levels import Category
from tests.tools.intelligence.asking import answer, once, opened, write

USERS = {f"app/user{number}.py": "from lib.engine import Engine\n\nEngine()\n" for number in range(5)}
TREE = {
    "lib/engine.py": (
        'class Engine:\n    """Does the work."""\n\n    def start(self, speed: int) -> None:\n        pass\n'
    ),
    "lib/rare.py": "def rarely_used():\n    pass\n",
    "README.md": "# A project\n",
    **USERS,
}


@pytest.mark.requirement("TOOL-20")
async def test_what_is_used_most_comes_first_with_its_signature(tmp_path: Path) -> None:
    output = await answer(write(tmp_path, TREE), "get_repo_map")
    assert output["map_text"] == (
        "lib/engine.py:\n  1: class Engine:\n    4: def start(self, speed: int) -> None:\n"
        "lib/rare.py:\n  1: def rarely_used():\n"
    )
    assert {name: output[name] for name in output if name != "map_text"} == {
        "token_count": -(-len(output["map_text"]) // 4),
        "max_tokens": 2000,
        "files_included": 2,
        "symbols_included": 3,
        "symbols_total": 3,
        "scope": None,
    }


async def test_names_alone_and_notes_can_be_asked_for(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    output = await answer(
        tmp_path, "get_repo_map", include_signatures=False, include_docstrings=True, scope="lib/engine.py"
    )
    assert output["map_text"] == "lib/engine.py:\n  1: class Engine  # Does the work.\n    4: method Engine.start\n"
    assert output["scope"] == "lib/engine.py"


async def test_a_scope_narrows_it(tmp_path: Path) -> None:
    write(tmp_path, {**TREE, "app/own.py": "def mine(): pass\n"})
    output = await answer(tmp_path, "get_repo_map", scope="app")
    assert output["map_text"] == "app/own.py:\n  1: def mine():\n"
    assert output["symbols_total"] == 1


@pytest.mark.requirement("TOOL-20")
@pytest.mark.parametrize("max_tokens", [500, 2000, 8000])
async def test_the_budget_holds(tmp_path: Path, max_tokens: int) -> None:
    many = "".join(f"def function_number_{number}(argument, another_argument):\n    pass\n" for number in range(900))
    output = await answer(write(tmp_path, {"many.py": many, "more.py": many}), "get_repo_map", max_tokens=max_tokens)
    assert len(output["map_text"]) <= max_tokens * 4
    assert output["token_count"] <= max_tokens
    assert output["token_count"] > max_tokens * 0.9
    assert output["symbols_included"] < output["symbols_total"] == 1800


@pytest.mark.requirement("TOOL-20")
async def test_without_symbols_the_directories_are_shown(tmp_path: Path) -> None:
    write(tmp_path, {"README.md": "# Hello\n", "docs/a.txt": "text\n", "docs/b.txt": "text\n", "data.json": "{}\n"})
    output = await answer(tmp_path, "get_repo_map")
    assert output["source"] == "filesystem"
    assert output["map_text"] == "4 files in 2 directories\n./ (2)\ndocs/ (2)\n"
    assert output["key_files"] == ["README.md"]
    assert output["file_types"] == {".txt": 2, ".md": 1, ".json": 1}
    assert (output["files_included"], output["symbols_included"]) == (4, 0)


@pytest.mark.requirement("TOOL-20")
async def test_where_no_index_can_be_made_the_directories_are_shown(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    async with opened(tmp_path, store=f"sqlite:///{tmp_path}/.callgate/callgate.db") as gate:
        # A file stands where the folder of indexes belongs.
        (tmp_path / ".callgate" / "indexes").write_text("no folder")
        output = (await gate.call("get_repo_map", {"max_tokens": 500})).unwrap()
        other = await gate.call("search_code", {"query": "engine"})
    assert output["source"] == "filesystem"
    assert output["file_types"][".py"] == 7
    assert len(output["map_text"]) <= 2000
    assert other.error is not None
    assert other.error.category is Category.RESOURCE


async def test_the_map_of_directories_keeps_its_bounds(tmp_path: Path) -> None:
    files: dict[str, str] = {f"folder_with_a_name_{number}/notes.e{number % 15}": "x\n" for number in range(400)}
    keys = {f"part{number}/README.md": "x\n" for number in range(15)}
    output = await answer(write(tmp_path, {**files, **keys}), "get_repo_map", max_tokens=500)
    assert len(output["map_text"]) <= 2000
    assert len(output["key_files"]) == 10
    assert len(output["file_types"]) == 10


@pytest.mark.requirement("TOOL-20")
@pytest.mark.parametrize("max_tokens", [500, 1000])
async def test_what_stands_beside_the_directories_counts_into_the_budget(tmp_path: Path, max_tokens: int) -> None:
    """Important files with long paths, and endings that are long."""
    deep = {f"{number}{'d' * 240}/{'e' * 250}/{'f' * 250}/README.md": "x\n" for number in range(12)}
    kinds = {f"notes.{number}{'x' * 200}": "x\n" for number in range(12)}
    output = await answer(write(tmp_path, {**deep, **kinds}), "get_repo_map", max_tokens=max_tokens)
    assert output["source"] == "filesystem"
    beside = [json.dumps(output[name], separators=(",", ":")) for name in ("key_files", "file_types")]
    size = len(output["map_text"]) + sum(map(len, beside))
    assert output["token_count"] == -(-size // 4) <= max_tokens
    assert output["map_text"].startswith("24 files in 13 directories\n./ (12)\n")
    assert output["file_types"]
    assert len(output["key_files"]) == (0 if max_tokens == 500 else 1)


@pytest.mark.requirement("TOOL-20")
@pytest.mark.parametrize(
    "code", ["", "".join(f"def function_{number}(): pass\n" for number in range(300))], ids=["files", "symbols"]
)
async def test_what_is_said_of_directories_left_out_counts_into_the_budget(tmp_path: Path, code: str) -> None:
    rules = {f"{number}{'d' * 250}/.gitignore": "*a" * 600 for number in range(12)}
    output = await answer(write(tmp_path, {**rules, "main.py": code}), "get_repo_map", max_tokens=500)
    assert ("source" in output) is (not code)
    assert len(output["left_out"]) == 1
    written = (output[name] for name in ("key_files", "file_types", "left_out") if name in output)
    beside = sum(len(json.dumps(each, separators=(",", ":"), ensure_ascii=False)) for each in written)
    assert output["token_count"] == -(-(len(output["map_text"]) + beside) // 4) <= 500


async def test_an_empty_directory_has_a_map(tmp_path: Path) -> None:
    output = await answer(tmp_path, "get_repo_map")
    assert output["map_text"] == "0 files in 0 directories\n"


@pytest.mark.parametrize(
    "arguments",
    [{"max_tokens": 499}, {"max_tokens": 8001}, {"scope": ""}, {"scope": "nowhere"}],
    ids=["few", "many", "empty", "no"],
)
async def test_bad_input_is_an_input_error(tmp_path: Path, arguments: dict[str, Any]) -> None:
    outcome = await once(write(tmp_path, TREE), "get_repo_map", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
