"""Answers: what a framework's pause shows of a question, and what counts of what the framework says to it.

The decision is the gate's. A framework's word counts only for a question that was shown, and only with the name of a
person, who is then recorded as asserted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from callgate.errors import Conflict, NotFound, Refusal
from callgate.model.approval import Approval, ApprovalState
from callgate.model.canonical import NotCanonical
from callgate.runtime.offering import arguments_meant

if TYPE_CHECKING:
    from callgate.model.requested import Requested
    from callgate.runtime.gate import Callgate

Kind = Literal["approve", "reject", "respond"]
_UNNAMED = "no person is named for this answer (by=…), so it does not count: decide at the gate"
_ONE_OF_TWO = "one person has approved; another has to agree"


class Said(NamedTuple):
    """What a person said, as a framework has it."""

    kind: Kind
    text: str = ""
    """Why not, or the answer for the model."""
    arguments: Mapping[str, Any] | None = None
    """Yes to the call with these instead, in the words that the model was told."""


def shown(approval: Approval, call: Requested, *, note: str | None = None) -> dict[str, Any]:
    """What a pause carries, in JSON values.

    Args:
        approval: The question.
        call: What the model asked for.
        note: Why the answer before this one did not count.
    """
    question: dict[str, Any] = {
        "approval_id": approval.id,
        "call_id": call.id,
        "tool": approval.tool,
        "arguments": dict(call.arguments),
        "what": approval.what,
        "reasons": list(approval.why),
        "risk": approval.risk.label,
        "expires_at": approval.expires_at,
    }
    return question if note is None else question | {"note": note}


async def decide(gate: Callgate, approval: Approval, *, said: Said, by: str | None) -> str | None:
    """Record what a person said; where it does not count, the reason. The question then waits on."""
    if by is None:
        return _UNNAMED
    try:
        if said.kind == "respond":
            decided = await gate.respond(approval.id, by=by, text=said.text)
        elif said.kind == "reject":
            decided = await gate.reject(approval.id, by=by, why=said.text)
        else:
            decided = await gate.approve(approval.id, by=by, arguments=_instead(gate, approval, said=said))
    except (Conflict, NotFound, Refusal, NotCanonical) as error:
        return str(error)
    return _ONE_OF_TWO if decided.state is ApprovalState.PENDING else None


def _instead(gate: Callgate, approval: Approval, *, said: Said) -> dict[str, Any] | None:
    """The arguments that a person put in the place of the model's, in the tool's own words."""
    if said.arguments is None:
        return None
    found = next((tool for tool in gate.tools() if tool.name == approval.tool), None)
    return dict(said.arguments) if found is None else arguments_meant(found, said.arguments)
