"""Which calls a standing answer speaks for, and which it never does."""

from __future__ import annotations

from typing import Any

import pytest

from callgate.adapters.build import build_tool
from callgate.approvals.grants import matching
from callgate.model.approval import Grant, GrantScope
from callgate.model.context import Context
from callgate.model.decision import Decision
from callgate.model.levels import Autonomy, Risk, Verdict


async def _run(payload: dict[str, Any], context: Any) -> str:
    return "paid"


PAY = build_tool(
    {"name": "pay", "description": "Pay.", "input_schema": {"type": "object"}, "execute": _run},
    effects="network_access",
)
NOW = 1000.0


def a_grant(**changes: Any) -> Grant:
    fields: dict[str, Any] = {
        "id": "g1",
        "tool": "pay",
        "definition_hash": PAY.definition_hash,
        "principal": "agent",
        "pattern": {},
        "max_risk": Risk.HIGH,
        "scope": GrantScope.UNTIL,
        "scope_id": "",
        "until": NOW + 1,
        "granted_by": "ann",
        "created_at": 0.0,
    }
    return Grant(**(fields | changes))


def answers(
    grant: Grant, arguments: dict[str, Any] | None = None, context: Context | None = None, **decided: Any
) -> bool:
    fields: dict[str, Any] = {"verdict": Verdict.CONFIRM, "risk": Risk.HIGH, "autonomy": Autonomy.A2}
    decision = Decision(**(fields | decided))
    found = matching(
        [grant], tool=PAY, arguments=arguments or {}, context=context or Context(), decision=decision, now=NOW
    )
    return found is grant


def test_a_whole_number_is_the_same_however_it_is_written() -> None:
    assert answers(a_grant(pattern={"amount": 5}), {"amount": 5.0})
    assert answers(a_grant(pattern={"of": [{"amount": 5.0}]}), {"of": [{"amount": 5}]})
    assert not answers(a_grant(pattern={"amount": 5}), {"amount": 5.5})
    assert not answers(a_grant(pattern={"amount": 1.0}), {"amount": True})


def test_a_grant_that_fits_answers() -> None:
    assert answers(a_grant())
    assert answers(a_grant(pattern={"amount": 5}), {"amount": 5, "to": "bob"})
    assert answers(a_grant(scope=GrantScope.SESSION, scope_id="default"))
    assert answers(a_grant(scope=GrantScope.TASK, scope_id="t1"), context=Context(task_id="t1"))


@pytest.mark.parametrize(
    "changes",
    [
        {"tool": "charge"},
        {"definition_hash": "another"},
        {"principal": "robot"},
        {"max_risk": Risk.MEDIUM},
        {"until": NOW},
        {"revoked_at": 1.0},
        {"scope": GrantScope.SESSION, "scope_id": "other"},
        {"scope": GrantScope.TASK, "scope_id": "t1"},
        {"pattern": {"amount": 6}},
        {"pattern": {"amount": True}},
        {"pattern": {"to": None}},
    ],
)
def test_a_grant_for_something_else_does_not(changes: dict[str, Any]) -> None:
    assert not answers(a_grant(**changes), {"amount": 1})


@pytest.mark.parametrize("decided", [{"plus": True}, {"grantable": False}])
def test_no_grant_answers_what_only_a_person_may(decided: dict[str, Any]) -> None:
    assert not answers(a_grant(), **decided)
