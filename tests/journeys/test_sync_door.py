"""The same gate for code that cannot await."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from callgate import Call, Callgate, Context, Pending, tool
from callgate.errors import ConfigurationError


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
