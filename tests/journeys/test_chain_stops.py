"""Where a chain stops, what it says then, and how it goes on without running anything twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callgate import Context, Pending, Succeeded, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from tests.journeys.chained import recorded, shelf, statuses
from tests.journeys.faulty import make_faulty
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)


@pytest.mark.requirement("CHN-15")
async def test_a_failure_stops_later_waves_and_a_text_that_looks_like_one_does_not():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain("a = put('x'); b = g(a); breaks(); c = g(b); put('y')")
        assert statuses(chain) == ["succeeded", "succeeded", "failed", "waiting", "waiting"]
        assert (chain.status, chain.waiting, chain.value) == ("failed", [3, 4], None)
        assert chain.error is not None
        assert chain.error.startswith("call 3 (breaks, line 1): [ERROR]")
        assert chain.values == {"a": "[ERROR: not really] x", "b": "[ERROR: not really] x"}
        (ended,) = await recorded(gate, "chain.ended")
        assert (ended["status"], ended["waiting"], ended["success"]) == ("failed", [3, 4], False)
    assert done == ["put x", "g [ERROR: not really] x", "breaks"]


async def test_the_others_of_a_wave_end_though_one_of_them_fails():
    done, tools = shelf()
    left = asyncio.Event()

    @tool(effects="read_only")
    async def fails() -> str:
        """Fail at once."""
        left.set()
        raise ValueError("broken")

    @tool(effects="read_only")
    async def slow() -> str:
        """End after the other failed."""
        await left.wait()
        done.append("slow")
        return "slow"

    async with asyncio.timeout(30), gate_of(*tools, fails, slow) as gate:
        chain = await gate.chain("a = fails(); b = slow(); c = g(b)")
        assert statuses(chain) == ["failed", "succeeded", "waiting"]
    assert done == ["slow"]


async def test_a_chain_stops_where_a_person_is_asked_and_goes_on_under_its_key():
    done, tools = shelf()
    text = "a = f(x=1); put(text='before'); p = pay(a.x); put('after'); b = g(p)"
    context = Context(idempotency_key="order 7")
    async with gate_of(*tools) as gate:
        chain = await gate.chain(text, context)
        assert statuses(chain) == ["succeeded", "succeeded", "pending", "waiting", "waiting"]
        assert (chain.status, chain.key, chain.chain_id) == ("pending", "order 7", "order 7")
        (approval_id,) = chain.pending
        assert "put (line 1) not made" in chain.to_human()
        again = await gate.chain(text, context)
        assert (statuses(again), again.pending) == (statuses(chain), [approval_id])
        assert done == ["f 1", "put before"]
        await gate.approve(approval_id, by="ann")
        last = await gate.chain(text, context)
        assert last.ok
        assert [step.outcome.deduped for step in last.steps if step.outcome] == [True, True, False, False, False]
        assert last.values["b"] == 1
        replay = await gate.chain(text, context)
        assert replay.ok
        assert replay.values == last.values
        assert (await gate.verify_audit()).ok
    assert done == ["f 1", "put before", "pay 1", "put after", "g 1"]


async def test_a_chain_without_a_key_can_be_gone_on_with_under_the_key_it_got():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        first = await gate.chain("put('x'); pay(3)")
        await gate.approve(first.pending[0], by="ann")
        second = await gate.chain("put('x'); pay(3)", Context(idempotency_key=first.key))
        assert (second.ok, second.chain_id) == (True, first.chain_id)
        third = await gate.chain("put('x')")
        assert third.ok
        assert third.chain_id != first.chain_id
    assert done == ["put x", "pay 3", "put x"]


async def test_a_chain_can_wait_for_the_person():
    done, tools = shelf()
    async with asyncio.timeout(30), gate_of(*tools) as gate:
        running = asyncio.ensure_future(gate.chain("a = pay(2); g(a)", wait=25))
        while not done:
            await asyncio.sleep(0)
            for question in await gate.approvals():
                await gate.approve(question.id, by="ann")
        assert (await running).ok
    assert done == ["pay 2", "g 2"]


async def test_a_no_stops_the_chain_and_another_text_under_the_same_key_repeats_nothing():
    done, tools = shelf()
    context = Context(idempotency_key="k")
    async with gate_of(*tools) as gate:
        chain = await gate.chain("put('x'); pay(3); put('y')", context)
        await gate.reject(chain.pending[0], by="ann", why="too dear")
        again = await gate.chain("put('x'); pay(3); put('y')", context)
        assert (again.status, again.waiting) == ("refused", [2])
        assert "too dear" in (again.error or "")
        other = await gate.chain("put('z'); put('y')", context)
        assert (other.status, other.steps) == ("refused", [])
        assert "key k was used for another chain" in (other.error or "")
        (refusal,) = await recorded(gate, "chain.refused")
        assert refusal["code"] == "idempotency_conflict"
    assert done == ["put x"]


def refuse(_arguments: dict[str, Any], _context: Context) -> str:
    return "closed today"


@pytest.mark.parametrize("first", ["pay(3)", "closed()"])
async def test_a_text_whose_first_call_was_not_made_cannot_be_changed_under_its_key(first: str):
    """Places without a row in the ledger are where an effect could be moved to."""
    done: list[str] = []

    @tool(effects="system_state", risk="high", allowed_callers={"chain"}, concurrency_safe=True)
    async def pay(amount: int) -> None:
        """Pay, which a person has to allow."""

    @tool(effects="system_state", allowed_callers={"chain"}, risk="low", concurrency_safe=True, check=refuse)
    async def closed() -> None:
        """Refuse."""

    @tool(effects="system_state", risk="low", allowed_callers={"chain"}, concurrency_safe=True)
    async def put(text: str) -> None:
        """Change something."""
        done.append(f"put {text}")

    context = Context(idempotency_key="k")
    async with gate_of(pay, closed, put) as gate:
        chain = await gate.chain(f"{first}; put('x')", context, parallel_mutations=True)
        assert (chain.ok, done) == (False, ["put x"])
        moved = await gate.chain("put('x')", context, parallel_mutations=True)
        assert (moved.status, done) == ("refused", ["put x"])
        assert "key k was used for another chain" in moved.to_human()
        assert (await gate.chain("put('x')", Context(idempotency_key="k", session="other"))).ok


async def test_a_text_that_cannot_be_bound_to_its_key_is_not_made():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        faulty = make_faulty(gate)
        faulty.broken = True
        chain = await gate.chain("put('x')")
        assert (chain.status, chain.steps, done) == ("refused", [], [])
        assert "the store is unavailable" in (chain.error or "")
        faulty.broken = False
        assert (await gate.chain("put('x')", Context(idempotency_key=chain.key))).ok


async def test_what_a_result_does_not_have_stops_the_chain_there():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain("a = f()\nb = g(a.nosuch)\nput('x')")
        assert statuses(chain) == ["succeeded", "refused", "waiting"]
        assert "line 2, column 7: this object has no 'nosuch'" in (chain.error or "")
        (refusal,) = await recorded(gate, "tool_call.refused")
        assert (refusal["tool"], refusal["chain_index"]) == ("g", 1)
        chain = await gate.chain("a = f(); b = a.nosuch; g(a.items[0])")
        assert chain.ok
        assert "b" not in chain.values
    assert done == ["f 0", "f 0", "g a"]


async def test_whoever_lets_go_of_a_chain_leaves_it_recorded_and_can_go_on_with_it():
    done, tools = shelf()
    entered = asyncio.Event()
    held = asyncio.Event()

    @tool(effects="read_only")
    async def linger(x: int) -> int:
        """Stay until it is let go the first time."""
        done.append(f"linger {x}")
        entered.set()
        if not held.is_set():
            held.set()
            await asyncio.Event().wait()
        return x

    context = Context(idempotency_key="k")
    text = "a = put('one'); b = linger(1); c = g(b); put('two')"
    async with asyncio.timeout(30), gate_of(*tools, linger) as gate:
        running = asyncio.ensure_future(gate.chain(text, context))
        await entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        (ended,) = await recorded(gate, "chain.ended")
        assert (ended["status"], ended["waiting"]) == ("interrupted", [1, 2, 3])
        chain = await gate.chain(text, context)
        assert chain.ok
        assert isinstance(chain.steps[0].outcome, Succeeded)
        assert chain.steps[0].outcome.deduped
        assert (await gate.verify_audit()).ok
    assert done == ["put one", "linger 1", "linger 1", "g 1", "put two"]


async def test_an_effect_of_unknown_outcome_stops_the_chain_until_somebody_knows():
    done, tools = shelf()
    lost = [True]

    @tool(effects="network_access", risk="low", allowed_callers={"chain"})
    async def send(text: str) -> str:
        """Send; the line may die."""
        done.append(f"send {text}")
        if lost.pop() if lost else False:
            raise ConnectionResetError
        return text

    context = Context(idempotency_key="k")
    async with gate_of(*tools, send, config=FREE) as gate:
        chain = await gate.chain("send('x'); put('sent')", context)
        assert (chain.status, chain.waiting) == ("unknown", [1])
        again = await gate.chain("send('x'); put('sent')", context)
        assert (again.status, again.waiting) == ("refused", [1])
        await gate.resolve(chain.steps[0].key, context, happened=True, by="ann", note="it is there")
        last = await gate.chain("send('x'); put('sent')", context)
        assert last.ok
    assert done == ["send x", "put sent"]


async def test_middleware_that_breaks_is_raised_and_the_chain_says_it_was_interrupted():
    done, tools = shelf()

    async def around(call: Any, context: Context, proceed: Any) -> Any:
        if call.tool == "g":
            raise LookupError("broken middleware")
        return await proceed(call, context)

    async with gate_of(*tools, around=[around]) as gate:
        with pytest.raises(LookupError, match="broken middleware"):
            await gate.chain("a = f(); b = g(a); put('x')")
        (ended,) = await recorded(gate, "chain.ended")
        assert ended["status"] == "interrupted"
    assert done == ["f 0"]


async def test_a_call_in_a_chain_that_waits_is_a_question_like_any_other():
    _, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain("pay(7)")
        outcome = chain.outcomes[0]
        assert isinstance(outcome, Pending)
        question = await gate.approval(outcome.approval_id)
        assert "amount: 7" in question.what
        await gate.approve(question.id, by="ann")
        assert (await gate.resume(question.id)).unwrap() == 7
