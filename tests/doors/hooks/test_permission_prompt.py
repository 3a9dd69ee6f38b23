"""The permission prompt of Claude Code: allow with what is to be run, deny with the reason, and deny on any failure."""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Assurance, Autonomy
from callgate.serve.hooks.answering import prepare
from callgate.serve.hooks.permission_prompt import DEFINITION, answer_prompt
from callgate.settings.values import Settings
from callgate.testing import memory_gate


async def prompt(gate: Callgate, context: Context | None = None, **arguments: Any) -> dict[str, Any]:
    return json.loads(await answer_prompt(gate, context or Context(session="s1"), arguments=arguments, wait=0))


async def test_it_allows_asks_and_denies_by_the_policy(tmp_path: Path):
    async with memory_gate(working_directory=tmp_path) as gate:
        prepare(gate, tmp_path)
        (tmp_path / "a.txt").write_text("x")
        read = {"file_path": str(tmp_path / "a.txt")}
        yes = await prompt(gate, tool_name="Read", input=read, tool_use_id="t1")
        assert yes == {"behavior": "allow", "updatedInput": read}
        no = await prompt(gate, tool_name="Read", input={"file_path": "/etc/passwd"}, tool_use_id="t2")
        assert (no["behavior"], "fs allows" in no["message"]) == ("deny", True)
        waits = await prompt(gate, tool_name="Bash", input={"command": "rm -r x"}, tool_use_id="t3")
        assert "a person has to decide" in waits["message"]
        [approval] = await gate.approvals()
        await gate.approve(approval.id, by="ada", arguments={"command": "ls x"}, assurance=Assurance.LOCAL)
        edited = await prompt(gate, tool_name="Bash", input={"command": "rm -r x"}, tool_use_id="t4")
        assert edited == {"behavior": "allow", "updatedInput": {"command": "ls x"}}


async def test_an_end_that_nobody_reports_does_not_stop_the_next(tmp_path: Path):
    async with memory_gate(config=Settings(autonomy=Autonomy.A4), working_directory=tmp_path) as gate:
        prepare(gate, tmp_path)
        write = {"file_path": str(tmp_path / "a.txt"), "content": "x"}
        for use in ("t1", "t2"):
            assert (await prompt(gate, tool_name="Write", input=write, tool_use_id=use))["behavior"] == "allow"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"tool_name": "Bash"}, {"tool_name": 1, "input": {}}, {"tool_name": "CronCreate", "input": {}}],
    ids=["nothing", "no-input", "no-name", "undeclared"],
)
async def test_what_cannot_be_judged_is_denied(tmp_path: Path, arguments: dict[str, Any]):
    async with memory_gate(working_directory=tmp_path) as gate:
        prepare(gate, tmp_path)
        assert (await prompt(gate, **arguments))["behavior"] == "deny"
    assert (await prompt(gate, tool_name="Read", input={}))["behavior"] == "deny", "the gate is closed"
    assert DEFINITION["inputSchema"]["required"] == ["tool_name", "input"]
