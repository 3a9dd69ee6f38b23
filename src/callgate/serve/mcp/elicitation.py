"""Asking the person at the client, where the operator says that one sits there; with the assurance *client*."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from callgate.errors import CallgateError
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from callgate.model.approval import Approval
    from callgate.model.context import Context
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker

_log = logging.getLogger("callgate.mcp")
_FIELD = "decision"
_YES, _NO = "allow", "refuse"
_LONGEST = 4000
"""What is longer is decided where all of it can be seen."""
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        _FIELD: {
            "type": "string",
            "title": "Decision",
            "description": "Whether this call may be made, exactly as it is shown, once.",
            "enum": [_YES, _NO],
        },
        "why": {"type": "string", "title": "Why", "description": "Told to the agent if you refuse."},
    },
    # A client that accepts forms without showing them leaves it out, and has decided nothing.
    "required": [_FIELD],
}


class Elicitation:
    """Puts the gate's questions to the person at a client.

    Args:
        gate: Whose questions these are.
    """

    def __init__(self, gate: Callgate) -> None:
        self._gate = gate

    async def question(
        self, approval_id: str, asked: ServerRequestContext[Any, Any], *, asker: Asker
    ) -> Approval | None:
        """The question, where it may be put to this client."""
        can = asked.session.client_capabilities
        if not asker.attended or can is None or can.elicitation is None:
            return None
        found = await self._gate.approval(approval_id)
        return found if _is_for_the_user(found) and _can_be_shown(found) else None

    @staticmethod
    def is_stateless(asked: ServerRequestContext[Any, Any]) -> bool:
        """Whether the client is asked by an answer, and comes again with the person's."""
        return asked.protocol_version in MODERN_PROTOCOL_VERSIONS

    def required(self, question: Approval, *, asker: Asker) -> InputRequiredResult:
        """The answer that asks the person."""
        request = ElicitRequest(params=_form(question))
        state = self._gate.form_state(question, asker.context)
        return InputRequiredResult(input_requests={_FIELD: request}, request_state=state)

    async def take(self, params: CallToolRequestParams, asker: Asker) -> bool:
        """Take what a client that was asked comes back with; whether it was asked about the question as it is now."""
        if params.request_state is None or not asker.attended:
            return False
        asked = self._gate.asked_by_form(params.request_state, asker.context)
        if asked is None:
            _log.debug("a question was not decided at the client: no form with this state was sent to it")
            return False
        which, digest = asked
        answer = (params.input_responses or {}).get(_FIELD)
        try:
            if (await self._gate.approval(which)).digest != digest:
                return False
            if isinstance(answer, ElicitResult):
                await self._decide(which, answer, context=asker.context, digest=digest)
        except CallgateError as error:
            _not_decided(error)
        return True

    @contextlib.asynccontextmanager
    async def asking(
        self, question: Approval, asked: ServerRequestContext[Any, Any], *, asker: Asker
    ) -> AsyncGenerator[None]:
        """Ask over the client's session while the block lasts; others may decide meanwhile."""
        task = asyncio.ensure_future(self._ask(question, asked, context=asker.context))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _ask(self, question: Approval, asked: ServerRequestContext[Any, Any], *, context: Context) -> None:
        form = _form(question)
        try:
            answer = await asked.session.elicit_form(
                form.message, form.requested_schema, related_request_id=asked.request_id
            )
            await self._decide(question.id, answer, context=context, digest=question.digest)
        except (MCPError, ValidationError, CallgateError) as error:
            _not_decided(error)

    async def _decide(self, approval_id: str, answer: ElicitResult, *, context: Context, digest: str) -> None:
        content = answer.content or {}
        by = context.user or f"the person at the client of {context.principal}"
        said, why = content.get(_FIELD), content.get("why")
        if answer.action == "accept" and said == _YES:
            await self._gate.approve(approval_id, by=by, assurance=Assurance.CLIENT, digest=digest)
        elif answer.action == "decline" or (answer.action == "accept" and said == _NO):
            reason = why if isinstance(why, str) and why.strip() else "refused at the client"
            await self._gate.reject(approval_id, by=by, why=reason, assurance=Assurance.CLIENT)


def _is_for_the_user(question: Approval) -> bool:
    """Whether the yes of who sits at the client, which is the user, can count for it."""
    unnamed = question.by is ConfirmBy.TWO and question.user is None
    return question.by is not ConfirmBy.OTHER and not unnamed


def _can_be_shown(question: Approval) -> bool:
    """Whether all that is decided fits into a form."""
    return len(question.what) <= _LONGEST and not question.is_plan and question.part is None


def _not_decided(error: Exception) -> None:
    """Nobody answered here, or their word is not enough; it is decided elsewhere."""
    _log.debug("a question was not decided at the client: %s", type(error).__name__)


def _form(question: Approval) -> ElicitRequestFormParams:
    why = "\n".join(f"- {reason}" for reason in question.why)
    message = f"May this call be made?\n\n{question.what}\n\nRisk {question.risk.label}. You are asked because:\n{why}"
    return ElicitRequestFormParams(message=message, requested_schema=_SCHEMA)
