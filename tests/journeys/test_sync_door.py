"""The same gate for code that cannot await."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Outcome, Pending, tool
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy
from callgate.runtime.opened import Around, Proceed
from callgate.settings.values import Settings

ROOT = Path(__file__).resolve().parents[2]


@tool(effects="read_only")
def word_count(text: str) -> int:
    """Count the words in a text."""
    return len(text.split())


@tool(effects="network_access", risk="high")
async def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


def test_everything_an_async_gate_does_a_blocking_one_does(tmp_path: Path) -> None:
    with Callgate.open_sync(f"sqlite:///{tmp_path / 'gate.db'}") as gate:
        gate.add(word_count, pay)
        assert gate.call("word_count", {"text": "a b"}).unwrap() == 2
        pending = gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        assert isinstance(pending, Pending)
        gate.approve(pending.approval_id, by="ann")
        assert gate.resume(pending.approval_id).unwrap() == "paid 5"
        assert [outcome.output for outcome in gate.batch([{"name": "word_count", "arguments": {"text": "a"}}])] == [1]
        assert "tool_call.succeeded" in [event.type for event in gate.events(types=["tool_call.*"])]
        assert gate.pool().names == ("pay", "word_count")
        assert gate.verify_audit().ok


def test_threads_may_share_a_blocking_gate() -> None:
    with Callgate.open_sync("memory://") as gate:
        gate.add(word_count)
        results: list[int] = []

        def work() -> None:
            results.extend(gate.call("word_count", {"text": "a b c"}).unwrap() for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert results == [3] * 80


def test_a_closed_or_unopened_gate_says_so() -> None:
    gate = Callgate.open_sync("memory://")
    with pytest.raises(ConfigurationError, match="not open"):
        gate.call("word_count", {"text": "a"})
    with gate:
        pass
    with pytest.raises(ConfigurationError, match="not open"):
        gate.call("word_count", {"text": "a"})
    gate.close()


def test_threads_that_call_while_another_closes_the_gate_get_an_answer_or_an_error() -> None:
    for _ in range(8):  # each time another moment of the closing is met
        gate = Callgate.open_sync("memory://")
        gate.add(word_count)
        gate.__enter__()
        begun, over = threading.Barrier(5), threading.Event()

        def work(gate: Any = gate, begun: threading.Barrier = begun, over: threading.Event = over) -> None:
            begun.wait(30)
            while not over.is_set():
                with contextlib.suppress(Exception):  # that it is closed is said, and that is all
                    gate.call("word_count", {"text": "a"})

        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait(30)
        gate.close()
        over.set()
        for thread in threads:
            thread.join(10)
        assert not [thread for thread in threads if thread.is_alive()]


def started(work: Callable[[], object], wrong: list[BaseException]) -> threading.Thread:
    """A thread that does it, and notes what it raises."""

    def careful() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told at the end
            wrong.append(error)

    thread = threading.Thread(target=careful)
    thread.start()
    return thread


def closing(gate: Callable[[], Any]) -> Around:
    """Middleware after which the gate is closed."""

    async def around(call: Call, context: Context, proceed: Proceed) -> Outcome:
        outcome = await proceed(call, context)
        await asyncio.to_thread(gate().close)
        return outcome

    return around


@pytest.mark.parametrize("inside", ["nothing", "handler", "middleware"])
def test_a_second_thread_that_closes_cuts_nothing_off(tmp_path: Path, inside: str) -> None:
    entered, leave = threading.Event(), threading.Event()
    outcomes: list[Outcome] = []
    wrong: list[BaseException] = []

    @tool(effects="system_state", risk="low")
    async def change() -> str:
        """Change something."""
        entered.set()
        await asyncio.to_thread(leave.wait, 30)
        if inside == "handler":
            await asyncio.to_thread(gate.close)
        return "changed"

    free, around = Settings(autonomy=Autonomy.A4), [closing(lambda: gate)] if inside == "middleware" else []
    gate = Callgate.open_sync(f"sqlite:///{tmp_path / 'gate.db'}", config=free, around=around)
    gate.__enter__()
    gate.add(change)
    threads = [started(lambda: outcomes.append(gate.call("change", {}, Context(idempotency_key="k"))), wrong)]
    assert entered.wait(30)
    threads.append(started(gate.close, wrong))
    with contextlib.suppress(ConfigurationError):  # from now on it says that it closes
        while True:
            gate.outcome("k")
    threads.append(started(gate.close, wrong))
    threads[-1].join(0.2)  # it comes back when the first has closed, and not before
    assert all(thread.is_alive() for thread in threads)
    leave.set()
    for thread in threads:
        thread.join(30)
    assert (wrong, [outcome.status for outcome in outcomes]) == ([], ["succeeded"])
    assert list((tmp_path / "gate.db.owners").iterdir()) == []
    gate.close()


@pytest.mark.parametrize("where", ["sqlite", "memory"])
def test_a_forked_process_is_told_that_the_gate_is_its_parents(where: str, tmp_path: Path) -> None:
    store = "memory://" if where == "memory" else f"sqlite:///{tmp_path / 'gate.db'}"
    command = [sys.executable, "-m", "tests.journeys.forking", store]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    blocking, async_gate, *rest = ended.stdout.splitlines()
    own = "is its parent process's; fork before it is opened, or start the process with spawn"
    assert blocking == f"blocking: RuntimeError: the gate {own}"
    assert async_gate.startswith("async: change refused: ")
    assert async_gate.endswith(f"the store {own}")
    assert rest == ["closed: None", "parent: succeeded"]


def test_a_store_that_cannot_be_opened_leaves_no_thread_behind(tmp_path: Path) -> None:
    broken = tmp_path / "gate.db"
    broken.write_text("this is no database, and long enough to be sure of it" * 20)
    before = set(threading.enumerate())
    with pytest.raises(Exception, match=r"gate\.db"), Callgate.open_sync(f"sqlite:///{broken}"):
        raise AssertionError("it must not open")
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive(), thread.name
    assert broken.read_text().startswith("this is no database")


def test_plans_and_chains_are_made_by_blocking_code_too() -> None:
    @tool(effects="system_state", risk="medium", allowed_callers={"chain", "direct"})
    def ring(bell: str) -> str:
        """Ring a bell."""
        return bell

    with Callgate.open_sync("memory://") as gate:
        gate.add(ring)
        plan = gate.plan([Call("ring", {"bell": "door"})], ask=True)
        assert gate.approval(plan.approval_id).what.startswith("1 call, in this order")
        gate.approve(plan.approval_id, by="ann")
        assert [outcome.unwrap() for outcome in gate.batch(plan)] == ["door"]
        chain = gate.chain("a = ring('gate')")
        assert (chain.status, len(chain.pending)) == ("pending", 1)
