"""Trees of real composites over a real gate: they run to their end, wait for people, are stopped, and are resumed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from py_trees.behaviour import Behaviour
from py_trees.behaviours import Failure, Success, TickCounter
from py_trees.blackboard import Blackboard
from py_trees.common import ParallelPolicy, Status
from py_trees.composites import Parallel, Selector, Sequence
from py_trees.decorators import FailureIsSuccess, Inverter, Repeat, Retry, Timeout
from py_trees.trees import BehaviourTree

from callgate import Callgate, Context, SkillContext, skill, tool
from callgate.errors import ConfigurationError
from callgate.flows.trees.contract import Contract, equals
from callgate.flows.trees.statuses import NodeStatus
from callgate.model.approval import ApprovalState
from callgate.model.attempt import AttemptState
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.journeys.gates import parts_of

FREE = Settings(autonomy=Autonomy.A4)
ADA = Context(user="ada", session="s")
WITHIN = 20
ROOT = Path(__file__).resolve().parent.parent.parent


def board(key: str) -> Any:
    return Blackboard.storage.get(f"/{key}")


@tool(effects="read_only")
async def find(query: str) -> dict[str, Any]:
    """Find something; nothing, if it is asked for nothing."""
    return {"results": [f"{query} one", f"{query} two"] if query != "nothing" else []}


@tool(effects="read_only")
async def pick(results: list[str]) -> str:
    """The first of them."""
    return results[0]


class Desk:
    """Tools that write down what they did, and one that waits to be let on."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.entered, self.go_on = asyncio.Event(), asyncio.Event()
        self.together, self.most = 0, 0

        @tool(effects="modifies_files", risk="low")
        async def note(text: str) -> str:
            """Write it down."""
            self.done.append(text)
            return text

        @tool(effects="network_access", risk="medium")
        async def send(text: str) -> str:
            """Send it, which somebody has to allow."""
            self.done.append(f"sent {text}")
            return f"sent {text}"

        @tool(effects="network_access", risk="low")
        async def hang(text: str) -> str:
            """Hang until it is let on."""
            self.together += 1
            self.most = max(self.most, self.together)
            self.entered.set()
            try:
                await self.go_on.wait()
            finally:
                self.together -= 1
            self.done.append(f"hung {text}")
            return text

        self.tools = [note, send, hang]


class Noticed(Behaviour):
    """Succeeds once something has happened."""

    def __init__(self, name: str, event: asyncio.Event) -> None:
        super().__init__(name)
        self._event = event

    def update(self) -> Status:
        return Status.SUCCESS if self._event.is_set() else Status.RUNNING


def sequence(*children: Behaviour, name: str = "all") -> Sequence:
    return Sequence(name, memory=True, children=list(children))


def selector(*children: Behaviour, memory: bool = True, name: str = "one of") -> Selector:
    return Selector(name, memory=memory, children=list(children))


async def test_a_sequence_hands_results_on_and_ends_with_success():
    desk = Desk()
    async with memory_gate(find, pick, *desk.tools, config=FREE) as gate:
        tree = sequence(
            gate.leaf("find", result_key="found", contract=Contract(reads=("query",), writes={"results": "results"})),
            gate.leaf("pick", result_key="text"),
            gate.leaf("note"),
        )
        run = await gate.run_tree(tree, ADA, blackboard={"query": "tea"})
        assert (run.status, desk.done, board("note_result")) == (NodeStatus.SUCCESS, ["tea one"], "tea one")
        attempts = [event async for event in gate.events(types=["tool_call.attempted"])]
        payloads = [event.payload or {} for event in attempts]
        assert [(p["tool"], p["caller"], p["user"]) for p in payloads] == [
            ("find", "direct", "ada"),
            ("pick", "direct", "ada"),
            ("note", "direct", "ada"),
        ]
        assert {event.trace for event in attempts} == {ADA.trace_id}


async def test_a_selector_goes_on_where_a_contract_is_not_met():
    desk = Desk()
    some = Contract(reads=("query",), success=(equals("never", value=True),))
    async with memory_gate(find, *desk.tools, config=FREE) as gate:
        tree = selector(
            gate.leaf("find", contract=some),
            sequence(Inverter("not", Success("fine")), Success("skipped")),
            gate.leaf("note"),
        )
        run = await gate.run_tree(tree, ADA, blackboard={"query": "tea", "text": "fallback"})
        assert (run.status, desk.done) == (NodeStatus.SUCCESS, ["fallback"])
        assert board("find_result_error") == "never is not True"


async def test_a_tree_is_ticked_when_a_call_ended_and_not_before():
    desk = Desk()
    ticks: list[int] = []
    async with memory_gate(*desk.tools, config=FREE) as gate:
        tree = BehaviourTree(sequence(gate.leaf("hang"), gate.leaf("note")))
        tree.add_post_tick_handler(lambda each: ticks.append(each.count))
        call = asyncio.ensure_future(gate.run_tree(tree, ADA, blackboard={"text": "x"}))
        await asyncio.wait_for(desk.entered.wait(), WITHIN)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(ticks) == 1
        desk.go_on.set()
        run = await asyncio.wait_for(call, WITHIN)
        assert (run.status, run.ticks, len(ticks)) == (NodeStatus.SUCCESS, 3, 3)


async def test_a_parallel_runs_its_calls_at_once_unless_they_are_not_safe_together():
    started: list[str] = []
    meet = asyncio.Barrier(2)

    @tool(effects="read_only")
    async def look(text: str) -> str:
        """Meet the other one: this ends only if both run at once."""
        started.append(text)
        await meet.wait()
        return text

    desk = Desk()
    desk.go_on.set()
    async with memory_gate(look, *desk.tools, config=FREE) as gate:
        both = [gate.leaf("look", name=f"look {n}", result_key=f"r{n}") for n in range(2)]
        alone = [gate.leaf("hang", name=f"hang {n}", result_key=f"h{n}", arguments={"text": str(n)}) for n in range(4)]
        tree = Parallel("together", ParallelPolicy.SuccessOnAll(), children=[*both, *alone])
        async with asyncio.timeout(WITHIN):
            run = await gate.run_tree(tree, ADA, blackboard={"text": "x"})
        assert (run.status, started, desk.most) == (NodeStatus.SUCCESS, ["x", "x"], 1)
        assert sorted(desk.done) == ["hung 0", "hung 1", "hung 2", "hung 3"]


async def test_a_leaf_that_is_stopped_has_its_call_cancelled_and_says_that_its_effect_is_unknown():
    desk = Desk()
    async with memory_gate(find, *desk.tools, config=FREE) as gate:
        hang = gate.leaf("hang")
        other = Noticed("the other", desk.entered)
        first = Parallel("first to end", ParallelPolicy.SuccessOnOne(), children=[hang, other])
        async with asyncio.timeout(WITHIN):
            run = await gate.run_tree(first, ADA, blackboard={"text": "x"})
        assert (run.status, desk.done) == (NodeStatus.SUCCESS, [])
        told = board("hang_result_unknown")
        assert "was cancelled while it ran; whether it took effect is not known" in told["message"]
        assert hang.feedback_message == told["message"]
        [row] = await gate.attempts(state=AttemptState.UNKNOWN)
        assert row.key.key == told["key"]


async def test_a_read_that_is_stopped_leaves_nothing_unknown():
    waiting = asyncio.Event()

    @tool(effects="read_only")
    async def watch() -> None:
        """Never ends."""
        waiting.set()
        await asyncio.Event().wait()

    async with memory_gate(watch) as gate:
        call = asyncio.ensure_future(gate.run_tree(gate.leaf("watch"), ADA))
        await asyncio.wait_for(waiting.wait(), WITHIN)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert board("watch_result_unknown") is None
        [end] = [event async for event in gate.events(types=["tool_call.failed"])]
        assert (end.payload or {})["error"]["code"] == "cancelled"


async def test_a_run_that_is_cancelled_lets_go_of_everything_and_waits_until_that_is_recorded():
    desk = Desk()
    async with memory_gate(*desk.tools, config=FREE) as gate:
        tree = sequence(gate.leaf("hang"))
        call = asyncio.ensure_future(gate.run_tree(tree, ADA, run="r", blackboard={"text": "x"}))
        await asyncio.wait_for(desk.entered.wait(), WITHIN)
        with pytest.raises(ConfigurationError, match="is being run already"):
            await gate.run_tree(tree, ADA)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert board("hang_result_unknown")
        assert tree.status is Status.INVALID
        # Run again under its name it meets what nobody knows, and does not do it again.
        desk.go_on.set()
        run = await gate.run_tree(tree, ADA, run="r")
        assert (run.status, desk.done) == (NodeStatus.FAILURE, [])
        assert board("hang_result_unknown")


async def test_a_leaf_that_waits_for_a_person_runs_and_goes_on_by_itself():
    desk = Desk()
    async with memory_gate(*desk.tools) as gate:
        tree = sequence(gate.leaf("send"), gate.leaf("note", arguments={"text": "${bb.send_result}"}))
        call = asyncio.ensure_future(gate.run_tree(tree, ADA, blackboard={"text": "x"}))
        question = await asked(gate)
        leaf = tree.children[0]
        assert (leaf.status, board("send_result_pending")) == (Status.RUNNING, question)
        assert leaf.feedback_message == f"waits for a person: approval {question}"
        await gate.approve(question, by="grace")
        run = await asyncio.wait_for(call, WITHIN)
        assert (run.status, desk.done) == (NodeStatus.SUCCESS, ["sent x", "sent x"])
        assert board("send_result_pending") is None


async def asked(gate: Callgate) -> str:
    """The question that waits, once the tree shows it."""
    async with asyncio.timeout(WITHIN):
        while True:
            waiting = [question.id for question in await gate.approvals()]
            if waiting and waiting[-1] in Blackboard.storage.values():
                return waiting[-1]
            await asyncio.sleep(0.001)  # what is waited for is on the blackboard, which tells nobody


@pytest.mark.parametrize("decision", ["reject", "respond", "withdraw"])
async def test_a_no_or_an_answer_is_a_failure_with_the_person_s_words(decision: str):
    desk = Desk()
    async with memory_gate(*desk.tools) as gate:
        call = asyncio.ensure_future(gate.run_tree(gate.leaf("send"), ADA, blackboard={"text": "x"}, wait=None))
        question = await asked(gate)
        if decision == "reject":
            await gate.reject(question, by="grace", why="too late")
        elif decision == "respond":
            await gate.respond(question, by="grace", text="call them")
        else:
            await gate.withdraw(question)
            question = await asked(gate)  # it is still wanted, so that somebody is asked anew
            await gate.reject(question, by="grace", why="too late")
        run = await asyncio.wait_for(call, WITHIN)
        assert (run.status, desk.done) == (NodeStatus.FAILURE, [])
        assert ("call them" if decision == "respond" else "too late") in board("send_result_error")
        assert board("send_result_unknown") is None


async def test_a_run_that_may_wait_no_longer_gives_back_what_it_waits_for_and_goes_on_later():
    desk = Desk()
    async with memory_gate(*desk.tools) as gate:
        tree = sequence(gate.leaf("note"), gate.leaf("send"))
        for every in (None, 0.005):
            run = await gate.run_tree(tree, ADA, run="r1", blackboard={"text": "x"}, wait=0.02, every=every)
            assert run.status is NodeStatus.RUNNING
            [question] = run.waits_for
            assert (await gate.approval(question)).state is ApprovalState.PENDING
            assert desk.done == ["x"]
        await gate.approve(question, by="grace")
        run = await gate.run_tree(tree, ADA, run="r1", wait=0)
        assert (run.status, run.waits_for, desk.done) == (NodeStatus.SUCCESS, (), ["x", "sent x"])
        again = await gate.run_tree(tree, ADA, run="r1")
        assert (again.status, desk.done) == (NodeStatus.SUCCESS, ["x", "sent x"])
        fresh = await gate.run_tree(tree, ADA, wait=0)
        assert (fresh.status, fresh.run != "r1", desk.done) == (NodeStatus.RUNNING, True, ["x", "sent x", "x"])


async def test_a_branch_that_is_left_withdraws_what_it_asked():
    desk = Desk()
    async with memory_gate(*desk.tools) as gate:
        tree = selector(Timeout("patience", gate.leaf("send"), duration=0.05), gate.leaf("note"))
        run = await gate.run_tree(tree, ADA, blackboard={"text": "x"})
        assert (run.status, desk.done) == (NodeStatus.SUCCESS, ["x"])
        [question] = await gate.approvals(states=None)
        assert question.state is ApprovalState.WITHDRAWN
        assert board("send_result_pending") is None


async def test_a_question_that_is_decided_while_its_branch_is_left_stays_as_it_was_decided():
    desk = Desk()
    async with memory_gate(*desk.tools) as gate:
        leaf = gate.leaf("send")
        leaf.calls = calls = gate.tree_calls(ADA)
        changed = asyncio.Event()
        calls.changed = changed.set
        Blackboard.set("text", "x")
        leaf.tick_once()
        await asyncio.wait_for(changed.wait(), WITHIN)
        leaf.tick_once()
        question = leaf.waits_for
        assert question is not None
        await gate.approve(question, by="grace")
        leaf.reset()
        await calls.settled()
        assert (await gate.approval(question)).state in {ApprovalState.APPROVED, ApprovalState.USED}


async def test_a_leaf_of_a_skill_waits_for_what_the_skill_waits_for_inside():
    desk = Desk()

    @skill(tools=["find", "announce"])
    async def report(query: str, steps: SkillContext) -> str:
        """Find, then announce."""
        found = (await steps.call("find", {"query": query})).unwrap()
        return (await steps.call("announce", {"text": found["results"][0]})).unwrap()

    @tool(effects="network_access", risk="medium", allowed_callers=("direct", "chain"))
    async def announce(text: str) -> str:
        """Tell everybody."""
        desk.done.append(text)
        return text

    async with memory_gate(find, announce, report) as gate:
        call = asyncio.ensure_future(gate.run_tree(gate.leaf("report"), ADA, blackboard={"query": "tea"}))
        for expected in ("report", "announce"):
            question = await gate.approval(await asked(gate))
            assert question.tool == expected
            await gate.approve(question.id, by="grace")
        run = await asyncio.wait_for(call, WITHIN)
        assert (run.status, desk.done, board("report_result")) == (NodeStatus.SUCCESS, ["tea one"], "tea one")


async def test_something_that_is_no_call_is_ticked_by_the_clock():
    desk = Desk()
    tries: list[int] = []

    @tool(effects="read_only")
    async def flaky() -> dict[str, Any]:
        """Fine at the third time."""
        tries.append(1)
        return {"fine": len(tries) == 3}

    async with memory_gate(flaky, *desk.tools, config=FREE) as gate:
        fine = Contract(success=(equals("fine", value=True),))
        tree = sequence(
            TickCounter("counts", duration=2, completion_status=Status.SUCCESS),
            Retry("again", gate.leaf("flaky", contract=fine), num_failures=5),
            FailureIsSuccess("never mind", Failure("no")),
        )
        async with asyncio.timeout(WITHIN):
            run = await gate.run_tree(tree, ADA)
        assert (run.status, len(tries)) == (NodeStatus.SUCCESS, 3)


async def test_a_behaviour_that_raises_ends_the_run_and_what_it_left_running():
    desk = Desk()

    class Broken(Behaviour):
        def update(self) -> Status:
            if not desk.entered.is_set():
                return Status.RUNNING
            message = "broken"
            raise RuntimeError(message)

    async with memory_gate(*desk.tools, config=FREE) as gate:
        leaf = gate.leaf("hang")
        tree = Parallel("both", ParallelPolicy.SuccessOnAll(), children=[leaf, Broken("broken")])
        with pytest.raises(RuntimeError, match="broken"):
            await gate.run_tree(tree, ADA, blackboard={"text": "x"})
        assert (leaf.busy, leaf.calls) == (False, None)
        assert board("hang_result_unknown")
        assert (await gate.run_tree(gate.leaf("note"), ADA)).status is NodeStatus.SUCCESS


async def test_a_behaviour_that_raises_at_once_leaves_no_call_behind():
    desk = Desk()

    class Broken(Behaviour):
        def update(self) -> Status:
            message = "broken"
            raise RuntimeError(message)

    async with memory_gate(*desk.tools, config=FREE) as gate:
        leaf = gate.leaf("note")
        tree = Parallel("both", ParallelPolicy.SuccessOnAll(), children=[leaf, Broken("broken")])
        with pytest.raises(RuntimeError, match="broken"):
            await gate.run_tree(tree, ADA, blackboard={"text": "x"})
        assert (leaf.busy, leaf.calls, desk.done) == (False, None, [])


async def test_a_question_that_somebody_edited_in_the_store_is_asked_anew():
    desk = Desk()
    async with memory_gate(*desk.tools) as gate:
        call = asyncio.ensure_future(gate.run_tree(gate.leaf("send"), ADA, blackboard={"text": "x"}))
        first = await gate.approval(await asked(gate))
        forged = replace(first, state=ApprovalState.APPROVED)
        await parts_of(gate).store.write(lambda tx: tx.put_approval(forged))
        second = first.id
        async with asyncio.timeout(WITHIN):
            while second in {first.id, None}:
                second = board("send_result_pending")
                await asyncio.sleep(0.001)  # as above
        assert desk.done == []
        await gate.approve(second, by="grace")
        run = await asyncio.wait_for(call, WITHIN)
        assert (run.status, desk.done) == (NodeStatus.SUCCESS, ["sent x"])


async def test_a_tree_that_grows_while_it_runs_has_its_new_leaves_called_too():
    desk = Desk()

    class Grows(Behaviour):
        def update(self) -> Status:
            if self.parent is not None and len(self.parent.children) == 1:
                self.parent.add_child(gate.leaf("note"))  # type: ignore[attr-defined]
                return Status.RUNNING
            return Status.SUCCESS

    async with memory_gate(*desk.tools, config=FREE) as gate:
        tree = sequence(Grows("grows"))
        assert (await gate.run_tree(tree, ADA, blackboard={"text": "x"})).status is NodeStatus.SUCCESS
        assert desk.done == ["x"]


async def test_equal_leaves_and_the_rounds_of_a_loop_have_keys_of_their_own():
    desk = Desk()
    async with memory_gate(*desk.tools, config=FREE) as gate:
        twins, deep = [gate.leaf("note") for _ in range(2)], gate.leaf("note")
        tree = sequence(*twins, sequence(Repeat("thrice", deep, num_success=3), name="Tool:note"))
        assert len({leaf.path for leaf in (*twins, deep)}) == 3
        for _ in range(2):
            run = await gate.run_tree(tree, ADA, run="r", blackboard={"text": "x"})
            assert (run.status, desk.done) == (NodeStatus.SUCCESS, ["x"] * 5)
        assert len({row.key.key for row in await gate.attempts()}) == 5


NAMES = [
    ["a", "a", "a#0", "a#1"],
    ["a", "a", "a##0", "a#0", "a#0"],
    ["a", "a", "a#", "a#", "a##", "a##"],
    ["#", "#", "##0", "##", "##", "##1", "#1"],
]


@pytest.mark.parametrize("names", NAMES, ids=" ".join)
async def test_no_leaf_can_be_named_like_one_of_several_equal_ones(names: list[str]):
    desk = Desk()
    async with memory_gate(*desk.tools, config=FREE) as gate:
        leaves = [gate.leaf("note", name=name) for name in names]
        tree = sequence(*leaves)
        assert len({leaf.path for leaf in leaves}) == len(names)
        for _ in range(2):
            assert (await gate.run_tree(tree, ADA, run="r", blackboard={"text": "x"})).status is NodeStatus.SUCCESS
            assert desk.done == ["x"] * len(names)


async def test_a_resumed_run_that_asks_for_something_else_is_refused_and_does_nothing():
    desk = Desk()
    async with memory_gate(*desk.tools, config=FREE) as gate:
        assert (await gate.run_tree(gate.leaf("note"), ADA, run="r", blackboard={"text": "a"})).status == 2
        run = await gate.run_tree(gate.leaf("note"), ADA, run="r", blackboard={"text": "b"})
        assert (run.status, desk.done) == (NodeStatus.FAILURE, ["a"])
        assert "was used for note with other arguments" in board("note_result_error")


CRASHING = """
import asyncio, os, sys
from pathlib import Path
from py_trees.behaviour import Behaviour
from py_trees.common import Status
from py_trees.composites import Sequence
from callgate import Callgate, Context, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings

log, mode, url = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

@tool(effects="modifies_files", risk="low")
def note(text: str) -> str:
    "Append a line."
    with log.open("a") as file:
        file.write(text + "\\n")
    return text

class Dies(Behaviour):
    def update(self):
        if mode == "dies":
            os._exit(9)
        return Status.SUCCESS

async def main():
    async with Callgate.open(url, Settings(autonomy=Autonomy.A4)) as gate:
        gate.add(note)
        def leaf(text):
            return gate.leaf("note", arguments={"text": text}, result_key=text)
        tree = Sequence("story", memory=True, children=[leaf("one"), leaf("two"), Dies("dies"), leaf("three")])
        run = await gate.run_tree(tree, Context(user="ada", session="s"), run="tale")
        print(run.status.name)

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.slow
def test_a_run_whose_process_died_does_nothing_twice_when_it_is_resumed(tmp_path: Path):
    log, url = tmp_path / "log", f"sqlite:///{tmp_path / 'gate.db'}"

    def run(mode: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", CRASHING, str(log), mode, url]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert run("dies").returncode == 9
    assert log.read_text().split() == ["one", "two"]
    for _ in range(2):
        done = run("lives")
        assert (done.returncode, done.stdout.strip()) == (0, "SUCCESS"), done.stderr
        assert log.read_text().split() == ["one", "two", "three"]
