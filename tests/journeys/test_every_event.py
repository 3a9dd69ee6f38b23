"""What holds for every event there is: told over one long story, on every store."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import FrozenInstanceError
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Previewed, Refused, Unknown, tool
from callgate.model.event import Event
from callgate.model.levels import Autonomy
from tests.journeys.gates import gate_of, noted

pytestmark = pytest.mark.usefixtures("on_each_store")

_notes = {"plan.md": "first"}


def _seen(arguments: dict[str, Any], output: str) -> dict[str, str]:
    return {arguments["path"]: output}


@tool(effects="read_only", reads=_seen)
async def read(path: str) -> str:
    """Read a note."""
    return _notes[path]


@tool(effects="network_access", risk="medium")
async def send(text: str) -> str:
    """Send a text; the line may die."""
    if text.startswith("lost"):
        raise ConnectionResetError
    return "sent"


@tool(effects="read_only")
async def linger() -> str:
    """Never come back."""
    await asyncio.Event().wait()
    return "never"


async def _reads_and_effects(gate: Callgate) -> None:
    free = Context(autonomy=Autonomy.A4)
    for text in ("first", "second"):
        _notes["plan.md"] = text
        await gate.call("read", {"path": "plan.md"})
        await noted(gate, "plan.md", text=text)
    await gate.call("read", {"path": "nosuch.md"})
    await gate.call("linger", {}, timeout=0.02)
    key = free.narrow(idempotency_key="k")
    await gate.call("send", {"text": "x"}, key)
    await gate.call("send", {"text": "x"}, key)
    for number in range(5):
        lost = await gate.call("send", {"text": f"lost {number}"}, free.narrow(idempotency_key=f"lost {number}"))
        assert isinstance(lost, Unknown)
    await gate.resolve("lost 0", free, happened=False, by="ann", note="looked")
    await gate.chain("read('nosuch.md'); linger_no_more()")
    await gate.chain("read('nosuch.md')")


async def _refusals(gate: Callgate) -> None:
    await gate.call("nosuch", {})
    await gate.call("read", {})
    await gate.call("read", {"path": "plan.md"}, Context(role="nobody"))
    suggesting = Context(autonomy=Autonomy.A0)
    assert isinstance(await gate.call("add_up", {"numbers": [100]}, suggesting), Previewed)
    repeated = await gate.call("add_up", {"numbers": [0]}, suggesting)
    assert isinstance(repeated, Refused)


async def _questions(gate: Callgate) -> None:
    asked = [await gate.call("add_up", {"numbers": [number]}) for number in range(4)]
    approved, edited, rejected, answered = (one.approval_id for one in asked if isinstance(one, Pending))
    await gate.approve(approved, by="ann")
    await gate.approve(edited, by="ann", arguments={"numbers": [9]})
    await gate.reject(rejected, by="ann", why="no")
    await gate.respond(answered, by="ann", text="later")
    for approval_id in (approved, edited, rejected, answered):
        await gate.resume(approval_id)
    grant = await gate.grant("add_up", by="ann", principal="agent")
    await gate.revoke(grant.id, by="ann")


async def _recorded(gate: Callgate) -> list[Event]:
    return [event async for event in gate.events()]


_TOLD = {
    *("stream.opened", "audit.checkpoint", "audit.erased", "tool.registered", "tool.removed", "health.changed"),
    *(f"tool_call.{end}" for end in ("attempted", "succeeded", "failed", "timed_out", "unknown", "resolved")),
    *("tool_call.deduped", "tool_call.refused", "gate.required", "gate.previewed", "gate.denied", "source.stale"),
    *(f"approval.{step}" for step in ("approved", "edited", "rejected", "answered", "used")),
    *("grant.created", "grant.revoked", "chain.started", "chain.ended", "chain.refused"),
}


@pytest.mark.requirement("EVT-11")
async def test_every_event_has_a_trace_and_stays_as_it_was_recorded(on_each_store: str) -> None:
    @tool(effects="system_state", risk="high")
    async def add_up(numbers: list[int]) -> int:
        """Add numbers up."""
        return sum(numbers)

    _notes["plan.md"] = "first"
    async with gate_of(read, send, linger) as gate:
        gate.add(add_up)
        await _reads_and_effects(gate)
        before = await _recorded(gate)
        await _questions(gate)
        await _refusals(gate)
        gate.remove("linger")
        await gate.erase(by="ann", why="asked to", types=("tool_call.deduped",))
        after = await _recorded(gate)
        assert {event.type for event in after} >= _TOLD
        assert [event.id for event in after if not event.trace.strip()] == []
        assert [_kept(event) for event in after[: len(before)]] == [_kept(event) for event in before]
        with pytest.raises(FrozenInstanceError):
            after[0].trace = ""  # pyright: ignore[reportAttributeAccessIssue]
        if on_each_store.startswith("sqlite"):
            _try_to_rewrite(Path(on_each_store.removeprefix("sqlite:///")), after)
            assert await _recorded(gate) == after
        assert (await gate.verify_audit()).ok


def _kept(event: Event) -> tuple[Any, ...]:
    """All of an event but the payload, which may be erased, and is then under its digest no more."""
    return event.envelope(), event.hash, event.position


def _try_to_rewrite(path: Path, events: list[Event]) -> None:
    columns = ("id", "type", "time", "trace", "call", "hash", "previous", "payload")
    statements = [f"UPDATE events SET {column} = 'forged' WHERE id = ?" for column in columns]
    with closing(sqlite3.connect(path, timeout=10)) as db:
        for event, statement in product(events, [*statements, "DELETE FROM events WHERE id = ?"]):
            with pytest.raises(sqlite3.IntegrityError, match="event"):
                db.execute(statement, (event.id,))
            db.rollback()
