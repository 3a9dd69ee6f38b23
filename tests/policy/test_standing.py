"""Standing: declaration, role, scopes, callers and the context's own limits, remembered per tool and authority."""

import dataclasses

import pytest

from callgate.model.context import Context
from callgate.model.layer import Layer
from callgate.model.levels import Autonomy, Caller, Origin
from callgate.model.tool import Tool
from callgate.policy import policy as policy_module
from callgate.policy import reach
from callgate.policy.policy import Policy
from callgate.policy.scopes import Granted, touches_secrets
from callgate.settings.values import Family, Settings
from tests.policy.making import make, reading, role, with_roles


def codes(policy: Policy, tool: Tool, context: Context | None = None) -> list[str]:
    return [reason.code for reason in policy.standing(tool, context or Context()).reasons]


def test_missing_scopes_are_named_together_with_the_asker():
    policy = Policy(with_roles(role(scopes=("fs:read",), allow=("group:all",))))
    tool = make("copy", scopes={"fs:read", "fs:write", "net:outbound"})
    refusal = policy.standing(tool, Context(principal="Robbie")).refusal
    assert refusal is not None
    assert refusal.code == "scope_violation"
    assert refusal.text == ("copy needs fs:write, net:outbound, which the role 'default' does not grant to 'Robbie'")


def test_everyone_of_one_authority_is_refused_under_their_own_name():
    policy = Policy(with_roles(role(scopes=(), allow=("group:all",))))
    tool = make("copy", scopes={"fs:write"})
    texts = [str(policy.standing(tool, Context(principal=name)).refusal) for name in ("ada", "bob", "ada")]
    assert ["'ada'" in text for text in texts] == [True, False, True]
    assert "'bob'" in texts[1]


def test_a_name_that_hides_something_is_shown_escaped():
    policy = Policy(with_roles(role(scopes=(), allow=("group:all",))))
    refusal = policy.standing(make("copy", scopes={"a:b"}), Context(principal="eve\u202e{asker}\n")).refusal
    assert refusal is not None
    assert "'eve\\u202e{asker}\\n'" in refusal.text


def test_scopes_must_be_granted_by_the_role_and_by_the_context():
    policy = Policy(with_roles(role(scopes=("fs:*", "net:outbound"), allow=("group:all",))))
    tool = make("copy", scopes={"fs:write"})
    assert codes(policy, tool) == []
    assert codes(policy, tool, Context(scopes=frozenset())) == ["scope_violation"]
    assert codes(policy, tool, Context(scopes=frozenset({"fs:read"}))) == ["scope_violation"]
    assert codes(policy, tool, Context(scopes=frozenset({"fs:write"}))) == []
    assert codes(policy, make("x", scopes={"env:read"}), Context(scopes=frozenset({"*"}))) == ["scope_violation"]


def test_the_open_default_role_has_every_scope_but_secrets():
    policy = Policy(Settings())
    assert codes(policy, make("x", scopes={"fs:write", "shell:execute", "anything:else", "plain"})) == []
    for scope in ("secrets:read", "Secrets:read", " secrets:x", "secrets", "*", "*:read"):
        assert codes(policy, make("x", scopes={scope})) == ["scope_violation"], scope


@pytest.mark.parametrize(
    ("granted", "required", "has"),
    [
        ({"fs:read"}, "fs:read", True),
        ({"fs:*"}, "fs:read", True),
        ({"*"}, "secrets:read", True),
        ({"fs:*"}, "fsx:read", False),
        ({"fs:read"}, "fs:*", False),
        ({"fs:*"}, "fs", False),
        ({"fs:r*"}, "fs:read", False),
        (set[str](), "fs:read", False),
    ],
)
def test_a_scope_is_granted_exactly_by_family_or_by_star(granted: set[str], required: str, has: bool):
    assert Granted(frozenset(granted)).lacks([required]) == (frozenset() if has else {required})


def test_only_scopes_of_secrets_touch_secrets():
    assert touches_secrets(["fs:read", "secrets:read"])
    assert not touches_secrets(["fs:secrets", "secretsx:read"])


def test_a_tool_that_declares_nothing_is_refused_with_the_line_to_add():
    bare = make("bare", [], declared=False)
    refusal = Policy(Settings()).standing(bare, Context()).refusal
    assert refusal is not None
    assert refusal.code == "policy_denied"
    assert 'effects="read_only"' in refusal.text
    foreign = Policy(Settings()).standing(make("gh.x", [], declared=False, source=Origin.MCP), Context()).refusal
    assert foreign is not None
    assert 'gate.add(..., effects="read_only")' in foreign.text
    configured = make(
        "gh.x", [], declared=False, source=Origin.MCP, source_name="gh", config_ref="mcp_servers.gh.declare"
    )
    told = Policy(Settings()).standing(configured, Context()).refusal
    assert told is not None
    assert "callgate tools review gh" in told.text
    assert "under mcp_servers.gh.declare, for example effects: read_only" in told.text


@pytest.mark.parametrize(
    ("scope", "meant"), [("fss:read", "fs"), ("shel:execute", "shell"), ("secret:read", "secrets"), ("nte:out", "net")]
)
def test_a_tool_whose_scope_family_is_mistyped_is_nobody_s(scope: str, meant: str):
    policy = Policy(Settings())
    slip = reading("peek", scopes={scope})
    refusal = policy.standing(slip, Context()).refusal
    assert refusal is not None
    assert (refusal.code, f"did you mean {meant}?" in refusal.text) == ("scope_violation", True)
    assert not policy.admitter(Context())(slip)
    own = Policy(Settings(families={scope.partition(":")[0]: Family()}))
    assert own.standing(slip, Context()).refusal is None
    assert own.admitter(Context())(slip)


@pytest.mark.requirement("POL-17")
def test_a_read_only_context_refuses_everything_not_declared_read_only():
    policy = Policy(Settings())
    context = Context(read_only=True)
    assert policy.admitter(context)(reading("read_file"))
    for tool in (
        make("write_file", "modifies_files"),
        make("http_post", "network_access"),
        make("archive_extract", "modifies_files"),
        make("ask_model", "calls_llm"),
        make("unknown", [], scopes={"a:b"}),
    ):
        assert codes(policy, tool, context) == ["policy_denied"], tool.name


@pytest.mark.requirement("POL-18")
def test_a_no_web_context_refuses_everything_on_the_network_on_the_call_and_in_the_listing():
    policy = Policy(Settings())
    context = Context(no_web=True)
    for tool in (
        reading("web_fetch", "network_access"),
        make("http_post", "network_access"),
        make("send", egress=True),
        make("any", scopes={"net:outbound"}),
    ):
        assert codes(policy, tool, context) == ["policy_denied"], tool.name
        assert not policy.admitter(context)(tool)
    assert policy.admitter(context)(reading("read_file", scopes={"fs:read"}))
    assert policy.admitter(context)(make("write_file", "modifies_files"))


def test_what_declares_no_effects_is_taken_for_a_network_tool_where_the_web_is_off():
    refusal = Policy(Settings()).standing(make("x", [], scopes={"a:b"}), Context(no_web=True)).refusal
    assert refusal is not None
    assert "network access is assumed" in refusal.text


def test_a_caller_must_be_among_those_the_tool_allows():
    """The trap of a declaration that nobody reads (T07)."""
    policy = Policy(Settings())
    chained = Context(caller=Caller.CHAIN)
    assert codes(policy, make("pay"), chained) == ["policy_denied"]
    assert codes(policy, make("pay", allowed_callers=frozenset({Caller.CHAIN})), chained) == []
    assert codes(policy, make("pay", allowed_callers=frozenset({Caller.CHAIN}))) == ["policy_denied"]
    assert codes(policy, make("pay", allowed_callers=frozenset[Caller]())) == ["policy_denied"]


def test_reading_is_always_chainable_and_only_that():
    policy = Policy(Settings())
    assert policy.admitter(Context(caller=Caller.CHAIN))(reading("read"))
    only_chain = reading("read", allowed_callers=frozenset({Caller.CHAIN}))
    assert not policy.admitter(Context())(only_chain)


def test_every_reason_to_refuse_is_there_and_the_first_in_order_is_the_refusal():
    settings = with_roles(role(scopes=(), allow=()))
    context = Context(
        read_only=True, no_web=True, caller=Caller.CHAIN, layers=(Layer(name="t", deny=("*",)),), scopes=frozenset()
    )
    standing = Policy(settings).standing(make("send", "network_access", scopes={"net:outbound"}), context)
    assert [reason.step for reason in standing.reasons] == [
        "scopes",
        "scopes",
        "layer:default",
        "layer:t",
        "callers",
        "context",
        "context",
    ]
    assert standing.refusal is standing.reasons[0]


def test_an_answer_is_remembered_and_shared_by_equal_authorities():
    policy = Policy(Settings())
    tool = reading("read")
    assert policy.standing(tool, Context()) is policy.standing(tool, Context(session="other", principal="b"))
    assert policy.standing(tool, Context()) is not policy.standing(tool, Context(autonomy=Autonomy.A1))


def test_a_tool_that_took_over_an_id_is_judged_by_itself():
    policy = Policy(Settings())
    mild = reading("x", id="same")
    assert policy.admitter(Context(read_only=True))(mild)
    wild = make("x", id="same")
    assert not policy.admitter(Context(read_only=True))(wild)
    assert policy.admitter(Context(read_only=True))(mild)


def test_remembering_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(policy_module, "MOST_STANDINGS", 8)
    monkeypatch.setattr(reach, "MOST_REACHES", 8)
    policy = Policy(Settings())
    tools = [reading(f"tool_{number}") for number in range(50)]
    for tool in tools:
        standing = policy.standing(tool, Context())
        assert policy.authorize(tool, {}, Context(), standing).refusal is None
    assert len(policy._standings) <= 8  # pyright: ignore[reportPrivateUsage]
    assert len(policy._admission.reaches._reaches) <= 8  # pyright: ignore[reportPrivateUsage]


def test_the_autonomy_is_the_contexts_else_the_roles_else_the_configurations():
    own = dataclasses.replace(role(allow=("group:all",)), autonomy=Autonomy.A1)
    tool = reading("read")
    assert Policy(Settings(autonomy=Autonomy.A3)).standing(tool, Context()).autonomy is Autonomy.A3
    assert Policy(with_roles(own, autonomy=Autonomy.A3)).standing(tool, Context()).autonomy is Autonomy.A1
    asked = Context(autonomy=Autonomy.A4)
    assert Policy(with_roles(own)).standing(tool, asked).autonomy is Autonomy.A4


def test_every_layer_may_lower_the_autonomy_and_none_raises_it():
    settings = with_roles(role(allow=("group:all",), max_autonomy=Autonomy.A3))
    policy = Policy(settings)
    tool = reading("read")
    low = Layer(name="careful", max_autonomy=Autonomy.A1)
    high = Layer(name="bold", max_autonomy=Autonomy.A4)
    context = Context(autonomy=Autonomy.A4, layers=(low, high))
    assert policy.standing(tool, context).autonomy is Autonomy.A1
    assert policy.standing(tool, Context(autonomy=Autonomy.A4, layers=(high,))).autonomy is Autonomy.A3
    assert policy.standing(tool, Context(layers=(high,))).autonomy is Autonomy.A2
