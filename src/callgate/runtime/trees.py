"""Trees: the face of a gate for behaviour trees. Leaves from its tools, and runs of trees. Loads py_trees when used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError, Conflict, NotFound
from callgate.flows.trees.calling import TreeCalls
from callgate.flows.trees.contracts import CONTRACTS
from callgate.model.approval import ApprovalState
from callgate.model.attempt import AttemptKey
from callgate.model.ids import uuid7
from callgate.model.levels import Origin
from callgate.pipeline import deciding
from callgate.pipeline.recall import recorded_outcome
from callgate.runtime.opened import Face
from callgate.runtime.way_taken import WayTaken

if TYPE_CHECKING:
    from callgate.flows.trees.contract import Contract
    from callgate.flows.trees.leaf import ToolLeaf
    from callgate.flows.trees.runner import TreeRun
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool
    from callgate.registry.registry import Registry
    from callgate.runtime.opened import Opened

_OURS = frozenset({Origin.BUILTIN, Origin.FUNCTION, Origin.TOOLKIT})
"""Whose tools have a contract by name; what a foreign source calls its tools says nothing of what they give."""
_INSTALL = "behaviour trees need py_trees: pip install 'callgate[trees]'"


class Trees(Face):
    """Behaviour trees over the tools of a gate."""

    _registry: Registry
    _contracts: Mapping[str, Contract] = {}

    def add_contract(self, tool: str, contract: Contract) -> None:
        """Say what the leaves of a tool read, write and need, in place of what is known of its name."""
        self._contracts = {**self._contracts, tool: contract}

    def leaf(
        self,
        tool: str,
        *,
        name: str | None = None,
        args: Mapping[str, str] | None = None,
        arguments: Mapping[str, Any] | None = None,
        result_key: str | None = None,
        contract: Contract | None = None,
        timeout: float | None = None,
        namespace: str | None = None,
    ) -> ToolLeaf:
        """A leaf that calls one of the gate's tools.

        Args:
            tool: Its name.
            name: The leaf's; `Tool:<tool>` when left out.
            args: Blackboard keys, each with the argument it becomes. Without this and `arguments`: those of the
                contract, or else all that the tool takes, each under its own name.
            arguments: Arguments as values or templates, `"${bb.key}"`.
            result_key: Where the result goes; `<tool>_result` when left out.
            contract: What it reads, writes and needs, before what the gate knows of that tool.
            timeout: Seconds a call may take.
            namespace: Under which its keys lie on the blackboard.

        Raises:
            ToolNotFoundError: The gate has no such tool.
            ConfigurationError: py_trees is not installed, or a key or a template is wrong.
        """
        found = self._registry.get(tool)
        known = contract if contract is not None else self._contract(found)
        if args is None and arguments is None and known is None:
            args = {each: each for each in found.input_schema.get("properties", {})}
        try:
            from callgate.flows.trees.leaf import ToolLeaf  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise ConfigurationError(_INSTALL) from error
        try:
            return ToolLeaf(
                tool,
                name=name,
                argument_mapping=args,
                arguments=arguments,
                result_key=result_key,
                contract=known,
                timeout=timeout,
                namespace=namespace,
            )
        except ValueError as error:
            raise ConfigurationError(f"a leaf of {tool}: {error}") from error

    def _contract(self, tool: Tool) -> Contract | None:
        """What is known of a tool; by its name only of built-in ones and of the developer's own in their place."""
        known = CONTRACTS.get(tool.name) if tool.source in _OURS else None
        return self._contracts.get(tool.name, known)

    def tree_calls(self, context: Context | None = None, *, run: str | None = None) -> TreeCalls:
        """What makes the calls of leaves, for who ticks a tree by hand: put it on the blackboard as `tool_executor`.

        Args:
            context: Who asks; the gate's own when left out.
            run: The name of the run; one is made when left out.
        """
        opened = self._open()
        ground, name = context or opened.default_context, run or uuid7()
        return TreeCalls(_TreeGate(opened, WayTaken(opened, "tree", ground, key=name)), ground, run=name)

    async def run_tree(
        self,
        tree: Any,
        context: Context | None = None,
        *,
        run: str | None = None,
        blackboard: Mapping[str, Any] | None = None,
        every: float | None = None,
        wait: float | None = None,
    ) -> TreeRun:
        """Run a py_trees tree to its end. It is ticked when a call has ended or a person has decided.

        Args:
            tree: The tree, or its root.
            context: Who asks. Its user, where it names one, is for whom the leaves call; else `user_id` on the
                blackboard says it.
            run: The name of the run. Run again under it, after a crash or because it waited, the tree does nothing
                twice; one is made when left out, and is in the answer.
            blackboard: Values to begin with.
            every: Seconds after which to tick at the latest, for trees that watch the world besides.
            wait: Seconds to wait for people while nothing else runs; as long as it takes when left out.

        Returns:
            How it ended; RUNNING with the approvals it waits for, if `wait` was over.

        Raises:
            ConfigurationError: py_trees is not installed, or the tree is being run already.
        """
        try:
            from py_trees.blackboard import Blackboard  # noqa: PLC0415 - an extra

            from callgate.flows.trees.runner import run_tree  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise ConfigurationError(_INSTALL) from error
        for key, value in (blackboard or {}).items():
            Blackboard.set(key, value)
        return await run_tree(tree, self.tree_calls(context, run=run), every=every, wait=wait)


class _TreeGate:
    """What the calls of a tree have of the gate."""

    def __init__(self, opened: Opened, taken: WayTaken) -> None:
        self._opened = opened
        self._taken = taken
        self.home: asyncio.AbstractEventLoop = opened.home

    async def call(self, call: Call, context: Context, /) -> Outcome:
        return await self._taken.call(call, context)

    def let_go(self, call: Call, /) -> None:
        self._taken.let_go(call)

    async def is_decided(self, approval_id: str, /) -> bool:
        try:
            approval = await deciding.reread(self._opened.parts, approval_id)
        except (Conflict, NotFound):
            return True  # edited or gone: the call itself says what that means
        return approval.state is not ApprovalState.PENDING

    async def recorded(self, key: str, context: Context, /) -> Outcome | None:
        return await recorded_outcome(self._opened.parts, AttemptKey(context.principal, context.session, key))

    async def withdraw(self, approval_id: str, /) -> None:
        try:
            await deciding.withdraw(self._opened.parts, approval_id)
        except (Conflict, NotFound):
            return  # decided meanwhile

    def is_safe(self, tool: str, /) -> bool:
        found = self._opened.parts.registry.find(tool)
        return found is None or found.concurrency_safe
