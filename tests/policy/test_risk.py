"""Risk: the base, and adjusters that add up and never lower."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from callgate.model.context import Context
from callgate.model.decision import Decision, Reason
from callgate.model.layer import Rule
from callgate.model.levels import Autonomy, Risk, Verdict
from callgate.model.tool import Tool
from callgate.policy.policy import Facts, Policy
from callgate.settings.values import RiskSettings, Settings
from tests.policy.making import NOON, decide, make, reading, saying, with_global

POLICY = Policy(Settings())


def risk(tool: Tool, arguments: dict[str, Any] | None = None, **facts: Any) -> Risk:
    return decide(POLICY, tool, arguments, facts=Facts(now=NOON, **facts)).risk


def texts(decision: Decision) -> str:
    return "; ".join(reason.text for reason in decision.reasons)


@pytest.mark.requirement("GATE-01")
@pytest.mark.parametrize("base", list(Risk))
def test_the_base_risk_is_what_the_declaration_of_the_action_says(base: Risk):
    """One tool per action: the risk mapped for an action, else the tool's default, is that tool's base risk."""
    tool = make("gmail.send", base_risk=base)
    assert risk(tool) is base
    assert POLICY.standing(tool, Context()).risk is base


@pytest.mark.requirement("GATE-02")
def test_each_adjuster_adds_one_level_and_they_add_up():
    broadcast: dict[str, Any] = {"broadcast": saying(True)}
    many: dict[str, Any] = {"targets": saying(range(11))}
    wide: dict[str, Any] = {"blast_radius": saying(101)}
    assert risk(make("x", base_risk=Risk.LOW, **broadcast)) is Risk.MEDIUM
    assert risk(make("x", base_risk=Risk.LOW, **many)) is Risk.MEDIUM
    assert risk(make("x", base_risk=Risk.LOW, **wide)) is Risk.MEDIUM
    assert risk(make("x", base_risk=Risk.LOW, destructive=True)) is Risk.MEDIUM
    assert risk(make("x", base_risk=Risk.LOW, destructive=True, **broadcast)) is Risk.HIGH
    assert risk(make("x", base_risk=Risk.LOW, **broadcast, **many, **wide)) is Risk.CRITICAL
    assert risk(make("x", base_risk=Risk.HIGH, destructive=True, **broadcast, **many)) is Risk.CRITICAL
    assert risk(make("x", base_risk=Risk.HIGH)) is Risk.HIGH


def test_destructive_raises_only_a_declared_risk():
    assert risk(make("x", base_risk=Risk.HIGH, destructive=True, risk_declared=False)) is Risk.HIGH
    assert risk(make("x", base_risk=Risk.HIGH, destructive=True)) is Risk.CRITICAL


def test_effects_that_send_data_out_are_at_least_medium_and_reading_stays_low():
    assert risk(make("post", "network_access", egress=True, base_risk=Risk.LOW)) is Risk.MEDIUM
    assert risk(reading("search", "network_access", egress=True)) is Risk.LOW
    assert risk(make("post", "network_access", egress=True, base_risk=Risk.HIGH)) is Risk.HIGH


def forever() -> Iterator[int]:
    while True:
        yield 1


@pytest.mark.parametrize(
    ("targets", "many"),
    [
        (None, False),
        ("ada@example.com, and many more in one text", False),
        ([], False),
        (["a"] * 10, False),
        (["a"] * 11, True),
        (10, False),
        (11, True),
        (forever(), True),
        ({"a": 1}, False),
        (object(), True),
    ],
)
def test_many_targets_are_more_than_the_threshold(targets: Any, many: bool):
    tool = make("send", base_risk=Risk.LOW, targets=saying(targets))
    assert risk(tool) is (Risk.MEDIUM if many else Risk.LOW)


@pytest.mark.parametrize(
    ("radius", "wide"), [(0, False), (100, False), (101, True), (math.nan, True), ("many", True), (None, True)]
)
def test_a_blast_radius_over_the_threshold_raises_and_so_does_nonsense(radius: Any, wide: bool):
    tool = make("drop", base_risk=Risk.LOW, blast_radius=saying(radius))
    assert risk(tool) is (Risk.MEDIUM if wide else Risk.LOW)


def test_a_tool_that_cannot_tell_what_it_touches_says_so_with_no_number():
    def texts_for(radius: float) -> str:
        return texts(decide(POLICY, make("drop", base_risk=Risk.LOW, blast_radius=saying(radius))))

    unknown = "how many things it touches is not known before: the risk goes from low to medium"
    assert unknown in texts_for(math.nan)
    assert "it touches more than 100 things: the risk goes from low to medium" in texts_for(math.inf)


async def asynchronous(_arguments: Any) -> bool:
    return False


@pytest.mark.parametrize("name", ["broadcast", "targets", "blast_radius"])
@pytest.mark.parametrize("hook", [saying(RuntimeError("with a secret in it")), asynchronous])
def test_a_function_that_does_not_answer_counts_as_raising(name: str, hook: Any):
    decision = decide(POLICY, make("x", base_risk=Risk.LOW, **{name: hook}))
    assert decision.risk is Risk.MEDIUM
    assert f"{name}() did not answer" in texts(decision)
    assert "secret" not in texts(decision)


def test_a_function_cannot_change_the_arguments_of_the_call():
    arguments = {"to": "a"}

    def meddling(given: dict[str, Any]) -> bool:
        given["to"] = "b"
        return False

    decide(POLICY, make("x", broadcast=meddling), arguments)
    assert arguments == {"to": "a"}


def test_thresholds_are_configuration():
    policy = Policy(Settings(risk=RiskSettings(many_targets=2, blast_radius=5)))
    tool = make("x", base_risk=Risk.LOW, targets=saying(3), blast_radius=saying(6))
    assert decide(policy, tool).risk is Risk.HIGH


def test_a_rule_sets_a_floor_and_never_lowers():
    policy = Policy(with_global(rules=(Rule(match="*", risk=Risk.HIGH, why="careful"),)))
    raised = decide(policy, make("x", base_risk=Risk.LOW))
    assert raised.risk is Risk.HIGH
    assert "careful: the risk goes from low to high" in texts(raised)
    assert decide(policy, make("x", base_risk=Risk.CRITICAL)).risk is Risk.CRITICAL


@pytest.mark.parametrize(
    ("base", "after"),
    [(Risk.LOW, Risk.LOW), (Risk.MEDIUM, Risk.HIGH), (Risk.HIGH, Risk.CRITICAL), (Risk.CRITICAL, Risk.CRITICAL)],
)
def test_an_identical_success_raises_from_medium_up(base: Risk, after: Risk):
    decision = decide(POLICY, make("x", base_risk=base), facts=Facts(now=NOON, repeated=True))
    assert decision.risk is after
    assert ("within the last 10 minutes" in texts(decision)) is (base >= Risk.MEDIUM)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize(
    ("base", "after"), [(Risk.LOW, Risk.LOW), (Risk.MEDIUM, Risk.HIGH), (Risk.HIGH, Risk.CRITICAL)]
)
def test_what_may_have_happened_raises_from_medium_up_and_is_always_told(base: Risk, after: Risk, *, repeated: bool):
    facts = Facts(now=NOON, unknown="rent-1", repeated=repeated)
    decision = decide(POLICY, make("x", base_risk=base), facts=facts)
    assert decision.risk is after
    assert "an equal call under key rent-1 has an unknown outcome" in texts(decision)
    plain = decide(POLICY, make("x", base_risk=base))
    assert "rent-1" not in texts(plain), "it is remembered for no other call"


def test_labels_raise_one_level_together_and_say_why():
    reasons = (Reason("labels", "to was first seen in web_fetch"), Reason("labels", "the session is tainted"))
    decision = decide(POLICY, make("x", base_risk=Risk.LOW), facts=Facts(now=NOON, label_reasons=reasons))
    assert decision.risk is Risk.MEDIUM
    assert "first seen in web_fetch; the session is tainted: the risk goes from low to medium" in texts(decision)
    assert not decision.grantable


@pytest.mark.requirement("GATE-04")
def test_a_base_risk_that_is_none_there_is_is_critical_and_denied():
    tool = make("x", base_risk=Autonomy.A1)
    decision = decide(POLICY, tool)
    assert (decision.risk, decision.verdict, decision.code) == (Risk.CRITICAL, Verdict.DENY, "gate_denied")
