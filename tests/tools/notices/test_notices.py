"""notify_self and gate.notices(): what an agent leaves for itself, recorded and handed to it once. TOOL-18."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.errors import ConfigurationError
from callgate.model.event import Event
from callgate.model.levels import Category
from callgate.model.notice import Notice
from callgate.runtime.clock import SystemClock
from callgate.secrets.strike import process_striker
from callgate.settings.values import BuiltinToolsSettings
from callgate.stores.memory import MemoryStore
from callgate.stores.sqlite import SqliteStore
from callgate.tools.catalogue import make_builtin
from callgate.tools.notices.notices import Left, Notices
from callgate.tools.services import Services
from tests.contracts.makers import HandClock
from tests.tools.examples import run_examples

MINE = Context(user="ann", session="monday")
LATER = Context(user="ann", session="tuesday")


def gate_with_notices(store: str = "memory://") -> Callgate:
    return Callgate.open(store, builtin_tools=["notices"])


async def notify(gate: Callgate, message: str, context: Context = MINE, **more: Any) -> dict[str, Any]:
    return (await gate.call("notify_self", {"message": message, **more}, context)).unwrap()


async def self_events(gate: Callgate) -> list[Event]:
    return [event async for event in gate.events(types=["agent.self.*"])]


def messages(notices: tuple[Notice, ...]) -> list[str]:
    return [notice.message for notice in notices]


async def test_what_is_said_of_nothing_is_the_default() -> None:
    """TOOL-18: the mappings of TOOLS.md, and one event."""
    async with gate_with_notices() as gate:
        told = await notify(gate, "look at the log")
        [event] = await self_events(gate)
    assert told == {
        "status": "ok",
        "event_id": event.id,
        "category": "context",
        "priority": "normal",
        "deliver_at": "next_turn",
        "inject_at": "turn_start",
        "persist_cross_session": False,
        "persistence_id": None,
        "message": "look at the log",
    }
    assert (event.type, event.severity) == ("agent.self.notify", "info")
    assert event.payload is not None
    assert (event.payload["message"], event.payload["inject_at"]) == ("look at the log", "turn_start")
    assert event.trace == MINE.trace_id


@pytest.mark.parametrize(
    ("priority", "severity"), [("low", "debug"), ("normal", "info"), ("high", "warning"), ("critical", "error")]
)
async def test_the_priority_says_how_loud_the_event_is(priority: str, severity: str) -> None:
    """TOOL-18."""
    async with gate_with_notices() as gate:
        await notify(gate, "x", priority=priority)
        assert [event.severity for event in await self_events(gate)] == [severity]


@pytest.mark.parametrize("category", ["discovery", "warning", "checkpoint", "reminder", "context"])
async def test_a_reminder_is_an_event_of_its_own(category: str) -> None:
    """TOOL-18."""
    async with gate_with_notices() as gate:
        await notify(gate, "x", category=category)
        kind = "agent.self.remind" if category == "reminder" else "agent.self.notify"
        assert [event.type for event in await self_events(gate)] == [kind]


@pytest.mark.parametrize(
    ("deliver_at", "inject_at"),
    [("immediate", "immediate"), ("next_turn", "turn_start"), ("after_tool", "after_tool")],
)
async def test_when_it_is_delivered_says_where_it_is_handed_in(deliver_at: str, inject_at: str) -> None:
    """TOOL-18: next_turn is turn_start, the others are as they are."""
    async with gate_with_notices() as gate:
        assert (await notify(gate, "x", deliver_at=deliver_at))["inject_at"] == inject_at
        for other in {"immediate", "turn_start", "after_tool"} - {inject_at}:
            assert await gate.notices(MINE, at=other) == ()
        [notice] = await gate.notices(MINE, at=inject_at)
        assert notice.inject_at == inject_at
        assert await gate.notices(MINE) == ()


@pytest.mark.parametrize("field", ["priority", "category", "deliver_at"])
async def test_a_word_that_is_none_of_the_known_is_refused_and_not_replaced(field: str) -> None:
    async with gate_with_notices() as gate:
        outcome = await gate.call("notify_self", {"message": "x", field: "whenever"}, MINE)
        assert outcome.status == "refused"
        assert await self_events(gate) == []
        with pytest.raises(ConfigurationError, match="turn_start"):
            await gate.notices(MINE, at="whenever")


async def test_each_is_handed_out_once_oldest_first() -> None:
    async with gate_with_notices() as gate:
        for number in range(3):
            await notify(gate, f"notice {number}", persist_cross_session=number == 1)
        found = await gate.notices(MINE)
        assert messages(found) == ["notice 0", "notice 1", "notice 2"]
        assert found[1].persistence_id == found[1].id
        assert found[0].persistence_id is None
        assert await gate.notices(MINE) == ()


async def test_what_waits_can_be_looked_at_and_goes_on_waiting() -> None:
    odd = Context(principal="a/b %2F", user="ann/../bob", session="any/session")
    alone = Context(principal="cron", session="nightly")
    async with gate_with_notices() as gate:
        for number in range(250):  # more than are read at once
            asker = Context(user=f"user {number}", session="monday")
            await notify(gate, f"notice {number}", asker, persist_cross_session=number % 2 == 0)
        await notify(gate, "odd", odd)
        await notify(gate, "alone", alone)
        found = await gate.waiting_notices()
        assert [each.notice.message for each in found] == [
            *(f"notice {number}" for number in range(250)),
            "odd",
            "alone",
        ]
        assert [(each.principal, each.user) for each in found[-2:]] == [(odd.principal, odd.user), ("cron", None)]
        assert await gate.waiting_notices(principal=odd.principal, session=odd.session) == found[-2:-1]
        assert await gate.waiting_notices(user="user 7") == found[7:8]
        assert await gate.waiting_notices(session="tuesday") == ()
        assert messages(await gate.notices(odd)) == ["odd"]
        assert len(await gate.waiting_notices()) == 251


async def test_one_that_is_not_persisted_is_its_session_s() -> None:
    async with gate_with_notices() as gate:
        await notify(gate, "for monday")
        assert await gate.notices(LATER) == ()
        assert messages(await gate.notices(MINE)) == ["for monday"]


async def test_one_that_is_persisted_reaches_a_later_session_of_the_same_user(tmp_path: Path) -> None:
    """TOOL-18: persist_cross_session stores it and returns an id."""
    store = f"sqlite:///{tmp_path / 'callgate.db'}"
    async with gate_with_notices(store) as gate:
        told = await notify(gate, "for whenever", persist_cross_session=True)
        assert told["persistence_id"]
        await notify(gate, "for monday")
        await notify(gate, "for now", Context(user="ann"))
    async with gate_with_notices(store) as gate:
        assert messages(await gate.notices(Context(user="ann"))) == ["for whenever"]
        assert await gate.notices(LATER) == ()
        assert messages(await gate.notices(MINE)) == ["for monday"]


@pytest.mark.parametrize(
    "other",
    [
        Context(user="bob", session="monday"),
        Context(session="monday"),
        Context(user="ann", principal="other", session="monday"),
        Context(principal="user", user="ann", session="monday"),
    ],
    ids=["user", "nobody", "agent", "names"],
)
async def test_nobody_else_is_handed_them(other: Context) -> None:
    async with gate_with_notices() as gate:
        await notify(gate, "mine")
        await notify(gate, "mine for long", persist_cross_session=True)
        assert await gate.notices(other) == ()
        assert len(await gate.notices(MINE)) == 2


async def test_who_names_no_session_has_one_that_ends_with_the_gate(tmp_path: Path) -> None:
    file = tmp_path / "callgate.db"
    async with gate_with_notices(f"sqlite:///{file}") as gate:
        await notify(gate, "for this process", Context())
        await notify(gate, "for the next", Context(), persist_cross_session=True)
    async with gate_with_notices(f"sqlite:///{file}") as gate:
        assert messages(await gate.notices()) == ["for the next"]
        await notify(gate, "mine", Context())
        assert messages(await gate.notices()) == ["mine"]


async def test_what_waits_for_sessions_that_are_over_is_forgotten(tmp_path: Path) -> None:
    clock = HandClock()
    first, second = (SqliteStore(tmp_path / "callgate.db", clock=clock) for _ in range(2))
    await first.open()
    await Notices(first, clock).leave(Context(), Left(message="of a gate that ended"), call="1")
    await first.close()
    await second.open()
    notices = Notices(second, clock)
    await notices.leave(MINE, Left(message="of a session nobody came back to"), call="2")
    await notices.leave(MINE, Left(message="for later", persist=True), call="3")
    await notices.leave(Context(), Left(message="of this gate"), call="4")
    assert await notices.sweep() == 1
    assert await notices.sweep() == 0
    clock.time += 8 * 86400
    assert await notices.sweep() == 2
    assert messages(await notices.collect(MINE)) == ["for later"]
    await second.close()


async def test_sessions_that_are_over_are_found_among_many() -> None:
    clock = HandClock()
    store = MemoryStore(clock=clock)
    await store.open()
    notices = Notices(store, clock)
    for number in range(450):
        if number == 200:
            clock.time += 8 * 86400
        await notices.leave(replace(MINE, session=f"s{number:03}"), Left(message="x"), call=str(number))
    assert await notices.sweep() == 200
    assert len(await store.read(lambda reader: reader.documents("notices", prefix="session/"))) == 250
    await store.close()


async def stopped_while_asking(gate: Callgate, *, after: int) -> list[str]:
    """Ask, and be cancelled after so many turns of the loop; what was handed over all the same."""
    asking = asyncio.ensure_future(gate.notices(MINE))
    for _ in range(after):
        await asyncio.sleep(0)
    asking.cancel()
    try:
        return messages(await asking)
    except asyncio.CancelledError:
        return []


async def test_who_is_stopped_while_asking_leaves_them_for_the_next(tmp_path: Path) -> None:
    """Each is handed out once, and not lost with whoever asked."""
    async with gate_with_notices(f"sqlite:///{tmp_path / 'callgate.db'}") as gate:
        for number in range(5):
            await notify(gate, f"{number}")
        handed = [await stopped_while_asking(gate, after=turns) for turns in range(6)]
        handed.append(messages(await gate.notices(MINE)))
        assert [some for some in handed if some] == [["0", "1", "2", "3", "4"]]


async def test_one_s_own_are_bounded_and_the_bound_is_told() -> None:
    async with gate_with_notices() as gate:
        for number in range(100):
            await notify(gate, f"{number}")
        outcome = await gate.call("notify_self", {"message": "one more"}, MINE)
        assert outcome.error is not None
        assert outcome.error.category is Category.USER_INPUT
        assert len(await self_events(gate)) == 100
        assert len(await gate.notices(MINE)) == 100
        await notify(gate, "one more")


async def test_a_store_that_fails_is_never_reported_as_ok() -> None:
    """TOOL-18: a failed store is not reported as ok, whether it was to be persisted or not."""
    closed = MemoryStore(clock=SystemClock())
    await closed.open()
    await closed.close()
    services = Services(store=closed, clock=SystemClock())
    for persist in (True, False):
        gate = Callgate.open("memory://")
        gate.add(*make_builtin(["notices"], BuiltinToolsSettings(), services=services))
        async with gate:
            outcome = await gate.call("notify_self", {"message": "x", "persist_cross_session": persist}, MINE)
            assert outcome.status == "failed"
            assert outcome.error is not None
            assert outcome.error.category is Category.RESOURCE
            assert "could not keep it" in outcome.error.message
            assert await self_events(gate) == []


async def test_a_secret_is_struck_from_the_notice_and_from_its_event(tmp_path: Path) -> None:
    value = "walrus-7731-umbrella"
    process_striker().remember(value, connector="mail", key="token")
    file = tmp_path / "callgate.db"
    async with gate_with_notices(f"sqlite:///{file}") as gate:
        await notify(gate, f"use {value} there", persist_cross_session=True)
        [notice] = await gate.notices(MINE)
        await notify(gate, f"keep {value} here", persist_cross_session=True)
    assert value not in notice.message
    assert notice.message.startswith("use ")
    assert b" here" in file.read_bytes()
    assert value.encode() not in file.read_bytes()


async def test_repeated_under_its_key_it_is_left_once() -> None:
    async with gate_with_notices() as gate:
        asker = replace(MINE, idempotency_key="k")
        assert await notify(gate, "once", asker) == await notify(gate, "once", asker)
        assert len(await self_events(gate)) == 1
        assert messages(await gate.notices(MINE)) == ["once"]


def test_blocking_code_is_handed_them_too() -> None:
    with Callgate.open_sync("memory://", builtin_tools=["notices"]) as gate:
        gate.call("notify_self", {"message": "look"}, MINE).unwrap()
        assert [each.notice.message for each in gate.waiting_notices()] == ["look"]
        assert messages(gate.notices(MINE)) == ["look"]
        assert gate.notices(MINE) == ()


async def test_a_gate_without_the_tool_has_no_notices() -> None:
    async with Callgate.open("memory://") as gate:
        assert await gate.notices() == ()


async def test_without_a_gate_it_says_what_it_needs() -> None:
    gate = Callgate.open("memory://")
    gate.add(*make_builtin(["notices"], BuiltinToolsSettings()))
    async with gate:
        outcome = await gate.call("notify_self", {"message": "x"}, MINE)
    assert outcome.error is not None
    assert outcome.error.category is Category.CONFIGURATION


async def test_it_is_an_effect_that_no_flow_has() -> None:
    async with gate_with_notices() as gate:
        previewed = await gate.call("notify_self", {"message": "look"}, Context(autonomy="A0"))  # pyright: ignore[reportArgumentType]
        assert previewed.status == "previewed"
        assert "look" in str(previewed)
        chained = Context(caller="chain")  # pyright: ignore[reportArgumentType]
        assert not (await gate.call("notify_self", {"message": "look"}, chained)).ok
        assert await self_events(gate) == []


COLLECTING = """
import asyncio, json, sys
from callgate import Callgate, Context

async def main():
    async with Callgate.open(sys.argv[1]) as gate:
        print("ready", flush=True)
        sys.stdin.readline()
        found = []
        while not found or found[-1]:
            found.append([each.message for each in await gate.notices(Context(user="ann", session=sys.argv[2]))])
        print(json.dumps([message for some in found for message in some]))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [("monday", "monday"), ("tuesday", "wednesday")], ids=["one-session", "two"])
def test_two_processes_that_ask_at_once_are_handed_each_once(tmp_path: Path, sessions: tuple[str, str]) -> None:
    store = f"sqlite:///{tmp_path / 'callgate.db'}"

    async def leave() -> None:
        async with gate_with_notices(store) as gate:
            for number in range(40):
                await notify(gate, f"{number}", persist_cross_session=True)

    asyncio.run(leave())
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", COLLECTING, store, session], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for session in sessions
    ]
    for process in asking:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in asking:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    handed = [message for process in asking for message in json.loads(process.communicate(timeout=60)[0])]
    assert sorted(handed, key=int) == [str(number) for number in range(40)]


async def test_the_examples_run() -> None:
    async with gate_with_notices() as gate:
        await run_examples(gate, "notify_self")
