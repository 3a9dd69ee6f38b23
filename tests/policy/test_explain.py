"""Explain: every reason layer by layer. Observe: what would have been decided, and never a lifted deny."""

from pathlib import Path
from typing import Any

import pytest

from callgate.model.context import Context
from callgate.model.decision import Decision
from callgate.model.layer import Layer, LayerKind, Rule
from callgate.model.levels import Autonomy, Origin, Risk, Verdict
from callgate.policy.policy import Facts, Policy
from callgate.policy.showing import name_all, show
from callgate.settings.values import Observe, Settings
from tests.policy.making import NOON, decide, in_folder, make, reading, role, schema, with_roles

FACTS = Facts(now=NOON)


def told(decision: Decision) -> list[str]:
    return [f"{reason.step}: {reason.text}" for reason in decision.reasons]


def test_an_allowed_call_is_explained_layer_by_layer():
    settings = with_roles(
        role("writer", scopes=("fs:write",), allow=("group:files",)),
        global_layer=Layer(name="global", kind=LayerKind.GLOBAL, deny=("group:destructive",)),
    )
    context = Context(role="writer", autonomy=Autonomy.A3, layers=(Layer(name="task", allow=("write_*",)),))
    tool = make("write_file", "modifies_files", scopes={"fs:write"})
    decision = Policy(settings).explain(tool, {}, context, FACTS)
    assert decision.verdict is Verdict.ALLOW
    assert told(decision) == [
        "scopes: write_file needs fs:write, and nothing of it is lacking",
        "layer:global: the global layer 'global' has no allow of its own and adds no limit",
        "layer:writer: the role layer 'writer' allows write_file by group:files",
        "layer:task: the delegation layer 'task' allows write_file by write_*",
        "risk: the base risk of write_file is medium (declared)",
        "matrix: medium risk at autonomy A3 is allow",
    ]


def test_every_refusal_is_there_and_the_gate_has_its_say_after_them(tmp_path: Path):
    rule = Rule(match="*", when="args.path == '/etc'", verdict=Verdict.DENY, why="not there")
    settings = with_roles(
        role(scopes=(), allow=("other",)), global_layer=Layer(name="g", kind=LayerKind.GLOBAL, rules=(rule,))
    )
    tool = make("write", "modifies_files", scopes={"fs:write"}, input_schema=schema("path"))
    decision = in_folder(tmp_path, settings).explain(tool, {"path": "/etc"}, Context(principal="Robbie"), FACTS)
    assert (decision.verdict, decision.code) == (Verdict.DENY, "scope_violation")
    refusing = [reason.step for reason in decision.reasons if reason.code]
    assert refusing == ["scopes", "layer:default", "resources", "layer:g"]
    assert "'Robbie'" in told(decision)[0]
    assert told(decision)[-1] == "matrix: medium risk at autonomy A2 is confirm"


def test_the_code_is_that_of_the_first_refusal_also_when_it_is_a_resource(tmp_path: Path):
    tool = reading("read", scopes={"fs:read"}, input_schema=schema("path"))
    decision = in_folder(tmp_path).explain(tool, {"path": "/etc"}, Context(), FACTS)
    assert (decision.verdict, decision.code) == (Verdict.DENY, "policy_denied")


def test_what_a_call_will_touch_is_named(tmp_path: Path):
    tool = reading("read", scopes={"fs:read"}, input_schema=schema("path"))
    decision = in_folder(tmp_path).explain(tool, {"path": "x"}, Context(), FACTS)
    assert f"resources: it will touch path:{tmp_path.resolve()}/x" in told(decision)


def test_an_unknown_role_is_explained_with_everything_else():
    decision = Policy(with_roles(role("a", allow=()))).explain(make("x"), {}, Context(role="b"), FACTS)
    assert told(decision)[0] == "role: there is no role 'b'; the roles are a"
    assert decision.code == "policy_denied"


def observing(source: str = "*", *, since: float = 0.0, until: float = NOON + 60, **facts: Any) -> Policy:
    return Policy(Settings(observe=(Observe(source=source, since=since, until=until, by="olga"),), **facts))


def test_observe_mode_lets_a_confirm_run_and_says_what_it_would_have_been():
    decision = decide(observing(), make("x"))
    assert (decision.verdict, decision.observed) == (Verdict.ALLOW, Verdict.CONFIRM)
    assert told(decision)[-1] == "observe: observe mode by olga for *: it runs, and confirm is only recorded"


def test_observe_mode_never_lifts_a_deny():
    denied = decide(observing(matrix="strict"), make("x", base_risk=Risk.CRITICAL))
    assert (denied.verdict, denied.observed) == (Verdict.DENY, None)
    layer = Layer(name="global", kind=LayerKind.GLOBAL, deny=("x",))
    refused = decide(observing(global_layer=layer), make("x"))
    assert (refused.verdict, refused.code, refused.observed) == (Verdict.DENY, "policy_denied", None)


def test_observe_mode_ends_when_it_expires():
    assert decide(observing(until=NOON), make("x")).verdict is Verdict.CONFIRM
    assert decide(observing(until=float("nan")), make("x")).verdict is Verdict.CONFIRM


def test_observe_mode_is_not_in_force_before_it_begins():
    assert decide(observing(since=NOON), make("x")).verdict is Verdict.ALLOW
    assert decide(observing(since=NOON + 1), make("x")).verdict is Verdict.CONFIRM
    assert decide(observing(since=float("nan")), make("x")).verdict is Verdict.CONFIRM


def test_observe_mode_executes_no_effect_at_a0():
    decision = decide(observing(), make("x"), context=Context(autonomy=Autonomy.A0))
    assert (decision.verdict, decision.observed) == (Verdict.PREVIEW, None)
    read = decide(observing(), reading("r", base_risk=Risk.MEDIUM), context=Context(autonomy=Autonomy.A0))
    assert (read.verdict, read.observed) == (Verdict.ALLOW, Verdict.PREVIEW)


@pytest.mark.parametrize(
    ("source", "observed"),
    [
        ("*", True),
        ("source:mcp", True),
        ("source:github", True),
        ("source:plugin", False),
        ("source:gitlab", False),
        ("source:", False),
        ("mcp", False),
        ("group:all", False),
    ],
)
def test_observe_mode_is_for_one_source(source: str, observed: bool):
    tool = make("gh.x", source=Origin.MCP, source_name="github")
    assert (decide(observing(source), tool).observed is not None) is observed
    nameless = make("x", source=Origin.FUNCTION)
    assert (decide(observing(source), nameless).observed is not None) is (source == "*")


def test_under_observation_no_decision_is_fixed():
    assert observing().standing(reading("r"), Context()).fixed is None
    assert decide(observing(), reading("r")).observed is Verdict.ALLOW


def test_what_a_caller_sent_is_shown_short_and_with_hidden_characters_visible():
    assert show("a\u202eb\n") == "'a\\u202eb\\n'"
    assert show("a\u3164b\ufe0f") == "'a\\u3164b\\ufe0f'"
    assert show("é") == "'é'"
    assert show("x" * 500) == f"'{'x' * 160}'… (500 characters)"
    assert name_all(f"t{number}" for number in range(10)).endswith("t7 and 2 more")
