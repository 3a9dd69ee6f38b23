"""A process with thousands of open handles: what waits for a process of its own does so there, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate import Callgate
from tests.tools.archives.building import HONEST, seven_zipped
from tests.tools.holding import many_held


@pytest.fixture
def many_handles() -> Iterator[None]:
    with many_held():
        yield


@pytest.mark.usefixtures("many_handles")
@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("archive_open", {"path": "a.7z"}, "README.md"),
        ("find_definition", {"symbol": "needle"}, "a.py"),
        ("search_files", {"pattern": "needle"}, "a.py"),
    ],
    ids=["7z", "sources", "ripgrep"],
)
async def test_a_process_with_many_handles_waits_for_those_it_starts(
    tmp_path: Path, name: str, given: dict[str, str], said: str
) -> None:
    (tmp_path / "a.7z").write_bytes(seven_zipped(HONEST))
    (tmp_path / "a.py").write_text("def needle(): pass\n")
    gate = Callgate.open("memory://", working_directory=tmp_path, builtin_tools=["archives", "intelligence", "files"])
    async with gate:
        assert said in str((await gate.call(name, given)).unwrap())
