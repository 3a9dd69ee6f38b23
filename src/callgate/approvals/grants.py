"""Grants: standing answers to *confirm*, and which calls they fit."""

from __future__ import annotations

from collections.abc import Iterable

from callgate.model.approval import Grant, GrantScope
from callgate.model.context import Context
from callgate.model.decision import Decision
from callgate.model.shapes import as_mapping, as_sequence
from callgate.model.tool import Arguments, Tool


def matching(
    grants: Iterable[Grant], *, tool: Tool, arguments: Arguments, context: Context, decision: Decision, now: float
) -> Grant | None:
    """The first grant that answers this confirm, if any may."""
    if not decision.grantable or decision.plus:
        return None
    for grant in grants:
        if (
            _fits(grant, tool, arguments=arguments)
            and _reaches(grant, context, now=now)
            and decision.risk <= grant.max_risk
        ):
            return grant
    return None


def _fits(grant: Grant, tool: Tool, *, arguments: Arguments) -> bool:
    same_tool = grant.tool == tool.name and grant.definition_hash == tool.definition_hash
    missing = object()
    return same_tool and all(_equal(arguments.get(name, missing), value) for name, value in grant.pattern.items())


def _equal(left: object, right: object) -> bool:
    # True == 1 in Python, also inside of lists and objects, and a grant for 1 must not let True through.
    if _kind(left) is not _kind(right):
        return False
    mapping, items = as_mapping(left), as_sequence(left)
    if mapping is not None:
        other = as_mapping(right) or {}
        return mapping.keys() == other.keys() and all(_equal(item, other[name]) for name, item in mapping.items())
    if items is not None:
        others = as_sequence(right) or ()
        return len(items) == len(others) and all(map(_equal, items, others))
    return left == right


def _kind(value: object) -> type:
    """What a value is in JSON, where 5 and 5.0 are one number."""
    return float if type(value) is int else type(value)


def _reaches(grant: Grant, context: Context, *, now: float) -> bool:
    if grant.revoked_at is not None or now >= grant.until or grant.principal != context.principal:
        return False
    if grant.scope is GrantScope.SESSION:
        return grant.scope_id == context.session
    if grant.scope is GrantScope.TASK:
        return grant.scope_id == context.task_id
    return True
