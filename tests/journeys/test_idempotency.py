"""One key, one effect: recall, conflicts, twins, unknown outcomes and how they come to be known."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Context, Failed, NoEffect, Pending, Previewed, Refused, Succeeded, ToolContext, Unknown, tool
from callgate.errors import OutcomeConflict, OutcomeNotFound, OutcomeUnknown, ToolOutcomeUnknown
from callgate.model.event import Event
from callgate.model.levels import Autonomy, Category
from callgate.settings.values import Settings
from callgate.testing import HandClock
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")

FREE = Settings(autonomy=Autonomy.A4)
"""Nobody is asked: these stories are about keys, not about people."""


def key(name: str = "k", **more: Any) -> Context:
    return Context(idempotency_key=name, **more)


def code(outcome: Any) -> str:
    assert outcome.error is not None
    return outcome.error.code


def counter(**declaration: Any) -> tuple[list[int], Any]:
    done: list[int] = []

    @tool(effects="network_access", risk="medium", **declaration)
    async def charge(amount: int) -> dict[str, int]:
        """Charge somebody."""
        done.append(amount)
        return {"charged": amount, "number": len(done)}

    return done, charge


@pytest.mark.requirement("IDM-01")
async def test_two_calls_with_one_key_execute_once_and_answer_alike() -> None:
    done, charge = counter()
    async with gate_of(charge, config=FREE) as gate:
        first = await gate.call("charge", {"amount": 5}, key())
        second = await gate.call("charge", {"amount": 5}, key())
        assert first.output == second.output == {"charged": 5, "number": 1}
        assert (first.deduped, second.deduped) == (False, True)
        types = [event.type async for event in gate.events(types=["tool_call.*"], call_id=second.call_id)]
        assert types == ["tool_call.deduped"]
    assert done == [5]


async def test_a_replay_is_recorded_with_who_asked() -> None:
    _, charge = counter()
    async with gate_of(charge, config=FREE) as gate:
        first = await gate.call("charge", {"amount": 5}, key(user="ann"))
        again = await gate.call("charge", {"amount": 5}, key(user="ann"))
        (event,) = [event async for event in gate.events(types=["tool_call.deduped"])]
        assert event.payload == {
            "tool": "charge",
            "key": "k",
            "original_call": first.call_id,
            "role": "default",
            "principal": "agent",
            "session": "default",
            "caller": "direct",
            "user": "ann",
        }
        (entry,) = await gate.calls(principal="agent", status="deduped")
        assert (entry["call"], entry["user"]) == (again.call_id, "ann")


async def test_a_replay_tells_what_was_recorded_whatever_became_of_the_first_answer() -> None:
    @tool(effects="network_access", risk="medium")
    async def reserve(name: str) -> dict[str, Any]:
        """Reserve a seat."""
        return {"seats": [name]}

    async with gate_of(reserve, config=FREE) as gate:
        first = await gate.call("reserve", {"name": "ada"}, key())
        first.output["seats"].append("eve")
        second = await gate.call("reserve", {"name": "ada"}, key())
        second.output["seats"].append("mallory")
        assert (await gate.call("reserve", {"name": "ada"}, key())).output == {"seats": ["ada"]}


@pytest.mark.requirement("EVT-16")
async def test_a_replay_of_what_json_cannot_hold_tells_it_as_far_as_it_goes() -> None:
    @tool(effects="network_access", risk="medium")
    async def reserve(name: str) -> dict[str, Any]:
        """Reserve a seat."""
        return {"seat": 3, "handle": {1, 2}, "name": f"{name}\ud800", "ratio": float("nan")}

    async with gate_of(reserve, config=FREE) as gate:
        assert (await gate.call("reserve", {"name": "ada"}, key())).ok
        told = (await gate.call("reserve", {"name": "ada"}, key())).output
        assert told == {"seat": 3, "handle": [1, 2], "name": "ada\\ud800", "ratio": "nan"}


async def test_a_replay_is_answered_at_any_autonomy() -> None:
    done, charge = counter()
    async with gate_of(charge, config=FREE) as gate:
        await gate.call("charge", {"amount": 5}, key())
        assert (await gate.call("charge", {"amount": 5}, key(autonomy=Autonomy.A0))).ok
    assert done == [5]


@pytest.mark.requirement("IDM-02")
async def test_a_failure_without_effect_frees_the_key() -> None:
    tries: list[int] = []

    @tool(effects="network_access", risk="medium")
    async def charge(amount: int) -> str:
        """Charge somebody."""
        tries.append(amount)
        if len(tries) == 1:
            raise NoEffect("the line was busy")
        return "charged"

    async with gate_of(charge, config=FREE) as gate:
        assert isinstance(await gate.call("charge", {"amount": 5}, key()), Failed)
        assert await gate.outcome("k") is None
        assert (await gate.call("charge", {"amount": 5}, key())).ok


async def test_a_failure_before_the_mark_left_nothing_behind_and_after_it_may_have() -> None:
    stage = {"fail": "before"}

    @tool(effects="network_access", risk="medium", marks_effect=True)
    async def charge(amount: int, ctx: ToolContext) -> str:
        """Charge somebody."""
        if stage["fail"] == "before":
            raise RuntimeError("no connection yet")
        async with ctx.effect():
            raise RuntimeError("halfway")

    async with gate_of(charge, config=FREE) as gate:
        before = await gate.call("charge", {"amount": 5}, key("a"))
        assert isinstance(before, Failed)
        assert before.happened.value == "none"
        stage["fail"] = "after"
        after = await gate.call("charge", {"amount": 5}, key("a"))
        assert isinstance(after, Failed)
        assert after.happened.value == "possible"
        again = await gate.call("charge", {"amount": 5}, key("a"))
        assert again.deduped


@pytest.mark.requirement("IDM-03")
async def test_a_transport_failure_is_unknown_and_never_failed() -> None:
    @tool(effects="network_access", risk="medium")
    async def charge(amount: int) -> str:
        """Charge somebody."""
        raise ConnectionResetError("reset by peer")

    async with gate_of(charge, config=FREE) as gate:
        outcome = await gate.call("charge", {"amount": 5}, key())
        assert isinstance(outcome, Unknown)
        with pytest.raises(ToolOutcomeUnknown):
            outcome.unwrap()
        types = [event.type async for event in gate.events(types=["tool_call.*"], call_id=outcome.call_id)]
        assert types == ["tool_call.attempted", "tool_call.unknown"]
        recorded = await gate.outcome("k")
        assert isinstance(recorded, Unknown)


@pytest.mark.requirement("IDM-04")
async def test_unknown_is_not_run_again_by_itself_and_a_person_can_resolve_it() -> None:
    tries: list[int] = []

    @tool(effects="network_access", risk="medium")
    async def charge(amount: int) -> str:
        """Charge somebody."""
        tries.append(amount)
        if len(tries) == 1:
            raise ConnectionResetError
        return "charged"

    async with gate_of(charge, config=FREE) as gate:
        await gate.call("charge", {"amount": 5}, key())
        blocked = await gate.call("charge", {"amount": 5}, key())
        assert code(blocked) == "outcome_unknown"
        with pytest.raises(OutcomeUnknown):
            blocked.unwrap()
        assert [row.key.key for row in await gate.unknown_outcomes()] == ["k"]
        with pytest.raises(OutcomeConflict, match="takes a person"):
            await gate.resolve("k", happened=False, by="agent")
        await gate.resolve("k", happened=False, by="ann", note="looked at the account")
        assert (await gate.call("charge", {"amount": 5}, key())).ok
        resolved = [event async for event in gate.events(types=["tool_call.resolved"])]
        assert resolved[0].payload is not None
        assert resolved[0].payload["by"] == "ann"
    assert tries == [5, 5]


async def test_an_idempotent_tool_goes_on_after_unknown_with_the_same_downstream_key() -> None:
    seen: list[str | None] = []

    @tool(effects="network_access", risk="medium", idempotent=True)
    async def put(amount: int, ctx: ToolContext) -> str:
        """Set an amount."""
        seen.append(ctx.key)
        if len(seen) < 4:
            raise ConnectionResetError
        return "set"

    async with gate_of(put, config=FREE) as gate:
        assert isinstance(await gate.call("put", {"amount": 5}, key()), Unknown)
        assert (await gate.call("put", {"amount": 5}, key())).ok
    assert set(seen) == {"k"}


@pytest.mark.requirement("IDM-05")
async def test_one_key_for_another_call_is_a_conflict_and_not_its_result() -> None:
    done, charge = counter()
    async with gate_of(charge, config=FREE) as gate:
        await gate.call("charge", {"amount": 5}, key())
        assert code(await gate.call("charge", {"amount": 6}, key())) == "idempotency_conflict"
        other = await gate.call("charge", {"amount": 6}, key(session="other"))
        assert other.ok
    assert done == [5, 6]


@pytest.mark.requirement("IDM-06")
async def test_twins_execute_once_and_both_get_the_result() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()
    count: list[int] = []

    @tool(effects="network_access", risk="medium", concurrency_safe=True)
    async def charge(amount: int) -> int:
        """Charge somebody."""
        count.append(amount)
        entered.set()
        await leave.wait()
        return len(count)

    async with gate_of(charge, config=FREE) as gate:
        calls = [asyncio.create_task(gate.call("charge", {"amount": 5}, key())) for _ in range(5)]
        await asyncio.wait_for(entered.wait(), 5)
        leave.set()
        outcomes = await asyncio.wait_for(asyncio.gather(*calls), 10)
        assert [outcome.output for outcome in outcomes] == [1] * 5
        assert sum(outcome.deduped for outcome in outcomes) == 4
    assert count == [5]


async def test_a_twin_that_does_not_end_in_time_is_in_flight() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    @tool(effects="network_access", risk="medium", concurrency_safe=True)
    async def charge(amount: int) -> str:
        """Charge somebody."""
        entered.set()
        await leave.wait()
        return "charged"

    async with gate_of(charge, config=FREE) as gate:
        first = asyncio.create_task(gate.call("charge", {"amount": 5}, key()))
        await asyncio.wait_for(entered.wait(), 5)
        late = await gate.call("charge", {"amount": 5}, key(), timeout=0.01)
        assert code(late) == "in_flight"
        running = await gate.outcome("k")
        assert isinstance(running, Refused)
        assert code(running) == "in_flight"
        assert running.error == late.error, "asked or called, a key that runs is told alike"
        assert running.error is not None
        assert running.error.retryable
        assert running.error.category is Category.RESOURCE
        leave.set()
        assert (await first).ok


@pytest.mark.requirement("IDM-08")
async def test_what_did_not_run_does_not_use_the_key() -> None:
    done, charge = counter()
    async with gate_of(charge) as gate:
        assert isinstance(await gate.call("charge", {"amount": 5}, key(autonomy=Autonomy.A0)), Previewed)
        assert code(await gate.call("charge", {"amount": "five"}, key())) == "invalid_arguments"
        assert code(await gate.call("charge", {"amount": 5}, key(scopes=frozenset(), role="nobody"))) == "policy_denied"
        assert isinstance(await gate.call("charge", {"amount": 5}, key()), Pending)
        assert await gate.outcome("k") is None
        ran = await gate.call("charge", {"amount": 5}, key(autonomy=Autonomy.A4))
        assert isinstance(ran, Succeeded)
        assert ran.key == "k"
    assert done == [5]


@pytest.mark.requirement("IDM-09")
async def test_a_missing_key_is_made_and_returned_or_refused_where_keys_are_required() -> None:
    done, charge = counter()
    async with gate_of(charge, config=FREE) as gate:
        first, second = await gate.call("charge", {"amount": 5}), await gate.call("charge", {"amount": 5})
        assert first.key
        assert second.key
        assert first.key != second.key
        replay = await gate.call("charge", {"amount": 5}, key(first.key))
        assert replay.deduped
    strict = Settings(autonomy=Autonomy.A4, require_keys=True)
    async with gate_of(charge, config=strict) as gate:
        refused = await gate.call("charge", {"amount": 5})
        assert code(refused) == "invalid_arguments"
        assert "idempotency_key" in refused.error.message  # pyright: ignore[reportOptionalMemberAccess]
    assert done == [5, 5]


@pytest.mark.requirement("IDM-10")
async def test_a_timed_out_or_cancelled_effect_is_unknown() -> None:
    never = asyncio.Event()
    entered = asyncio.Event()

    @tool(effects="network_access", risk="medium", concurrency_safe=True)
    async def charge(amount: int) -> str:
        """Charge somebody."""
        entered.set()
        await never.wait()
        return "never"

    async with gate_of(charge, config=FREE) as gate:
        slow = await gate.call("charge", {"amount": 5}, key("slow"), timeout=0.02)
        assert isinstance(slow, Unknown)
        entered.clear()
        task = asyncio.create_task(gate.call("charge", {"amount": 6}, key("cut")))
        await asyncio.wait_for(entered.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(await gate.outcome("cut"), Unknown)
        causes = [event.payload["cause"] async for event in gate.events(types=["tool_call.unknown"]) if event.payload]
        assert causes == ["timeout", "cancelled"]


async def test_a_new_key_for_what_may_have_happened_already_is_refused() -> None:
    tries: list[int] = []

    @tool(effects="network_access", risk="medium")
    async def charge(amount: int) -> str:
        """Charge somebody."""
        tries.append(amount)
        raise ConnectionResetError

    async with gate_of(charge, config=FREE) as gate:
        await gate.call("charge", {"amount": 5}, key("a"))
        refused = await gate.call("charge", {"amount": 5}, key("b"))
        assert code(refused) == "outcome_unknown"
        assert refused.error is not None
        assert refused.error.details["unknown_key"] == "a"
        keyless = await gate.call("charge", {"amount": 5})
        assert code(keyless) == "outcome_unknown"
        on_purpose = await gate.call("charge", {"amount": 5}, key("c"), distinct=True)
        assert isinstance(on_purpose, Unknown)
        elsewhere = await gate.call("charge", {"amount": 5}, key("d", session="other"))
        assert isinstance(elsewhere, Unknown)
    assert len(tries) == 3


async def test_verify_finds_out_and_absent_counts_only_after_the_horizon() -> None:
    world: list[str] = []
    answer = {"text": "cannot_tell"}

    def verify(arguments: dict[str, Any], downstream: str) -> str:
        assert arguments == {"amount": 5}
        assert downstream == "k"
        return answer["text"]

    @tool(effects="network_access", risk="medium", verify=verify, horizon=60)
    async def charge(amount: int) -> str:
        """Charge somebody."""
        world.append("charged")
        raise ConnectionResetError

    clock = HandClock()
    async with gate_of(charge, config=FREE, clock=clock) as gate:
        await gate.call("charge", {"amount": 5}, key())
        assert await gate.verify_outcome("k") == "cannot_tell"
        answer["text"] = "absent"
        assert await gate.verify_outcome("k") == "cannot_tell"
        clock.turn(61)
        assert await gate.verify_outcome("k") == "absent"
        assert await gate.outcome("k") is None


async def test_a_verified_success_reads_succeeded() -> None:
    def verify(arguments: dict[str, Any], key: str) -> str:
        return "happened"

    @tool(effects="network_access", risk="medium", verify=verify)
    async def charge(amount: int) -> str:
        """Charge somebody."""
        raise ConnectionResetError

    async with gate_of(charge, config=FREE) as gate:
        await gate.call("charge", {"amount": 5}, key())
        assert await gate.verify_outcome("k") == "happened"
        replay = await gate.call("charge", {"amount": 5}, key())
        assert isinstance(replay, Succeeded)
        assert replay.metadata["resolved_by"] == "verify"


async def test_a_plain_function_past_its_limit_settles_late() -> None:
    release, done = threading.Event(), threading.Event()

    @tool(effects="network_access", risk="medium")
    def charge(amount: int) -> str:
        """Charge somebody, slowly."""
        release.wait(10)
        done.set()
        return "charged after all"

    async with gate_of(charge, config=FREE) as gate:
        heard: asyncio.Queue[Event] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        slow = await gate.call("charge", {"amount": 5}, key(), timeout=0.02)
        assert isinstance(slow, Unknown)
        release.set()
        assert (await asyncio.wait_for(heard.get(), 5)).type == "tool_call.settled_late"
        settled = await gate.outcome("k")
        assert isinstance(settled, Succeeded)
        assert settled.output == "charged after all"


async def test_a_judged_call_is_settled_by_its_report_and_silence_becomes_unknown() -> None:
    @tool(effects="local_exec", risk="low", name="host.bash", source="host")
    async def bash(command: str) -> str:
        """The host's shell."""
        raise AssertionError("the gate never runs it")

    clock = HandClock()
    async with gate_of(bash, config=FREE, clock=clock) as gate:
        judged = await gate.judge(Call("host.bash", {"command": "ls"}))
        assert judged.allowed
        settled = await gate.report(judged.id, ok=True, output="a b")
        assert isinstance(settled, Succeeded)
        with pytest.raises(OutcomeConflict, match="too late"):
            await gate.report(judged.id, ok=False)
        silent = await gate.judge(Call("host.bash", {"command": "rm x"}))
        assert silent.key is not None
        heard: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("tool_call.unknown", heard.put_nowait)
        clock.turn(31)
        told = await asyncio.wait_for(heard.get(), 5)
        assert told.payload["cause"] == "unreported"
        assert isinstance(await gate.outcome(silent.key), Unknown)
        assert (await gate.report(silent.id, ok=True, output="gone")).ok
        assert isinstance(await gate.outcome(silent.key), Succeeded)
        [late] = [event.payload async for event in gate.events(types=["tool_call.settled_late"])]
        assert late is not None
        assert (late["state"], late["reported"]) == ("succeeded", True)
        assert [call["status"] for call in await gate.calls()] == ["succeeded", "succeeded"]


async def test_what_the_gate_runs_itself_is_called_and_not_judged() -> None:
    done, charge = counter()
    async with gate_of(charge, config=FREE) as gate:
        judged = await gate.judge(Call("charge", {"amount": 5}), key())
        assert not judged.allowed
        assert judged.outcome is not None
        assert code(judged.outcome) == "tool_unavailable"
        assert "charge is run by the gate and by nobody else: call it instead of judging it" in str(judged.outcome)
        with pytest.raises(OutcomeNotFound):
            await gate.report(judged.id, ok=True, output="charged")
        assert await gate.outcome("k") is None
    assert done == []


async def test_a_tool_that_became_another_is_not_asked_what_the_one_before_did(tmp_path: Path) -> None:
    asked: list[str] = []

    def verify(arguments: dict[str, Any], downstream: str) -> str:
        asked.append(downstream)
        return "absent"

    def made(description: str) -> Any:
        async def charge(amount: int) -> str:
            raise ConnectionResetError

        charge.__doc__ = description
        return tool(effects="network_access", risk="medium", verify=verify)(charge)

    url = f"sqlite:///{tmp_path / 'gate.db'}"
    async with gate_of(made("Charge somebody."), config=FREE, store=url) as gate:
        assert isinstance(await gate.call("charge", {"amount": 5}, key()), Unknown)
    async with gate_of(made("Charge somebody else."), config=FREE, store=url) as gate:
        assert await gate.verify_outcome("k") == "cannot_tell"
        assert isinstance(await gate.outcome("k"), Unknown)
        assert asked == []
    async with gate_of(made("Charge somebody."), config=FREE, store=url) as gate:
        assert await gate.verify_outcome("k") == "absent"
    assert asked == ["k"]
