"""GateToolset: the pool of one asker as a toolset of Pydantic AI. Calling one of its tools is calling the gate."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic_ai import ApprovalRequired, ModelRetry, RunContext, ToolDefinition
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from typing_extensions import override

from callgate.errors import Conflict, MalformedResponse, StoreError
from callgate.frameworks.answers import Said, decide, shown
from callgate.frameworks.pydantic_ai.arguments import CarefulReader
from callgate.frameworks.pydantic_ai.history import answered_outside, asked_for
from callgate.frameworks.reach import AnyGate, asker, way_to
from callgate.model.approval import ApprovalState
from callgate.model.context import Context
from callgate.model.ids import uuid7
from callgate.model.outcome import Outcome, Pending, Succeeded
from callgate.model.requested import Requested, requested
from callgate.model.visible import brief
from callgate.runtime.call_key import call_key
from callgate.runtime.telling import told

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.runtime.offering import ModelPool

_READER = CarefulReader()
_log = logging.getLogger("callgate")


class GateToolset(AbstractToolset[AgentDepsT]):
    """The tools of a gate, for agents of Pydantic AI: `Agent(model, toolsets=[GateToolset(gate, context)])`.

    Where a person has to decide, the run ends with `DeferredToolRequests`, whose `metadata` has the question. Resumed
    with `DeferredToolResults`, the gate looks again, and the call runs once somebody has approved it.

    Args:
        gate: An open gate, or one that is open by the time an agent runs; also one for blocking code.
        context: Who asks, or a function of the run that says so; the gate's own when left out. Without a session of
            its own, the conversation of Pydantic AI is its session.
        by: The person whose approvals, edits and denials the framework hands in, or a function of the run that says
            so. They are recorded as asserted by them. Without it only decisions at the gate count.
        id: The toolset's id, where one is needed.
        max_retries: How often a model may correct arguments that do not fit; the agent's limit when left out.
    """

    def __init__(
        self,
        gate: AnyGate,
        context: Context | Callable[[RunContext[AgentDepsT]], Context] | None = None,
        *,
        by: str | Callable[[RunContext[AgentDepsT]], str | None] | None = None,
        id: str | None = None,
        max_retries: int | None = None,
    ) -> None:
        self._gate = gate
        self._context = context
        self._by = by
        self._id = id
        self._max_retries = max_retries

    @property
    @override
    def id(self) -> str | None:
        return self._id

    @override
    async def for_run_step(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Before a model goes on: what the framework answered in the gate's place is recorded at the gate."""
        for call, said in answered_outside(ctx):
            try:
                await way_to(self._gate).wait(partial(_close, call=call, said=said, party=self._party(ctx)))
            except (Conflict, StoreError) as error:
                # Somebody decided just now, or nobody can: the model has its answer, and the question its end.
                _log.warning("the answer to call %s is not recorded: %s", brief(call.id), error)
        return self

    @override
    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """What the asker may use now."""
        pool = await way_to(self._gate).wait(partial(_pool, context=self._party(ctx).context))
        retries = ctx.max_retries if self._max_retries is None else self._max_retries
        return {
            definition.name: ToolsetTool(toolset=self, tool_def=definition, max_retries=retries, args_validator=_READER)
            for definition in _definitions(pool)
        }

    @override
    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        """Call the tool through the gate.

        Raises:
            ApprovalRequired: A person has to decide.
            ModelRetry: The arguments do not fit; a model can correct them.
            ToolFailed: Whatever else did not succeed, as it is told to every model.
        """
        try:
            call = requested(ctx.tool_call_id or uuid7(), name=name, arguments=tool_args)
        except MalformedResponse as error:
            raise ToolFailed(f"Not run: {error}.") from None
        own = (asked_for(ctx, call) or call) if ctx.tool_call_approved else None
        work = partial(_make, call=call, own=own, party=self._party(ctx))
        try:
            outcome, question = await way_to(self._gate).wait(work)
        except StoreError as error:
            # What is raised here would cancel the calls beside this one.
            raise ToolFailed(f"Not run (store_unavailable): {error}.") from error
        if question is not None:
            raise ApprovalRequired(metadata=question)
        return _answer(outcome)

    def _party(self, ctx: RunContext[AgentDepsT]) -> _Party:
        own = self._context(ctx) if callable(self._context) else self._context
        by = self._by(ctx) if callable(self._by) else self._by
        return _Party(asker(self._gate, own, conversation=ctx.conversation_id), by)


class _Party(NamedTuple):
    """Who asks, and who answers through the framework."""

    context: Context
    by: str | None


async def _pool(gate: Callgate, *, context: Context) -> ModelPool:
    return gate.pool(context)


def _definitions(pool: ModelPool) -> list[ToolDefinition]:
    return [
        ToolDefinition(
            name=definition["function"]["name"],
            description=definition["function"]["description"],
            parameters_json_schema=definition["function"]["parameters"],
            sequential=not tool.concurrency_safe,
        )
        for tool, definition in zip(pool, pool.to_openai_chat(), strict=True)
    ]


async def _make(
    gate: Callgate, *, call: Requested, own: Requested | None, party: _Party
) -> tuple[Outcome, dict[str, Any] | None]:
    """How the call ended, and what its pause carries where it waits.

    Args:
        gate: Where it is made.
        call: As the framework hands it in.
        own: As the model made it, where the framework says that it was approved.
        party: Who asks, and who answers.
    """
    note: str | None = None
    asked = call
    if own is not None:
        asked, note = await _approve(gate, call=call, own=own, party=party)
    outcome = await gate.handle_call(asked, party.context)
    if asked is not call and outcome.error is not None and outcome.error.code == "idempotency_conflict":
        # The key was used for the call as the framework has it: its own hooks changed the arguments, and nobody edited.
        outcome = await gate.handle_call(call, party.context)
    if not isinstance(outcome, Pending):
        return outcome, None
    return outcome, shown(await gate.approval(outcome.approval_id), asked, note=note)


async def _approve(gate: Callgate, *, call: Requested, own: Requested, party: _Party) -> tuple[Requested, str | None]:
    """Which call was asked about, and why the yes to it does not count, where it does not.

    Other arguments than the model's are an edit, unless it was these that somebody was asked about.
    """
    asked, said = call, Said("approve")
    question = await gate.question(call, party.context)
    if question is None and own.arguments != call.arguments:
        asked, said = own, Said("approve", arguments=call.arguments)
        question = await gate.question(own, party.context)
    if question is None or question.state is not ApprovalState.PENDING:
        return asked, None
    return asked, await decide(gate, question, said=said, by=party.by)


async def _close(gate: Callgate, *, call: Requested, said: Said | None, party: _Party) -> None:
    """The model has its answer already; nobody shall be asked about the call any more."""
    question = await gate.question(call, party.context)
    if question is None or question.state is not ApprovalState.PENDING:
        return
    if said is None and question.key != call_key(call.id, party.context):
        # Equal reads share their question: the result of one ends no question about another.
        return
    if said is None or party.by is None or await decide(gate, question, said=said, by=party.by) is not None:
        await gate.withdraw(question.id)


def _answer(outcome: Outcome) -> Any:
    if isinstance(outcome, Succeeded):
        plain = outcome.value is not None and not outcome.metadata.get("edited") and not _may_be_media(outcome.value)
        return outcome.value if plain else told(outcome)
    if outcome.error is not None and outcome.error.code == "invalid_arguments":
        raise ModelRetry(told(outcome))
    raise ToolFailed(told(outcome))


def _may_be_media(value: Any) -> bool:
    """Whether a history that is kept and read again could take parts of this for a file or an address to load."""
    if isinstance(value, dict):
        mapping = cast("dict[Any, Any]", value)
        return "kind" in mapping or any(map(_may_be_media, mapping.values()))
    if isinstance(value, list | tuple):
        return any(map(_may_be_media, cast("list[Any]", value)))
    return not isinstance(value, str | int | float | bool | None)
