"""GateTools: the tools of one asker for agents of the SDK, and what people decide about interrupted runs.

An interruption that is approved in the SDK alone only makes the gate look again. What is decided here, by a person with
a name, is decided at the gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from agents import Agent, FunctionTool, RunResult, RunResultStreaming, RunState, ToolApprovalItem

from callgate.errors import ApprovalNotFound
from callgate.frameworks.desk import Desk
from callgate.frameworks.openai_agents.lending import Lent
from callgate.model.approval import Approval, ApprovalState
from callgate.model.context import Context
from callgate.model.requested import attribute

if TYPE_CHECKING:
    from callgate.runtime.blocking import BlockingCallgate
    from callgate.runtime.gate import Callgate

State = RunState[Any, Agent[Any]]
Paused = RunResult | RunResultStreaming | State
_POLL_FIRST = 0.005
_POLL_MOST = 0.25


class Question(NamedTuple):
    """An interruption of a run, and what a person is asked at the gate."""

    item: ToolApprovalItem
    approval: Approval


class GateTools:
    """The tools of one asker for agents of the OpenAI Agents SDK. Calling one is calling the gate.

    Args:
        gate: An open gate, also one for blocking code.
        context: Who asks; the gate's own when left out. Set a `session` for each conversation: the SDK's id of a call
            is the key of its effect within it, so that a run that is repeated, here or elsewhere, has its effects once.
        names: Which tools; when left out, all that this asker may use.
        strict: Whether models are bound to the schemas, where they have a strict form.
        wait: Seconds to wait for a person where the SDK runs a call that the gate still asks about; when left out, the
            model is told at once that it waits.

    Raises:
        ConfigurationError: The gate is not open.
        ToolNotFoundError: This asker may use no tool of that name.
    """

    def __init__(
        self,
        gate: Callgate | BlockingCallgate,
        context: Context | None = None,
        *,
        names: Iterable[str] | None = None,
        strict: bool = True,
        wait: float | None = None,
    ) -> None:
        self._desk = Desk(gate, context)
        pool = gate.pool(self._desk.context)
        told = dict(zip(pool.names, pool.to_openai(strict=strict), strict=True))
        tools = list(pool) if names is None else [pool.get(name) for name in names]
        self._functions = [Lent(tool, told[tool.name], desk=self._desk, wait=wait).function() for tool in tools]

    def functions(self) -> list[FunctionTool]:
        """The tools, for `Agent(tools=…)`."""
        return list(self._functions)

    async def questions(self, paused: Paused) -> list[Question]:
        """The interruptions that wait for a person at the gate, each with its question, in order.

        Args:
            paused: The result of a run, or its state. Interruptions by other tools are left out.
        """
        return await self._open(self._interruptions(paused))

    async def approve(
        self, state: State, item: ToolApprovalItem, *, by: str, arguments: dict[str, Any] | None = None
    ) -> Approval:
        """Say yes in a person's name, at the gate and in the state of the run: when it goes on, the call is made.

        Args:
            state: Of the run that was interrupted.
            item: Which interruption.
            by: Who says so; recorded as asserted.
            arguments: What to call it with instead.

        Raises:
            ApprovalNotFound: The gate asks nothing about it, or no more.
            ApprovalConflict: This person may not decide it.
            AssuranceTooLow: It must be more certain who decides; the question stays pending.
            Refusal: The edited call is invalid or not allowed.
        """
        _, question = await self._question(item)
        decided = await self._desk.do(lambda gate: gate.approve(question.id, by=by, arguments=arguments))
        if decided.state is not ApprovalState.PENDING:  # else somebody else has to agree
            state.approve(item)
        return decided

    async def reject(self, state: State, item: ToolApprovalItem, *, by: str, why: str = "") -> Approval:
        """Say no in a person's name, at the gate and in the state of the run; the model reads why.

        Raises:
            ApprovalNotFound: The gate asks nothing about it, or no more.
            ApprovalConflict: An agent tried.
        """
        lent, question = await self._question(item)
        decided = await self._desk.do(lambda gate: gate.reject(question.id, by=by, why=why))
        state.reject(item, rejection_message=await lent.answer(item.raw_item))
        return decided

    async def respond(self, state: State, item: ToolApprovalItem, *, by: str, text: str) -> Approval:
        """Answer the model in a person's name instead of letting the call run.

        Raises:
            ApprovalNotFound: The gate asks nothing about it, or no more.
            ApprovalConflict: An agent tried.
        """
        lent, question = await self._question(item)
        decided = await self._desk.do(lambda gate: gate.respond(question.id, by=by, text=text))
        state.reject(item, rejection_message=await lent.answer(item.raw_item))
        return decided

    async def collect(self, state: State, *, wait: float = 0) -> list[Question]:
        """Take over into the state of a run what was decided at the gate, before `Runner.run(agent, state)` goes on.

        What was approved is then made, what was rejected or answered is told to the model, and what nobody has decided
        interrupts again.

        Args:
            state: Of the run that was interrupted.
            wait: Seconds to wait for people at most.

        Returns:
            What still waits.
        """
        loop, pause = asyncio.get_running_loop(), _POLL_FIRST
        until = loop.time() + wait
        interruptions = self._interruptions(state)
        while (waiting := await self._open(interruptions)) and (left := until - loop.time()) > 0:
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 2, _POLL_MOST)
        undecided = [question.item for question in waiting]
        for item, _ in interruptions:
            if item not in undecided:
                state.approve(item)
        return waiting

    def _interruptions(self, paused: Paused) -> list[tuple[ToolApprovalItem, Lent]]:
        items = paused.get_interruptions() if isinstance(paused, RunState) else paused.interruptions
        return [(item, lent) for item in items if (lent := self._lent(item)) is not None]

    async def _open(self, interruptions: list[tuple[ToolApprovalItem, Lent]]) -> list[Question]:
        asked = [(item, await self._asked(item, lent)) for item, lent in interruptions]
        return [Question(item, approval) for item, approval in asked if approval is not None]

    def _lent(self, item: ToolApprovalItem) -> Lent | None:
        """Which tool of ours an interruption is about; None for a tool of somebody else, whatever its name."""
        for tool in getattr(item.agent, "tools", ()):
            if isinstance(tool, FunctionTool) and tool.name == item.tool_name:
                lent = getattr(tool.on_invoke_tool, "__self__", None)
                return lent if isinstance(lent, Lent) and lent.desk is self._desk else None
        return None

    async def _question(self, item: ToolApprovalItem) -> tuple[Lent, Approval]:
        lent = self._lent(item)
        approval = None if lent is None else await self._asked(item, lent)
        if lent is None or approval is None:
            raise ApprovalNotFound(f"the gate asks nobody about this call of {item.tool_name}, or no more")
        return lent, approval

    async def _asked(self, item: ToolApprovalItem, lent: Lent) -> Approval | None:
        """The open question about an interrupted call."""
        if lent.tool.read_only:
            # Reads have no key to be found by; asked again, the question is the same.
            asked = await lent.ask_again(item.raw_item)
            return None if asked is None else await self._desk.do(lambda gate: gate.approval(asked))
        call_id = str(attribute(item.raw_item, "call_id"))
        return await self._desk.do(lambda gate: gate.question(call_id, self._desk.context))
