"""A disk that is full or read-only: refused before any effect, nothing acknowledged lost, and it goes on with room."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from callgate import Callgate, Context, Refused, tool
from callgate.errors import StoreError
from tests.crash.journal import read_journals
from tests.crash.processes import Process
from tests.crash.promises import broken_promises, gather
from tests.crash.waiting import WITHIN, until
from tests.crash.worker import Order, Worker
from tests.crash.workload import FREE, TOOLS, effects_in, log_effects_to, tool_of

pytestmark = [pytest.mark.crash, pytest.mark.slow]

AT_ONCE = 16


@tool(effects="read_only")
async def look(n: int) -> int:
    """Read something."""
    return n


@asynccontextmanager
async def worker_on(folder: Path, log: Path) -> AsyncGenerator[Worker]:
    """A worker whose store is on one file system and whose effects are counted on another."""
    log_effects_to(log / "effects")
    url = f"sqlite:///{folder / 'callgate.db'}"
    gate = Callgate.open(url, FREE)
    gate.add(*TOOLS, look)
    async with gate:
        yield Worker(Order(url=url, folder=log, name="here", seed=0), gate)


async def fill_up(worker: Worker) -> list[int]:
    """Call until the store has no room; the numbers that were refused."""
    for first in itertools.count(0, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        outcomes = await asyncio.gather(*(worker.call(number) for number in numbers))
        refused = [n for n, outcome in zip(numbers, outcomes, strict=True) if lacks_room(outcome)]
        if refused:
            return refused
    raise AssertionError


def lacks_room(outcome: object) -> bool:
    return isinstance(outcome, Refused) and outcome.error is not None and outcome.error.code == "store_unavailable"


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


async def assert_promises(gate: Callgate, log: Path, *, unrecorded: bool = False) -> None:
    evidence = await gather(gate, read_journals(log), effects_in(log / "effects"))
    evidence.unrecorded = unrecorded
    assert broken_promises(evidence) == []
    assert (await gate.verify_audit()).problems == ()


@pytest.mark.requirement("EVT-08", "EVT-09")
async def test_a_full_disk_refuses_before_any_effect_and_goes_on_when_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    async with worker_on(small_disk, tmp_path) as worker:
        refused = await fill_up(worker)
        effects = effects_in(tmp_path / "effects")
        assert [number for number in refused if number in effects] == []
        remount(small_disk, "size=64m")
        await until(lambda: has_room(worker, refused[0]))
        for number in range(refused[-1] + 1):
            await worker.ask_again(number)
        await until(lambda: nothing_runs(worker.gate))
        await assert_promises(worker.gate, tmp_path)
    async with worker_on(small_disk, tmp_path) as worker:
        await assert_promises(worker.gate, tmp_path)


async def has_room(worker: Worker, number: int) -> bool:
    return not lacks_room(await worker.call(number))


async def nothing_runs(gate: Callgate) -> bool:
    """Whether what could not be recorded at once has been by now."""
    attempted = {event.call async for event in gate.events(types=["tool_call.attempted"])}
    closing = ["tool_call.succeeded", "tool_call.failed", "tool_call.timed_out", "tool_call.unknown"]
    return attempted == {event.call async for event in gate.events(types=closing)}


async def test_on_a_full_disk_no_kind_of_call_raises_and_whoever_is_refused_did_nothing(
    small_disk: Path, tmp_path: Path
) -> None:
    async with worker_on(small_disk, tmp_path) as worker:
        await fill_up(worker)
        fill_the_last_page(small_disk)
        refused: Counter[str] = Counter()
        for number in range(1_000_000, 1_000_000 + 10 * AT_ONCE):
            # The log may find room in itself now and then, so that some go through.
            if lacks_room(await worker.call(number)):
                refused[tool_of(number)] += 1
                assert number not in effects_in(tmp_path / "effects")
            await worker.gate.call("look", {"n": number}, Context())
        assert refused >= Counter(["pay", "pay_asked", "pay_on_a_thread", "put"])
        remount(small_disk, "size=64m")
        await until(lambda: has_room(worker, 0))
        await until(lambda: nothing_runs(worker.gate))
        await assert_promises(worker.gate, tmp_path)


def fill_the_last_page(folder: Path) -> None:
    """Leave no byte, wherever the store might still have found one."""
    file = os.open(folder / "rest", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(file, b"-" * 4096):
            pass
    except OSError:
        os.close(file)


async def test_a_process_killed_on_a_full_disk_has_lost_nothing_it_acknowledged(
    small_disk: Path, tmp_path: Path
) -> None:
    url = f"sqlite:///{small_disk / 'callgate.db'}"
    with Process("fill_up", url=url, folder=tmp_path) as process:
        assert process.hear() == "full"
        process.signal(signal.SIGKILL)
    remount(small_disk, "size=64m")
    async with worker_on(small_disk, tmp_path) as worker:
        for number in sorted(read_journals(tmp_path).asked):
            await worker.ask_again(number)
        await assert_promises(worker.gate, tmp_path, unrecorded=True)


async def test_a_disk_that_is_full_already_is_a_clear_error_at_opening(small_disk: Path, tmp_path: Path) -> None:
    fill_the_last_page(small_disk)
    with pytest.raises(StoreError, match=r"callgate\.db.*(full|[Nn]o space)"):
        async with worker_on(small_disk, tmp_path):
            pass
    (small_disk / "rest").unlink()
    async with worker_on(small_disk, tmp_path) as worker:
        assert (await worker.call(0)).ok


async def test_a_read_only_store_is_a_clear_error_at_opening_and_works_once_it_is_not(
    small_disk: Path, tmp_path: Path
) -> None:
    async with worker_on(small_disk, tmp_path) as worker:
        assert (await worker.call(0)).ok
    remount(small_disk, "ro")
    with pytest.raises(StoreError, match=r"callgate\.db.*([Rr]ead-only|written)"):
        async with worker_on(small_disk, tmp_path):
            pass
    remount(small_disk, "rw")
    async with asyncio.timeout(WITHIN), worker_on(small_disk, tmp_path) as worker:
        assert (await worker.call(0)).deduped
        await assert_promises(worker.gate, tmp_path)
