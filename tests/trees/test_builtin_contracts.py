"""The contracts of behaviour trees against the built-in tools themselves: what leaves read, write and need is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from py_trees.blackboard import Blackboard

from callgate import Callgate, Context
from callgate.flows.trees.contracts import CONTRACTS
from callgate.flows.trees.statuses import NodeStatus
from callgate.model.levels import Autonomy, Origin
from callgate.model.tool import Tool
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.catalogue import make_builtin
from tests.trees.test_contracts import board

BUILTIN: dict[str, Tool] = {tool.name: tool for tool in make_builtin(["all"], BuiltinToolsSettings())}
THERE = sorted(CONTRACTS.keys() & BUILTIN.keys())
ASKER = Context(user="ada", autonomy=Autonomy.A4)


def properties(tool: Tool) -> set[str]:
    return set(tool.input_schema.get("properties", {}))


def told(tool: Tool) -> set[str]:
    """The fields that its output may have, whichever of several forms it takes."""
    schema = tool.output_schema or {}
    forms = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return {name for form in forms for name in form.get("properties", {})}


@pytest.mark.requirement("BT-04")
@pytest.mark.parametrize("name", THERE)
async def test_a_leaf_of_a_built_in_tool_has_its_contract(name: str) -> None:
    gate = Callgate.open("memory://")
    gate.add(BUILTIN[name])
    async with gate:
        assert gate.leaf(name).contract is CONTRACTS[name]


@pytest.mark.requirement("BT-04")
@pytest.mark.parametrize("name", THERE)
def test_what_its_contract_reads_are_its_arguments(name: str) -> None:
    tool, contract = BUILTIN[name], CONTRACTS[name]
    assert {*contract.reads, *contract.may_read} <= properties(tool)
    assert set(tool.input_schema.get("required", ())) <= set(contract.reads)


@pytest.mark.requirement("BT-03", "BT-04")
@pytest.mark.parametrize("name", THERE)
def test_what_its_contract_takes_and_judges_is_in_its_output(name: str) -> None:
    tool, contract = BUILTIN[name], CONTRACTS[name]
    fields = {field for field in contract.writes.values() if field is not None}
    fields |= {each.field for each in contract.success if each.kind != "absent"}
    # A tool that fails says so by its outcome: an `error` that it declares is a value, and no failure.
    assert fields <= told(tool)


@pytest.mark.requirement("BT-04")
@pytest.mark.parametrize("source", [Origin.PLUGIN, Origin.MCP, Origin.YAML, Origin.LANGCHAIN])
async def test_a_foreign_tool_that_only_has_the_name_is_held_to_nothing(source: Origin) -> None:
    gate = Callgate.open("memory://")
    gate.add(replace(BUILTIN["web_search"], source=source, source_name="theirs"))
    async with gate:
        assert gate.leaf("web_search").contract.success == ()


async def ran(gate: Callgate, name: str, **given: Any) -> NodeStatus:
    Blackboard.clear()
    for key, value in given.items():
        Blackboard.set(key, value)
    return (await gate.run_tree(gate.leaf(name), ASKER)).status


@pytest.mark.requirement("BT-03", "BT-04")
async def test_leaves_of_threads_and_notices_succeed_by_what_the_tools_give() -> None:
    async with Callgate.open("memory://", builtin_tools=["threads", "notices"]) as gate:
        assert await ran(gate, "thread_push", thread_id="plans", content="plant trees", entry_type="decision") is (
            NodeStatus.SUCCESS
        )
        assert (board()["push_result"]["status"], board()["push_result"]["sequence_id"]) == ("ok", 0)
        assert await ran(gate, "thread_read", thread_id="plans") is NodeStatus.SUCCESS
        assert [entry["content"] for entry in board()["thread_entries"]] == ["plant trees"]
        assert await ran(gate, "thread_seek", query="tree", limit=3) is NodeStatus.SUCCESS
        assert [entry["content"] for entry in board()["thread_search_results"]] == ["plant trees"]
        assert await ran(gate, "thread_seek", query="nothing of that kind") is NodeStatus.SUCCESS
        assert board()["thread_search_results"] == []
        assert await ran(gate, "thread_list") is NodeStatus.SUCCESS
        assert [thread["thread_id"] for thread in board()["threads_list"]] == ["plans"]
        assert await ran(gate, "notify_self", message="look", priority="high") is NodeStatus.SUCCESS
        assert board()["notification_status"] == "ok"
        assert [notice.message for notice in await gate.notices(ASKER)] == ["look"]


@pytest.mark.requirement("BT-03")
async def test_a_leaf_that_reads_a_thread_that_is_not_there_fails_and_writes_no_entries() -> None:
    async with Callgate.open("memory://", builtin_tools=["threads"]) as gate:
        assert await ran(gate, "thread_read", thread_id="nowhere") is NodeStatus.FAILURE
        assert "nowhere" in board()["thread_read_result_error"]
        assert "thread_entries" not in board()
        assert await ran(gate, "thread_push", thread_id="plans") is NodeStatus.FAILURE
        assert await ran(gate, "thread_list") is NodeStatus.SUCCESS
        assert board()["threads_list"] == []
