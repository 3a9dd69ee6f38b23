"""A process with thousands of open handles: what waits for a process of its own does so there, too."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate import Callgate
from tests.needed import missing
from tests.tools.archives.building import HONEST, seven_zipped

_FURTHER = 1100
_NEEDED = _FURTHER + 400


@pytest.fixture
def many_handles() -> Iterator[None]:
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < _NEEDED:
        missing(f"a process may have {most} open handles")
    if usual != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(usual, _NEEDED), most))
    with contextlib.ExitStack() as opened:
        for _ in range(_FURTHER):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))


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
