"""GateToolNode: a tool node of LangGraph whose calls are calls of a gate, and whose pause is the graph's interrupt.

LangGraph runs a node again from its start when a graph is resumed. What was done answers from the ledger then, and what
waits is the same question: nothing is done twice, and no answer counts for another question than the one it names.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from typing_extensions import override

from callgate.frameworks.answers import Said, decide, shown
from callgate.frameworks.langgraph.state import Given, read_input
from callgate.frameworks.reach import AnyGate, asker, way_to
from callgate.model.context import Context
from callgate.model.outcome import Outcome, Pending
from callgate.model.requested import Requested
from callgate.model.shapes import as_mapping
from callgate.runtime.telling import is_error, told

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate

Work: TypeAlias = "Callable[[Callgate], Coroutine[Any, Any, Any]]"
_UNREAD = (
    "the answer is none: resume with {'approval_id': …, 'decision': 'approve' | 'edit' | 'reject' | 'respond'}, with "
    "'arguments' for an edit and 'message' for a response"
)
_DECISIONS = {"approve": "approve", "edit": "approve", "reject": "reject", "respond": "respond"}


class GateToolNode(ToolNode):
    """The tools of a gate as a node: `graph.add_node("tools", GateToolNode(gate, context))`.

    It takes what LangGraph's `ToolNode` takes and gives what that gives, also in `create_react_agent(model, node)`.
    Where a person has to decide, the graph is interrupted with the question; resumed, the gate looks again.

    Args:
        gate: An open gate, also one for blocking code.
        context: Who asks, or a function of the run's configuration that says so; the gate's own when left out. Without
            a session of its own, the thread of the graph is its session.
        by: The person whose decisions `Command(resume=…)` brings, or a function of the run's configuration that says
            so. They are recorded as asserted by them. Without it only decisions at the gate count.
        name: The node's name.
        messages_key: Where the messages are in the state.
    """

    def __init__(
        self,
        gate: AnyGate,
        context: Context | Callable[[RunnableConfig], Context] | None = None,
        *,
        by: str | Callable[[RunnableConfig], str | None] | None = None,
        name: str = "tools",
        messages_key: str = "messages",
    ) -> None:
        super().__init__([], name=name, messages_key=messages_key)  # pyright: ignore[reportUnknownMemberType] - its hints are open
        self._gate = gate
        self._context = context
        self._by = by
        self._messages = messages_key

    @property
    @override
    def tools_by_name(self) -> dict[str, BaseTool]:
        """The tools of the asker now, for binding them to a model; of the gate's own where a function says who asks."""
        context = None if callable(self._context) else self._context
        return {tool.name: tool for tool in self._gate.pool(context).to_langchain()}

    @override
    def _func(self, input: Any, config: RunnableConfig) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - it needs no more
        way, story, result = way_to(self._gate), self._story(input, config), None
        while True:
            try:
                work = story.send(result)
            except StopIteration as end:
                return end.value
            result = way.run(work)

    @override
    async def _afunc(self, input: Any, config: RunnableConfig) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        way, story, result = way_to(self._gate), self._story(input, config), None
        while True:
            try:
                work = story.send(result)
            except StopIteration as end:
                return end.value
            result = await way.wait(work)

    def _story(self, value: Any, config: RunnableConfig) -> Generator[Work, Any, Any]:
        """One run of the node; yields what the gate is to do, and goes on with what came of it."""
        given = read_input(value, self._messages)
        context, by = self._asker(config, given), self._by(config) if callable(self._by) else self._by
        calls = _Calls(given, context=context, by=by)
        yield calls.make
        while calls.waiting:
            question = yield calls.question
            reply = interrupt(question)
            yield lambda gate, reply=reply: calls.go_on(gate, reply)
        messages = [_message(call, outcome) for call, outcome in zip(given.calls, calls.outcomes, strict=True)]
        return messages if given.as_list else {self._messages: messages}

    def _asker(self, config: RunnableConfig, given: Given) -> Context:
        own = self._context(config) if callable(self._context) else self._context
        thread = config.get("configurable", {}).get("thread_id")
        context = asker(self._gate, own, conversation=None if thread is None else str(thread))
        # Some model servers count the ids of calls from zero in every response: the message tells them apart.
        return context if context.step_id else replace(context, step_id=given.message_id)


class _Calls:
    """The calls of one run of the node, and how they stand."""

    def __init__(self, given: Given, *, context: Context, by: str | None) -> None:
        self._given = given
        self._context = context
        self._by = by
        self._note: str | None = None
        self.outcomes: list[Outcome] = []

    @property
    def waiting(self) -> list[int]:
        """Which of them wait for a person."""
        return [at for at, outcome in enumerate(self.outcomes) if isinstance(outcome, Pending)]

    @property
    def _once(self) -> bool:
        """Whether an id names one call for good, so that what was read before the pause need not be read again."""
        return self._given.message_id is not None

    async def make(self, gate: Callgate) -> None:
        """Make them all, as they would be for any model."""
        turn = await gate.handle(self._given.response, self._context, reads_once=self._once)
        self.outcomes = turn.outcomes

    async def question(self, gate: Callgate) -> dict[str, Any]:
        """What the interrupt shows: the first that waits."""
        at = self.waiting[0]
        approval = await gate.approval(cast("Pending", self.outcomes[at]).approval_id)
        return shown(approval, self._given.calls[at], note=self._note)

    async def go_on(self, gate: Callgate, reply: Any) -> None:
        """Take what the graph was resumed with, and make again what waited."""
        self._note = await self._decide(gate, reply)
        for at in self.waiting:
            call = self._given.calls[at]
            self.outcomes[at] = await gate.handle_call(call, self._context, reads_once=self._once)

    async def _decide(self, gate: Callgate, reply: Any) -> str | None:
        answer = _answer(reply)
        if answer is None:
            return None if self._by is None else _UNREAD
        approval_id, said = answer
        if approval_id not in {cast("Pending", self.outcomes[at]).approval_id for at in self.waiting}:
            return f"approval {approval_id} does not wait here"
        return await decide(gate, await gate.approval(approval_id), said=said, by=self._by)


def _answer(reply: Any) -> tuple[str, Said] | None:
    """Which question somebody answers, and what they say; None where it is neither."""
    body: Mapping[Any, Any] = as_mapping(reply) or {}
    approval_id, word = body.get("approval_id"), body.get("decision")
    kind, arguments, text = _DECISIONS.get(word) if isinstance(word, str) else None, None, body.get("message", "")
    if word == "edit":
        arguments = as_mapping(body.get("arguments"))
        kind = None if arguments is None else kind
    if not isinstance(approval_id, str) or kind is None or not isinstance(text, str):
        return None
    return approval_id, Said(cast("Any", kind), text=text, arguments=arguments)


def _message(call: Requested, outcome: Outcome) -> ToolMessage:
    facts = {"status": outcome.status, "call_id": outcome.call_id, "trace_id": outcome.trace_id}
    return ToolMessage(
        told(outcome),
        name=call.name,
        tool_call_id=call.id,
        status="error" if is_error(outcome) else "success",
        artifact=facts,
    )
