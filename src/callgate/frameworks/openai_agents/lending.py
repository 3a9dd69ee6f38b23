"""Lending: one tool of a gate in the hands of agents. Every call of it goes through the gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from agents import FunctionTool, RunContextWrapper
from agents.tool_context import ToolContext

from callgate.errors import StoreError
from callgate.formats import openai_responses
from callgate.frameworks.answers import Said, decide
from callgate.frameworks.desk import Desk
from callgate.model.approval import Approval, ApprovalState
from callgate.model.levels import Verdict
from callgate.model.outcome import Outcome, Pending
from callgate.model.requested import Requested, attribute
from callgate.model.tool import Tool
from callgate.runtime.telling import is_error, told

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate

Person = str | Callable[[RunContextWrapper[Any]], str | None] | None


class Manners(NamedTuple):
    """How the tools of one asker deal with people."""

    by: Person
    """Whose word the SDK's approvals are."""
    wait: float | None
    """Seconds to wait for a person before the model is told that a call waits; None is not at all."""


class Lent:
    """One tool of a gate, as the SDK calls it.

    Args:
        tool: Which one.
        definition: As OpenAI's models are told it.
        desk: Where its calls are made.
        manners: How it deals with people.
    """

    def __init__(self, tool: Tool, definition: dict[str, Any], *, desk: Desk, manners: Manners) -> None:
        self.desk = desk
        self._tool = tool
        self._definition = definition
        self._manners = manners
        self._ahead: dict[str, tuple[Requested, Outcome]] = {}
        """By id, the calls that were made when it was looked whether a person has to be asked."""

    def function(self) -> FunctionTool:
        """The tool as an agent takes it."""
        return FunctionTool(
            name=self._definition["name"],
            description=self._definition["description"],
            params_json_schema=self._definition["parameters"],
            on_invoke_tool=self.invoke,
            strict_json_schema=self._definition["strict"],
            needs_approval=self.needs_approval,
        )

    def call(self, item: Any) -> Requested:
        """The call of a tool call item of the SDK.

        Raises:
            MalformedResponse: It has no id.
        """
        return self._call(attribute(item, "call_id"), attribute(item, "arguments"))

    async def question(self, call: Requested) -> Approval | None:
        """The question that waits for a person about this call, where one does."""
        found = await self.desk.do(lambda gate: gate.question(call, self.desk.context))
        return found if found is not None and found.state is ApprovalState.PENDING else None

    async def needs_approval(self, _run: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        """Whether a person has to decide; then the question is at the gate, and the SDK interrupts the run."""
        call = self._call(call_id, arguments)
        if not await self._asks(call):
            return False
        outcome = await self.make(call)
        if isinstance(outcome, Pending):
            return True
        # Somebody decided already. The call was made, and its end waits for the SDK to make it.
        self._ahead[call.id] = call, outcome
        return False

    async def invoke(self, run: ToolContext[Any], arguments: str) -> str:
        """Make the call; what the model reads of it."""
        call = self._call(run.tool_call_id, arguments, caller=attribute(run.tool_call, "caller"))
        asked, outcome = self._ahead.pop(call.id, (None, None))
        if outcome is None or asked is None or asked.arguments != call.arguments:
            await self._take_word(call, run)
            outcome = await self.desk.wait(await self.make(call), self._manners.wait)
        return words(call, outcome)

    async def make(self, call: Requested) -> Outcome:
        """Make the call through the gate, as the decisions stand."""
        return await self.desk.make(call, alone=not self._tool.concurrency_safe)

    async def _asks(self, call: Requested) -> bool:
        """Whether a person has to be asked first; nothing is done."""
        try:
            decision = await self.desk.do(lambda gate: gate.explain_call(call, self.desk.context))
        except StoreError:
            # The call itself will be refused for that, in words the model can read.
            return False
        return decision.verdict is Verdict.CONFIRM

    async def _take_word(self, call: Requested, run: RunContextWrapper[Any]) -> None:
        """The SDK makes a call that a person is asked about only once it was approved there: by whom, was said."""
        by = self._manners.by
        name = by(run) if callable(by) else by
        if name is not None:
            await self.desk.do(lambda gate: self._approve(gate, call, by=name))

    async def _approve(self, gate: Callgate, call: Requested, *, by: str) -> None:
        question = await gate.question(call, self.desk.context)
        if question is not None and question.state is ApprovalState.PENDING:
            # Where it does not count, the call waits on, and the model is told so.
            await decide(gate, question, said=Said("approve"), by=by)

    def _call(self, call_id: Any, arguments: Any, *, caller: Any = None) -> Requested:
        """The call as a response of the model has it."""
        name = self._definition["name"]
        item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, "caller": caller}
        [call] = openai_responses.calls({"output": [item]})
        return call


def words(call: Requested, outcome: Outcome) -> str:
    """What the model reads of a call: as every model does, with the mark that OpenAI's have for errors."""
    return str(openai_responses.result(call.id, told(outcome), is_error=is_error(outcome))["output"])
