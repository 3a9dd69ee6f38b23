"""What was erased is not in the store's file any more, whatever SQLite was built to do with room that is free."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, tool

PERSONAL = "Erika Mustermann, born 12.8.1964, Heidestrasse 17"


@pytest.fixture(autouse=True)
def _careless_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect

    def connect(*values: Any, **options: Any) -> sqlite3.Connection:
        made = real(*values, **options)
        made.execute("PRAGMA secure_delete = OFF")  # SQLite's own default; some builds have another
        return made

    monkeypatch.setattr(sqlite3, "connect", connect)


def where_it_is(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.is_file() and PERSONAL.encode() in file.read_bytes()]


async def test_what_was_erased_is_gone_from_the_disk_when_the_store_is_closed(tmp_path: Path):
    @tool(effects="read_only")
    async def look(about: str) -> str:
        """Look."""
        return about[:4]

    async with Callgate.open(f"sqlite:///{tmp_path / 'gate.db'}") as gate:
        gate.add(look)
        for number in range(20):
            assert (await gate.call("look", {"about": f"{PERSONAL} #{number} " + "." * 6000})).ok
        await gate.flush()
    assert where_it_is(tmp_path) == ["gate.db"]
    async with Callgate.open(f"sqlite:///{tmp_path / 'gate.db'}") as gate:
        assert await gate.erase(by="officer", why="she asked for it", types=["tool_call.*"])
        assert (await gate.verify_audit()).ok
    assert where_it_is(tmp_path) == []
