"""Conditions: a plain no is a no; everything else, errors and hostile values included, is the stricter answer."""

import builtins
import sys
from dataclasses import replace
from typing import Any

import pytest

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.layer import Layer, Rule
from callgate.model.levels import Autonomy, Verdict
from callgate.policy.conditions import Compiled, Condition, Held, Subject, compile_condition
from callgate.policy.misspelt import FIELDS
from callgate.policy.policy import Policy
from callgate.settings.values import Settings
from tests.needed import needs
from tests.policy.making import authorize, decide, make, reading, with_global

needs("cel")


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def holds(condition: str, arguments: dict[str, Any], context: Context | None = None, **facts: Any) -> Held:
    subject = Subject(make("pay", **facts), arguments, context or Context())
    return compile_condition(condition).holds(subject)


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("args.amount > 100", True),
        ("args.amount > 500", False),
        ("args.to.endsWith('@example.com')", True),
        ("tool.name == 'pay' && tool.risk == 'medium' && !tool.read_only", True),
        ("context.role == 'default' && context.user == null && context.autonomy == null", True),
        ("context.scopes == null", True),
        ("has(args.note)", False),
        ("args.items.exists(item, item == 'b')", True),
        ("type(args.to) == string", True),
        (r"args.to.matches('^[a-z]+@example\\.com$')", True),
        ("args.to == 'x' // a comment's quote, matches(nothing)", False),
    ],
)
def test_a_condition_sees_arguments_tool_and_context(condition: str, answer: bool):
    arguments = {"amount": 150, "to": "ada@example.com", "items": ["a", "b"]}
    assert holds(condition, arguments) == Held(answer)


def test_a_condition_sees_the_raw_context_and_not_what_layers_made_of_it():
    context = Context(autonomy=Autonomy.A4, scopes=frozenset({"b:c", "a:b"}), layers=(Layer(name="x"),))
    assert holds("context.autonomy == 'A4' && context.scopes == ['a:b', 'b:c']", {}, context) == Held(applies=True)
    capped = Layer(name="cap", max_autonomy=Autonomy.A1, rules=(Rule(match="pay", when="context.autonomy == 'A1'"),))
    policy = Policy(Settings())
    decision = decide(policy, make("pay"), context=Context(autonomy=Autonomy.A4, layers=(capped,)))
    assert decision.autonomy is Autonomy.A1
    assert not any("applies when" in reason.text for reason in decision.reasons)


@pytest.mark.parametrize(
    ("condition", "note"),
    [
        ("args.missing > 1", "names a key this call does not have"),
        ("args.to > 1", "values of different types"),
        ("args.amount", "gives int and no boolean"),
        ("null", "gives NoneType and no boolean"),
        ("args.to", "gives str and no boolean"),
        ("args.amount / 0 > 1", "ZeroDivisionError"),
        ("contains(args.to, 'a')", "it calls a function that these values do not have"),
        ("args.huge > 0", "too large"),
        ("args.deep == null", "too large"),
        ("args.long == null", "too large"),
        ("args.wide == null", "too large"),
        ("args.strange == null", "ValueError"),
    ],
)
def test_everything_but_a_boolean_counts_as_yes_and_says_why(condition: str, note: str):
    hostile: dict[str, Any] = {
        "huge": -(2**63),
        "deep": nested(100_000),
        "long": "x" * 2_000_000,
        "wide": [0] * 30_000,
        "strange": object(),
    }
    arguments = {"amount": 150, "to": "ada"} | {name: hostile[name] for name in hostile if name in condition}
    held = holds(condition, arguments)
    assert held.applies
    assert not held.certain
    assert note in held.note


class Panic(BaseException):
    """What a broken evaluator raises is not always an Exception."""


class Broken:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def execute(self, context: dict[str, Any], /) -> Any:
        raise self.error


def broken(error: BaseException) -> Condition:
    return Condition("x", Broken(error), loops=0, widest=1)


def test_a_panic_of_the_evaluator_counts_as_yes_and_an_interrupt_is_none():
    subject = Subject(make("pay"), {}, Context())
    assert broken(Panic()).holds(subject) == Held(applies=True, certain=False, note="Panic")
    with pytest.raises(KeyboardInterrupt):
        broken(KeyboardInterrupt()).holds(subject)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("args.amount >", "not CEL"),
        ("", "not CEL"),
        ("amount > 100", "for an argument write args.amount"),
        ("args.x.matches(args.pattern)", "pattern of matches()"),
        ("args.x.matches('^' + context.role)", "pattern of matches()"),
        ("args.x == 'y' || " * 300 + "true", "at most 4000 characters"),
    ],
)
def test_a_condition_that_cannot_work_is_a_configuration_error(condition: str, said: str):
    with pytest.raises(ConfigurationError) as caught:
        Policy(with_global(rules=(Rule(match="pay", when=condition, verdict=Verdict.DENY),)))
    assert said in caught.value.message
    assert caught.value.key == "global.rules[0].when"


def test_without_the_extra_a_condition_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cel", None)
    with pytest.raises(ConfigurationError, match=r"pip install callgate\[cel\]"):
        Policy(with_global(rules=(Rule(match="pay", when="true"),)))


def test_without_a_condition_nothing_of_it_is_imported(monkeypatch: pytest.MonkeyPatch):
    imported = builtins.__import__

    def watch(name: str, *args: Any, **kwargs: Any) -> Any:
        assert name != "cel"
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", watch)
    policy = Policy(with_global(rules=(Rule(match="pay", verdict=Verdict.CONFIRM),)))
    assert decide(policy, make("pay")).verdict is Verdict.CONFIRM


class Counting:
    """A compiled expression that says how often it was executed."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self.executed = 0

    def execute(self, context: dict[str, Any], /) -> Any:
        self.executed += 1
        return self._compiled.execute(context)


@pytest.mark.parametrize(
    "condition",
    [
        "args.xs.all(x, args.xs.all(y, args.xs.all(z, x + y + z >= 0)))",
        "args.xs.map(x, x + 1).size() > 0",
        "args.xs.exists(x, x in args.xs)",
        "[1, 2, 3].all(a, [1, 2, 3].all(b, args.xs.all(c, args.xs.all(d, a + b + c + d > 0))))",
    ],
)
def test_hostile_arguments_cannot_make_a_condition_hang(condition: str):
    """What could take too many steps is not begun."""
    made = compile_condition(condition)
    counting = Counting(made.compiled)
    counted = replace(made, compiled=counting)
    held = counted.holds(Subject(make("pay"), {"xs": list(range(15_000))}, Context()))
    assert held == Held(applies=True, certain=False, note="the call is too large to evaluate it")
    assert counting.executed == 0
    assert counted.holds(Subject(make("pay"), {"xs": [1, 2]}, Context())).certain
    assert counting.executed == 1


def rule(**facts: Any) -> Settings:
    return with_global(rules=(Rule(match="pay", when="args.amount > 100", **facts),))


def test_a_denial_with_a_condition_refuses_in_authorize():
    policy = Policy(rule(verdict=Verdict.DENY, why="too much"))
    tool = make("pay")
    assert policy.standing(tool, Context()).refusal is None
    assert authorize(policy, tool, {"amount": 50}).refusal is None
    refusal = authorize(policy, tool, {"amount": 500}).refusal
    assert refusal is not None
    assert refusal.code == "policy_denied"
    assert refusal.text == ("a rule of the global layer 'global' for pay applies when args.amount > 100: too much")
    unsure = authorize(policy, tool, {}).refusal
    assert unsure is not None
    assert "could not be judged" in unsure.text


def test_a_rule_about_labels_is_refused_as_nothing_supplies_them():
    rules = (Rule(match="pay", when="'tainted' in labels", verdict=Verdict.DENY),)
    with pytest.raises(ConfigurationError, match="does not have labels yet; leave them out of the condition"):
        Policy(with_global(rules=rules))
    assert holds("args.items.exists(labels, labels == 'b')", {"items": ["b"]}) == Held(applies=True), (
        "a name of its own"
    )


def test_a_rule_with_a_condition_keeps_the_decision_from_being_fixed():
    policy = Policy(with_global(rules=(Rule(match="*", when="args.text == 'x'", verdict=Verdict.CONFIRM),)))
    tool = reading("count")
    assert policy.standing(tool, Context()).fixed is None
    assert decide(policy, tool, {"text": "y"}).verdict is Verdict.ALLOW
    assert decide(policy, tool, {"text": "x"}).verdict is Verdict.CONFIRM


def test_both_a_resource_and_a_rule_are_among_the_reasons():
    tool = make("pay", "modifies_files", scopes={"fs:write"}, input_schema={"type": "object"})
    found = authorize(Policy(rule(verdict=Verdict.DENY)), tool, {"amount": 500, "path": "/etc/passwd"})
    assert [reason.step for reason in found.reasons] == ["resources", "layer:global"]
    assert found.refusal is found.reasons[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("args.a >", "it ends at character 9 where something is still missing"),
        ("args.a = 1", "at character 8: token recognition error at: '= '"),
        ("args.a ==\n  1 1", "at line 2, character 5 of it: extraneous input '1'"),
        ('args.a "sk-0123456789abcdef0123"', "at character 8"),
    ],
)
def test_what_is_not_cel_says_where_and_repeats_nothing_that_could_be_a_secret(text: str, told: str):
    with pytest.raises(ConfigurationError) as caught:
        compile_condition(text, key="when")
    assert str(caught.value) == f"when: the condition is not CEL: {told}"


def test_a_fault_of_the_parser_itself_is_a_fault_of_the_condition(monkeypatch: pytest.MonkeyPatch):
    def fail(_text: str) -> None:
        raise Panic("index out of bounds")

    monkeypatch.setattr("cel.compile", fail)
    with pytest.raises(ConfigurationError, match="the condition is not CEL: it cannot be parsed"):
        compile_condition("args.a > 1")


def test_ctrl_c_while_a_condition_is_compiled_is_heard(monkeypatch: pytest.MonkeyPatch):
    def interrupt(_text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cel.compile", interrupt)
    with pytest.raises(KeyboardInterrupt):
        compile_condition("args.a > 1")


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("foo(args.amount) > 3", "there is no function foo; "),
        ("args.to.startswith('z')", "there is no function startswith; did you mean startsWith?"),
        ("bool(args.to)", "there is no function bool; "),
        ("args.to == 'x' && context . usr == 'a'", "context has no usr; did you mean user?"),
        ("tool.nme == 'pay'", "tool has no nme; did you mean name?"),
        ("tool == 'pay'", "tool has many fields and is none of them; write tool.name"),
        ("'ann' == context", "context has many fields and is none of them; write context.principal"),
        ("args.to.matches('(')", "\"'('\" is no regular expression"),
        ("args.to.matches('a') || args.to.matches(r'[')", "is no regular expression"),
    ],
)
def test_what_could_never_be_judged_is_told_when_it_is_compiled(condition: str, told: str):
    with pytest.raises(ConfigurationError, match=r"^when: the condition could never be judged: ") as caught:
        compile_condition(condition, key="when")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "condition",
    [
        "'name' in tool && tool['name'] == 'pay' && size(context.role) > 0",
        "tool ['name'] == 'pay' && context\n[ 'role' ] != ''",
        "args.tool == 'a' && args . context == 'b'",
        "['a'].exists(tool, tool == 'a') && ['a'].all(context, context != 'tool.nme')",
        "args.tool.matches( // ( is no group\n'a')",
        "args.tool != 'x.matches(' + '('",
        "timestamp('2026-01-01T00:00:00Z').getHours() >= 0 && has(args.tool) && -1 < 3 + int('4') && !false",
    ],
)
def test_what_only_looks_misspelt_is_judged(condition: str):
    assert holds(condition, {"tool": "a", "context": "b"}) == Held(applies=True)


def test_every_field_that_a_condition_may_name_is_there():
    subject, _ = Subject(make("pay"), {}, Context()).seen()
    assert {name: tuple(subject[name]) for name in FIELDS} == FIELDS
