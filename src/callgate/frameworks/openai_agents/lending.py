"""Lending: one tool of a gate in the hands of agents. Every call of it goes through the gate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, RunContextWrapper
from agents.tool_context import ToolContext

from callgate.errors import StoreError
from callgate.frameworks.desk import Desk
from callgate.model.levels import Verdict
from callgate.model.requested import attribute
from callgate.model.tool import Tool

if TYPE_CHECKING:
    from callgate.runtime.turn import Turn


class Lent:
    """One tool of a gate, as the SDK calls it.

    Args:
        tool: Which one.
        told: Its definition as OpenAI's models are told it.
        desk: Where its calls are made.
        wait: Seconds to wait for a person before the model is told that a call waits; None is not at all.
    """

    def __init__(self, tool: Tool, told: dict[str, Any], *, desk: Desk, wait: float | None) -> None:
        self.tool = tool
        self.desk = desk
        self._wait = wait
        self._told = told
        self._ahead: dict[str, tuple[Any, Turn]] = {}
        """By id, the arguments and the end of calls that were made when it was looked whether a person is asked."""

    def function(self) -> FunctionTool:
        """The tool as an agent takes it."""
        return FunctionTool(
            name=self._told["name"],
            description=self._told["description"],
            params_json_schema=self._told["parameters"],
            on_invoke_tool=self.invoke,
            strict_json_schema=self._told["strict"],
            needs_approval=self.needs_approval,
        )

    async def needs_approval(self, _run: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        """Whether a person has to decide; then the question is at the gate, and the SDK interrupts the run."""
        response = self._response(call_id, arguments)
        return await self._asks(response) and bool((await self._look(response)).pending)

    async def ask_again(self, call: Any) -> str | None:
        """The question about a call that the SDK keeps, as it stands by now; None where a person decided."""
        response = self._response(attribute(call, "call_id"), attribute(call, "arguments"))
        if attribute(call, "call_id") in self._ahead:
            return None
        pending = (await self._look(response)).pending
        return pending[0] if pending else None

    async def answer(self, call: Any) -> str:
        """What the model reads of a call that a person said no to."""
        response = self._response(attribute(call, "call_id"), attribute(call, "arguments"))
        return str((await self._handle(response)).results[0]["output"])

    async def invoke(self, run: ToolContext[Any], arguments: str) -> str:
        """Make the call; what the model reads of it."""
        asked, turn = self._ahead.pop(run.tool_call_id, (None, None))
        if turn is None or asked != _read(arguments):
            response = self._response(run.tool_call_id, arguments, caller=attribute(run.tool_call, "caller"))
            turn = await self.desk.wait(await self._handle(response), self._wait)
        return str(turn.results[0]["output"])

    async def _look(self, response: dict[str, Any]) -> Turn:
        """Put the question. Where a person decided already, the call is made, and kept for when the SDK makes it."""
        turn = await self._handle(response)
        if not turn.pending:
            self._ahead[turn.ids[0]] = _read(response["output"][0]["arguments"]), turn
        return turn

    async def _handle(self, response: dict[str, Any]) -> Turn:
        return await self.desk.handle(response, alone=not self.tool.concurrency_safe)

    async def _asks(self, response: dict[str, Any]) -> bool:
        """Whether a person has to be asked first; nothing is done."""
        try:
            [decision] = await self.desk.do(lambda gate: gate.explain_response(response, self.desk.context))
        except StoreError:
            # The call itself will be refused for that, in words the model can read.
            return False
        return decision.verdict is Verdict.CONFIRM

    def _response(self, call_id: Any, arguments: Any, *, caller: Any = None) -> dict[str, Any]:
        """The call as a response of the model has it."""
        call = {"type": "function_call", "call_id": call_id, "name": self._told["name"], "arguments": arguments}
        return {"output": [call if caller is None else call | {"caller": caller}]}


def _read(arguments: Any) -> Any:
    """Arguments as values, so that a text and what was read of it can be compared; None for what is no JSON."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None
