"""Layers: each narrows, deny wins, and nothing that cannot be read widens."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.layer import Layer, LayerKind, Rule
from callgate.model.levels import Caller, Origin, Verdict
from callgate.policy import admission
from callgate.policy.cases import run_cases
from callgate.policy.groups import KEEPS_OUT, LETS_IN
from callgate.policy.layers import resolve
from callgate.policy.policy import Policy
from callgate.settings.selectors import GROUPS
from callgate.settings.values import Settings
from tests.policy.making import code_tools, make, names, reading, role, with_global, with_roles

TOOLS = code_tools()


def layer(**facts: Any) -> Layer:
    return Layer(name="task", kind=LayerKind.TASK, **facts)


def refusal(policy: Policy, tool: Any, context: Context | None = None) -> str:
    reason = policy.standing(tool, context or Context()).refusal
    return "" if reason is None else f"{reason.code}: {reason.text}"


@pytest.mark.requirement("POL-01", "POL-09")
def test_a_deny_beats_every_allow_of_the_same_layer():
    tool = make("pay", category="money")
    allowed = role(allow=("category:money", "pay", "group:all"), deny=("pay",))
    assert refusal(Policy(with_roles(allowed)), tool).startswith("policy_denied: the role layer 'default' denies pay")


@pytest.mark.requirement("POL-02")
def test_an_allow_by_name_admits_though_the_category_is_not_listed():
    policy = Policy(with_roles(role(allow=("category:math", "pay"))))
    assert policy.admitter(Context())(make("pay", category="money"))
    assert not policy.admitter(Context())(make("refund", category="money"))


@pytest.mark.requirement("POL-03")
def test_an_explicit_allow_of_a_web_tool_does_not_replace_web_access():
    fetch = reading("web_fetch", "network_access", category="web")
    policy = Policy(with_roles(role(allow=("web_fetch", "category:web"))))
    assert policy.admitter(Context())(fetch)
    assert "may not use the web" in refusal(policy, fetch, Context(no_web=True))
    assert not Policy(with_roles(role(allow=("category:math",)))).admitter(Context())(fetch)


@pytest.mark.requirement("POL-04")
def test_with_nothing_allowed_an_unknown_tool_or_an_unknown_role_the_answer_is_no():
    tool = reading("calculate")
    empty = Policy(with_roles(role("default", scopes=())))
    assert "a role without allow admits nothing" in refusal(empty, tool)
    stranger = refusal(empty, tool, Context(role="nobody"))
    assert stranger == "policy_denied: there is no role 'nobody'; the roles are default"
    assert "the roles are none" in refusal(Policy(Settings(roles={})), tool)
    (unknown,) = run_cases(empty, [tool], [{"tool": "nothing_like_it", "expect": "deny", "code": "tool_not_found"}])
    assert unknown.ok


def test_without_roles_the_default_role_is_open_and_no_other_role_exists():
    policy = Policy(Settings())
    assert policy.admitter(Context())(make("anything", scopes={"fs:write", "mail:send"}))
    assert "the roles are default" in refusal(policy, reading("read"), Context(role="admin"))


@pytest.mark.requirement("POL-05")
def test_a_layer_cannot_be_changed_once_it_is_made():
    made = layer(allow=("a",))
    with pytest.raises(FrozenInstanceError):
        made.allow = ("*",)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.requirement("POL-06")
def test_groups_expand_to_their_members_and_mix_with_names():
    assert names(resolve([layer(allow=("group:read",))], TOOLS)) == {
        "list_dir",
        "read_file",
        "search_files",
        "web_fetch",
        "calculate",
    }
    assert names(resolve([layer(allow=("group:all",))], TOOLS)) == names(TOOLS)
    mixed = resolve([layer(allow=("group:math", "run_shell", "web_*"))], TOOLS)
    assert names(mixed) == {"calculate", "run_shell", "web_fetch"}


@pytest.mark.requirement("POL-07")
@pytest.mark.parametrize("selector", ["group:typo", "group:", "", "nonsense:x", "a b", "[ab]", "x" * 300])
def test_a_selector_that_cannot_be_read_never_widens(selector: str):
    """In a configuration it is an error; in a layer of a context it admits nothing, and denies everything."""
    assert resolve([layer(allow=(selector,))], TOOLS) == ()
    assert resolve([layer(deny=(selector,))], TOOLS) == ()
    assert names(resolve([layer(allow=(selector, "calculate"))], TOOLS)) == {"calculate"}
    with pytest.raises(ConfigurationError) as caught:
        Policy(with_global(allow=(selector,)))
    assert caught.value.key == "global.allow[0]"


def test_what_is_wrong_in_the_configuration_is_told_with_its_place():
    settings = Settings(file="callgate.yaml", roles={"a": role("a", allow=("x",), deny=("y", "group:typo"))})
    with pytest.raises(ConfigurationError, match=r"callgate.yaml: roles.a.deny\[1\]: unknown group 'typo'"):
        Policy(settings)
    with pytest.raises(ConfigurationError) as caught:
        Policy(with_global(rules=(Rule(match="a"), Rule(match="group:typo", verdict=Verdict.DENY))))
    assert caught.value.key == "global.rules[1].match"


def test_the_reason_says_which_selector_of_a_layer_could_not_be_read():
    context = Context(layers=(layer(allow=("group:typo",)), layer(deny=("group:typo",))))
    reasons = Policy(Settings()).standing(TOOLS[0], context).reasons
    assert ["unknown group 'typo'" in reason.text for reason in reasons] == [True, True]


def test_a_selector_that_is_no_text_is_refused_where_it_is_written():
    with pytest.raises(ValueError, match="allow must be several texts"):
        layer(allow=(5,))  # pyright: ignore[reportArgumentType]


def test_a_bare_text_is_one_selector_and_not_its_letters():
    assert names(resolve([layer(allow="calc*")], TOOLS)) == {"calculate"}  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("POL-08")
def test_denying_all_denies_everything():
    assert resolve([layer(allow=("group:all",), deny=("group:all",))], TOOLS) == ()
    assert not any(Policy(with_global(deny=("group:all",))).admitter(Context())(tool) for tool in TOOLS)


@pytest.mark.requirement("POL-10")
def test_a_later_layer_that_allows_more_adds_nothing():
    first = layer(allow=("read_file", "write_file"))
    second = layer(allow=("read_file", "write_file", "run_shell", "raw_exec"))
    assert names(resolve([first, second], TOOLS)) == {"read_file", "write_file"}


@pytest.mark.requirement("POL-11")
def test_allowing_a_group_and_then_denying_another_leaves_the_difference():
    layers = [layer(allow=("group:code",)), layer(deny=("group:write",))]
    assert names(resolve(layers, TOOLS)) == {"list_dir", "read_file", "search_files"}


@pytest.mark.requirement("POL-12")
def test_three_layers_leave_exactly_what_all_three_admit():
    layers = [layer(deny=("raw_exec",)), layer(allow=("group:code",)), layer(deny=("run_shell",))]
    assert names(resolve(layers, TOOLS)) == {"list_dir", "read_file", "search_files", "write_file", "edit_file"}


@pytest.mark.requirement("POL-13")
def test_an_absent_allow_inherits_and_an_empty_one_admits_nothing():
    assert names(resolve([layer(allow=("calculate",)), layer()], TOOLS)) == {"calculate"}
    assert resolve([layer(allow=("calculate",)), layer(allow=())], TOOLS) == ()
    assert resolve([layer(allow=("calculate",)), layer(deny=("calculate",))], TOOLS) == ()
    assert resolve([layer(allow=("group:all",))], ()) == ()
    assert resolve([], TOOLS) == TOOLS
    assert resolve([Layer(name="r", kind=LayerKind.ROLE)], TOOLS) == ()


def test_an_empty_allow_says_that_it_allows_nothing():
    assert "allows nothing, which" in refusal(Policy(with_roles(role(allow=()))), TOOLS[0])


@pytest.mark.requirement("POL-15")
def test_a_global_deny_holds_for_every_role():
    """The role's own layer says everything about the role; that it replaces flat permissions, compat shows."""
    settings = with_roles(
        role("admin", allow=("group:all",)),
        role("worker", allow=("raw_exec",)),
        global_layer=Layer(name="global", kind=LayerKind.GLOBAL, deny=("raw_exec",)),
    )
    policy = Policy(settings)
    raw = next(tool for tool in TOOLS if tool.name == "raw_exec")
    for name in ("admin", "worker"):
        assert "the global layer 'global' denies raw_exec" in refusal(policy, raw, Context(role=name))


@pytest.mark.requirement("POL-16")
def test_a_delegate_has_a_subset_whatever_it_asks_for():
    policy = Policy(with_roles(role(allow=("group:read",))))
    delegator = Context(layers=(layer(deny=("web_fetch",)),))
    delegate = delegator.narrow(layers=(Layer(name="all", allow=("group:all", "*", "run_shell")),))
    mine = {tool.name for tool in TOOLS if policy.admitter(delegator)(tool)}
    theirs = {tool.name for tool in TOOLS if policy.admitter(delegate)(tool)}
    assert theirs <= mine == {"list_dir", "read_file", "search_files", "calculate"}


def test_a_role_layer_follows_the_rule_for_roles_whatever_kind_it_says():
    loose = role("default")
    pretending = Layer(name="default", kind=LayerKind.TASK)
    policy = Policy(Settings(roles={"default": type(loose)(name="default", scopes=loose.scopes, layer=pretending)}))
    assert not policy.admitter(Context())(reading("read"))


def test_selectors_reach_tools_by_source():
    plugin = reading("p", source=Origin.PLUGIN)
    assert names(resolve([layer(allow=("source:plugin",))], [plugin, *TOOLS])) == {"p"}
    assert names(resolve([layer(deny=("source:function",))], [plugin, *TOOLS])) == {"p"}


def test_a_rule_that_denies_without_a_condition_refuses_like_a_layer():
    policy = Policy(with_global(rules=(Rule(match="pay", verdict=Verdict.DENY, why="not on Fridays"),)))
    assert refusal(policy, make("pay")).endswith("not on Fridays")
    assert policy.admitter(Context())(make("refund"))


def test_a_rule_of_a_context_that_cannot_be_read_denies():
    policy = Policy(Settings())
    broken = Context(layers=(layer(rules=(Rule(match="group:typo", risk=None),)),))
    assert "unknown group 'typo'" in refusal(policy, make("pay"), broken)
    senseless = Context(layers=(layer(rules=(Rule(match="pay", when="amount > 3"),)),))
    assert "for an argument write args.amount" in refusal(policy, make("pay"), senseless)
    assert policy.admitter(senseless)(make("refund"))


@pytest.mark.parametrize("written", [["read_file"], iter(["read_file"]), ("read_file",)], ids=["list", "once", "tuple"])
def test_what_a_layer_denies_stays_denied_however_it_was_written_and_whatever_becomes_of_the_list(written: Any):
    rules = [Rule(match="write_file", verdict=Verdict.DENY)]
    context = Context(layers=(Layer(name="t", deny=written, rules=rules),))  # pyright: ignore[reportArgumentType]
    policies = [Policy(Settings()), Policy(Settings())]
    for policy in policies:
        assert "denies read_file" in refusal(policy, make("read_file"), context)
        rules.clear()
        if isinstance(written, list):
            written.clear()
    for policy in policies:
        assert not policy.admitter(context)(make("read_file"))
        assert not policy.admitter(context)(make("write_file"))
        assert policy.admitter(context)(make("other"))


def test_more_layers_than_are_remembered_are_still_judged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(admission, "MOST_LAYERS", 8)
    policy = Policy(Settings())
    for number in range(20):
        context = Context(layers=(layer(allow=(f"tool_{number}",)),))
        assert not policy.admitter(context)(TOOLS[0])


def test_every_group_of_the_configuration_is_known_here():
    assert LETS_IN.keys() == KEEPS_OUT.keys() == GROUPS


@pytest.mark.parametrize("caller", list(Caller))
@pytest.mark.parametrize("narrowed", [{}, {"read_only": True}, {"no_web": True}, {"scopes": frozenset({"fs:read"})}])
def test_a_pool_holds_exactly_the_tools_whose_calls_would_be_admitted(caller: Caller, narrowed: dict[str, Any]):
    settings = with_roles(
        role(allow=("group:read", "run_shell", "undeclared", "web_*"), scopes={"fs:*"}),
        role("nothing"),
        global_layer=Layer(
            name="global",
            kind=LayerKind.GLOBAL,
            deny=("search_files",),
            rules=(Rule(match="list_dir", verdict=Verdict.DENY), Rule(match="read_file", verdict=Verdict.CONFIRM)),
        ),
    )
    policy = Policy(settings)
    tools = (*TOOLS, reading("web_scoped", scopes={"net:outbound"}), reading("files", scopes={"fs:read", "fs:list"}))
    layered = (layer(deny=("calculate",)),)
    for context in (
        Context(caller=caller, **narrowed),
        Context(caller=caller, layers=layered, **narrowed),
        Context(caller=caller, role="nothing", **narrowed),
        Context(caller=caller, role="unheard_of", **narrowed),
    ):
        admits = policy.admitter(context)
        assert [admits(tool) for tool in tools] == [policy.standing(tool, context).refusal is None for tool in tools]
