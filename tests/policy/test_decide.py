"""Decide: the matrix, and overrides that only strengthen."""

from typing import Any

import pytest

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.decision import Decision, Reason
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.model.tool import Tool
from callgate.policy.policy import Facts, Policy
from callgate.settings.values import ApprovalSettings, Family, Matrix, QuietHours, Settings
from tests.policy.making import NOON, decide, make, reading, role, saying, with_global, with_roles

POLICY = Policy(Settings())
UNDO: dict[str, Any] = {"undo": saying(None)}


def at(level: Autonomy | None = None, **facts: Any) -> Context:
    return Context(autonomy=level, **facts)


def verdict(policy: Policy, tool: Tool, level: Autonomy, **facts: Any) -> Verdict:
    return decide(policy, tool, context=at(level), facts=Facts(now=NOON, **facts)).verdict


def row(policy: Policy, level: Autonomy) -> list[str]:
    decisions = [decide(policy, make("x", base_risk=risk), context=at(level)) for risk in Risk]
    return [f"{decision.verdict}{' +' if decision.plus else ''}" for decision in decisions]


@pytest.mark.requirement("GATE-03")
def test_autonomy_and_risk_give_the_verdict_of_the_matrix():
    assert row(POLICY, Autonomy.A0) == ["preview", "preview", "preview", "deny"]
    assert row(POLICY, Autonomy.A1) == ["confirm", "confirm", "confirm", "confirm +"]
    assert row(POLICY, Autonomy.A2) == ["allow", "confirm", "confirm", "confirm +"]
    assert row(POLICY, Autonomy.A3) == ["allow", "allow", "confirm", "confirm +"]
    assert row(POLICY, Autonomy.A4) == ["allow", "allow", "allow", "confirm +"]
    strict = Policy(Settings(matrix="strict"))
    assert [row(strict, level)[3] for level in Autonomy] == ["deny", "deny", "deny", "deny", "confirm +"]


def test_a_matrix_that_is_not_monotone_is_a_configuration_error():
    loose: Matrix = {level: dict.fromkeys(Risk, (Verdict.ALLOW, False)) for level in Autonomy}
    with pytest.raises(ConfigurationError, match="A0 never executes"):
        Policy(Settings(matrix=loose))


@pytest.mark.requirement("GATE-04")
def test_an_autonomy_that_is_none_there_is_is_denied():
    for strange in (7, -1, "A9", 2.5):
        context = Context()
        object.__setattr__(context, "autonomy", strange)
        object.__setattr__(context, "authority", ("strange", strange))
        decision = decide(POLICY, make("x", base_risk=Risk.LOW), context=context)
        assert (decision.verdict, decision.code) == (Verdict.DENY, "gate_denied"), strange
        assert decide(POLICY, reading("r"), context=context).verdict is Verdict.DENY


def test_reading_at_low_risk_is_allowed_at_every_level():
    for level in Autonomy:
        assert verdict(POLICY, reading("r"), level) is Verdict.ALLOW
    assert verdict(POLICY, reading("r", base_risk=Risk.MEDIUM), Autonomy.A1) is Verdict.CONFIRM
    assert verdict(POLICY, reading("r", base_risk=Risk.MEDIUM), Autonomy.A0) is Verdict.PREVIEW


OPEN = with_roles(role(scopes=("*",), allow=("group:all",)))
QUIET = QuietHours(start=11 * 60, end=13 * 60)


@pytest.mark.requirement("GATE-05")
def test_secret_scopes_and_quiet_hours_are_at_least_confirm():
    policy = Policy(OPEN)
    for tool in (reading("r", scopes={"secrets:read"}), make("w", scopes={"secrets:read"}, base_risk=Risk.LOW)):
        decision = decide(policy, tool, context=at(Autonomy.A4))
        assert (decision.verdict, decision.grantable) == (Verdict.CONFIRM, False)
    quiet = Policy(Settings(quiet_hours=QUIET))
    assert verdict(quiet, make("x", base_risk=Risk.LOW), Autonomy.A4) is Verdict.ALLOW
    assert verdict(quiet, make("x", base_risk=Risk.MEDIUM), Autonomy.A4) is Verdict.CONFIRM
    assert verdict(quiet, make("x", base_risk=Risk.HIGH), Autonomy.A4) is Verdict.CONFIRM
    assert verdict(quiet, reading("r", base_risk=Risk.MEDIUM), Autonomy.A4) is Verdict.CONFIRM
    evening = decide(quiet, make("x"), context=at(Autonomy.A4), facts=Facts(now=20 * 3600.0))
    assert evening.verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("start", "end", "hour", "covered"),
    [
        (22, 6, 23, True),
        (22, 6, 3, True),
        (22, 6, 12, False),
        (22, 6, 6, False),
        (9, 17, 9, True),
        (9, 17, 17, False),
        (8, 8, 20, True),
    ],
)
def test_quiet_hours_may_run_over_midnight(start: int, end: int, hour: int, covered: bool):
    policy = Policy(Settings(quiet_hours=QuietHours(start=start * 60, end=end * 60)))
    decision = decide(policy, make("x"), context=at(Autonomy.A4), facts=Facts(now=hour * 3600.0))
    assert (decision.verdict is Verdict.CONFIRM) is covered


def test_quiet_hours_are_those_of_their_time_zone():
    hours = QuietHours(start=11 * 60, end=13 * 60, timezone="Asia/Tokyo")
    policy = Policy(Settings(quiet_hours=hours))
    assert verdict(policy, make("x"), Autonomy.A4) is Verdict.ALLOW
    tokyo_noon = decide(policy, make("x"), context=at(Autonomy.A4), facts=Facts(now=3 * 3600.0))
    assert tokyo_noon.verdict is Verdict.CONFIRM
    for name in ("Nowhere/Land", "../etc/passwd", ""):
        with pytest.raises(ConfigurationError, match="no time zone"):
            Policy(Settings(quiet_hours=QuietHours(start=0, end=1, timezone=name)))


def test_a_time_that_is_none_counts_as_quiet():
    policy = Policy(Settings(quiet_hours=QUIET))
    for now in (1e300, float("nan")):
        decision = decide(policy, make("x"), context=at(Autonomy.A4), facts=Facts(now=now))
        assert decision.verdict is Verdict.CONFIRM


@pytest.mark.requirement("GATE-05")
def test_no_override_weakens_a_verdict():
    quiet = Settings(matrix="strict", quiet_hours=QUIET, roles=OPEN.roles)
    tool = make("x", base_risk=Risk.CRITICAL, scopes={"secrets:read", "shell:execute"})
    assert verdict(Policy(quiet), tool, Autonomy.A2) is Verdict.DENY


@pytest.mark.requirement("GATE-06")
def test_a0_never_executes_an_effect_also_with_a_secret_scope():
    policy = Policy(OPEN)
    tool = make("x", base_risk=Risk.LOW, scopes={"secrets:read"})
    assert verdict(policy, tool, Autonomy.A0) is Verdict.PREVIEW
    assert verdict(policy, make("x", [], scopes={"a:b"}, base_risk=Risk.LOW), Autonomy.A0) is Verdict.PREVIEW


def test_a_family_that_requires_approval_is_at_least_confirm_and_may_be_granted():
    shell = make("run", "local_exec", base_risk=Risk.LOW, scopes={"shell:execute"})
    decision = decide(POLICY, shell, context=at(Autonomy.A4))
    assert (decision.verdict, decision.grantable) == (Verdict.CONFIRM, True)
    assert any("the scope family shell requires approval" in reason.text for reason in decision.reasons)
    eager = Policy(Settings(families={"shell": Family()}))
    assert verdict(eager, shell, Autonomy.A4) is Verdict.ALLOW
    assert verdict(Policy(OPEN), make("x", base_risk=Risk.LOW, scopes={"*"}), Autonomy.A4) is Verdict.CONFIRM


def test_destructive_is_at_least_confirm_below_a4():
    tool = make("drop", base_risk=Risk.LOW, destructive=True, risk_declared=False)
    assert [verdict(POLICY, tool, level).label for level in Autonomy] == [
        "preview",
        "confirm",
        "confirm",
        "confirm",
        "allow",
    ]


def test_a_layer_caps_the_risk_and_denies_what_is_above():
    layers = (Layer(name="mild", max_risk=Risk.MEDIUM), Layer(name="wide", max_risk=Risk.HIGH))
    context = at(Autonomy.A4, layers=layers)
    assert decide(POLICY, make("x"), context=context).verdict is Verdict.ALLOW
    decision = decide(POLICY, make("x", base_risk=Risk.HIGH), context=context)
    assert (decision.verdict, decision.code) == (Verdict.DENY, "gate_denied")
    assert any("the layer 'mild' allows medium risk at most" in reason.text for reason in decision.reasons)


def test_a_lowered_autonomy_is_told_and_counts():
    context = at(Autonomy.A4, layers=(Layer(name="careful", max_autonomy=Autonomy.A1),))
    decision = decide(POLICY, make("x", base_risk=Risk.LOW), context=context)
    assert (decision.verdict, decision.autonomy) == (Verdict.CONFIRM, Autonomy.A1)
    assert decision.reasons[0].text == "the delegation layer 'careful' lowers the autonomy from A4 to A1"


def ruled(*rules: Rule, **facts: Any) -> Policy:
    layer = Layer(name="global", kind=LayerKind.GLOBAL, rules=rules)
    return Policy(Settings(global_layer=layer, **facts))


def test_a_rule_asks_for_at_least_its_verdict_and_never_loosens():
    confirm = ruled(Rule(match="x", verdict=Verdict.CONFIRM, why="always ask"))
    decision = decide(confirm, make("x", base_risk=Risk.LOW), context=at(Autonomy.A4))
    assert decision.verdict is Verdict.CONFIRM
    assert any(reason.text.endswith("always ask: at least confirm") for reason in decision.reasons)
    allow = ruled(Rule(match="x", verdict=Verdict.ALLOW))
    assert verdict(allow, make("x", base_risk=Risk.HIGH), Autonomy.A1) is Verdict.CONFIRM
    preview = ruled(Rule(match="x", verdict=Verdict.PREVIEW))
    assert verdict(preview, make("x"), Autonomy.A4) is Verdict.PREVIEW


def test_the_strictest_rule_says_who_confirms_and_how_surely():
    policy = ruled(
        Rule(match="x", by=ConfirmBy.TWO, assurance=Assurance.CLIENT),
        Rule(match="x", by=ConfirmBy.OTHER, assurance=Assurance.PASSKEY),
        Rule(match="y", by=ConfirmBy.OTHER),
        Rule(match="z", assurance=Assurance.LOCAL),
    )
    two = decide(policy, make("x"))
    assert (two.by, two.assurance, two.grantable) == (ConfirmBy.TWO, Assurance.PASSKEY, False)
    other = decide(policy, make("y"))
    assert (other.by, other.assurance, other.grantable) == (ConfirmBy.OTHER, Assurance.ASSERTED, False)
    assert not decide(policy, make("z")).grantable
    plain = decide(policy, make("w"))
    assert (plain.by, plain.assurance, plain.grantable) == (ConfirmBy.USER, Assurance.ASSERTED, True)
    everyone = Policy(Settings(approvals=ApprovalSettings(confirm=ConfirmBy.OTHER)))
    assert decide(everyone, make("x")).by is ConfirmBy.OTHER


@pytest.mark.parametrize(
    ("persons", "user", "by", "assurance"),
    [
        ((), None, ConfirmBy.USER, Assurance.LOCAL),
        ((), "ada", ConfirmBy.USER, Assurance.LOCAL),
        (("ada",), "ada", ConfirmBy.USER, Assurance.SIGNED_IN),
        (("ada",), None, ConfirmBy.USER, Assurance.SIGNED_IN),
        (("bob",), "ada", ConfirmBy.OTHER, Assurance.SIGNED_IN),
        (("ada", "bob"), "ada", ConfirmBy.OTHER, Assurance.SIGNED_IN),
        (("ada", "bob"), None, ConfirmBy.OTHER, Assurance.SIGNED_IN),
        (("Ada",), " ada", ConfirmBy.USER, Assurance.SIGNED_IN),
        (("ada", "Ada "), None, ConfirmBy.USER, Assurance.SIGNED_IN),
    ],
)
def test_confirm_plus_asks_for_a_signed_in_person_and_another_where_there_is_one(
    persons: tuple[str, ...], user: str | None, by: ConfirmBy, assurance: Assurance
):
    tool = make("x", base_risk=Risk.CRITICAL)
    decision = decide(POLICY, tool, context=Context(user=user), facts=Facts(now=NOON, persons=persons))
    assert (decision.verdict, decision.plus, decision.grantable) == (Verdict.CONFIRM, True, False)
    assert (decision.by, decision.assurance) == (by, assurance)


def test_label_reasons_with_a_verdict_are_at_least_that_and_never_granted():
    reason = Reason("labels", "private data would leave", Verdict.CONFIRM)
    tool = reading("search", "network_access", egress=True)
    decision = decide(POLICY, tool, context=at(Autonomy.A4), facts=Facts(now=NOON, label_reasons=(reason,)))
    assert (decision.verdict, decision.risk, decision.grantable) == (Verdict.CONFIRM, Risk.LOW, False)
    assert any(found.text == "private data would leave" for found in decision.reasons)


PROCEED = Rule(match="x", verdict=Verdict.CONFIRM, on_expiry="proceed")


def test_silence_lets_a_call_run_where_the_operator_says_so_and_it_can_be_undone():
    assert decide(ruled(PROCEED), make("x", **UNDO)).on_expiry == "proceed"
    assert decide(ruled(PROCEED), make("x")).on_expiry == "reject"
    assert decide(POLICY, make("x", **UNDO)).on_expiry == "reject"


@pytest.mark.parametrize(
    "more",
    [
        Rule(match="x", verdict=Verdict.CONFIRM),
        Rule(match="x", on_expiry="reject"),
        Rule(match="x", by=ConfirmBy.OTHER),
        Rule(match="x", assurance=Assurance.LOCAL),
        Rule(match="x", risk=Risk.CRITICAL),
        Rule(match="x", when="args.missing", on_expiry="proceed"),
    ],
)
def test_silence_is_no_answer_where_anything_else_asks_for_more(more: Rule):
    assert decide(ruled(PROCEED, more), make("x", **UNDO)).on_expiry == "reject"


def test_silence_is_no_answer_to_secrets_families_labels_or_in_quiet_hours():
    layer = Layer(name="global", kind=LayerKind.GLOBAL, rules=(PROCEED,))
    policy = Policy(Settings(global_layer=layer, roles=OPEN.roles))
    assert decide(policy, make("x", **UNDO)).on_expiry == "proceed"
    assert decide(policy, make("x", scopes={"secrets:read"}, **UNDO)).on_expiry == "reject"
    assert decide(policy, make("x", scopes={"shell:execute"}, **UNDO)).on_expiry == "reject"
    tainted = Facts(now=NOON, label_reasons=(Reason("labels", "tainted", Verdict.CONFIRM),))
    assert decide(policy, make("x", **UNDO), facts=tainted).on_expiry == "reject"
    quiet = Policy(Settings(global_layer=layer, quiet_hours=QUIET))
    assert decide(quiet, make("x", **UNDO)).on_expiry == "reject"


def test_a_layer_of_a_context_cannot_turn_a_question_into_a_veto():
    for kind in LayerKind:
        context = Context(layers=(Layer(name="t", kind=kind, allow=("*",), rules=(PROCEED,)),))
        assert decide(POLICY, make("x", **UNDO), context=context).on_expiry == "reject"
        assert decide(ruled(PROCEED), make("x", **UNDO), context=context).on_expiry == "proceed"


def fixed(policy: Policy, tool: Tool, context: Context | None = None) -> Decision | None:
    return policy.standing(tool, context or Context()).fixed


def test_a_decision_is_fixed_where_nothing_about_the_call_can_change_it():
    for tool in (reading("r"), make("w", base_risk=Risk.LOW)):
        decision = fixed(POLICY, tool)
        assert decision is not None
        assert decision is decide(POLICY, tool)
    ask = fixed(POLICY, make("w", base_risk=Risk.LOW), at(Autonomy.A1))
    assert ask is not None
    assert ask.verdict is Verdict.CONFIRM
    assert fixed(ruled(Rule(match="r", verdict=Verdict.CONFIRM)), reading("r")) is not None


@pytest.mark.parametrize(
    "tool",
    [
        make("w"),
        reading("search", egress=True),
        make("drop", base_risk=Risk.LOW, destructive=True, risk_declared=False),
        make("send", base_risk=Risk.LOW, targets=saying([])),
        make("send", base_risk=Risk.LOW, broadcast=saying(False)),
        make("send", base_risk=Risk.LOW, blast_radius=saying(0)),
    ],
    ids=lambda tool: tool.name,
)
def test_a_decision_that_arguments_time_or_labels_could_change_is_not_fixed(tool: Tool):
    assert fixed(POLICY, tool) is None


def test_a_refused_call_has_no_fixed_decision_and_is_denied_at_the_gate_too():
    policy = Policy(with_global(deny=("r",)))
    tool = reading("r")
    assert fixed(policy, tool) is None
    decision = decide(policy, tool)
    assert (decision.verdict, decision.code) == (Verdict.DENY, "policy_denied")


def test_a_fixed_decision_gives_way_to_labels():
    facts = Facts(now=NOON, label_reasons=(Reason("labels", "tainted", Verdict.CONFIRM),))
    assert decide(POLICY, reading("r"), facts=facts).verdict is Verdict.CONFIRM
