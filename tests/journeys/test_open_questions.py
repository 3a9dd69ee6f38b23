"""What nobody knows yet, and who may say: an answer counts for the attempt it is about, and never for another one."""

from __future__ import annotations

import asyncio
import linecache
import sys
import threading
from types import FrameType
from typing import Any

import pytest

from callgate import (
    Call,
    Callgate,
    Context,
    Failed,
    Outcome,
    Pending,
    Refused,
    Succeeded,
    ToolContext,
    Unknown,
    tool,
)
from callgate.errors import OutcomeConflict
from callgate.model.event import Event
from callgate.model.levels import Assurance, Autonomy, Happened
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)
KEY = Context(idempotency_key="k")
WITHIN = 10


def code(outcome: Outcome) -> str:
    assert isinstance(outcome, Refused)
    assert outcome.error is not None
    return outcome.error.code


# What a tool says of its own attempts.


@pytest.mark.parametrize("answer", ["happened", "absent"])
async def test_an_answer_about_one_attempt_says_nothing_of_a_later_one(answer: str) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()
    sent: list[str] = []

    async def verify(arguments: dict[str, Any], key: str) -> str:
        asked.set()
        await go_on.wait()
        return answer

    @tool(effects="network_access", risk="low", verify=verify)
    async def send() -> str:
        """Send; the answer is lost."""
        sent.append("sent")
        raise ConnectionResetError

    async with gate_of(send, config=FREE) as gate:
        assert isinstance(await gate.call("send", {}, KEY), Unknown)
        verifying = asyncio.ensure_future(gate.verify_outcome("k"))
        await asyncio.wait_for(asked.wait(), WITHIN)
        # Meanwhile a person says that it did not happen, and it is tried again under the same key.
        await gate.resolve("k", happened=False, by="ann")
        assert isinstance(await gate.call("send", {}, KEY), Unknown)
        go_on.set()
        assert await asyncio.wait_for(verifying, WITHIN) == "cannot_tell"
        assert isinstance(await gate.outcome("k"), Unknown)
        assert code(await gate.call("send", {}, KEY)) == "outcome_unknown"
        # Asked about this attempt, its answer counts.
        assert await gate.verify_outcome("k") == answer
        assert (await gate.verify_audit()).problems == ()
    assert len(sent) == 2


async def test_an_answer_that_comes_after_the_question_was_settled_changes_nothing() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def verify(arguments: dict[str, Any], key: str) -> str:
        asked.set()
        await go_on.wait()
        return "absent"

    @tool(effects="network_access", risk="low", verify=verify)
    async def send() -> str:
        """Send; the answer is lost."""
        raise ConnectionResetError

    async with gate_of(send, config=FREE) as gate:
        await gate.call("send", {}, KEY)
        verifying = asyncio.ensure_future(gate.verify_outcome("k"))
        await asyncio.wait_for(asked.wait(), WITHIN)
        await gate.resolve("k", happened=True, by="ann", output="sent")
        go_on.set()
        assert await asyncio.wait_for(verifying, WITHIN) == "cannot_tell"
        settled = await gate.outcome("k")
        assert isinstance(settled, Succeeded)
        assert settled.output == "sent"


@pytest.mark.parametrize("end", ["raises", "returns"])
@pytest.mark.parametrize("who", ["ann", "verify"])
async def test_what_was_known_is_not_unlearnt_by_a_handler_that_ends_late(who: str, end: str) -> None:
    sent, go_on = threading.Event(), threading.Event()

    def verify(arguments: dict[str, Any], key: str) -> str:
        return "happened" if sent.is_set() else "absent"

    @tool(effects="network_access", risk="low", verify=verify)
    def send() -> str:
        """Send, and stumble over the receipt afterwards."""
        sent.set()
        go_on.wait(30)
        if end == "raises":
            raise ValueError("the receipt has no number")
        return "receipt 12"

    async with gate_of(send, config=FREE) as gate:
        late: asyncio.Queue[Event] = asyncio.Queue()
        gate.on("tool_call.settled_late", late.put_nowait)
        assert isinstance(await gate.call("send", {}, KEY, timeout=0.1), Unknown)
        await asyncio.to_thread(sent.wait, WITHIN)
        if who == "ann":
            await gate.resolve("k", happened=True, by="ann", output="sent, says the other side")
        else:
            assert await gate.verify_outcome("k") == "happened"
        told = await gate.call("send", {}, KEY)
        assert isinstance(told, Succeeded)
        go_on.set()
        await asyncio.wait_for(late.get(), WITHIN)
        now = await gate.call("send", {}, KEY)
        assert isinstance(now, Succeeded)
        assert (now.output, now.metadata["resolved_by"]) == (told.output, who)
        with pytest.raises(OutcomeConflict, match="nothing to resolve"):
            await gate.resolve("k", happened=False, by="ann")
        # How it ended is in the record, and says of no state that it changed.
        [ended] = [event.payload or {} async for event in gate.events(types=["tool_call.settled_late"])]
        assert ("state" in ended, "error" in ended) == (False, end == "raises")
        assert {call["status"] for call in await gate.calls()} == {"succeeded", "deduped"}
        assert (await gate.verify_audit()).problems == ()


# What a host says of what it ran.


@pytest.mark.parametrize("idempotent", [False, True])
async def test_a_host_whose_tool_failed_may_have_had_its_effect(idempotent: bool) -> None:
    @tool(effects="local_exec", risk="low", name="host.bash", source="host", idempotent=idempotent)
    async def bash(command: str) -> str:
        """The host's shell."""
        raise AssertionError("the gate never runs it")

    call = Call("host.bash", {"command": "make install"})
    async with gate_of(bash, config=FREE) as gate:
        judged = await gate.judge(call, KEY)
        failed = await gate.report(judged.id, ok=False, error="exit status 2")
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.POSSIBLE
        # Its key is not free, and somebody has to look.
        again = await gate.judge(call, KEY)
        assert not again.allowed
        assert [row.key.key for row in await gate.unknown_outcomes()] == ["k"]


async def test_a_host_that_only_reads_left_nothing_behind() -> None:
    @tool(effects="read_only", name="host.read", source="host")
    async def read(path: str) -> str:
        """The host's own reading."""
        raise AssertionError("the gate never runs it")

    call = Call("host.read", {"path": "a"})
    async with gate_of(read, config=FREE) as gate:
        failed = await gate.report((await gate.judge(call, KEY)).id, ok=False)
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.NONE
        assert (await gate.judge(call, KEY)).allowed


async def test_a_tool_that_says_it_only_reads_by_now_does_not_speak_for_what_was_judged_before() -> None:
    async def bash(command: str) -> str:
        """The host's shell."""
        raise AssertionError("the gate never runs it")

    call = Call("host.bash", {"command": "make install"})
    async with gate_of(config=FREE) as gate:
        gate.add(bash, name="host.bash", source="host", effects="local_exec", risk="low")
        judged = await gate.judge(call, KEY)
        gate.add(bash, name="host.bash", source="host", effects="read_only", update=True)
        failed = await gate.report(judged.id, ok=False, error="exit status 2")
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.POSSIBLE


# The same call, under another key or none.


async def test_a_call_that_a_person_edited_into_an_unknown_one_is_not_taken_for_it() -> None:
    """Without a key, an idempotent call goes on under the key of its unknown equal; what was asked must be equal."""
    keys: list[str | None] = []

    @tool(effects="system_state", risk="high", idempotent=True)
    async def charge(amount: int, ctx: ToolContext) -> str:
        """Charge somebody; the answer is lost."""
        keys.append(ctx.key)
        raise ConnectionResetError

    async with gate_of(charge) as gate:
        asked = await gate.call("charge", {"amount": 9}, KEY)
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann", arguments={"amount": 5})
        assert isinstance(await gate.resume(asked.approval_id), Unknown)
        # What ran was a charge of 5, asked for as one of 9: neither may run again beside it, nor under its key.
        same = await gate.call("charge", {"amount": 5}, Context(autonomy=Autonomy.A4))
        assert code(same) == "outcome_unknown"
        assert same.error is not None
        assert same.error.details["unknown_key"] == "k"
    assert set(keys) == {"k"}


async def test_a_call_without_a_key_runs_beside_an_equal_one_under_a_key() -> None:
    entered, go_on = asyncio.Semaphore(0), asyncio.Event()
    keys: list[str | None] = []

    @tool(effects="system_state", risk="low", concurrency_safe=True)
    async def charge(amount: int, ctx: ToolContext) -> str:
        """Charge somebody."""
        keys.append(ctx.key)
        entered.release()
        await go_on.wait()
        return "charged"

    async with gate_of(charge, config=FREE) as gate:
        calls = [asyncio.ensure_future(gate.call("charge", {"amount": 5}, context)) for context in (KEY, None)]
        for _ in calls:
            await asyncio.wait_for(entered.acquire(), WITHIN)
        conflict = await gate.call("charge", {"amount": 6}, KEY)
        assert code(conflict) == "idempotency_conflict"
        go_on.set()
        outcomes = await asyncio.gather(*calls)
        assert [outcome.key for outcome in outcomes] == keys
        assert keys[0] == "k"
        assert keys[1] not in {None, "k"}
        assert (await gate.verify_audit()).problems == ()


async def test_what_was_asked_for_as_distinct_is_resumed_as_that() -> None:
    done: list[int] = []

    @tool(effects="network_access", risk="high")
    async def charge(amount: int) -> str:
        """Charge somebody; the first answer is lost."""
        done.append(amount)
        if len(done) == 1:
            raise ConnectionResetError
        return "charged"

    async with gate_of(charge) as gate:
        lost = await gate.call("charge", {"amount": 5}, Context(autonomy=Autonomy.A4))
        assert isinstance(lost, Unknown)
        assert code(await gate.call("charge", {"amount": 5})) == "outcome_unknown"
        asked = await gate.call("charge", {"amount": 5}, distinct=True)
        assert isinstance(asked, Pending)
        question = await gate.approval(asked.approval_id)
        told = f"an equal call under key {lost.key} has an unknown outcome, so that this may happen twice"
        assert f"{told}: the risk goes from high to critical" in question.why
        await gate.approve(asked.approval_id, by="ann", assurance=Assurance.LOCAL)
        assert (await gate.resume(asked.approval_id)).ok
    assert done == [5, 5]


# The point of no return.


class Paused:
    """Stops a thread right before it notes that its point of no return is passed, until its call is given up."""

    def __init__(self) -> None:
        self.given_up = threading.Event()

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_name == "_mark":
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            if event == "line" and "entered_effect = True" in line:
                # Whoever gives up meanwhile has to wait for the mark, so that this is not waited for to the end.
                self.given_up.wait(0.3)
            return self
        return None


async def test_who_passes_the_point_of_no_return_as_time_runs_out_is_never_said_to_have_had_no_effect() -> None:
    done: list[str] = []
    paused, over = Paused(), threading.Event()

    @tool(effects="network_access", risk="low", marks_effect=True)
    def send(ctx: ToolContext) -> str:
        """Send, at the last moment."""
        sys.settrace(paused)
        try:
            with ctx.effect_sync():
                done.append("sent")
        finally:
            sys.settrace(None)
            over.set()
        return "sent"

    async with gate_of(send, config=FREE) as gate:
        outcome = await gate.call("send", {}, KEY, timeout=0.05)
        paused.given_up.set()
        assert await asyncio.to_thread(over.wait, WITHIN)
        assert done == ["sent"]
        assert isinstance(outcome, Unknown | Succeeded)
        assert await key_is_taken(gate)


async def key_is_taken(gate: Callgate) -> bool:
    return await gate.outcome("k") is not None
