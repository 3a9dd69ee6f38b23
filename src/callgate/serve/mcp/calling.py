"""One `tools/call`: through the gate, held where a person has to decide, and told as the protocol tells results."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.errors import Conflict, NotFound
from callgate.model.outcome import Outcome, Pending
from callgate.serve.mcp.asking_back import ClientChannel, SoleClient
from callgate.serve.mcp.elicitation import Elicitation
from callgate.serve.mcp.names import Names, unknown
from callgate.serve.mcp.progress import Teller, progress_told
from callgate.serve.mcp.results import COMPLETE, result_of
from callgate.serve.mcp.waiting import COLLECT, WAIT, Waiting, nothing

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from callgate.model.approval import Approval
    from callgate.model.tool import Tool
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker


@dataclass(frozen=True, slots=True)
class _Request:
    """A call on its way in."""

    params: CallToolRequestParams
    asked: ServerRequestContext[Any, Any]
    asker: Asker
    teller: Teller

    @property
    def wish(self) -> Any:
        """How long it wishes to be held."""
        meta: Mapping[str, Any] | None = self.asked.meta
        return None if meta is None else meta.get(WAIT)


class Calling:
    """Makes the calls of clients.

    Args:
        gate: An open gate.
        names: By which names its tools travel.
        waiting: How people are waited for.
    """

    def __init__(self, gate: Callgate, names: Names, *, waiting: Waiting) -> None:
        self._gate = gate
        self._names = names
        self._waiting = waiting
        self._elicitation = Elicitation(gate)

    async def call(self, params: CallToolRequestParams, asked: Any, *, asker: Asker) -> Any:
        """Make it, and give the result."""
        tool = self._names.find(params.name, asker.source)
        with asked_back(self._gate, asked):
            async with progress_told(self._gate, asked, context=asker.context) as teller:
                request = _Request(params, asked, asker, teller)
                if tool is None and params.name == COLLECT:
                    return COMPLETE | await self._collect(request)
                return await self._make(request, tool)

    async def _make(self, request: _Request, tool: Tool | None) -> Any:
        params, asker = request.params, request.asker
        name = unknown(params.name, asker.source) if tool is None else tool.name
        was_asked = await self._elicitation.take(params, asker)
        outcome = await self._gate.call(name, params.arguments or {}, asker.context)
        if isinstance(outcome, Pending):
            question = None if was_asked else await self._question(outcome, request)
            if question is not None and self._elicitation.is_stateless(request.asked):
                return self._elicitation.required(question, asker=request.asker)
            outcome = await self._held(outcome, request, question=question)
        return COMPLETE | result_of(outcome, tool, more=self._waiting.told(outcome))

    async def _question(self, pending: Pending, request: _Request) -> Approval | None:
        """The question, where it is put to the person at the client."""
        try:
            return await self._elicitation.question(pending.approval_id, request.asked, asker=request.asker)
        except (Conflict, NotFound):
            return None

    async def _held(self, pending: Pending, request: _Request, *, question: Approval | None) -> Outcome:
        asking = contextlib.nullcontext()
        if question is not None:
            asking = self._elicitation.asking(question, request.asked, asker=request.asker)
        try:
            async with asking:
                return await self._waiting.held(
                    pending, request.asker.context, teller=request.teller, wish=request.wish
                )
        except (Conflict, NotFound):
            return pending

    async def _collect(self, request: _Request) -> dict[str, Any]:
        arguments = request.params.arguments or {}
        found = await self._waiting.collected(arguments, request.asker.context, teller=request.teller)
        if isinstance(found, str):
            return nothing(found)
        tool = next((each for each in self._gate.tools() if each.name == found.tool), None)
        return result_of(found, tool, more=self._waiting.told(found))


@contextlib.contextmanager
def asked_back(gate: Callgate, asked: ServerRequestContext[Any, Any]) -> Generator[None]:
    """While a call runs, the server behind it may ask its client back."""
    channel, sole = ClientChannel(asked), gate.asked_through()
    if isinstance(sole, SoleClient):
        sole.begin(channel)
    try:
        with gate.asked_back(channel):
            yield
    finally:
        channel.close()
        if isinstance(sole, SoleClient):
            sole.end(channel)
