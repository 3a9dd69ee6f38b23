"""Cancellation storms: whoever lets go, and when, every attempted call is closed once and nothing is left behind."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Outcome, Refused, Succeeded, Unknown, tool
from callgate.testing import memory_gate
from tests.crash.waiting import WITHIN, until
from tests.crash.workload import FREE, HARMLESS, TOOLS, context_of, effects_in, key_of, log_effects_to, tool_of

pytestmark = [pytest.mark.crash, pytest.mark.slow]

CALLS = 2_000
AT_ONCE = 50
PLACES = 1
"""So few threads per tool that calls are cancelled while they wait for one, too."""
CLOSING = frozenset({"tool_call.succeeded", "tool_call.failed", "tool_call.timed_out", "tool_call.unknown"})


async def hasty(gate: Callgate, number: int, dice: random.Random) -> Outcome | None:
    """Call, and let go at a random await point, perhaps more than once; the outcome, or None if the call was let go."""
    task = asyncio.ensure_future(gate.call(tool_of(number), {"n": number}, context_of(number)))
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
        for _ in range(
            int(dice.expovariate(1 / dice.choice((3, 15))))
        ):  # the memory store takes few turns, a file many
            await asyncio.sleep(0)
        task.cancel()
    done, _ = await asyncio.wait({task}, timeout=WITHIN)
    assert done, f"call {number} does not end"
    return None if task.cancelled() else task.result()


async def storm(gate: Callgate, dice: random.Random) -> Counter[str]:
    seen: Counter[str] = Counter()
    for first in range(0, CALLS, AT_ONCE):
        numbers = [number for number in range(first, first + AT_ONCE) if tool_of(number) != "pay_asked"]
        told = await asyncio.gather(*(hasty(gate, number, random.Random(dice.random())) for number in numbers))
        seen.update("let go" if outcome is None else outcome.status for outcome in told)
    return seen


async def closings(gate: Callgate) -> dict[str, list[str]]:
    """The closing events of every attempted call."""
    found: dict[str, list[str]] = {}
    async for event in gate.events(types=["tool_call.*"]):
        call = event.call or ""
        if event.type == "tool_call.attempted":
            found[call] = []
        elif event.type in CLOSING:
            found[call].append(event.type)
    return found


async def quiet(gate: Callgate) -> None:
    """Wait until handlers on threads that outlived their calls have ended and said so: those numbers succeed late."""
    late = [key_of(number) for number in range(CALLS) if tool_of(number) == "pay_late"]

    async def settled() -> bool:
        return not any([isinstance(await gate.outcome(key), Unknown) for key in late])

    await until(settled)


@pytest.mark.requirement("EVT-10", "IDM-10")
@pytest.mark.parametrize("where", ["memory", "file"])
async def test_a_storm_of_cancellations_leaves_every_attempt_closed_once(
    where: str, url: str, tmp_path: Path, seed: int
) -> None:
    log_effects_to(tmp_path / "effects")
    before = asyncio.all_tasks()
    gate: Any = Callgate.open("memory://" if where == "memory" else url, replace(FREE, threads_per_connector=PLACES))
    gate.add(*TOOLS)
    async with gate:
        at_rest = asyncio.all_tasks()
        seen = await storm(gate, random.Random(seed))
        print(dict(seen))  # noqa: T201 - shown by pytest when the test fails
        await quiet(gate)
        assert seen["let go"] > CALLS / 4
        assert set(map(len, (await closings(gate)).values())) == {1}
        await nothing_is_contradicted(gate, effects_in(tmp_path / "effects"))
        await no_place_is_lost(gate)
        assert (await gate.verify_audit()).ok
        assert asyncio.all_tasks() <= at_rest
    assert asyncio.all_tasks() <= before


async def nothing_is_contradicted(gate: Callgate, effects: dict[int, list[str]]) -> None:
    for number in range(CALLS):
        outcome = await gate.outcome(key_of(number))
        happened = effects.get(number, [])
        assert len(happened) <= 1 or tool_of(number) == "put"
        assert not isinstance(outcome, Refused), f"{tool_of(number)} {number} is left running"
        if tool_of(number) in HARMLESS:
            assert outcome is None or outcome.status == "unknown"
        if happened:
            assert outcome is not None, f"{tool_of(number)} {number} took effect and reads free"
        if outcome is not None and outcome.ok:
            assert outcome.output.get("token", happened[0]) == happened[0]


async def no_place_is_lost(gate: Callgate) -> None:
    """As many calls as there are threads can still run at the same moment."""
    for name in ("pay_on_a_thread", "pay_marked_on_a_thread"):
        calls = [gate.call(name, {"n": -1 - n}, Context(), timeout=WITHIN) for n in range(2 * PLACES)]
        outcomes = await asyncio.gather(*calls)
        assert [outcome.status for outcome in outcomes] == ["succeeded"] * len(calls)


class Stubborn:
    """A tool that does not stop when it is told to, and comes through when it is released."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.told = asyncio.Event()
        self.release = asyncio.Event()

    def tool(self) -> Any:
        @tool(effects="network_access", risk="medium")
        async def insist() -> str:
            """Do it, whatever anybody says."""
            self.entered.set()
            while not self.release.is_set():
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.told.set()
            return "done"

        return insist


async def succeeded(gate: Callgate) -> bool:
    return isinstance(await gate.outcome("k"), Succeeded)


async def ended(task: asyncio.Task[Any]) -> bool:
    done, _ = await asyncio.wait({task}, timeout=WITHIN)
    return bool(done)


async def test_a_caller_cancelled_while_a_late_handler_stops_is_told_so() -> None:
    stubborn = Stubborn()
    async with memory_gate(stubborn.tool(), config=FREE) as gate:
        task = asyncio.ensure_future(gate.call("insist", {}, Context(idempotency_key="k"), timeout=0.01))
        async with asyncio.timeout(WITHIN):
            await stubborn.told.wait()
        task.cancel()
        await asyncio.sleep(0)
        stubborn.release.set()
        assert await ended(task)
        assert task.cancelled()
        outcome = await gate.outcome("k")
        assert outcome is not None
        assert outcome.output == "done"


async def test_a_caller_cancelled_three_times_still_leaves_a_handler_that_is_settled_late() -> None:
    stubborn = Stubborn()
    async with memory_gate(stubborn.tool(), config=FREE) as gate:
        task = asyncio.ensure_future(gate.call("insist", {}, Context(idempotency_key="k")))
        async with asyncio.timeout(WITHIN):
            await stubborn.entered.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert await ended(task)
        assert task.cancelled()
        stubborn.release.set()
        assert isinstance(await gate.outcome("k"), Unknown)
        await until(partial(succeeded, gate))
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.unknown", "tool_call.settled_late"]
