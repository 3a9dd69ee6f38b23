"""What the policy promises for any layers, any tools, any matrix and any path."""

import enum
import itertools
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.model.context import Context
from callgate.model.decision import Decision, Reason
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Caller, Effect, Origin, Risk, Verdict
from callgate.model.tool import Tool
from callgate.policy.hosts import Unfit, read_host
from callgate.policy.layers import resolve
from callgate.policy.policy import Facts, Policy
from callgate.settings.matrix import CELLS, find_flaws
from callgate.settings.selectors import GROUPS
from callgate.settings.values import Matrix, QuietHours, Settings
from tests.policy.making import (
    NOON,
    authorize,
    decide,
    in_folder,
    make,
    names,
    reading,
    role,
    saying,
    schema,
    with_roles,
)

NAMES = ["pay", "mail.send", "gh.read", "read_file", "x"]
SCOPES = ["fs:read", "net:outbound", "shell:execute", "secrets:read", "money:send"]
MISTAKES = ["group:typo", "", "a b", "source:moon", "[x]"]
SELECTORS = st.one_of(
    st.sampled_from([*NAMES, "*", "mail.*", "?", "gh.*"]),
    st.sampled_from([f"group:{group}" for group in sorted(GROUPS)]),
    st.sampled_from(["category:web", "category:money", "source:mcp", "source:function"]),
    st.sampled_from(MISTAKES),
)
EFFECTS = st.sets(st.sampled_from([effect for effect in Effect if effect is not Effect.READ_ONLY]), max_size=2)


@st.composite
def some_tools(draw: st.DrawFn) -> Tool:
    effects = draw(st.one_of(EFFECTS, st.just({Effect.READ_ONLY}), st.just({Effect.READ_ONLY, Effect.NETWORK_ACCESS})))
    flags = {name: draw(st.booleans()) for name in ("destructive", "egress", "untrusted_output", "idempotent")}
    return make(
        draw(st.sampled_from(NAMES)),
        effects,
        base_risk=draw(st.sampled_from(Risk)),
        risk_declared=draw(st.booleans()),
        scopes=draw(st.sets(st.sampled_from(SCOPES), max_size=2)),
        category=draw(st.sampled_from(["web", "money", "general"])),
        source=draw(st.sampled_from([Origin.FUNCTION, Origin.MCP])),
        declared=draw(st.booleans()),
        allowed_callers=frozenset(draw(st.sets(st.sampled_from(Caller)))),
        **flags,
    )


CONDITIONS = st.sampled_from(
    [
        "args.amount > 100",
        "args.amount <= 100",
        "args.text == 'x'",
        "args.missing == 1",
        "tool.risk == 'low'",
        "context.autonomy == 'A2'",
        "true",
        "false",
        "amount > 3",
        "args.amount >",
    ]
)
"""Of the last two nothing can be made: such a rule is a no, and never none."""
ARGUMENTS = st.fixed_dictionaries({}, optional={"amount": st.sampled_from([5, 1000, "x"]), "text": st.just("x")})


def spoken(*kinds: type[enum.Enum]) -> st.SearchStrategy[Any]:
    """A member, or its word, as people write it."""
    return st.sampled_from([each for kind in kinds for member in kind for each in (member, str(member))])


RULES = st.builds(
    Rule,
    match=SELECTORS,
    when=st.none() | CONDITIONS,
    verdict=st.none() | spoken(Verdict),
    risk=st.none() | spoken(Risk),
    by=st.none() | spoken(ConfirmBy),
    assurance=st.none() | spoken(Assurance),
    on_expiry=st.sampled_from([None, "reject", "proceed"]),
)
LAYERS = st.builds(
    Layer,
    name=st.sampled_from(["one", "two"]),
    kind=spoken(LayerKind),
    allow=st.none() | st.lists(SELECTORS, max_size=3).map(tuple),
    deny=st.lists(SELECTORS, max_size=2).map(tuple),
    max_autonomy=st.none() | spoken(Autonomy),
    max_risk=st.none() | spoken(Risk),
    rules=st.lists(RULES, max_size=2).map(tuple),
)
CONTEXTS = st.builds(
    Context,
    scopes=st.none() | st.sets(st.sampled_from([*SCOPES, "fs:*", "*"])).map(frozenset),
    autonomy=st.none() | spoken(Autonomy),
    caller=spoken(Caller),
    read_only=st.booleans(),
    no_web=st.booleans(),
    layers=st.lists(LAYERS, max_size=2).map(tuple),
    trace_id=st.just("t"),
)
OPEN = with_roles(role(scopes=("*",), allow=("group:all",)))

_BY = list(ConfirmBy)


def demands(decision: Decision) -> tuple[int, ...]:
    """What a confirm asks for, each as a number; a stricter one is lower in none of them."""
    return (
        decision.plus,
        _BY.index(decision.by),
        decision.assurance,
        not decision.grantable,
        decision.on_expiry == "reject",
    )


def at_least_as_strict(one: Decision, other: Decision) -> bool:
    if one.verdict is not other.verdict or one.verdict is not Verdict.CONFIRM:
        return one.verdict >= other.verdict
    return all(left >= right for left, right in zip(demands(one), demands(other), strict=True))


@given(st.lists(some_tools(), max_size=5), st.lists(LAYERS, max_size=3), LAYERS, st.data())
def test_adding_a_layer_anywhere_never_widens(
    tools: list[Tool], layers: list[Layer], added: Layer, data: st.DataObject
):
    place = data.draw(st.integers(0, len(layers)))
    wider = resolve(layers, tools)
    narrower = resolve([*layers[:place], added, *layers[place:]], tools)
    assert set(narrower) <= set(wider)


@given(some_tools(), CONTEXTS, LAYERS, ARGUMENTS)
def test_adding_a_layer_to_a_context_never_loosens_an_answer(
    tool: Tool, context: Context, added: Layer, arguments: dict[str, Any]
):
    policy = Policy(OPEN)
    more = replace(context, layers=(*context.layers, added))
    assert policy.admitter(context)(tool) or not policy.admitter(more)(tool)
    before = decide(policy, tool, arguments, context=context)
    assert at_least_as_strict(decide(policy, tool, arguments, context=more), before)


@given(some_tools(), CONTEXTS, RULES, ARGUMENTS)
def test_a_rule_under_a_condition_asks_for_no_more_than_without_it(
    tool: Tool, context: Context, rule: Rule, arguments: dict[str, Any]
):
    """With the condition that is always true it is the rule itself; with the one that never is, nothing.

    A rule about something that cannot be read is a no under every condition: nobody knows what it was to be about.
    """
    policy = Policy(OPEN)

    def under(when: str | None) -> Decision:
        layer = Layer(name="one", rules=(replace(rule, when=when),))
        return decide(policy, tool, arguments, context=replace(context, layers=(*context.layers, layer)))

    always, never = under(None), under("false")
    assert (always.verdict, demands(always)) == ((true := under("true")).verdict, demands(true))
    without = decide(policy, tool, arguments, context=context).verdict
    assert never.verdict is (Verdict.DENY if rule.match in MISTAKES else without)
    for when in ("args.amount > 100", "args.missing == 1"):
        assert at_least_as_strict(under(when), never)
        assert under(when).verdict <= always.verdict


@given(some_tools(), st.sampled_from(LayerKind))
def test_a_role_that_allows_nothing_admits_nothing_however_it_is_written(tool: Tool, kind: LayerKind):
    policy = Policy(OPEN)
    word: Any = str(kind)
    for written in (kind, word):
        context = Context(layers=(Layer(name="one", kind=written),))
        assert policy.admitter(context)(tool) is (kind is not LayerKind.ROLE and policy.admitter(Context())(tool))


@given(some_tools(), CONTEXTS)
def test_a_narrower_context_never_admits_more(tool: Tool, context: Context):
    policy = Policy(OPEN)
    for change in ({"read_only": True}, {"no_web": True}, {"scopes": frozenset[str]()}):
        narrower = replace(context, **change)
        assert policy.admitter(context)(tool) or not policy.admitter(narrower)(tool)


@given(st.lists(some_tools(), max_size=5), st.lists(LAYERS, min_size=1, max_size=3), SELECTORS, st.data())
def test_a_deny_wins_over_everything(tools: list[Tool], layers: list[Layer], selector: str, data: st.DataObject):
    at = data.draw(st.integers(0, len(layers) - 1))
    denying = replace(layers[at], deny=(*layers[at].deny, selector))
    left = resolve([*layers[:at], denying, *layers[at + 1 :]], tools)
    denied = {tool for tool in tools if not resolve([Layer(name="d", deny=(selector,))], [tool])}
    assert not denied & set(left)


@given(st.lists(some_tools(), max_size=5), st.text(max_size=12))
def test_an_unknown_group_admits_nothing_and_denies_everything(tools: list[Tool], word: str):
    if word in GROUPS:
        word += "s"
    assert resolve([Layer(name="a", allow=(f"group:{word}",))], tools) == ()
    assert resolve([Layer(name="d", deny=(f"group:{word}",))], tools) == ()


@given(some_tools(), CONTEXTS, st.booleans(), st.sets(st.sampled_from(["ada", "bob"])))
def test_adjusters_and_overrides_never_weaken(tool: Tool, context: Context, repeated: bool, persons: set[str]):
    plain = Policy(OPEN)
    calm = decide(plain, tool, context=context)
    quiet = Policy(replace(OPEN, quiet_hours=QuietHours(start=0, end=0)))
    reasons = (Reason("labels", "tainted"), Reason("labels", "private", Verdict.CONFIRM))
    facts = Facts(now=NOON, repeated=repeated, label_reasons=reasons, persons=tuple(sorted(persons)))
    hard = replace(tool, hooks=make("x", broadcast=saying(True), targets=saying(range(99))).hooks)
    for policy, asked, told in ((quiet, tool, None), (plain, tool, facts), (plain, hard, None), (quiet, hard, facts)):
        decision = decide(policy, asked, context=context, facts=told)
        assert at_least_as_strict(decision, calm)
        assert decision.risk >= calm.risk


@st.composite
def valid_matrices(draw: st.DrawFn) -> Matrix:
    """Any table that the configuration accepts: each cell at least as strict as its calmer neighbours."""
    words = list(CELLS.values())
    ranks: dict[tuple[int, int], int] = {}
    for level, risk in itertools.product(reversed(Autonomy), Risk):
        floor = max(ranks.get((level + 1, risk), 0), ranks.get((level, risk - 1), 0), 3 if level is Autonomy.A0 else 0)
        ranks[level, risk] = draw(st.integers(floor, len(words) - 1))
    matrix = {level: {risk: words[ranks[level, risk]] for risk in Risk} for level in Autonomy}
    assert find_flaws(matrix) == []
    return matrix


@given(valid_matrices(), some_tools(), st.booleans())
@settings(max_examples=60)
def test_less_autonomy_or_more_risk_is_never_looser(matrix: Matrix, tool: Tool, quiet: bool):
    hours = QuietHours(start=0, end=0) if quiet else None
    policy = Policy(replace(OPEN, matrix=matrix, quiet_hours=hours))
    tool = replace(tool, declared=True, allowed_callers=frozenset(Caller))
    answers: dict[tuple[int, int], Decision] = {}
    for level, risk in itertools.product(Autonomy, Risk):
        asked = replace(tool, base_risk=risk, id=f"{level}{risk}")
        answers[level, risk] = decide(policy, asked, context=Context(autonomy=level))
    for (level, risk), decision in answers.items():
        for calmer in ((level + 1, risk), (level, risk - 1)):
            if calmer in answers:
                assert at_least_as_strict(decision, answers[calmer]), (level, risk, calmer)


@given(some_tools(), CONTEXTS, st.booleans())
def test_a_fixed_decision_is_what_deciding_gives_at_any_time(tool: Tool, context: Context, repeated: bool):
    policy = Policy(replace(OPEN, quiet_hours=QuietHours(start=600, end=900)))
    fixed = policy.standing(tool, context).fixed
    if fixed is not None:
        for now in (0.0, NOON):
            facts = Facts(now=now, repeated=repeated, persons=("ada", "bob"))
            decision = policy.explain(tool, {"text": "x"}, context, facts)
            assert (decision.verdict, demands(decision)) == (fixed.verdict, demands(fixed))
            assert decision.risk is fixed.risk


@given(some_tools(), CONTEXTS)
def test_every_no_has_a_reason_a_person_can_read(tool: Tool, context: Context):
    decision = Policy(OPEN).explain(tool, {}, context, Facts(now=NOON))
    if decision.verdict is Verdict.DENY:
        assert decision.code in {"policy_denied", "scope_violation", "gate_denied"}
        assert any(reason.verdict is Verdict.DENY and reason.text for reason in decision.reasons)


PARTS = st.sampled_from(
    ["a", "b", "..", ".", "", "out", "in", "up", "loop", "dangling", "a*", "~", ".git", "own", "OWN"]
)
PATHS = st.one_of(
    st.lists(PARTS, max_size=7).map("/".join),
    st.lists(PARTS, max_size=7).map(lambda parts: "/" + "/".join(parts)),
    st.text(max_size=20),
)


def joined(folder: Path | str, path: str) -> str:
    return os.path.join(folder, path)  # noqa: PTH118 - a Path would tidy what the test is about


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root of links that lead out, back in, up, round and nowhere."""
    top = tmp_path_factory.mktemp("tree").resolve()
    root = top / "root"
    (root / "a" / "b").mkdir(parents=True)
    (top / "outside" / "a").mkdir(parents=True)
    for folder in (root, root / "a", root / "a" / "b", top / "outside"):
        (folder / "out").symlink_to(top / "outside")
        (folder / "in").symlink_to(root / "a")
        (folder / "up").symlink_to("..")
        (folder / "loop").symlink_to("loop")
        (folder / "dangling").symlink_to(top / "nowhere" / "x")
    (root / "own").mkdir()
    return root


@given(path=PATHS, rooted=st.booleans())
@settings(max_examples=400)
def test_no_path_that_is_admitted_leads_outside_or_to_own_files(tree: Path, path: str, rooted: bool):
    asked = f"{tree}/{path}" if rooted else path
    policy = in_folder(tree, own=[tree / "own"])
    tool = reading("r", scopes={"fs:read"}, input_schema=schema("path"))
    found = authorize(policy, tool, {"path": asked})
    if found.refusal is not None:
        return
    meant_by_the_system = joined(tree, asked)
    for meant in (meant_by_the_system, os.path.normpath(meant_by_the_system)):
        real = os.path.realpath(meant)
        assert os.path.commonpath([tree, real]) == str(tree)
        assert not real.casefold().startswith(f"{tree}/own".casefold())
    # As it is written, and as a handler that trims it would read it.
    readings = [os.path.realpath(joined(tree, text)) for text in (asked, asked.strip())]
    assert set(found.resources) == {f"path:{reading}" for reading in readings}
    assert found.resources[0] == f"path:{readings[0]}"


@given(pattern=PATHS, folder=PATHS)
def test_no_pattern_that_is_admitted_starts_outside(tree: Path, pattern: str, folder: str):
    policy = in_folder(tree)
    tool = reading("r", scopes={"fs:read"}, input_schema=schema("pattern", "cwd"))
    arguments: dict[str, Any] = {"pattern": pattern, "cwd": folder}
    if authorize(policy, tool, arguments).refusal is not None:
        return
    fixed = pattern.partition("*")[0].rpartition("/")[0] if "*" in pattern else pattern
    start = fixed or ("/" if pattern.startswith("/") else ".")
    for base in (str(tree), joined(tree, folder)):
        real = os.path.realpath(joined(base, start))
        assert os.path.commonpath([tree, real]) == str(tree)


PIECES = (
    "http",
    "https",
    "://",
    ":",
    "/",
    "//",
    "@",
    "\\",
    "#",
    "?",
    "[",
    "]",
    "%",
    "a",
    "b.com",
    "127.0.0.1",
    "0x7f",
    "1",
    "localhost",
    ".",
    "evil.com",
    "::1",
    "\t",
    " ",
    "é",
    "\u3002",
    "xn--",
    "_",
    "-",
    "&",
    ";",
    "80",
    "\0",
)
AUTHORITY = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?([^/?#]*)", re.IGNORECASE)


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), st.sampled_from(["", "http://", "https://"]))
@settings(max_examples=300)
def test_a_host_that_is_read_is_all_there_is_between_scheme_and_path(text: str, scheme: str):
    """So no other reader finds another host in it: none hidden before an @, behind a bracket, or after a backslash."""
    try:
        host = read_host(scheme + text)
    except Unfit:
        return
    if host is None:
        assert re.match("/(?!/)", scheme + text)
        return
    authority = AUTHORITY.match(scheme + text)
    assert authority is not None
    assert read_host(str(host)) == host
    if ":" not in host.name:
        spoken = re.sub(r":\d+$", "", authority[1].lower()).strip("[]")
        assert spoken.removesuffix(".") == host.name


@given(st.lists(some_tools(), max_size=6))
def test_a_pool_has_exactly_what_a_call_would_be_let_in_for(tools: list[Tool]):
    policy = Policy(OPEN)
    pool = {tool.name for tool in tools if policy.admitter(Context())(tool)}
    called = {tool.name for tool in tools if policy.standing(tool, Context()).refusal is None}
    assert pool == called <= names(tools)


def test_an_empty_configuration_still_decides():
    assert decide(Policy(Settings()), make("x")).verdict is Verdict.CONFIRM
