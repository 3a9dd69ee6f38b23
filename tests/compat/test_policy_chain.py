"""The cascading policy under its former names decides as the gate's own layers do."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.compat import PolicyLayer, resolve_policy_chain
from callgate.model.context import Context
from callgate.testing import memory_gate
from tests.compat.making import TOOLS, make

READING = {"list_dir", "read_file", "search_files", "web_fetch", "calculate"}
SELECTORS = st.frozensets(st.sampled_from([*TOOLS, "group:all", "group:read", "group:code", "group:web", "group:typo"]))
LAYERS = st.builds(PolicyLayer, st.just("any"), st.none() | SELECTORS, SELECTORS)


def chain(*layers: PolicyLayer) -> frozenset[str]:
    return resolve_policy_chain(layers, TOOLS)


def allow(*selectors: str) -> PolicyLayer:
    return PolicyLayer("allow", allow=frozenset(selectors))


def deny(*selectors: str) -> PolicyLayer:
    return PolicyLayer("deny", deny=frozenset(selectors))


@pytest.mark.requirement("POL-05")
def test_a_layer_cannot_be_changed_nor_what_it_was_made_of():
    listed = {"read_file"}
    layer = PolicyLayer("worker", allow=listed)  # pyright: ignore[reportArgumentType] - callers write sets and lists
    listed.add("run_shell")
    assert layer.allow == {"read_file"}
    with pytest.raises(FrozenInstanceError):
        layer.allow = frozenset({"run_shell"})  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.requirement("POL-06")
def test_groups_expand_to_their_members_and_mix_with_names():
    assert chain(allow("group:read")) == READING
    assert chain(allow("group:all")) == TOOLS.keys()
    assert chain(allow("group:read", "run_shell")) == READING | {"run_shell"}


@pytest.mark.requirement("POL-07")
def test_an_unknown_group_never_widens():
    assert chain(allow("group:typo")) == frozenset()
    assert chain(allow("group:typo", "read_file")) == {"read_file"}
    assert chain(allow("group:all"), deny("group:typo")) == frozenset()


@pytest.mark.requirement("POL-08")
def test_denying_everything_denies_everything():
    assert chain(deny("group:all")) == frozenset()


@pytest.mark.requirement("POL-09")
def test_deny_beats_allow_inside_one_layer():
    assert chain(PolicyLayer("both", frozenset({"read_file", "list_dir"}), frozenset({"read_file"}))) == {"list_dir"}


@pytest.mark.requirement("POL-10")
def test_a_later_layer_that_allows_more_adds_nothing():
    first = allow("read_file", "write_file")
    assert chain(first, allow("read_file", "write_file", "run_shell", "raw_exec")) == {"read_file", "write_file"}


@pytest.mark.requirement("POL-11", "POL-12")
def test_what_is_left_is_what_every_layer_admits():
    reads = {"list_dir", "read_file", "search_files"}
    assert chain(allow("group:code"), deny("group:write")) == reads
    assert chain(deny("raw_exec"), allow("group:code"), deny("run_shell")) == reads | {"write_file", "edit_file"}


@pytest.mark.requirement("POL-13")
def test_an_absent_allow_inherits_and_an_empty_one_admits_nothing():
    assert chain(allow("calculate"), PolicyLayer("inherits")) == {"calculate"}
    assert chain(allow("calculate"), allow()) == frozenset()
    assert chain(allow("calculate"), deny("calculate")) == frozenset()
    assert resolve_policy_chain([allow("group:all")], []) == frozenset()
    assert chain() == TOOLS.keys()


def test_a_bare_text_is_one_selector_and_not_its_letters():
    assert chain(PolicyLayer("one", allow="c*")) == {"calculate"}  # pyright: ignore[reportArgumentType]


def test_a_bare_name_is_a_tool_that_declares_nothing():
    names = ["read_file", "run_shell"]
    assert resolve_policy_chain([allow("group:all")], names) == set(names)
    assert resolve_policy_chain([allow("read_file")], names) == {"read_file"}
    assert resolve_policy_chain([allow("group:read")], names) == frozenset()
    assert resolve_policy_chain([deny("group:network")], names) == frozenset()


@given(st.lists(LAYERS, max_size=4), LAYERS)
def test_another_layer_never_widens_wherever_it_stands(layers: list[PolicyLayer], more: PolicyLayer):
    before = chain(*layers)
    for place in range(len(layers) + 1):
        assert chain(*layers[:place], more, *layers[place:]) <= before


@pytest.mark.requirement("POL-16")
@given(st.lists(LAYERS, max_size=3), st.lists(LAYERS, max_size=3))
def test_a_delegate_has_a_subset_of_its_delegator_whatever_it_asks_for(
    own: list[PolicyLayer], asked: list[PolicyLayer]
):
    assert chain(*own, *asked) <= chain(*own)


async def test_a_layer_narrows_a_call_of_the_gate_as_it_narrows_the_chain():
    lookup = make("lookup", effects="read_only")
    narrowed = Context().narrow(layers=[deny("lookup").as_layer()])
    async with memory_gate(lookup) as gate:
        assert gate.pool().names == ("lookup",)
        assert gate.pool(narrowed).names == ()
        refused = await gate.call("lookup", {}, narrowed)
    assert refused.error is not None
    assert refused.error.code == "policy_denied"
