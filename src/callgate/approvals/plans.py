"""A plan as people see and decide it: the approvals of its calls put together. Pure; knows no store and no key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from callgate.model.approval import Approval, ApprovalState, Listed
from callgate.model.canonical import dumps
from callgate.model.counted import counted
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance

_MIXED = (ApprovalState.APPROVED, ApprovalState.WITHDRAWN, ApprovalState.EXPIRED)
"""How a plan stands whose calls do not all stand alike, the first that one of them has: some were used before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What a decision needs; of a plan, the strictest of what its calls need."""

    by: ConfirmBy
    assurance: Assurance
    plus: bool
    on_expiry: str


def strictest(demands: Sequence[Demands]) -> Demands:
    """What a decision about all of them needs."""
    return Demands(
        by=max((each.by for each in demands), key=lambda by: by.strictness),
        assurance=max(each.assurance for each in demands),
        plus=any(each.plus for each in demands),
        on_expiry="proceed" if all(each.on_expiry == "proceed" for each in demands) else "reject",
    )


def list_bytes(calls: Iterable[Listed]) -> bytes:
    """What the digest of a list is made over: which calls, in which order, under which keys of their own."""
    rows = [[call.tool, call.definition_hash, call.fingerprint, call.key if call.own_key else None] for call in calls]
    return b"plan\0" + dumps(rows)


def is_whole(parts: Sequence[Approval], fingerprint: Callable[[bytes], str]) -> bool:
    """Whether these are all approvals of one plan, as its list has them."""
    first = parts[0]
    if first.part is None or not first.calls:
        return False
    digest = fingerprint(list_bytes(first.calls))
    asking = [place for place, call in enumerate(first.calls) if call.asks]
    found = [(each.part.plan_id, each.part.digest, each.part.place) for each in parts if each.part is not None]
    return found == [(first.part.plan_id, digest, place) for place in asking] and len(found) == len(parts)


def as_one(parts: Sequence[Approval]) -> Approval:
    """The plan as one question: its id, every call, and what a decision about all of them needs."""
    first = parts[0]
    assert first.part is not None  # noqa: S101 - the caller looked
    state = _state(parts)
    told = next((each for each in parts if each.state is state), first)
    return replace(
        told,
        id=first.part.plan_id,
        state=state,
        tool=f"a plan of {counted(len(first.calls), 'call')}",
        definition_hash="",
        call_id=first.call_id,
        key="",
        asked_fingerprint="",
        final_fingerprint="",
        sealed_id="",
        what=listing(first.calls),
        why=tuple(f"call {_number(each)}: {reason}" for each in parts for reason in each.why),
        origins={},
        risk=max(each.risk for each in parts),
        preview=_previews(parts),
        preview_state=None,
        resources=tuple(dict.fromkeys(resource for each in parts for resource in each.resources)),
        account="",
        part=None,
        calls=first.calls,
        mac="",
    )


def decided(parts: Sequence[Approval], plan: Approval) -> list[Approval]:
    """The approvals of a plan after people answered it: each has the same answer."""
    return [
        replace(
            each,
            state=plan.state,
            votes=plan.votes,
            decided_by=plan.decided_by,
            decided_at=plan.decided_at,
            text=plan.text,
        )
        for each in parts
    ]


def listing(calls: Sequence[Listed]) -> str:
    """Every call in order, each with its exact payload, and which of them a person is asked about."""
    lines = [f"{counted(len(calls), 'call')}, in this order; those of one step may overlap"]
    for number, call in enumerate(calls, start=1):
        tool, *arguments = call.what.split("\n")
        lines.append(f"{number}. {tool}  (step {call.wave + 1}, {'asks you' if call.asks else 'needs nobody'})")
        lines += [f"    {argument}" for argument in arguments]
    return "\n".join(lines)


def _state(parts: Sequence[Approval]) -> ApprovalState:
    states = {each.state for each in parts}
    if len(states) == 1:
        return states.pop()
    # Its calls are decided together: where one still waits and another does not, somebody put a row back.
    mixed = next((state for state in _MIXED if state in states), ApprovalState.VOID)
    return ApprovalState.VOID if ApprovalState.PENDING in states else mixed


def _number(part: Approval) -> int:
    return 1 + (part.part.place if part.part is not None else 0)


def _previews(parts: Sequence[Approval]) -> dict[str, str] | None:
    shown = [f"call {_number(each)}: {each.preview.get('text', '')}" for each in parts if each.preview is not None]
    return {"text": "\n".join(shown)} if shown else None
