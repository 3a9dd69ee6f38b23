"""Cases: a configuration is tested by the decisions it is expected to give."""

from typing import Any

import pytest

from callgate.model.layer import Rule
from callgate.model.levels import Risk, Verdict
from callgate.policy.cases import CaseResult, run_cases
from callgate.policy.policy import Policy
from tests.policy.making import make, reading, role, with_roles

RULE = Rule(match="pay", when="args.amount > 100", verdict=Verdict.DENY)
POLICY = Policy(with_roles(role("clerk", scopes=("money:*",), allow=("group:all",), rules=(RULE,))))
TOOLS = [make("pay", scopes={"money:send"}), reading("count"), make("burn", base_risk=Risk.CRITICAL)]


def run(**case: Any) -> CaseResult:
    (result,) = run_cases(POLICY, TOOLS, [{"role": "clerk", **case}])
    return result


@pytest.mark.parametrize(
    "case",
    [
        {"tool": "pay", "arguments": {"amount": 5}, "expect": "confirm", "risk": "medium"},
        {"tool": "pay", "arguments": {"amount": 5}, "autonomy": "A3", "expect": "allow"},
        {"tool": "pay", "arguments": {"amount": 5}, "autonomy": "A0", "expect": "preview"},
        {"tool": "pay", "arguments": {"amount": 500}, "expect": "deny", "code": "policy_denied"},
        {"tool": "pay", "arguments": {"amount": 5}, "repeated": True, "expect": "confirm", "risk": "high"},
        {"tool": "pay", "scopes": [], "arguments": {"amount": 5}, "expect": "deny", "code": "scope_violation"},
        {"tool": "count", "read_only": True, "expect": "allow", "risk": "low"},
        {"tool": "count", "arguments": {"wrong": 1}, "expect": "deny", "code": "invalid_arguments"},
        {"tool": "nothing", "expect": "deny", "code": "tool_not_found"},
        {"tool": "burn", "expect": "confirm", "persons": ["ada"], "now": 0},
    ],
)
def test_a_case_that_holds_is_ok(case: dict[str, Any]):
    result = run(**case)
    assert result.ok, result.faults
    assert result.faults == ()


def test_a_case_that_does_not_hold_says_what_was_found():
    result = run(tool="pay", arguments={"amount": 5}, expect="allow", code="x", risk="low", name="small sums")
    assert not result.ok
    assert result.name == "small sums"
    assert result.faults == (
        "expected allow, and it is confirm",
        "expected x, and it is nothing",
        "expected low, and it is medium",
    )
    assert result.decision is not None
    assert result.decision.reasons


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"tool": "count"}, "expect must be"),
        ({"tool": "count", "expect": "maybe"}, "expect must be"),
        ({"tool": "count", "expect": "allow", "autnomy": "A2"}, "unknown key autnomy"),
        ({"tool": "count", "expect": "allow", "labels": ["tainted"]}, "unknown key labels"),
        (
            {"tool": "count", "expect": "allow", "autonomy": "A9"},
            "autonomy must be one of A0, A1, A2, A3, A4, not 'A9'",
        ),
        ({"tool": "count", "expect": "allow", "scopes": 5}, "scopes must be several texts"),
        ({"tool": "count", "expect": "allow", "scopes": "fs:*"}, "scopes must be several texts"),
        ({"tool": "count", "expect": "allow", "persons": "ann"}, "persons must be several texts"),
        ({"tool": "count", "expect": "allow", "arguments": [1]}, "arguments must be a mapping"),
        ({"tool": "count", "expect": "allow", "now": "noon"}, "noon"),
        (
            {"tool": "pya", "expect": "deny"},
            "there is no tool pya; did you mean pay? (if that is what you expect, add `code: tool_not_found`)",
        ),
        (
            {"tool": "zzz", "expect": "deny", "code": "policy_denied"},
            "there is no tool zzz; there are burn, count, pay",
        ),
        ({"tool": "pay", "role": "clark", "expect": "deny"}, "there is no role clark; did you mean clerk?"),
        ({"tool": "count", "arguments": {"wrong": 1}, "expect": "deny"}, "add `code: invalid_arguments`"),
    ],
)
def test_a_case_that_cannot_be_read_fails_and_says_why(case: dict[str, Any], said: str):
    result = run(**case)
    assert not result.ok
    assert not result.usable
    assert said in result.faults[0]


def test_a_case_that_names_no_role_is_decided_by_what_there_is():
    (result,) = run_cases(POLICY, TOOLS, [{"tool": "count", "expect": "deny", "code": "policy_denied"}])
    assert result.ok


def test_what_is_no_case_at_all_fails_in_its_place():
    fine = {"tool": "count", "role": "clerk", "expect": "allow"}
    results = run_cases(POLICY, TOOLS, [fine, "nonsense"])  # pyright: ignore[reportArgumentType]
    assert [result.ok for result in results] == [True, False]
    assert results[1].name == "case 2"
    assert results[1].faults == ("a case is a mapping, not str",)
    assert results[0].name == "case 1: count"
