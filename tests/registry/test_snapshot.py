"""A snapshot has its tools by name and in order, never changes, and lets nobody shadow a name."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.errors import ConfigurationError, Refusal, ToolError, ToolNotFoundError
from callgate.formats.names import wire_names
from callgate.model.levels import Origin
from callgate.model.naming import wire_name
from callgate.registry.snapshot import Snapshot
from tests.registry.making import from_server, make


@pytest.mark.requirement("REG-01")
def test_adding_gives_another_snapshot_and_leaves_this_one_as_it_was():
    """C10: the snapshot is copied on write."""
    empty = Snapshot()
    one = empty.with_tools([make("a")])
    two = one.with_tools([make("b")])
    assert [len(empty), len(one), len(two)] == [0, 1, 2]
    assert one.find("b") is None
    assert "a" in two
    assert [tool.name for tool in one] == ["a"]


@pytest.mark.requirement("REG-02")
def test_an_absent_name_raises_saying_which_and_find_gives_none():
    """C1: it is a ToolError and a KeyError at once."""
    snapshot = Snapshot().with_tools([make("gmail.send")])
    with pytest.raises(ToolNotFoundError, match=r"^Unknown tool: gmail\.sned$") as caught:
        snapshot.get("gmail.sned")
    assert isinstance(caught.value, (ToolError, Refusal))
    assert isinstance(caught.value, KeyError)
    assert caught.value.info.suggestion == "Did you mean gmail.send?"
    assert snapshot.find("gmail.sned") is None
    assert "gmail.sned" not in snapshot
    assert 7 not in snapshot


def test_a_hostile_name_is_shown_short_and_escaped():
    with pytest.raises(ToolNotFoundError) as caught:
        Snapshot().get("\u202e\x1b[2J" + "x" * 1_000_000)
    assert len(str(caught.value)) < 200
    assert "<U+202E><U+001B>[2J" in str(caught.value)


@pytest.mark.requirement("REG-03")
def test_a_taken_name_is_refused_and_replaced_only_with_update():
    """C10: duplicates are refused unless it is an update."""
    snapshot = Snapshot().with_tools([from_server("gh.issue")])
    with pytest.raises(ConfigurationError, match=r"'gh\.issue' is already registered by mcp github"):
        snapshot.with_tools([from_server("gh.issue")])
    newer = from_server("gh.issue", "Newer.")
    assert snapshot.with_tools([newer], update=True).get("gh.issue") is newer


@pytest.mark.requirement("REG-05")
def test_an_update_leaves_one_entry_in_its_old_place():
    """T25: no orphan of a replaced tool stays listed."""
    old, new = make("b"), make("b", "Newer.")
    snapshot = Snapshot().with_tools([make("a"), old, make("c")]).with_tools([new], update=True)
    assert [tool.name for tool in snapshot.list_tools()] == ["a", "b", "c"]
    assert snapshot.list_tools()[1] is new
    assert len(snapshot.with_tools([make("d", id=old.id)])) == 4


@pytest.mark.requirement("REG-06")
def test_listing_filters_by_all_that_is_given_and_keeps_the_order_of_registration():
    first = make("z", tags=("a", "b"), category="web", capabilities=("send",), connector="mail")
    second = from_server("gh.y", tags=("a",))
    third = from_server("gh.x", tags=("b", "c", "a"), category="web")
    snapshot = Snapshot().with_tools([first, second, third])
    assert snapshot.list_tools() == (first, second, third)
    assert snapshot.list_tools(source=Origin.MCP) == (second, third)
    assert snapshot.list_tools(tags=["a", "b"]) == (first, third)
    assert snapshot.list_tools(tags="b") == (first, third)
    assert snapshot.list_tools(category="web", source=Origin.MCP) == (third,)
    assert snapshot.list_tools(capability="send") == (first,)
    assert snapshot.list_tools(connector="mail") == (first,)
    assert snapshot.list_tools(connector="gh.y") == (second,)
    assert snapshot.list_tools(source=Origin.PLUGIN) == ()


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize(
    "intruder", [{"source": Origin.PLUGIN}, {"source": Origin.MCP, "source_name": "other"}, {"source": Origin.BUILTIN}]
)
def test_another_source_never_takes_a_name(update: bool, intruder: dict[str, Any]):
    snapshot = Snapshot().with_tools([from_server("gh.issue")])
    with pytest.raises(ConfigurationError, match="already registered by mcp github"):
        snapshot.with_tools([make("gh.issue", **intruder)], update=update)


@pytest.mark.parametrize(
    ("taken", "coming"),
    [
        ("paypal", "paypa1"),
        ("paypa1", "paypal"),
        ("tool", "t0ol"),
        ("mail.send_all", "mail.send_a11"),
    ],
)
@pytest.mark.parametrize("update", [False, True])
def test_a_name_that_could_be_taken_for_another_is_refused(taken: str, coming: str, update: bool):
    snapshot = Snapshot().with_tools([make(taken)])
    with pytest.raises(ConfigurationError, match=f"too close to '{taken}'"):
        snapshot.with_tools([make(coming)], update=update)


def test_names_that_merely_resemble_each_other_live_side_by_side():
    names = ["mail", "mall", "modem", "modern", "tool_1", "tool_2", "a.b", "a_b", "tool_10"]
    assert len(Snapshot().with_tools(map(make, names))) == len(names)


def test_a_close_name_is_free_again_once_the_other_is_gone():
    snapshot = Snapshot().with_tools([make("paypa1")]).without("paypa1")
    assert snapshot.with_tools([make("paypal")]).find("paypal")


def test_an_id_of_another_tool_is_refused():
    tool = make("a")
    with pytest.raises(ConfigurationError, match="id of tool 'b' is already registered for 'a'"):
        Snapshot().with_tools([tool]).with_tools([make("b", id=tool.id)])


def test_an_update_may_keep_its_id():
    tool = make("a")
    newer = replace(tool, description="Newer.")
    assert list(Snapshot().with_tools([tool]).with_tools([newer], update=True)) == [newer]


@pytest.mark.parametrize("update", [False, True])
def test_a_batch_is_added_whole_or_not_at_all(update: bool):
    snapshot = Snapshot().with_tools([make("a")])
    with pytest.raises(ConfigurationError, match="'b' is given twice"):
        snapshot.with_tools([make("b"), make("c"), make("b")], update=update)
    assert [tool.name for tool in snapshot] == ["a"]


def test_removing_leaves_no_trace_and_an_absent_one_is_an_error():
    """T25: neither the name nor the id of a removed tool is taken."""
    tool = make("gmail.send")
    snapshot = Snapshot().with_tools([tool, make("b")])
    after = snapshot.without("gmail.send")
    assert after.find("gmail.send") is None
    assert [item.name for item in after] == ["b"]
    assert len(after.with_tools([make("c", id=tool.id)])) == 2
    with pytest.raises(ToolNotFoundError):
        after.without("gmail.send")
    assert snapshot.get("gmail.send") is tool


names = st.from_regex(r"[ab1l_]{1,4}(\.[ab1l_]{1,4}){0,2}", fullmatch=True)


@given(st.lists(names, max_size=12))
def test_no_two_tools_travel_to_a_provider_under_one_name(coming: list[str]):
    snapshot = Snapshot()
    for name in coming:
        try:
            snapshot = snapshot.with_tools([make(name)])
        except ConfigurationError:
            continue
    wires = [wire_name(tool.name) for tool in snapshot]
    assert len(set(wires)) == len(snapshot)
    assert set(wires).isdisjoint(tool.name for tool in snapshot if "." in tool.name)
    assert wire_names(tool.name for tool in snapshot) == {tool.name: wire_name(tool.name) for tool in snapshot}


@given(st.lists(st.tuples(st.sampled_from(["add", "update", "remove"]), st.sampled_from("abcde")), max_size=30))
def test_any_sequence_of_changes_keeps_names_ids_and_order_together(steps: list[tuple[str, str]]):
    snapshot, expected = Snapshot(), dict[str, Any]()
    for action, name in steps:
        tool = make(name)
        if action == "remove" and name in expected:
            snapshot = snapshot.without(name)
            del expected[name]
        elif action == "update" or (action == "add" and name not in expected):
            snapshot = snapshot.with_tools([tool], update=True)
            expected[name] = tool
    assert list(snapshot) == list(expected.values())
    assert all(snapshot.get(name) is tool for name, tool in expected.items())


def test_ten_thousand_single_additions_are_all_there():
    tools = [make(f"t.x{number}") for number in range(10_000)]
    snapshot = Snapshot()
    for tool in tools:
        snapshot = snapshot.with_tools([tool])
    assert len(snapshot) == 10_000
    assert snapshot.get("t.x9999") is tools[-1]
