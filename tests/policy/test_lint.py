"""Lint: what is wrong, unreachable or forgotten is found, and a sound configuration is left alone."""

from typing import Any

import pytest

from callgate.model.layer import Layer, LayerKind, Rule
from callgate.model.levels import Risk, Verdict
from callgate.model.tool import Tool
from callgate.policy.lint import Finding, check
from callgate.settings.values import Family, Observe, Settings
from tests.needed import needs
from tests.policy.making import make, reading, role, saying, schema, with_global, with_roles

READ = reading("read_file", scopes={"fs:read"})
PAY = make("pay", undo=saying(None))
TOOLS = (READ, PAY)
WHEN = "global.rules[0].when"


def found(settings: Settings, tools: tuple[Tool, ...] = TOOLS) -> list[tuple[str, str, str]]:
    return [(finding.level, finding.where, finding.text) for finding in check(settings, tools)]


def texts(settings: Settings, tools: tuple[Tool, ...] = TOOLS) -> list[str]:
    return [text for _, _, text in found(settings, tools)]


def globally(*roles: Any, **layer: Any) -> Settings:
    return with_roles(*roles, global_layer=Layer(name="global", kind=LayerKind.GLOBAL, **layer))


def test_a_sound_configuration_has_no_findings():
    rules = (Rule(match="pay", verdict=Verdict.CONFIRM, on_expiry="proceed"),)
    settings = globally(role(allow=("group:read", "pay")), deny=("group:undeclared",), rules=rules)
    assert check(settings, TOOLS) == []
    assert check(Settings(), TOOLS) == []
    assert check(Settings(), ()) == []


def test_everything_that_cannot_be_read_is_an_error_with_its_place():
    rules = (Rule(match="pay", when="amount > 1", verdict=Verdict.DENY), Rule(match="group:typo", risk=None))
    settings = globally(role(allow=("group:typo", "pay", "read_file")), deny=("a b",), rules=rules)
    errors = [(where, text) for level, where, text in found(settings) if level == "error"]
    assert [where for where, _ in errors] == [
        "global.deny[0]",
        "global.rules[1].match",
        "roles.default.allow[0]",
        "global.rules[0].when",
    ]
    assert "args.amount" in errors[-1][1]
    assert found(Settings(matrix="nonsense"))[0][:2] == ("error", "matrix")


def test_a_tool_name_that_nobody_has_is_an_error_with_the_nearest_one():
    settings = with_roles(role(allow=("read_fil", "pay", "read_file")))
    assert found(settings) == [
        ("error", "roles.default.allow[0]", "there is no tool read_fil; did you mean read_file?")
    ]
    assert texts(with_roles(role(allow=("x",))), ())[0] == "there is no tool x; there are no tools"


@pytest.mark.parametrize("selector", ["group:math", "group:destructive", "source:mcp"])
def test_a_group_or_source_without_a_tool_yet_is_a_precaution_and_no_finding(selector: str):
    rules = (Rule(match=selector, verdict=Verdict.DENY),)
    settings = globally(role(allow=("pay", "read_file", selector)), deny=(selector,), rules=rules)
    assert found(settings, (READ, make("pay", destructive=False, undo=saying(None)))) == []


@pytest.mark.parametrize("selector", ["web_*", "category:money"])
def test_a_selector_that_matches_nothing_is_a_warning(selector: str):
    settings = with_roles(role(allow=("group:all", selector)))
    assert found(settings) == [("warning", "roles.default.allow[1]", f"{selector} matches no tool")]


def test_an_allow_that_is_denied_before_it_is_unreachable():
    settings = globally(role(allow=("pay", "read_file")), deny=("pay",))
    assert ("warning", "roles.default.allow[0]", "pay admits nothing: pay is refused before it") in found(settings)


def test_a_deny_and_a_rule_for_what_is_refused_already_never_count():
    rules = (Rule(match="pay", verdict=Verdict.CONFIRM),)
    settings = globally(role(allow=("read_file",), deny=("pay",), rules=rules), deny=("pay",), rules=rules)
    wheres = [where for _, where, text in found(settings) if "never counts" in text]
    assert wheres == ["global.rules[0].match", "roles.default.deny[0]", "roles.default.rules[0].match"]


def test_a_rule_of_a_role_counts_where_the_role_admits_its_tool():
    rules = (Rule(match="pay", verdict=Verdict.CONFIRM),)
    assert texts(with_roles(role(allow=("group:all",), rules=rules))) == []


def test_a_role_that_admits_nothing_and_tools_that_are_nobodys_are_told():
    assert texts(with_roles(role())) == [
        "the role default admits no tool at all",
        "no role admits read_file",
        "no role admits pay",
    ]


def test_scopes_that_a_role_lacks_for_what_it_allows_are_told():
    settings = with_roles(role(scopes=("net:*",), allow=("group:all",)))
    assert found(settings) == [
        (
            "warning",
            "roles.default.scopes",
            "the role default allows read_file and does not grant fs:read, so it cannot call it",
        )
    ]


def test_a_tool_that_declares_nothing_is_told_with_the_line_to_add():
    bare = make("bare", [], declared=False)
    assert ["effects=" in text for text in texts(Settings(), (bare,))] == [True]


def test_a_tool_under_observation_is_told():
    settings = Settings(observe=(Observe(source="source:function", until=1.0, by="olga"),))
    assert "pay is in observe mode" in texts(settings, (PAY,))[0]
    assert texts(Settings(observe=(Observe(source="source:mcp", until=1.0, by="olga"),))) == []


def test_a_veto_window_for_what_cannot_be_undone_is_told():
    settings = with_global(rules=(Rule(match="*", verdict=Verdict.CONFIRM, on_expiry="proceed"),))
    assert check(settings, TOOLS) == [
        Finding(
            "warning",
            "global.rules[0].on_expiry",
            "on_expiry: proceed does not count for read_file, which has no undo",
        )
    ]


SUM = make("give", input_schema=schema("to", amount={"type": "number"}), undo=saying(None))
OPEN = make("send", input_schema={"type": "object"}, undo=saying(None))
PATTERNED = make("post", input_schema=schema("to") | {"patternProperties": {"^x_": {}}}, undo=saying(None))
BARE = make("stop", input_schema=schema(), undo=saying(None))


@pytest.mark.parametrize(
    ("match", "when", "tools", "said"),
    [
        ("give", "args.amont > 5", (SUM,), "give has no argument amont; did you mean amount?"),
        ("give", "has(args . zzz) && args.zzz > 5", (SUM,), "give has no argument zzz; there are amount, to"),
        ("stop", "args.amount > 5", (BARE,), "stop has no argument amount; there are no arguments"),
        ("*", "args.amont > 5", (SUM, BARE), "give, stop has no argument amont; did you mean amount?"),
        ("*", "args.amount > 5", (SUM, BARE), None),
        ("*", "args.amont > 5", (SUM, OPEN), None),
        ("*", "args.amont > 5", (SUM, PATTERNED), None),
        ("give", "args.to == 'args.amont' || context.user == 'x' // args.amont", (SUM,), None),
        ("other", "args.amont > 5", (SUM,), None),
        ("give", "args.size() > 0 && args.exists (k, k == 'to') && args.all(k, k != 'z')", (SUM,), None),
        ("give", "args.amont.size() > 0", (SUM,), "give has no argument amont; did you mean amount?"),
    ],
)
def test_an_argument_that_no_tool_of_the_rule_has_is_a_warning(
    match: str, when: str, tools: tuple[Tool, ...], said: str | None
):
    settings = globally(role(allow=("*",)), rules=(Rule(match=match, when=when, verdict=Verdict.DENY),))
    warned = [text for level, where, text in found(settings, tools) if (level, where) == ("warning", WHEN)]
    assert warned == ([] if said is None else [said])


def test_a_scope_family_that_nobody_declared_is_told():
    slip, own = reading("peek", scopes={"fss:read"}), reading("post", scopes={"mail:send", "fs:read"})
    level, where, text = found(Settings(), (slip,))[0]
    assert (level, where) == ("error", "peek")
    assert text.startswith("nobody may call peek: there is no scope family 'fss'; did you mean fs? (")
    level, where, text = found(Settings(), (own,))[0]
    assert (level, where) == ("warning", "post")
    assert "post is held to what fs and net allow" in text
    assert "scopes: {mail: {custom: true}}" in text
    families = {"fss": Family(), "mail": Family()}
    assert found(Settings(families=families), (slip, own)) == []


def judged(when: str, *tools: Tool) -> list[str]:
    return texts(with_global(rules=(Rule(match="pay*", when=when, verdict=Verdict.DENY),)), tools)


def paying(name: str = "pay", /, **properties: Any) -> Tool:
    return make(name, undo=saying(None), input_schema=schema(**properties))


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("args.amount", "it gives int and no boolean"),
        ("args.amount > 'x'", "it puts values of different types together"),
        ("args.to.size() + 1", "it gives int and no boolean"),
        ("args.amount.startsWith('x')", "it calls a function that these values do not have"),
        ("args.parts[0].share == 1.5 ? 'a' : 'b'", "it gives str and no boolean"),
    ],
)
def test_a_condition_by_which_no_call_can_be_judged_is_a_warning(when: str, why: str):
    needs("cel")
    share = {"type": "object", "properties": {"share": {"type": ["number", "null"]}}}
    facts: dict[str, Any] = {
        "amount": {"type": "integer"},
        "to": {"type": "string"},
        "parts": {"type": "array", "items": share},
    }
    told = [f"no call of pay can be judged by it, so it always counts as true: {why}"]
    assert judged(when, paying(**facts)) == told


@pytest.mark.parametrize(
    ("when", "shape"),
    [
        ("args.x", {"type": "boolean"}),
        ("args.x", {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}),
        ("args.x == 'b' || int(args.x) > 2", {"enum": ["c", "b"]}),
        ("int(args.x) > 3", {"type": "string"}),
        ("timestamp(args.x).getHours() > 3", {"type": "string"}),
        ("context.user.startsWith('a') && args.x", {"type": "boolean"}),
        ("args.x", {}),
        ("args.x[0]", {"type": "array"}),
        ("args.x", True),
        ("args.x", {"enum": []}),
        ("args.x['to'] == 'x'", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("('to' in args.x ? args.x.to : 0) > 'x'", {"type": "object"}),
        ("args.x.to == 'x'", {"type": "object", "properties": {"a": {"type": "string"}}}),
        ("args.x[1] == 'x'", {"type": "array", "items": {"type": "string"}}),
        ("10 / (args.x - 1) > 1", {"type": "integer"}),
        ("args.x + 9223372036854775807 > 1", {"type": "integer"}),
    ],
)
def test_a_condition_by_which_some_call_can_be_judged_or_of_which_nobody_can_tell_is_none(when: str, shape: Any):
    needs("cel")
    assert judged(when, paying(x=shape)) == []


def test_a_condition_is_told_of_only_where_none_of_its_tools_can_be_judged():
    needs("cel")
    number, truth = paying("pay", x={"type": "integer"}), paying("pay_all", x={"type": "boolean"})
    assert judged("args.x", number, truth) == []
    deep: Any = {"type": "integer"}
    for _ in range(9):
        deep = {"type": "array", "items": deep}
    assert judged("args.x", paying(x=deep)) == []
    open_one = make("pay", undo=saying(None), input_schema={"type": "object", "properties": {}})
    assert judged("args.x", open_one) == []


def test_a_time_limit_of_a_tool_that_nobody_has_is_an_error():
    settings = Settings(tool_timeouts={"pya": 5.0, "pay": 5.0})
    assert found(settings) == [("error", "timeouts.tools.pya", "there is no tool pya; did you mean pay?")]


def test_roles_without_the_one_that_calls_have_by_themselves_are_a_warning():
    text = "there is no role default, so a call that names no role is refused"
    assert found(with_roles(role("clerk", allow=("group:all",)))) == [("warning", "roles", text)]


def test_a_tool_above_the_risk_that_a_layer_lets_through_is_a_warning():
    settings = globally(role(allow=("group:all",)), role("clerk", allow=("read_file",), max_risk=Risk.LOW))
    assert found(settings) == []
    settings = globally(role(allow=("group:all",), max_risk=Risk.MEDIUM), max_risk=Risk.LOW)
    assert found(settings) == [("warning", "global.max_risk", "pay is of medium risk, so every call of it is denied")]
