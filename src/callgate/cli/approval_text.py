"""Approvals as a list for a person, and as JSON. Never the sealed arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from callgate.cli.ids import shortener
from callgate.cli.moments import until
from callgate.cli.screen import Cell, Column, Screen
from callgate.cli.tool_text import RISKS
from callgate.model.approval import Approval, ApprovalState

_PRIVATE = frozenset({"mac", "revision", "sealed_id", "asked_fingerprint", "final_fingerprint"})


def approval_document(approval: Approval) -> dict[str, Any]:
    """Everything a person may see of it, as JSON."""
    body = {name: value for name, value in asdict(approval).items() if name not in _PRIVATE}
    votes = [{"by": vote.by, "assurance": vote.assurance.label, "at": vote.at} for vote in approval.votes]
    words = {"state": approval.state.value, "by": approval.by.value}
    levels = {"risk": approval.risk.label, "assurance": approval.assurance.label}
    return body | words | levels | {"votes": votes, "digest": approval.digest} | _plan(approval)


def _plan(approval: Approval) -> dict[str, Any]:
    part = None if approval.part is None else {"plan_id": approval.part.plan_id, "place": approval.part.place}
    names = ("tool", "key", "wave", "asks", "what")
    return {"part": part, "calls": [{name: getattr(call, name) for name in names} for call in approval.calls]}


def show_approvals(screen: Screen, approvals: Iterable[Approval]) -> None:
    """One line each."""
    heads = [Column("ID", whole=True), Column("STATE"), Column("RISK"), Column("WHAT")]
    listed = list(approvals)
    short = shortener(screen, (each.id for each in listed))
    screen.table(heads, [[short(each.id), _state(each), _risk(each), _what(each)] for each in listed])


def _state(approval: Approval) -> Cell:
    if approval.state is ApprovalState.PENDING:
        return Cell(f"ends {until(approval.expires_at)}", "yellow")
    return Cell(approval.state.value)


def _risk(approval: Approval) -> Cell:
    return Cell(approval.risk.label, RISKS[approval.risk.label])


def _what(approval: Approval) -> str:
    """The call on one line; `what` has the tool on its first line and an argument on each further one."""
    return " ".join(line.strip() for line in approval.what.split("\n"))
