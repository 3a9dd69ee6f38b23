"""GateTools: the tools of one asker for agents of the SDK, and what people decide about interrupted runs.

An interruption that is approved in the SDK alone only makes the gate look again. What a person with a name decides is
decided at the gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from agents import Agent, FunctionTool, RunResult, RunResultStreaming, RunState, ToolApprovalItem

from callgate.errors import ApprovalNotFound
from callgate.frameworks.answers import instead, shown
from callgate.frameworks.desk import Desk
from callgate.frameworks.openai_agents.lending import Lent, Manners, Person, words
from callgate.frameworks.openai_agents.marks import marked_in
from callgate.frameworks.reach import AnyGate
from callgate.model.approval import Approval, ApprovalState
from callgate.model.context import Context
from callgate.model.pauses import pauses
from callgate.model.requested import Requested
from callgate.runtime.offering import ModelPool

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate

State = RunState[Any, Agent[Any]]
Paused = RunResult | RunResultStreaming | State


class Question(NamedTuple):
    """An interruption of a run, and what a person is asked at the gate."""

    item: ToolApprovalItem
    call: Requested
    approval: Approval

    def to_json(self) -> dict[str, Any]:
        """The question as every pause carries it, in JSON values."""
        return shown(self.approval, self.call)


Asked = ToolApprovalItem | Question


class GateTools:
    """The tools of one asker for agents of the OpenAI Agents SDK. Calling one is calling the gate.

    Args:
        gate: An open gate, also one for blocking code.
        context: Who asks; the gate's own when left out. Set a `session` for each conversation: the SDK's id of a call
            is the key of its effect within it, so that a run that is repeated, here or elsewhere, has its effects once.
        names: Which tools; when left out, all that this asker may use.
        by: The person whose word `state.approve(…)` is, or a function of the run that says so; recorded as asserted by
            them. It counts for the question that the run was interrupted for, and for no other. Without it only
            decisions at the gate count.
        strict: Whether models are bound to the schemas, where they have a strict form.
        wait: Seconds to wait for a person where the SDK runs a call that the gate still asks about; when left out, the
            model is told at once that it waits.

    Raises:
        ConfigurationError: The gate is not open.
        ToolNotFoundError: This asker may use no tool of that name.
    """

    def __init__(
        self,
        gate: AnyGate,
        context: Context | None = None,
        *,
        names: Iterable[str] | None = None,
        by: Person = None,
        strict: bool = True,
        wait: float | None = None,
    ) -> None:
        self._desk = Desk(gate, context)
        pool = cast("ModelPool", gate.pool(self._desk.context))
        told = dict(zip(pool.names, pool.to_openai(strict=strict), strict=True))
        tools = list(pool) if names is None else [pool.get(name) for name in names]
        manners = Manners(by, wait)
        self._functions = [Lent(tool, told[tool.name], desk=self._desk, manners=manners).function() for tool in tools]

    def functions(self) -> list[FunctionTool]:
        """The tools, for `Agent(tools=…)`."""
        return list(self._functions)

    async def questions(self, paused: Paused) -> list[Question]:
        """The interruptions that wait for a person at the gate, each with its question, in order.

        Args:
            paused: The result of a run, or its state. Interruptions by other tools are left out.
        """
        return await _open_questions(self._interruptions(paused))

    async def approve(self, state: State, item: Asked, *, by: str, arguments: dict[str, Any] | None = None) -> Approval:
        """Say yes in a person's name, at the gate and in the state of the run: when it goes on, the call is made.

        Args:
            state: Of the run that was interrupted.
            item: Which interruption, or the question that was shown. An interruption stands for the question that the
                run was interrupted for.
            by: Who says so; recorded as asserted.
            arguments: What to call it with instead, in the words that the model was told.

        Raises:
            ApprovalNotFound: The gate asks nothing about it, no more, or something else by now.
            ApprovalConflict: This person may not decide it.
            AssuranceTooLow: It must be more certain who decides; the question stays pending.
            Refusal: The edited call is invalid or not allowed.
        """
        _, question = await self._question(state, item)
        asked = question.approval
        seen = item.approval.digest if isinstance(item, Question) else None

        async def yes(gate: Callgate) -> Approval:
            other = instead(gate, asked, arguments=arguments)
            return await gate.approve(asked.id, by=by, arguments=other, digest=seen)

        decided = await self._desk.do(yes)
        if decided.state is not ApprovalState.PENDING:  # else somebody else has to agree
            state.approve(question.item)
        return decided

    async def reject(self, state: State, item: Asked, *, by: str, why: str = "") -> Approval:
        """Say no in a person's name, at the gate and in the state of the run; the model reads why.

        Raises:
            ApprovalNotFound: The gate asks nothing about it, or no more.
            ApprovalConflict: An agent tried.
        """
        lent, question = await self._question(state, item)
        decided = await self._desk.do(lambda gate: gate.reject(question.approval.id, by=by, why=why))
        state.reject(question.item, rejection_message=words(question.call, await lent.make(question.call)))
        return decided

    async def respond(self, state: State, item: Asked, *, by: str, text: str) -> Approval:
        """Answer the model in a person's name instead of letting the call run.

        Raises:
            ApprovalNotFound: The gate asks nothing about it, or no more.
            ApprovalConflict: An agent tried.
        """
        lent, question = await self._question(state, item)
        decided = await self._desk.do(lambda gate: gate.respond(question.approval.id, by=by, text=text))
        state.reject(question.item, rejection_message=words(question.call, await lent.make(question.call)))
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
        loop, pause = asyncio.get_running_loop(), pauses()
        until = loop.time() + wait
        interruptions = self._interruptions(state)
        # People decide in other processes, so that somebody has to look.
        while (waiting := await _open_questions(interruptions)) and (left := until - loop.time()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(next(pause), left))
        undecided = [question.item for question in waiting]
        for item, _ in interruptions:
            if item not in undecided:
                state.approve(item)
        return waiting

    def _interruptions(self, paused: Paused) -> list[tuple[ToolApprovalItem, Lent]]:
        items = paused.get_interruptions() if isinstance(paused, RunState) else paused.interruptions
        return [(item, lent) for item in items if (lent := self._lent(item)) is not None]

    def _lent(self, item: ToolApprovalItem) -> Lent | None:
        """Which tool of ours an interruption is about; None for a tool of somebody else, whatever its name."""
        for tool in getattr(item.agent, "tools", ()):
            if isinstance(tool, FunctionTool) and tool.name == item.tool_name:
                lent = getattr(tool.on_invoke_tool, "__self__", None)
                return lent if isinstance(lent, Lent) and lent.desk is self._desk else None
        return None

    async def _question(self, state: State, asked: Asked) -> tuple[Lent, Question]:
        """The question that was shown, where it still waits."""
        item = asked.item if isinstance(asked, Question) else asked
        lent = self._lent(item)
        found = [] if lent is None else await _open_questions([(item, lent)])
        if lent is None or not found:
            raise ApprovalNotFound(f"the gate asks nobody about this call of {item.tool_name}, or no more")
        if isinstance(asked, Question):
            seen: str | None = asked.approval.id
        else:
            seen = marked_in(state, tool=lent.name, call_id=found[0].call.id)
        if seen != found[0].approval.id:
            raise ApprovalNotFound(
                f"the gate asks something else about this call of {item.tool_name} by now: show questions(state) again"
            )
        return lent, found[0]


async def _open_questions(interruptions: list[tuple[ToolApprovalItem, Lent]]) -> list[Question]:
    """Those that wait for a person."""
    calls = [(item, lent, lent.call(item.raw_item)) for item, lent in interruptions]
    asked = [(item, call, await lent.question(call)) for item, lent, call in calls]
    return [Question(item, call, approval) for item, call, approval in asked if approval is not None]
