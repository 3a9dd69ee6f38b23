"""Running a tree: it is ticked when a call ended or a person decided, and not before. Needs py_trees."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from py_trees.behaviour import Behaviour
from py_trees.common import Status
from py_trees.decorators import EternalGuard, Timeout
from py_trees.trees import BehaviourTree

from callgate.errors import ConfigurationError
from callgate.flows.trees.calling import TreeCalls
from callgate.flows.trees.leaf import ToolLeaf
from callgate.flows.trees.statuses import NodeStatus

TICKS_EVERY = 0.1
"""Seconds between ticks while something runs that is no call: a timer, say."""
_BY_THE_CLOCK = (Timeout, EternalGuard)
_STATUSES = {Status.SUCCESS: NodeStatus.SUCCESS, Status.RUNNING: NodeStatus.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRun:
    """How a run of a tree ended, or how far it came."""

    run: str
    """Its name: run again under it, the tree does nothing twice."""
    status: NodeStatus
    """SUCCESS or FAILURE; RUNNING if it waits for people and was given up for now."""
    ticks: int
    waits_for: tuple[str, ...] = ()
    """The approvals it waits for."""


async def run_tree(
    tree: Behaviour | BehaviourTree, calls: TreeCalls, *, every: float | None = None, wait: float | None = None
) -> TreeRun:
    """Tick a tree until it has ended.

    Args:
        tree: The tree, or its root.
        calls: Who makes the calls of its leaves.
        every: Seconds after which to tick at the latest; None ticks by the clock only while something but calls runs.
        wait: Seconds to wait for people while nothing else runs; None waits for as long as it takes.

    Raises:
        ConfigurationError: The tree is being run already.
    """
    run = _Run(tree if isinstance(tree, BehaviourTree) else BehaviourTree(tree), calls)
    try:
        await run.to_the_end(every=every, wait=wait)
        return run.report()
    except BaseException:
        calls.keeps_questions = True
        raise
    finally:
        await run.let_go()


class _Run:
    def __init__(self, tree: BehaviourTree, calls: TreeCalls) -> None:
        if any(leaf.calls is not None for leaf in _leaves(tree.root)):
            raise ConfigurationError("the tree is being run already; make another one for another run")
        self._tree = tree
        self._calls = calls
        self._ticks = 0
        self._changed = asyncio.Event()
        self._bound: set[ToolLeaf] = set()
        calls.changed = self._changed.set

    async def to_the_end(self, *, every: float | None, wait: float | None) -> None:
        loop, until = asyncio.get_running_loop(), None
        while True:
            self._changed.clear()
            self._tick()
            if self._tree.root.status is not Status.RUNNING:
                return
            by_the_clock = _needs_the_clock(self._tree.root)
            if by_the_clock or not self._waits_only_for_people():
                until = None
            elif wait is not None and until is None:
                until = loop.time() + wait
            left = None if until is None else until - loop.time()
            ticking = every if every is not None else TICKS_EVERY if by_the_clock else None
            if not await self._pause(ticking, left) and left is not None and left <= (ticking or left):
                self._calls.keeps_questions = True
                return

    def report(self) -> TreeRun:
        root = self._tree.root
        waits_for = tuple(leaf.waits_for for leaf in _leaves(root) if leaf.waits_for is not None)
        status = _STATUSES.get(root.status, NodeStatus.FAILURE)
        return TreeRun(run=self._calls.run, status=status, ticks=self._ticks, waits_for=waits_for)

    async def let_go(self) -> None:
        """Stop what still runs, and wait until that is recorded."""
        try:
            if self._tree.root.status is Status.RUNNING:
                self._tree.root.stop(Status.INVALID)
            # A behaviour that raised may have left others as they were.
            for leaf in self._bound:
                if leaf.busy:
                    leaf.reset()
            await self._calls.settled()
        finally:
            for leaf in self._bound:
                leaf.calls = None

    def _tick(self) -> None:
        # A behaviour may have grown the tree since the last tick.
        for leaf in _leaves(self._tree.root):
            leaf.calls = self._calls
            self._bound.add(leaf)
        self._ticks += 1
        self._tree.tick()

    def _waits_only_for_people(self) -> bool:
        running = [leaf for leaf in _leaves(self._tree.root) if leaf.status is Status.RUNNING]
        return all(leaf.waits_for is not None for leaf in running)

    async def _pause(self, *limits: float | None) -> bool:
        """Whether something changed before the first of these limits, in seconds."""
        given = [limit for limit in limits if limit is not None]
        try:
            await asyncio.wait_for(self._changed.wait(), min(given) if given else None)
        except TimeoutError:
            return False
        return True


def _leaves(root: Behaviour) -> Iterator[ToolLeaf]:
    return (node for node in root.iterate() if isinstance(node, ToolLeaf))


def _needs_the_clock(node: Behaviour) -> bool:
    """Whether it runs for another reason than that a call does."""
    if node.status is not Status.RUNNING or isinstance(node, ToolLeaf):
        return False
    running = [child for child in node.children if child.status is Status.RUNNING]
    if isinstance(node, _BY_THE_CLOCK) or not running:
        return True
    return any(_needs_the_clock(child) for child in running)
