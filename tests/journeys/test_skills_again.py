"""Skills that are run again: nothing inside happens twice, what waits goes on, and what is unknown stays unknown."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, Failed, Pending, SkillContext, Unknown, skill, tool
from callgate.errors import ToolExecutionError
from callgate.model.attempt import AttemptState
from callgate.model.levels import Autonomy, Happened
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.journeys.gates import gate_of, parts_of
from tests.journeys.skill_desk import ALL, ASKED_ONCE, BOTH, Desk, approved_skill, report

FREE = Settings(autonomy=Autonomy.A4)
WITHIN = 10
ROOT = Path(__file__).resolve().parent.parent.parent


def code(outcome: Any) -> str:
    assert outcome.error is not None
    return outcome.error.code


@pytest.mark.usefixtures("on_each_store")
async def test_a_skill_that_waits_inside_says_so_and_goes_on_under_its_key():
    desk = Desk()
    async with gate_of(report, *desk.tools) as gate:
        inside = await approved_skill(gate)
        assert (inside.tool, inside.key, inside.status) == ("report", "k1", "pending")
        question = await gate.approval(inside.approval_id)
        assert (question.tool, inside.expires_at) == ("send", question.expires_at)
        assert desk.done == ["before x"]
        again = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert isinstance(again, Pending)
        assert again.approval_id == inside.approval_id
        await gate.approve(inside.approval_id, by="ada")
        ended = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert (ended.unwrap(), desk.done) == ("sent x", ALL)
        assert (await gate.call("report", {"text": "x"}, ASKED_ONCE)).deduped
        assert desk.done == ALL
        assert (await gate.verify_audit()).ok


async def test_until_it_goes_on_the_record_says_that_it_is_half_done_and_a_new_key_is_refused():
    desk = Desk()
    async with memory_gate(report, *desk.tools) as gate:
        inside = await approved_skill(gate)
        recorded = await gate.outcome("k1", ASKED_ONCE)
        assert isinstance(recorded, Unknown)
        assert recorded.error is not None
        assert recorded.error.details == {"approval_id": inside.approval_id}
        assert "call again with the same key" in (recorded.error.suggestion or "")
        other = await gate.call("report", {"text": "x"}, Context(principal="bot", session="s", idempotency_key="k2"))
        assert (other.status, code(other)) == ("refused", "outcome_unknown")
        # Without a key it is the same call, sent again.
        same = await gate.call("report", {"text": "x"}, Context(principal="bot", session="s"))
        assert isinstance(same, Pending)
        assert (same.key, desk.done) == ("k1", ["before x"])


async def test_a_skill_that_waits_before_anything_happened_has_left_nothing_and_its_key_free():
    desk = Desk()

    @skill(tools=["send"])
    async def only_send(text: str, steps: SkillContext) -> str:
        """Send."""
        return (await steps.call("send", {"text": text})).unwrap()

    async with memory_gate(only_send, *desk.tools) as gate:
        inside = await approved_skill(gate, "only_send")
        assert await gate.outcome("k1", ASKED_ONCE) is None
        failed = [event async for event in gate.events(types=["tool_call.failed"])]
        assert [((e.payload or {})["effect"], (e.payload or {})["error"]["code"]) for e in failed] == [
            ("none", "approval_required")
        ]
        await gate.reject(inside.approval_id, by="ada", why="not today")
        ended = await gate.call("only_send", {"text": "x"}, ASKED_ONCE)
        assert isinstance(ended, Failed)
        assert "ada rejected this call: not today" in str(ended)
        assert desk.done == []


@pytest.mark.parametrize("decision", ["approve", "reject", "respond"])
async def test_resuming_a_question_inside_a_skill_lets_the_skill_go_on(decision: str):
    desk = Desk()
    async with memory_gate(report, *desk.tools) as gate:
        inside = await approved_skill(gate)
        if decision == "approve":
            await gate.approve(inside.approval_id, by="ada")
        elif decision == "reject":
            await gate.reject(inside.approval_id, by="ada", why="no")
        else:
            await gate.respond(inside.approval_id, by="ada", text="call them instead")
        ended = await gate.resume(inside.approval_id)
        assert ended.tool == "report"
        if decision == "approve":
            assert (ended.unwrap(), desk.done) == ("sent x", ALL)
        else:
            assert isinstance(ended, Failed)
            assert ended.happened is Happened.POSSIBLE
            assert ("no" if decision == "reject" else "call them instead") in str(ended)
            assert desk.done == ["before x"]


async def test_a_model_s_turn_with_a_skill_that_waits_inside_is_filled_in_with_what_the_skill_gives():
    desk = Desk()
    message = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "report", "input": {"text": "x"}}],
    }
    async with memory_gate(report, *desk.tools) as gate:
        turn = await gate.handle(message, Context(session="s"))
        for _ in range(2):  # the skill as a whole, and the call inside
            await gate.approve(turn.pending[0], by="ada")
            await turn.wait(0)
        assert turn.pending == []
        assert turn.results[0]["content"] == "sent x"
        assert desk.done == ALL


async def test_skills_in_skills_wait_and_go_on_as_one():
    desk = Desk()

    @skill(tools=["report", "write", "send"])
    async def weekly(text: str, steps: SkillContext) -> str:
        """Report, and note that."""
        sent = (await steps.call("report", {"text": text})).unwrap()
        (await steps.call("write", {"text": "noted"})).unwrap()
        return sent

    async with memory_gate(weekly, *desk.tools) as gate:
        gate.add(report, allowed_callers=BOTH)
        outcome = await gate.call("weekly", {"text": "x"}, ASKED_ONCE)
        asked: list[str] = []
        while isinstance(outcome, Pending):
            asked.append((await gate.approval(outcome.approval_id)).tool)
            await gate.approve(outcome.approval_id, by="ada")
            outcome = await gate.resume(outcome.approval_id)
        assert (outcome.tool, outcome.unwrap()) == ("weekly", "sent x")
        assert (asked, desk.done) == (["weekly", "report", "send"], [*ALL, "noted"])


async def test_an_effect_inside_that_nobody_knows_of_makes_the_skill_unknown_until_somebody_looked():
    desk = Desk()
    desk.hangs = True
    async with memory_gate(report, *desk.tools, config=FREE) as gate:
        call = asyncio.ensure_future(gate.call("report", {"text": "x"}, ASKED_ONCE))
        await asyncio.wait_for(desk.entered.wait(), WITHIN)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert isinstance(await gate.outcome("k1", ASKED_ONCE), Unknown)
        again = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert isinstance(again, Unknown)
        assert "ended without a known outcome" in str(again)
        assert desk.done == ["before x"]
        [inner] = [row for row in await gate.attempts(state=AttemptState.UNKNOWN) if row.tool == "send"]
        await gate.resolve(inner.key.key, ASKED_ONCE, happened=False, by="ada")
        desk.hangs = False
        ended = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert (ended.unwrap(), desk.done) == ("sent x", ALL)


async def test_a_step_that_ran_out_of_time_is_told_as_what_it_is():
    @tool(effects="read_only", timeout=0.01)
    async def slow() -> None:
        """Never ends."""
        await asyncio.Event().wait()

    @skill(tools=["slow"])
    async def patient(steps: SkillContext) -> None:
        """Wait."""
        (await steps.call("slow")).unwrap()

    @skill(tools=["slow"])
    def patient_too(steps: SkillContext) -> None:
        """Wait, blocking."""
        steps.call_blocking("slow").unwrap()

    async with memory_gate(slow, patient, patient_too) as gate:
        for name in ("patient", "patient_too"):
            outcome = await gate.call(name)
            assert isinstance(outcome, Failed)
            assert code(outcome) == "handler_failed"
            assert "slow timed out" in str(outcome)
        # A step's trouble is not the skill's: it was tried once, and its own circuit knows nothing of it.
        assert gate.health("patient").consecutive_errors == 0


async def test_a_skill_past_its_own_limit_is_unknown_once_something_happened_and_goes_on_later():
    desk = Desk()
    desk.hangs = True
    async with memory_gate(report, *desk.tools, config=FREE) as gate:
        outcome = await gate.call("report", {"text": "x"}, ASKED_ONCE, timeout=0.2)
        assert isinstance(outcome, Unknown)
        assert desk.done == ["before x"]


@pytest.mark.parametrize("swallows", [False, True])
async def test_a_skill_that_asks_for_something_else_under_its_key_is_stopped(swallows: bool):
    desk = Desk()
    word = ["one"]

    @skill(tools=["write", "send"])
    async def fickle(steps: SkillContext) -> str:
        """Ask for something else each time, and perhaps go on although it was told so."""
        with contextlib.suppress(ToolExecutionError if swallows else KeyError):
            (await steps.call("write", {"text": word[0]})).unwrap()
        return (await steps.call("send", {"text": "x"})).unwrap()

    async with memory_gate(*desk.tools, fickle) as gate:
        first = await gate.call("fickle", {}, ASKED_ONCE)
        assert isinstance(first, Pending)
        await gate.approve(first.approval_id, by="ada")
        inside = await gate.call("fickle", {}, ASKED_ONCE)
        assert isinstance(inside, Pending)
        await gate.approve(inside.approval_id, by="ada")
        word[0] = "two"
        outcome = await gate.call("fickle", {}, ASKED_ONCE)
        assert isinstance(outcome, Unknown)  # it did nothing now, and wrote before
        assert "asks for something else than before (write)" in str(outcome)
        assert desk.done == ["one"]


async def test_steps_with_names_may_come_in_any_order():
    desk = Desk()
    order = ["a", "b"]

    @skill(tools=["write", "send"])
    async def anyhow(steps: SkillContext) -> str:
        """Write two things in whatever order, then send."""
        for text in order:
            (await steps.call("write", {"text": text}, step=f"write {text}")).unwrap()
        return (await steps.call("send", {"text": "x"}, step="send")).unwrap()

    async with memory_gate(*desk.tools, anyhow) as gate:
        outcome = await gate.call("anyhow", {}, ASKED_ONCE)
        while isinstance(outcome, Pending):
            await gate.approve(outcome.approval_id, by="ada")
            order.reverse()
            outcome = await gate.call("anyhow", {}, ASKED_ONCE)
        assert outcome.unwrap() == "sent x"
        assert sorted(desk.done) == ["a", "b", "sent x"]


async def test_calls_started_together_keep_their_places():
    desk = Desk()

    @skill(tools=["write", "send"])
    async def together(steps: SkillContext) -> list[str]:
        """Write at once, then send."""
        outcomes = await asyncio.gather(*(steps.call("write", {"text": f"n{at}"}) for at in range(20)))
        (await steps.call("send", {"text": "x"})).unwrap()
        return [outcome.unwrap() for outcome in outcomes]

    async with memory_gate(*desk.tools, together) as gate:
        outcome = await gate.call("together", {}, ASKED_ONCE)
        while isinstance(outcome, Pending):
            await gate.approve(outcome.approval_id, by="ada")
            outcome = await gate.call("together", {}, ASKED_ONCE)
        assert outcome.unwrap() == [f"n{at}" for at in range(20)]
        assert len(desk.done) == 21


async def test_a_failed_step_is_told_in_a_second_run_too_and_what_an_earlier_run_did_counts():
    desk = Desk()
    trouble = [True]

    @skill(tools=["write", "send"])
    async def halfway(steps: SkillContext) -> str:
        """Write, send, and then break once it was allowed to."""
        (await steps.call("write", {"text": "a"})).unwrap()
        (await steps.call("send", {"text": "x"})).unwrap()
        raise ValueError("tripped") if trouble else NotImplementedError

    async with memory_gate(*desk.tools, halfway) as gate:
        outcome = await gate.call("halfway", {}, ASKED_ONCE)
        while isinstance(outcome, Pending):
            await gate.approve(outcome.approval_id, by="ada")
            outcome = await gate.call("halfway", {}, ASKED_ONCE)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.POSSIBLE
        assert (await gate.call("halfway", {}, ASKED_ONCE)).deduped


async def test_a_second_run_that_fails_before_anything_new_still_says_that_something_happened():
    desk = Desk()

    @skill(tools=["write", "send"])
    async def broken_later(steps: SkillContext) -> str:
        """Wait in the first run, break in the second before it sends."""
        (await steps.call("write", {"text": "a"})).unwrap()
        if runs:
            raise ValueError("tripped")
        runs.append(1)
        return (await steps.call("send", {"text": "x"})).unwrap()

    runs: list[int] = []
    async with memory_gate(*desk.tools, broken_later) as gate:
        first = await gate.call("broken_later", {}, ASKED_ONCE)
        assert isinstance(first, Pending)
        await gate.approve(first.approval_id, by="ada")
        assert isinstance(await gate.call("broken_later", {}, ASKED_ONCE), Pending)
        outcome = await gate.call("broken_later", {}, ASKED_ONCE)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.POSSIBLE


async def test_a_question_whose_skill_is_gone_is_resumed_alone():
    desk = Desk()
    async with memory_gate(report, *desk.tools) as gate:
        inside = await approved_skill(gate)
        await gate.approve(inside.approval_id, by="ada")
        parts = parts_of(gate)
        [row] = [row for row in await gate.attempts(key="k1") if row.tool == "report"]
        await parts.store.write(lambda tx: tx.put_attempt(row._replace(sealed_id="gone")))
        ended = await gate.resume(inside.approval_id)
        assert (ended.tool, ended.unwrap()) == ("send", "sent x")


async def test_a_nested_call_of_a_tool_that_may_not_be_repeated_fails_it_as_before():
    desk = Desk()

    @tool(effects="modifies_files", risk="low")
    async def handmade() -> str:
        """Calls through the gate by itself."""
        return (await gate.call("send", {"text": "x"})).unwrap()

    async with memory_gate(*desk.tools, handmade) as gate:
        outcome = await gate.call("handmade")
        assert isinstance(outcome, Failed)
        assert code(outcome) == "handler_failed"


async def test_a_read_only_skill_that_waits_inside_is_pending_too():
    @tool(effects="read_only", scopes=["shell:execute"])
    async def peek() -> str:
        """Needs somebody's yes, as everything does in its family."""
        return "seen"

    @skill(tools=["peek"])
    async def looking(steps: SkillContext) -> str:
        """Look."""
        return (await steps.call("peek")).unwrap()

    async with memory_gate(peek, looking) as gate:
        who = Context(session="s")
        outcome = await gate.call("looking", {}, who)
        assert isinstance(outcome, Pending)
        assert (outcome.tool, outcome.key) == ("looking", None)
        await gate.approve(outcome.approval_id, by="ada")
        ended = await gate.call("looking", {}, who)
        assert ended.unwrap() == "seen"


async def test_a_turn_with_a_read_only_skill_that_waited_inside_says_to_call_it_again():
    @tool(effects="read_only", scopes=["shell:execute"])
    async def peek() -> str:
        """Needs somebody's yes, as everything does in its family."""
        return "seen"

    @skill(tools=["peek"])
    async def looking(steps: SkillContext) -> str:
        """Look."""
        return f"I have {(await steps.call('peek')).unwrap()}"

    def message(call_id: str) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": "looking", "input": {}}
        return {"role": "assistant", "content": [block]}

    async with memory_gate(peek, looking) as gate:
        turn = await gate.handle(message("c1"), Context(session="s"))
        await gate.approve(turn.pending[0], by="ada")
        await turn.wait(0)
        assert "peek, a call inside looking, was decided; call looking again" in str(turn.results[0]["content"])
        again = await gate.handle(message("c2"), Context(session="s"))
        assert again.results[0]["content"] == "I have seen"


async def test_a_tool_whose_own_call_ended_unknown_is_unknown_too():
    @tool(effects="network_access", risk="low")
    async def pay() -> None:
        """Lose the connection."""
        message = "reset"
        raise ConnectionResetError(message)

    @tool(effects="network_access", risk="low")
    async def settle_up() -> None:
        """Calls through the gate by itself."""
        (await gate.call("pay")).unwrap()

    async with memory_gate(pay, settle_up, config=FREE) as gate:
        outcome = await gate.call("settle_up")
        assert isinstance(outcome, Unknown)
        assert outcome.error is not None
        assert outcome.error.suggestion == "Do not repeat it; find out first whether it happened."


@pytest.mark.parametrize(("text", "left"), [("x", Happened.POSSIBLE), (None, Happened.NONE)])
async def test_an_effect_deep_inside_is_one_of_every_skill_around_it(text: str | None, left: Happened):
    desk = Desk()

    @skill(tools=["write", "look"], allowed_callers=BOTH)
    async def inner(steps: SkillContext) -> None:
        """Look, and write if there is something to."""
        (await steps.call("look")).unwrap()
        if text is not None:
            (await steps.call("write", {"text": text})).unwrap()

    @skill(tools=["inner", "write", "look"])
    async def outer(steps: SkillContext) -> None:
        """Break after the inner one."""
        (await steps.call("inner")).unwrap()
        raise ValueError("tripped")

    look = tool(effects="read_only", name="look")(lambda: "seen")
    async with memory_gate(*desk.tools, look, inner, outer, config=FREE) as gate:
        outcome = await gate.call("outer", {}, ASKED_ONCE)
        assert isinstance(outcome, Failed)
        assert outcome.happened is left


CRASHING = """
import asyncio, os, sys
from pathlib import Path
from callgate import Callgate, Context, SkillContext, skill, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings

log, mode, url = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

@tool(effects="modifies_files", risk="low", allowed_callers=("direct", "chain"))
def note(text: str) -> str:
    "Append a line."
    with log.open("a") as file:
        file.write(text + "\\n")
    return text

@skill(tools=["note"])
async def story(steps: SkillContext) -> list[str]:
    "Three lines."
    told = [(await steps.call("note", {"text": "one"})).unwrap(), (await steps.call("note", {"text": "two"})).unwrap()]
    if mode == "dies":
        os._exit(9)
    told.append((await steps.call("note", {"text": "three"})).unwrap())
    return told

async def main():
    async with Callgate.open(url, Settings(autonomy=Autonomy.A4)) as gate:
        gate.add(story, note)
        key = sys.argv[4] if len(sys.argv) > 4 else None
        outcome = await gate.call("story", {}, Context(session="s", idempotency_key=key))
        print(outcome.status, outcome.output, outcome.key)

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("second_key", ["k1", None])
def test_a_skill_whose_process_died_does_nothing_twice_when_it_is_run_again(tmp_path: Path, second_key: str | None):
    log, url = tmp_path / "log", f"sqlite:///{tmp_path / 'gate.db'}"

    def run(mode: str, key: str | None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", CRASHING, str(log), mode, url, *([key] if key else [])]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert run("dies", "k1").returncode == 9
    assert log.read_text().split() == ["one", "two"]
    done = run("lives", second_key)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "succeeded ['one', 'two', 'three'] k1"
    assert log.read_text().split() == ["one", "two", "three"]
