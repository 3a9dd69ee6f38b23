"""Trees that went past a leaf which had not succeeded: run again under their name, they take the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from py_trees.behaviour import Behaviour
from py_trees.blackboard import Blackboard
from py_trees.common import Status
from py_trees.composites import Selector, Sequence
from py_trees.decorators import Retry, Timeout

from callgate import Callgate, Context, NoEffect, tool
from callgate.flows.trees.runner import TreeRun
from callgate.flows.trees.statuses import NodeStatus
from callgate.model.approval import ApprovalState
from callgate.testing import memory_gate

ADA = Context(user="ada", session="s")
WITHIN = 20


class Bank:
    """Two ways to pay, of which the first may be closed, and a question at the end."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.tried = 0
        self.busy = 1
        self.entered, self.on = asyncio.Event(), asyncio.Event()

        @tool(effects="system_state", risk="low")
        async def by_bank() -> str:
            """Pay by bank; the line may be busy."""
            self.tried += 1
            if self.tried <= self.busy:
                raise NoEffect("the line is busy")
            self.paid.append("bank")
            return "by bank"

        @tool(effects="system_state", risk="low")
        async def by_card() -> str:
            """Pay by card."""
            self.paid.append("card")
            return "by card"

        @tool(effects="read_only")
        async def look() -> str:
            """Look; that may take long."""
            self.entered.set()
            await self.on.wait()
            return "found"

        @tool(effects="network_access", risk="high")
        async def tell() -> str:
            """Tell somebody, which a person has to allow."""
            return "told"

        self.tools = [by_bank, by_card, look, tell]


async def run_twice(make: Callable[[Callgate], Behaviour], bank: Bank, store: str) -> TreeRun:
    """A run that waits for a person; and in another process, after that person's yes, the same run again."""
    async with memory_gate(*bank.tools, store=store) as gate:
        run = await gate.run_tree(make(gate), ADA, run="monday", wait=0)
        assert run.status is NodeStatus.RUNNING
        await gate.approve(run.waits_for[0], by="grace")
    Blackboard.clear()
    async with memory_gate(*bank.tools, store=store) as gate:
        ended = await gate.run_tree(make(gate), ADA, run="monday")
        assert (await gate.verify_audit()).ok
        return ended


async def test_a_leaf_that_was_tried_again_is_not_tried_once_more_when_the_tree_is_run_again(tmp_path: Path):
    bank = Bank()

    def tree(gate: Callgate) -> Behaviour:
        return Sequence("s", memory=True, children=[Retry("again", gate.leaf("by_bank"), 3), gate.leaf("tell")])

    run = await run_twice(tree, bank, f"sqlite:///{tmp_path / 'a.db'}")
    assert (run.status, bank.tried, bank.paid) == (NodeStatus.SUCCESS, 2, ["bank"])


async def test_a_selector_that_fell_back_falls_back_again(tmp_path: Path):
    bank = Bank()

    def tree(gate: Callgate) -> Behaviour:
        pay = Selector("pay", memory=True, children=[gate.leaf("by_bank"), gate.leaf("by_card")])
        return Sequence("s", memory=True, children=[pay, gate.leaf("tell")])

    run = await run_twice(tree, bank, f"sqlite:///{tmp_path / 'a.db'}")
    assert (run.status, bank.tried, bank.paid) == (NodeStatus.SUCCESS, 1, ["card"])


class Impatient(Behaviour):
    """Waits until the look has begun, and then wants something else."""

    def __init__(self, bank: Bank) -> None:
        super().__init__("impatient")
        self._bank = bank

    def update(self) -> Status:
        return Status.SUCCESS if self._bank.entered.is_set() else Status.FAILURE


async def test_a_leaf_that_was_let_go_of_is_not_called_when_the_tree_is_run_again(tmp_path: Path):
    bank = Bank()

    def tree(gate: Callgate) -> Behaviour:
        # The look is left as soon as it has begun, for the card, which is then paid with.
        card = Sequence("card", memory=True, children=[Impatient(bank), gate.leaf("by_card")])
        found = Sequence("found", memory=True, children=[gate.leaf("look"), gate.leaf("by_bank")])
        return Sequence(
            "s", memory=True, children=[Selector("pay", memory=False, children=[card, found]), gate.leaf("tell")]
        )

    async with memory_gate(*bank.tools, store=f"sqlite:///{tmp_path / 'a.db'}") as gate:
        run = await gate.run_tree(tree(gate), ADA, run="monday", every=0.01, wait=0)
        assert (run.status, bank.paid) == (NodeStatus.RUNNING, ["card"])
        await gate.approve(run.waits_for[0], by="grace")
        # In the second run nothing hinders the look, and the bank is open.
        bank.entered.clear()
        bank.on.set()
        bank.busy = 0
        ended = await gate.run_tree(tree(gate), ADA, run="monday", every=0.01)
        assert (ended.status, bank.paid) == (NodeStatus.FAILURE, ["card"])


async def test_a_question_whose_branch_was_left_is_not_asked_again(tmp_path: Path):
    bank = Bank()

    def tree(gate: Callgate) -> Behaviour:
        asking = Timeout("patience", gate.leaf("tell"), duration=0.05)
        pay = Selector("pay", memory=True, children=[asking, gate.leaf("by_card")])
        return Sequence("s", memory=True, children=[pay, gate.leaf("tell", name="in the end")])

    store = f"sqlite:///{tmp_path / 'a.db'}"
    run = await run_twice(tree, bank, store)
    assert (run.status, bank.paid) == (NodeStatus.SUCCESS, ["card"])
    async with memory_gate(*bank.tools, store=store) as gate:
        states = sorted(question.state for question in await gate.approvals(states=None))
        assert states == [ApprovalState.USED, ApprovalState.WITHDRAWN]


async def test_a_tree_that_ended_at_a_failure_tries_that_leaf_anew():
    bank = Bank()
    async with memory_gate(*bank.tools) as gate:
        tree = Sequence("s", memory=True, children=[gate.leaf("by_card"), gate.leaf("by_bank")])
        assert (await gate.run_tree(tree, ADA, run="monday")).status is NodeStatus.FAILURE
        assert (await gate.run_tree(tree, ADA, run="monday")).status is NodeStatus.SUCCESS
        assert bank.paid == ["card", "bank"]
