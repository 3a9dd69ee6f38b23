"""Lending: one tool of a gate in the hands of agents. Every call of it goes through the gate."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, RunContextWrapper
from agents.tool_context import ToolContext

from callgate.errors import StoreError
from callgate.model.context import Context
from callgate.model.levels import Verdict
from callgate.model.requested import attribute
from callgate.model.tool import Tool

if TYPE_CHECKING:
    from callgate.runtime.anywhere import Anywhere
    from callgate.runtime.gate import Callgate
    from callgate.runtime.turn import Turn


class Desk:
    """Where the tools of one asker reach the gate, from whatever loop the SDK runs on.

    Args:
        door: The way to the gate.
        context: Who asks; the gate's own when None.
        wait: Seconds to wait for a person before the model is told that a call waits; None is not at all.
    """

    def __init__(self, door: Anywhere[Callgate], *, context: Context | None, wait: float | None) -> None:
        self.door = door
        self.context = context
        self._wait = wait
        self._alone = asyncio.Lock()

    async def handle(self, tool: Tool, response: dict[str, Any]) -> Turn:
        """One call through the gate. Calls of tools that are not concurrency-safe do not overlap."""

        async def work(gate: Callgate) -> Turn:
            if tool.concurrency_safe:
                return await gate.handle(response, self.context)
            async with self._alone:
                return await gate.handle(response, self.context)

        return await self.door.do(work)

    async def wait(self, turn: Turn) -> Turn:
        """The same turn, after people had the time they are given."""
        return turn if self._wait is None else await self.door.do(lambda gate: gate.wait_for(turn, self._wait))

    async def asks(self, response: dict[str, Any]) -> bool:
        """Whether a person has to be asked first; nothing is done."""
        try:
            [decision] = await self.door.do(lambda gate: gate.explain_response(response, self.context))
        except StoreError:
            # The call itself will be refused for that, in words the model can read.
            return False
        return decision.verdict is Verdict.CONFIRM


class Lent:
    """One tool of a gate, as the SDK calls it.

    Args:
        tool: Which one.
        told: Its definition as OpenAI's models are told it.
        desk: Where its calls are made.
    """

    def __init__(self, tool: Tool, told: dict[str, Any], *, desk: Desk) -> None:
        self.tool = tool
        self.desk = desk
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
        return await self.desk.asks(response) and bool((await self._look(response)).pending)

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
        return str((await self.desk.handle(self.tool, response)).results[0]["output"])

    async def invoke(self, run: ToolContext[Any], arguments: str) -> str:
        """Make the call; what the model reads of it."""
        asked, turn = self._ahead.pop(run.tool_call_id, (None, None))
        if turn is None or asked != _read(arguments):
            response = self._response(run.tool_call_id, arguments, caller=attribute(run.tool_call, "caller"))
            turn = await self.desk.wait(await self.desk.handle(self.tool, response))
        return str(turn.results[0]["output"])

    async def _look(self, response: dict[str, Any]) -> Turn:
        """Put the question. Where a person decided already, the call is made, and kept for when the SDK makes it."""
        turn = await self.desk.handle(self.tool, response)
        if not turn.pending:
            self._ahead[turn.ids[0]] = _read(response["output"][0]["arguments"]), turn
        return turn

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
