"""Whose something is. An agent is shown what its own principal and session asked for, and not told of the rest."""

from __future__ import annotations

from typing import Any

from callgate.errors import ApprovalNotFound, NotFound
from callgate.model.approval import Approval
from callgate.model.context import Context
from callgate.model.credential import Credential
from callgate.runtime.gate import Callgate


def is_own(agent: Credential, principal: Any, session: Any) -> bool:
    """Whether what this principal asked for in this session is this agent's own."""
    if principal != agent.name or not isinstance(session, str):
        return False
    return session == agent.session or (agent.many_sessions and session.startswith(f"{agent.session}/"))


def asker_of(agent: Credential) -> dict[str, str]:
    """Whose questions an agent's own are among, as the gate is asked for them."""
    return {"principal": agent.name, ("within" if agent.many_sessions else "session"): agent.session}


def is_own_question(agent: Credential, question: Approval) -> bool:
    """Whether this agent asked it, for the same user."""
    return is_own(agent, question.principal, question.session) and question.user == agent.user


async def own_question(gate: Callgate, agent: Credential, approval_id: str) -> Approval:
    """A question of this agent's.

    Raises:
        ApprovalNotFound: There is none of that id, or it is another's.
        ApprovalConflict: It was changed by somebody without the key.
    """
    found = await gate.approval(approval_id)
    if not is_own_question(agent, found):
        raise ApprovalNotFound(f"Unknown approval: {approval_id}")
    return found


async def need_own_call(gate: Callgate, agent: Credential, call_id: str) -> None:
    """Refuse what is another's.

    Raises:
        NotFound: The ledger has no call of that id, or it is another's.
    """
    row = await gate.attempt_of_call(call_id)
    asker = (row.key.principal, row.key.session) if row is not None else await _who_made(gate, call_id)
    if not is_own(agent, *asker):
        raise NotFound(f"no call has the id {call_id}")


async def _who_made(gate: Callgate, call_id: str) -> tuple[Any, Any]:
    """Principal and session of a call whose key another has taken since."""
    for event in await gate.events_after(0, limit=1, types=("tool_call.attempted",), call_id=call_id):
        said = event.payload or {}
        return said.get("principal"), said.get("session")
    return None, None


def collector_of(gate: Callgate, agent: Credential, question: Approval) -> Context:
    """What this agent may do in the session of a question of its own."""
    below = question.session.removeprefix(f"{agent.session}/")
    return gate.narrowed(agent, **({} if question.session == agent.session else {"session": below}))
