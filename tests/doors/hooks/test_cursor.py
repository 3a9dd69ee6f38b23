"""Cursor's own tools and its MCP servers before the gate, in Cursor's words."""

import json
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Assurance
from callgate.runtime.host_tools import host_tools
from tests.doors.hooks.host import CursorRun

STORE = "sqlite:///.callgate/callgate.db"


def statuses() -> list[tuple[str, str]]:
    with Callgate.open_sync(STORE) as gate:
        return [(call["tool"], call["status"]) for call in gate.calls()]


def asked(decision: dict[str, Any]) -> str:
    assert decision["permission"] == "deny", decision
    return decision["agent_message"].partition("approval ")[2].partition(";")[0]


@pytest.mark.parametrize("key", ["file_path", "path", "target_file"])
def test_a_read_is_allowed_inside_and_denied_outside(cursor: CursorRun, key: str):
    (cursor.folder / "a.txt").write_text("x")
    assert cursor.use("Read", {key: "a.txt"}) == {"permission": "allow"}
    no = cursor.use("Read", {key: "../b.txt"}, "use_2")
    assert no["permission"] == "deny"
    assert "fs allows" in no["user_message"]


def test_an_end_is_recorded(cursor: CursorRun):
    (cursor.folder / "a.txt").write_text("x")
    arguments = {"file_path": "a.txt"}
    cursor.use("Read", arguments)
    told = {"tool_name": "Read", "tool_input": arguments, "tool_use_id": "toolu_1", "tool_output": "x"}
    assert cursor.say("postToolUse", **told).body == {}
    assert statuses() == [("host.read", "succeeded")]


def test_a_command_is_asked_about_and_what_a_person_changed_is_run(cursor: CursorRun):
    approval = asked(cursor.use("Shell", {"command": "rm -r x"}))
    with Callgate.open_sync(STORE) as gate:
        gate.add(*host_tools("Bash"))
        gate.approve(approval, by="ada", arguments={"command": "ls x"}, assurance=Assurance.LOCAL)
    yes = cursor.use("Shell", {"command": "rm -r x"}, "use_2")
    assert yes == {"permission": "allow", "updated_input": {"command": "ls x"}}
    failed = {"tool_name": "Shell", "tool_input": {"command": "rm -r x"}, "tool_use_id": "use_2"}
    assert cursor.say("postToolUseFailure", **failed, error_message="no such file").body == {}
    assert statuses()[-1] == ("host.bash", "failed")


def test_a_tool_of_a_server_is_asked_about_where_its_server_is_known(cursor: CursorRun):
    body = {"title": "x"}
    assert cursor.use("MCP:create_issue", body) == {}, "judged where its server is told"
    approval = asked(cursor.call("create_issue", body, "npx github-mcp"))
    with Callgate.open_sync(STORE) as gate:
        assert "npx github-mcp" in str(gate.approval(approval).what)
        gate.approve(approval, by="ada", assurance=Assurance.LOCAL)
    assert cursor.call("create_issue", body, "npx github-mcp") == {"permission": "allow"}
    told = {"tool_name": "create_issue", "tool_input": json.dumps(body), "command": "npx github-mcp"}
    assert cursor.say("afterMCPExecution", **told, result_json="{}").body == {}
    assert statuses()[-1] == ("host.mcp", "succeeded")
    # Without an id of the host's own, the next equal call is another one: it is asked about anew.
    assert asked(cursor.call("create_issue", body, "npx github-mcp")) != approval


def test_what_cannot_be_judged_here_is_denied_with_where_it_is(cursor: CursorRun):
    done = cursor.say("beforeShellExecution", command="ls", cwd=str(cursor.folder))
    assert (done.code, done.body["permission"]) == (2, "deny")
    assert "preToolUse" in done.err


@pytest.mark.parametrize("arguments", [{}, {"file_path": ["a"]}])
def test_a_file_tool_that_does_not_say_its_file_is_denied(cursor: CursorRun, arguments: dict[str, Any]):
    assert "which file" in cursor.use("Write", arguments)["agent_message"]


def test_prompts_go_on_whatever_happens(cursor: CursorRun):
    assert cursor.say("beforeSubmitPrompt", prompt="hi").body == {}
    (cursor.folder / "callgate.yaml").write_text("autonomy: A9\n")
    done = cursor.say("beforeSubmitPrompt", prompt="hi")
    assert (done.code, done.body) == (0, {"continue": True})
    assert "could not record" in done.err
