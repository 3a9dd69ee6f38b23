"""The tools on code in behaviour trees: real outputs meet the contracts, and fail them where nothing was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.flows.trees.contracts import CONTRACTS
from callgate.model.levels import Caller, Effect
from tests.tools.intelligence.asking import answer, opened, write

CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("search_code", {"query": "engine"}, True),
    ("search_code", {"query": "xylophone"}, False),
    ("find_definition", {"symbol": "Engine"}, True),
    ("find_definition", {"symbol": "Xylophone"}, False),
    ("find_references", {"symbol": "Engine"}, True),
    ("find_references", {"symbol": "Xylophone"}, True),
    ("get_repo_map", {}, True),
    ("get_repo_map", {"scope": "notes.md"}, True),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, {"a.py": "class Engine: pass\nEngine()\n", "notes.md": "# Notes\n"})


@pytest.mark.parametrize(
    ("tool", "arguments", "succeeds"), CASES, ids=[f"{name}-{ok}-{at}" for at, (name, _, ok) in enumerate(CASES)]
)
async def test_a_real_output_meets_its_contract_or_fails_it(
    project: Path, tool: str, arguments: dict[str, Any], succeeds: bool
) -> None:
    """BT-03, BT-04: success is what the contract says, and what it writes is there."""
    output = await answer(project, tool, **arguments)
    contract = CONTRACTS[tool]
    assert all(condition.fault(output) is None for condition in contract.success) is succeeds
    for part in contract.writes.values():
        assert part is None or part in output


async def test_they_are_declared_as_what_they_are(project: Path) -> None:
    limits = {"search_code": 30, "find_definition": 30, "find_references": 30, "get_repo_map": 45}
    async with opened(project) as gate:
        for tool in gate.tools():
            assert tool.effects == {Effect.READ_ONLY}
            assert tool.scopes == {"fs:read"}
            assert tool.timeout == limits[tool.name]
            assert tool.concurrency_safe
            assert tool.untrusted_output
            assert tool.unavailable is None
        assert {tool.name for tool in gate.tools()} == limits.keys()


async def test_chains_may_call_them(project: Path) -> None:
    async with opened(project) as gate:
        for name, arguments, _ in CASES:
            assert (await gate.call(name, arguments, Context(caller=Caller.CHAIN))).ok


async def test_a_role_without_the_scope_gets_nothing(project: Path) -> None:
    roles = "roles:\n  default: {scopes: [], allow: ['group:all']}\n"
    write(project, {"callgate.yaml": f"builtin_tools: {{enable: [intelligence]}}\n{roles}"})
    async with Callgate.open("memory://", project / "callgate.yaml", working_directory=project) as gate:
        outcome = await gate.call("search_code", {"query": "engine"})
    assert outcome.status == "refused"
    assert outcome.error is not None
    assert outcome.error.code == "scope_violation"
