"""What a person's answer makes of a question. Pure: a question and an answer in, a question out.

Deciding never executes. An agent never decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from callgate.errors import ApprovalConflict, AssuranceTooLow
from callgate.model.approval import Approval, ApprovalState, Vote
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance
from callgate.model.person import is_own_agent, person_key, same_person
from callgate.model.visible import cut

VETO = "nobody objected"
"""Who decided, when a veto window closed."""
_TOLD = 500
"""So many characters of a call are told in a refusal; where it is decided, all of it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Somebody who answers, and how certain it is who they are."""

    name: str
    assurance: Assurance = Assurance.ASSERTED

    @property
    def at_client(self) -> bool:
        """Whether they sit where the agent is used: whatever they are called, they are its user."""
        return self.assurance is Assurance.CLIENT


def expire(approval: Approval, now: float) -> Approval:
    """The approval as the passing of time leaves it: expired, or let through where silence means yes."""
    if now < approval.expires_at or approval.state not in {ApprovalState.PENDING, ApprovalState.APPROVED}:
        return approval
    # A veto window stays usable for as long again as it was open, whenever it is looked at.
    end = approval.expires_at + (approval.expires_at - approval.created_at)
    if approval.state is ApprovalState.PENDING and approval.on_expiry == "proceed" and now < end:
        return replace(
            approval, state=ApprovalState.APPROVED, decided_by=VETO, decided_at=approval.expires_at, expires_at=end
        )
    return replace(approval, state=ApprovalState.EXPIRED, decided_at=now)


def approve(approval: Approval, by: Decider, *, now: float, digest: str | None = None) -> Approval:
    """A yes. With a two-person rule the first yes only counts as a vote.

    Args:
        approval: The question as it stands.
        by: Who says so.
        now: When.
        digest: Of the question as they saw it. Where it was edited since it was asked, a yes without one is to nobody
            knows what.

    Raises:
        ApprovalConflict: No longer pending, not what was seen, or this person may not decide it.
        AssuranceTooLow: It must be more certain who decides; the question stays pending.
    """
    _may_decide(approval, by)
    if by.assurance < approval.assurance:
        message = (
            f"this decision needs assurance {approval.assurance.label} or better; "
            f"{by.name} gave it as {by.assurance.label}, so it stays pending"
        )
        raise AssuranceTooLow(message)
    if digest is None and approval.edited:
        raise ApprovalConflict(f"{_edited(approval)}; look at it, and give its digest with the yes")
    need_seen(approval, digest)
    votes = (*approval.votes, Vote(by=by.name, assurance=by.assurance, at=now))
    if len(votes) < votes_needed(approval):
        return replace(approval, votes=votes)
    names = " and ".join(vote.by for vote in votes)
    return replace(approval, votes=votes, state=ApprovalState.APPROVED, decided_by=names, decided_at=now)


def reject(approval: Approval, by: Decider, *, now: float, why: str, digest: str | None = None) -> Approval:
    """A no. One is enough, also under a two-person rule, and the user may always say it.

    Raises:
        ApprovalConflict: No longer pending, not what was seen, or an agent tried.
    """
    _is_open(approval, by)
    need_seen(approval, digest)
    return replace(approval, state=ApprovalState.REJECTED, decided_by=by.name, decided_at=now, text=why)


def respond(approval: Approval, by: Decider, *, now: float, text: str, digest: str | None = None) -> Approval:
    """An answer for the model instead of running.

    Raises:
        ApprovalConflict: No longer pending, not what was seen, an agent tried, or the answer is empty.
    """
    _is_open(approval, by)
    need_seen(approval, digest)
    if not text.strip():
        raise ApprovalConflict("an answer needs words; reject the call to say no without any")
    return replace(approval, state=ApprovalState.ANSWERED, decided_by=by.name, decided_at=now, text=text)


def withdraw(approval: Approval, now: float) -> Approval:
    """The asker no longer wants it.

    Raises:
        ApprovalConflict: It was decided already.
    """
    _is_pending(approval)
    return replace(approval, state=ApprovalState.WITHDRAWN, decided_at=now)


def votes_needed(approval: Approval) -> int:
    """How many people have to say yes."""
    return 2 if approval.by is ConfirmBy.TWO else 1


def let_through_by_silence(approval: Approval) -> bool:
    """Whether an approval that was given was given by nobody's no, and not by people's yes."""
    return len(approval.votes) < votes_needed(approval)


def edited(approval: Approval, changes: Mapping[str, Any]) -> Approval:
    """The question as an edit leaves it: earlier votes are void, and silence lets through no more than before."""
    silence = changes["on_expiry"] if approval.on_expiry == "proceed" else approval.on_expiry
    return replace(approval, votes=(), edited=True, **{**changes, "on_expiry": silence})


def need_seen(approval: Approval, digest: str | None) -> None:
    """A decision is about what was seen. One that does not say what that was is let through here.

    Raises:
        ApprovalConflict: It is another question by now.
    """
    if digest is None or digest == approval.digest:
        return
    since = _edited(approval) if approval.edited else f"approval {approval.id} is not what was looked at"
    call = cut(" ".join(line.strip() for line in approval.what.split("\n")), _TOLD)
    raise ApprovalConflict(f"{since}. What would run now: {call}. Look at it as it is, and decide about that")


def _edited(approval: Approval) -> str:
    who = approval.votes[0].by if approval.votes else "somebody"
    return f"{who} edited approval {approval.id} since it was asked"


def refuse_part(approval: Approval) -> None:
    """Nothing of a plan is decided alone.

    Raises:
        ApprovalConflict: It is part of a plan.
    """
    if approval.part is not None:
        plan = approval.part.plan_id
        raise ApprovalConflict(
            f"approval {approval.id} is part of the plan {plan}; decide the plan, which is all or none"
        )


def _is_pending(approval: Approval) -> None:
    if approval.state is not ApprovalState.PENDING:
        window = "; its window ended, and nobody had objected" if approval.decided_by == VETO else ""
        raise ApprovalConflict(f"approval {approval.id} is {approval.state.value}, not pending{window}")
    refuse_part(approval)


def _is_open(approval: Approval, by: Decider) -> None:
    _is_pending(approval)
    if not person_key(by.name):
        raise ApprovalConflict("a decision needs the name of the person who makes it")
    if same_person(by.name, approval.principal):
        raise ApprovalConflict(f"{by.name} is the agent that asks; an agent never decides about its own call")
    if is_own_agent(by.name, approval.principal):
        raise ApprovalConflict(f"{by.name} tries this tool; somebody else has to decide about it")


def _may_decide(approval: Approval, by: Decider) -> None:
    _is_open(approval, by)
    if approval.by is ConfirmBy.OTHER and (by.at_client or same_person(by.name, approval.user)):
        raise ApprovalConflict(f"this call must be approved by somebody other than its user {by.name}")
    if approval.by is ConfirmBy.TWO and by.at_client and approval.user is None:
        raise ApprovalConflict(f"{by.name} may be anybody, also the other of the two who have to approve this call")
    if any(same_person(vote.by, by.name) for vote in approval.votes):
        raise ApprovalConflict(f"{by.name} has approved already; another person has to agree")
