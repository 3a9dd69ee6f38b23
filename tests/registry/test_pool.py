"""A pool is the same for the same tools, however they came, and holds only what a model can call."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.errors import ToolNotFoundError
from callgate.model.canonical import dumps
from callgate.model.health import Health
from callgate.model.levels import Effect, HealthStatus, Origin
from callgate.model.tool import Tool
from callgate.registry.health import HealthBoard
from callgate.registry.pool import Pool, assemble, describe
from callgate.registry.registry import Registry
from tests.registry.making import SCHEMA, Clock, from_server, make


def everyone(_tool: Tool) -> bool:
    return True


def builtin(name: str, description: str = "Built in.") -> Tool:
    return make(name, description, source=Origin.BUILTIN)


@pytest.mark.requirement("REG-15")
def test_built_ins_come_by_name_then_the_others_by_name_without_the_denied():
    tools = [from_server("b"), builtin("z"), make("c"), builtin("y"), from_server("a"), builtin("secret")]
    pool = assemble(tools, admits=lambda tool: tool.name not in {"secret", "c"})
    assert pool.names == ("y", "z", "a", "b")


@pytest.mark.requirement("REG-15")
@pytest.mark.parametrize("first", [True, False])
def test_a_name_in_both_is_there_once_as_the_built_in(first: bool):
    ours, theirs = builtin("read"), from_server("read", "Reads for you, honestly.")
    pool = assemble([ours, theirs] if first else [theirs, ours], admits=everyone)
    assert list(pool) == [ours]


def test_a_denied_built_in_does_not_let_a_foreign_tool_take_over_unasked():
    pool = assemble([builtin("read"), from_server("read")], admits=lambda tool: tool.name != "read")
    assert len(pool) == 0


tools = st.lists(
    st.builds(
        make,
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from(["x", "y"]),
        source=st.sampled_from([Origin.BUILTIN, Origin.MCP, Origin.FUNCTION]),
    ),
    max_size=12,
)


@pytest.mark.requirement("REG-16")
@given(tools, st.randoms(use_true_random=False))
def test_any_order_of_the_inputs_gives_the_same_bytes(given_tools: list[Tool], chance: random.Random):
    shuffled = list(given_tools)
    chance.shuffle(shuffled)
    one, other = assemble(given_tools, admits=everyone), assemble(shuffled, admits=everyone)
    assert dumps(one.describe()) == dumps(other.describe())
    assert one.digest == other.digest
    assert [tool.definition_hash for tool in one] == [tool.definition_hash for tool in other]


def test_the_digest_changes_with_any_definition_and_with_nothing_else():
    pool = assemble([make("a"), make("b")], admits=everyone)
    assert pool.digest == assemble([make("b"), make("a")], admits=everyone).digest
    assert pool.digest != assemble([make("a"), make("b", "Other.")], admits=everyone).digest
    assert pool.digest != assemble([make("a")], admits=everyone).digest


def test_what_declared_nothing_or_cannot_run_here_is_in_no_pool():
    undeclared = make("undeclared", declared=False)
    hosted = make("host.bash", source=Origin.HOST, handler=None)
    broken = make("broken", unavailable="pip install callgate[x]")
    described = make("host.edit", source=Origin.HOST)
    assert assemble([undeclared, hosted, described, broken, make("fine")], admits=everyone).names == ("fine",)


def test_an_unavailable_tool_is_listed_and_is_not_available():
    board = HealthBoard(Clock())
    registry = Registry(board)
    sick, well = make("sick", connector="s"), make("well", connector="w")
    registry.add_many([sick, well, make("broken", unavailable="no module")])
    board.set("s", Health(status=HealthStatus.UNAVAILABLE))
    assert [tool.name for tool in registry.list_tools() if board.look(tool) is None] == ["well"]
    assert board.available(sick) is not None
    assert len(registry.list_tools()) == 3


@pytest.mark.requirement("REG-08")
def test_an_entry_has_side_effects_and_destructive_only_where_they_apply():
    plain = make("plain", effects=frozenset(), scopes=frozenset({"compute:run"}))
    harmful = from_server(
        "harmful", destructive=True, effects=frozenset({Effect.SYSTEM_STATE, Effect.LOCAL_EXEC}), category="code"
    )
    pool = assemble([plain, harmful], admits=everyone)
    assert pool.describe() == [
        {
            "name": "harmful",
            "description": "Does something.",
            "category": "code",
            "parameters": SCHEMA,
            "mcp_backed": True,
            "side_effects": ["local_exec", "system_state"],
            "destructive": True,
        },
        {
            "name": "plain",
            "description": "Does something.",
            "category": "general",
            "parameters": SCHEMA,
            "mcp_backed": False,
        },
    ]
    assert describe(plain) == pool.describe()[1]


def test_a_pool_is_a_sequence_with_look_ups():
    a, b = make("a"), make("b")
    pool = Pool([a, b])
    assert (pool[0], pool[-1], pool[:1], len(pool)) == (a, b, (a,), 2)
    assert pool.find("a") is pool.get("a") is a
    assert b in pool
    assert pool.find("c") is None


def test_a_name_outside_the_pool_is_unknown_and_no_other_tool_is_given_away():
    pool = assemble([make("gmail.send"), make("gmail.send_all")], admits=lambda tool: tool.name == "gmail.send")
    with pytest.raises(ToolNotFoundError, match=r"^Unknown tool: gmail.send_all$") as caught:
        pool.get("gmail.send_all")
    assert caught.value.info.suggestion == "Did you mean gmail.send?"
