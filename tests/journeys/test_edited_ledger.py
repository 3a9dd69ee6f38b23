"""A row of the ledger that somebody edits without the key is found, whatever it says, and honest rows never are."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from callgate import Call, Callgate, Context, Pending, Unknown, tool
from callgate.model.event import Event


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


@tool(effects="system_state", risk="low")
async def water(plant: str) -> str:
    """Water a plant, or forget whether it was."""
    if plant == "fern":
        raise ConnectionError("the line broke")
    if plant == "cactus":
        raise ValueError("too wet")
    return f"{plant} has 5 drops"


@tool(effects="system_state", risk="medium")
async def repot(plant: str) -> str:
    """Repot a plant."""
    return f"{plant} moved"


def under(key: str) -> Context:
    return Context(idempotency_key=key)


def gate_on(file: Path) -> Callgate:
    gate = Callgate.open(f"sqlite:///{file}", working_directory=file.parent)
    gate.add(water, repot)
    return gate


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        assert db.execute(statement).rowcount == 1, statement


async def problems(gate: Callgate) -> tuple[str, ...]:
    return (await gate.verify_audit()).problems


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("key = 'another'", "stands under another key than the events say: 'k' of agent"),
        ("principal = 'somebody'", "stands under another key than the events say"),
        ("session = 'elsewhere'", "stands under another key than the events say"),
        ("tool = 'repot'", "is of another tool than the events say: water"),
        ("fingerprint = 'f'", "has the fingerprint of another call than the events say"),
        ("final_fingerprint = 'f'", "has the fingerprint of another call than the events say"),
        ("approval_id = 'a'", "names approval a, and the events None"),
        ("state = 'unknown'", "says unknown, and the events say succeeded"),
        ("call_id = 'c'", "no event says that it was attempted"),
        ("tries = 2", "was edited"),
        ("outcome = replace(outcome, '5 drops', '9 drops')", "was edited"),
        ("outcome = NULL", "was edited"),
        ("sealed_id = NULL", "was edited"),
        ("started_at = 1.0", "was edited"),
        ("resolved_by = 'ann'", "was edited"),
        ("idempotent = 1", "was edited"),
        ("happened = 'none'", "was edited"),
        ("state = 'odd'", "the ledger cannot be read (KeyError)"),
    ],
)
async def test_no_field_of_a_row_can_be_edited_unnoticed(file: Path, edit: str, found: str):
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, under("k"))).ok
        assert await problems(gate) == ()
        change(file, f"UPDATE attempts SET {edit}")
        assert any(found in problem for problem in await problems(gate)), await problems(gate)


@pytest.mark.parametrize(
    ("plant", "edit", "found"),
    [
        ("rose", "DELETE FROM attempts", "although its call"),
        ("cactus", "UPDATE attempts SET happened = 'none'", "although its call"),
        ("fern", "DELETE FROM attempts", "counts 1 calls under that key, and the events 2"),
    ],
)
async def test_a_key_that_ran_twice_because_of_an_edit_is_found_although_its_row_is_new(
    file: Path, plant: str, edit: str, found: str
):
    async with gate_on(file) as gate:
        first = await gate.call("water", {"plant": plant}, under("k"))
        change(file, edit)
        again = await gate.call("water", {"plant": plant}, under("k"))
        assert again.call_id != first.call_id
        assert not again.deduped
        assert any(found in problem for problem in await problems(gate))


async def test_an_older_row_that_is_put_back_is_found(file: Path):
    async with gate_on(file) as gate:
        await gate.call("water", {"plant": "fern"}, under("k"))
        await gate.resolve("k", happened=False, by="ann")
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("CREATE TABLE old AS SELECT * FROM attempts")
        await gate.call("water", {"plant": "fern"}, under("k"))
        assert await problems(gate) == ()
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("DELETE FROM attempts")
            db.execute("INSERT INTO attempts SELECT * FROM old")
        assert any("is not of the last call under that key" in problem for problem in await problems(gate))


async def test_a_row_for_a_call_that_took_no_key_is_found(file: Path):
    @tool(effects="read_only")
    async def look() -> str:
        """Look."""
        return "green"

    async with gate_on(file) as gate:
        gate.add(look)
        seen = await gate.call("look")
        await gate.call("water", {"plant": "rose"}, under("k"))
        change(file, f"UPDATE attempts SET call_id = '{seen.call_id}'")
        assert any("of a call that took no key" in problem for problem in await problems(gate))


async def _every_way_to_end(gate: Callgate) -> None:
    host = tool(effects="system_state", risk="low", name="host_edit", source="host")(_host)
    gate.add(host)
    for plant in ("rose", "cactus", "fern"):
        await gate.call("water", {"plant": plant}, under(plant))
    await gate.resolve("fern", happened=True, by="ann", output={"seen": True})
    await gate.call("water", {"plant": "fern"}, under("free"))
    await gate.resolve("free", happened=False, by="ann")
    await gate.call("water", {"plant": "fern"}, under("free"))
    for number, ok in enumerate((True, False)):
        judged = await gate.judge(Call("host_edit", {"number": number}))
        await gate.report(judged.id, ok=ok, output="done")
    asked = await gate.call("repot", {"plant": "rose"})
    assert isinstance(asked, Pending)
    await gate.approve(asked.approval_id, by="ann", arguments={"plant": "lily"})
    assert (await gate.call("repot", {"plant": "rose"})).output == "lily moved"


async def _host(number: int) -> str:
    """Edit a file at the host."""
    return str(number)


async def test_rows_that_nobody_edited_agree_however_their_calls_ended(file: Path):
    async with gate_on(file) as gate:
        await asyncio.wait_for(_every_way_to_end(gate), 30)
        assert await problems(gate) == ()


async def test_a_late_end_agrees_with_its_row_and_is_found_when_edited(file: Path):
    release = threading.Event()

    @tool(effects="system_state", risk="low")
    def prune(plant: str) -> str:
        """Prune a plant, slowly."""
        release.wait(10)
        return f"{plant} pruned"

    async with gate_on(file) as gate:
        gate.add(prune)
        heard: asyncio.Queue[Event] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        assert isinstance(await gate.call("prune", {"plant": "yew"}, under("k"), timeout=0.02), Unknown)
        assert await problems(gate) == ()
        release.set()
        await asyncio.wait_for(heard.get(), 5)
        assert await problems(gate) == ()
        change(file, "UPDATE attempts SET outcome = replace(outcome, 'pruned', 'felled')")
        assert any("was edited" in problem for problem in await problems(gate))
        change(file, "UPDATE attempts SET state = 'unknown'")
        assert any("says unknown, and the events say succeeded" in problem for problem in await problems(gate))
