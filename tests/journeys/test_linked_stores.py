"""A store that is opened by a symbolic link is the same store: its owners live, and its files are out of reach."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callgate import Callgate, Context, Refused, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings

KEY = Context(idempotency_key="k")


@pytest.fixture
def link(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "link.db").symlink_to(tmp_path / "gate.db")
    return folder / "link.db"


@pytest.mark.parametrize("idempotent", [False, True])
async def test_who_comes_by_the_link_takes_nobody_for_gone(tmp_path: Path, link: Path, idempotent: bool):
    entered, go_on, witness = asyncio.Event(), asyncio.Event(), tmp_path / "witness"

    @tool(effects="network_access", risk="low", idempotent=idempotent)
    async def put() -> str:
        """Put it there, slowly."""
        with witness.open("a") as file:
            file.write("begun\n")
        entered.set()
        await go_on.wait()
        with witness.open("a") as file:
            file.write("ended\n")
        return "there"

    free = Settings(autonomy=Autonomy.A4)
    async with Callgate.open(f"sqlite:///{tmp_path / 'gate.db'}", free) as one:
        one.add(put)
        running = asyncio.ensure_future(one.call("put", {}, KEY))
        await asyncio.wait_for(entered.wait(), 10)
        async with Callgate.open(f"sqlite:///{link}", free) as other:
            other.add(put)
            told = await other.outcome("k")
            assert isinstance(told, Refused)
            assert told.error is not None
            assert told.error.code == "in_flight"
            again = asyncio.ensure_future(other.call("put", {}, KEY))
            go_on.set()
            assert (await asyncio.wait_for(running, 10)).ok
            assert (await asyncio.wait_for(again, 10)).deduped
    assert witness.read_text() == "begun\nended\n"


@pytest.mark.parametrize("name", ["gate.db", "gate.db-wal", "gate.db-shm", "gate.db.owners/x"])
async def test_no_tool_reads_what_lies_beside_the_file_that_the_link_leads_to(tmp_path: Path, link: Path, name: str):
    gate = Callgate.open(f"sqlite:///{link}", builtin_tools=["files"], working_directory=tmp_path)
    async with gate:
        (tmp_path / "plain.txt").write_text("x")
        assert (await gate.call("read_file", {"path": "plain.txt"})).ok
        outcome = await gate.call("read_file", {"path": name})
        assert isinstance(outcome, Refused), outcome
        assert outcome.error is not None
        assert outcome.error.code == "policy_denied"
