"""The contracts of the tools that trees were first written for: what leaves read and write, and when they succeed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from py_trees.blackboard import Blackboard

from callgate import Callgate, Context, build_tool
from callgate.flows.trees.contract import Condition, Contract, absent, equals, non_empty, present
from callgate.flows.trees.contracts import CONTRACTS
from callgate.flows.trees.statuses import NodeStatus
from callgate.testing import memory_gate

# Reads, writes, an output that succeeds, and outputs that do not, each though nothing went wrong.
TABLE: dict[str, tuple[str, str, dict[str, Any], list[dict[str, Any]]]] = {
    "search_code": ("query limit? language?", "code_search_results", {"results": [1]}, [{"results": []}, {}]),
    "find_definition": (
        "symbol scope? kind?",
        "definition_result",
        {"path": "a", "line": 1},
        [{"path": "a"}, {"line": 1}],
    ),
    "find_references": ("symbol limit?", "references_result", {"references": []}, [{"references": "a"}, {}]),
    "get_repo_map": ("scope? max_tokens?", "repo_map", {"map_text": "a"}, [{"map_text": ""}, {}]),
    "vault_read": (
        "path project_id?",
        "note_content note_metadata",
        {"content": "", "metadata": {}},
        [{"metadata": {}}, {"content": None}],
    ),
    "vault_write": ("path body title? project_id?", "write_status", {"status": "ok"}, [{"status": "no"}, {}]),
    "vault_search": ("query limit? project_id?", "vault_search_results", {"results": []}, [{"results": None}, {}]),
    "vault_list": ("folder? project_id?", "vault_notes_list", {"notes": []}, [{"notes": {}}, {}]),
    "vault_move": ("old_path new_path project_id?", "move_status", {"status": "ok"}, [{"status": "OK"}, {}]),
    "vault_create_index": (
        "folder title? include_summaries? project_id?",
        "index_path index_status",
        {"status": "ok", "path": "a"},
        [{"status": None}, {}],
    ),
    "thread_push": ("thread_id content entry_type?", "push_result", {"status": "ok"}, [{"status": "error"}, {}]),
    "thread_read": ("thread_id limit?", "thread_entries", {"entries": []}, [{"entries": [], "error": "gone"}]),
    "thread_seek": ("query limit? project_id?", "thread_search_results", {"results": []}, [{"results": 0}, {}]),
    "thread_list": ("status? project_id?", "threads_list", {"threads": []}, [{"threads": "none"}, {}]),
    "web_search": ("query limit?", "web_search_results", {"results": []}, [{"results": False}, {}]),
    "web_fetch": ("url max_tokens?", "fetched_content", {"content": "a"}, [{"content": ""}, {"content": 7}, {}]),
    "delegate_librarian": (
        "task task_type? files? folder? content_items?",
        "librarian_result",
        {"success": True, "error": None},
        [{"success": False}, {"success": 1}, {"success": "true"}, {}],
    ),
    "notify_self": (
        "message priority? category? deliver_at?",
        "notification_status",
        {"status": "ok"},
        [{"status": ["ok"]}, {}],
    ),
    "github_read": (
        "repo path branch?",
        "github_file_content",
        {"success": True, "content": "a"},
        [{"success": False, "content": "a"}, {"content": "a"}],
    ),
    "github_search": ("query repo? language? limit?", "github_search_results", {"results": []}, [{"results": {}}, {}]),
    "deep_research": (
        "query depth? save_to_vault? output_folder?",
        "research_result",
        {"success": True},
        [{"success": None}, {}],
    ),
}
WHOLE = {"definition_result", "references_result", "push_result", "librarian_result", "research_result"}
FIELDS = {
    "code_search_results": "results",
    "repo_map": "map_text",
    "note_content": "content",
    "note_metadata": "metadata",
    "write_status": "status",
    "vault_search_results": "results",
    "vault_notes_list": "notes",
    "move_status": "status",
    "index_status": "status",
    "index_path": "path",
    "thread_entries": "entries",
    "thread_search_results": "results",
    "threads_list": "threads",
    "web_search_results": "results",
    "fetched_content": "content",
    "notification_status": "status",
    "github_file_content": "content",
    "github_search_results": "results",
}


def stub(name: str, output: Any, seen: list[Mapping[str, Any]]) -> Any:
    """A tool of that name that takes everything, and gives what it was told to."""

    async def execute(payload: Mapping[str, Any], _context: Any) -> Any:
        seen.append(dict(payload))
        return output

    # What an output schema declares as a field of its own is no error of the handler.
    declares: dict[str, Any] = {"properties": {"error": {}}}
    definition = {"name": name, "description": "", "input_schema": {"type": "object"}, "execute": execute}
    return build_tool(definition, effects="read_only", output_schema=declares)


def board() -> dict[str, Any]:
    return {key.removeprefix("/"): value for key, value in Blackboard.storage.items()}


async def ran(gate: Callgate, name: str) -> NodeStatus:
    return (await gate.run_tree(gate.leaf(name), Context(user="ada"))).status


@pytest.mark.requirement("BT-04")
def test_there_is_a_contract_for_each_of_the_twenty_one():
    assert CONTRACTS.keys() == TABLE.keys()
    assert len(CONTRACTS) == 21
    for name, (keys, writes, *_) in TABLE.items():
        contract = CONTRACTS[name]
        assert " ".join((*contract.reads, *(f"{key}?" for key in contract.may_read))) == keys, name
        assert sorted(contract.writes) == writes.split(), name


@pytest.mark.requirement("BT-03", "BT-04")
@pytest.mark.parametrize("name", TABLE)
async def test_a_leaf_reads_and_writes_the_keys_of_its_tool(name: str):
    keys, writes, good, _ = TABLE[name]
    seen: list[Mapping[str, Any]] = []
    words = [key.removesuffix("?") for key in keys.split()]
    for key in words:
        Blackboard.set(key, f"the {key}")
    Blackboard.set("unrelated", "not for this tool")
    async with memory_gate(stub(name, good, seen)) as gate:
        assert await ran(gate, name) is NodeStatus.SUCCESS
    assert seen == [{key: f"the {key}" for key in words}]
    left = board()
    assert left[f"{name}_result"] == good
    for key in writes.split():
        assert left[key] == (good if key in WHOLE else good[FIELDS[key]])
    assert f"{name}_result_error" not in left


@pytest.mark.requirement("BT-03")
@pytest.mark.parametrize(
    ("name", "bad"), [(name, bad) for name, row in TABLE.items() for bad in row[3]], ids=lambda part: str(part)[:40]
)
async def test_a_result_without_what_the_tool_promises_is_a_failure_though_nothing_went_wrong(
    name: str, bad: dict[str, Any]
):
    for key in CONTRACTS[name].reads:
        Blackboard.set(key, "x")
    async with memory_gate(stub(name, bad, [])) as gate:
        assert await ran(gate, name) is NodeStatus.FAILURE
    left = board()
    assert left[f"{name}_result"] == bad
    assert left[f"{name}_result_error"]
    assert f"{name}_result_unknown" not in left


@pytest.mark.requirement("BT-04")
@pytest.mark.parametrize("name", [name for name in TABLE if CONTRACTS[name].reads])
async def test_a_leaf_without_what_its_tool_needs_fails_without_a_call(name: str):
    seen: list[Mapping[str, Any]] = []
    async with memory_gate(stub(name, {}, seen)) as gate:
        assert await ran(gate, name) is NodeStatus.FAILURE
    missing = ", ".join(CONTRACTS[name].reads)
    assert board()[f"{name}_result_error"] == f"the blackboard lacks what {name} needs: {missing}"
    assert seen == []


@pytest.mark.requirement("BT-03", "BT-12")
@pytest.mark.parametrize(
    ("output", "status"),
    [
        (json.dumps({"status": "ok"}), NodeStatus.SUCCESS),
        (json.dumps({"error": "disk full"}), NodeStatus.FAILURE),
        ("ok", NodeStatus.FAILURE),
        ("{not json", NodeStatus.FAILURE),
        ("", NodeStatus.FAILURE),
    ],
)
async def test_an_object_that_comes_as_text_is_judged_as_what_it_is(output: str, status: NodeStatus):
    Blackboard.set("path", "a")
    Blackboard.set("body", "b")
    async with memory_gate(stub("vault_write", output, [])) as gate:
        assert await ran(gate, "vault_write") is status
    assert status is NodeStatus.SUCCESS or board()["vault_write_result_error"]
    if "disk" in output:
        assert board()["vault_write_result_error"] == "disk full"


async def test_a_contract_of_one_s_own_can_be_given_to_any_tool():
    own = Contract(reads=("word",), writes={"answer": "text"}, success=(equals("fine", value=True), absent("trouble")))
    Blackboard.set("word", "x")
    Blackboard.set("query", "x")
    listed = stub("web_search", [{"title": "a"}], [])
    async with memory_gate(stub("ask", {"fine": True, "text": "y"}, []), listed) as gate:
        gate.add_contract("ask", own)
        assert await ran(gate, "ask") is NodeStatus.SUCCESS
        assert board()["answer"] == "y"
        # A tool that only has the name of a known one is told so where it is used.
        assert await ran(gate, "web_search") is NodeStatus.FAILURE
        assert "the result is list, not an object" in board()["web_search_result_error"]
        leaf = gate.leaf("web_search", contract=Contract())
        assert (await gate.run_tree(leaf, Context(user="ada"))).status is NodeStatus.SUCCESS


def test_contracts_are_data_that_can_be_listed_and_compared():
    assert CONTRACTS["vault_write"].success == (Condition("status", "equals", "ok"),)
    assert CONTRACTS["vault_write"].success[0].fault({"status": "no"}) == "status is not 'ok'"
    assert non_empty("a").fault({"a": ()}) == "a is empty or missing"
    assert present("a").fault({"a": 0}) is None
    assert Contract().fault("anything") is None
    assert not Contract(writes={"all": None}).wants_fields


def test_a_contract_that_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="both required and optional: a"):
        Contract(reads=("a",), may_read=("a",))
    with pytest.raises(ValueError, match="both read and written: a"):
        Contract(may_read=("a",), writes={"a": None})
    with pytest.raises(ValueError, match="'huge' is no kind of condition"):
        Contract(success=(Condition("a", "huge"),))


def test_contracts_and_templates_need_no_tree_library():
    code = (
        "import sys; sys.modules['py_trees'] = None\n"
        "import callgate, callgate.runtime.gate\n"
        "from callgate.flows.trees import answer, calling, contract, contracts, convention, statuses, templates\n"
        "print(len(contracts.CONTRACTS), 'py_trees.behaviour' in sys.modules)\n"
        "gate = callgate.Callgate.open('memory://')\n"
        "gate.add(callgate.tool(effects='read_only', name='a')(lambda: 1))\n"
        "try:\n    gate.leaf('a')\nexcept callgate.errors.ConfigurationError as error:\n    print(error)\n"
        "try:\n    gate.run_tree(None).send(None)\n"
        "except callgate.errors.ConfigurationError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == [
        "21 False",
        *["behaviour trees need py_trees: pip install 'callgate[trees]'"] * 2,
    ], done.stderr
