"""Claude Code's own tools before the gate, each question in a gate of its own: what is allowed, asked, denied, told."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Assurance
from callgate.runtime.host_tools import host_tools
from tests.doors.hooks.host import HostRun
from tests.doors.running import ROOT, environment

WHO = Context(principal="claude-code", session="claude-code/s1")
STORE = "sqlite:///.callgate/callgate.db"


def calls() -> list[dict[str, Any]]:
    with Callgate.open_sync(STORE) as gate:
        return gate.calls()


def asked(decision: dict[str, Any]) -> str:
    """The id of the approval that a denial names."""
    reason: str = decision["permissionDecisionReason"]
    assert decision["permissionDecision"] == "deny"
    assert "a person has to decide" in reason
    return reason.partition("approval ")[2].partition(";")[0]


def test_a_read_is_allowed_and_its_end_is_recorded_by_another_process(host: HostRun):
    (host.folder / "a.txt").write_text("hello\n")
    arguments = {"file_path": str(host.folder / "a.txt")}
    assert host.before("Read", arguments)["permissionDecision"] == "allow"
    # A gate that opens in between does not take the call for dead: its host runs it, not whoever judged it.
    assert [call["status"] for call in calls()] == ["started"]
    done = host.after("Read", arguments, tool_response={"content": "hello"})
    assert (done.code, done.out) == (0, "")
    [call] = calls()
    assert (call["tool"], call["status"], call["principal"]) == ("host.read", "succeeded", "claude-code")
    with Callgate.open_sync(STORE) as gate:
        types = [event.type for event in gate.newest_events(9, call_id=call["call"])]
    assert types == ["tool_call.attempted", "tool_call.succeeded"]


def test_a_tool_that_failed_at_its_host_is_recorded_as_failed(host: HostRun):
    (host.folder / "a.txt").write_text("hello\n")
    arguments = {"file_path": str(host.folder / "a.txt")}
    host.before("Read", arguments)
    assert host.after("Read", arguments, error="it is a directory").out == ""
    assert [call["status"] for call in calls()] == ["failed"]


def test_the_policy_judges_the_hosts_tools_as_any_other(host: HostRun):
    (host.folder / "callgate.yaml").write_text(
        "autonomy: A4\nscopes: {shell: {requires_approval: false}}\n"
        "global: {rules: [{match: host.bash, when: 'args.command.contains(\"sudo\")', verdict: deny, why: no root}]}\n"
    )
    assert host.before("Bash", {"command": "ls"})["permissionDecision"] == "allow"
    no = host.before("Bash", {"command": "sudo ls"}, use="toolu_2")
    assert no["permissionDecision"] == "deny"
    assert "no root" in no["permissionDecisionReason"]


def test_paths_outside_the_project_are_denied_wherever_the_host_wandered(host: HostRun):
    outside = host.folder.parent / "secret.txt"
    outside.write_text("x")
    for arguments, more in (
        ({"file_path": str(outside)}, {}),
        ({"file_path": "../secret.txt"}, {}),
        ({"file_path": "secret.txt"}, {"cwd": str(host.folder.parent)}),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CLAUDE_PROJECT_DIR", str(host.folder))
            no = host.before("Read", arguments, **more)
        assert no["permissionDecision"] == "deny", arguments
        assert "fs allows" in no["permissionDecisionReason"]


def test_a_command_waits_for_a_person_and_the_same_command_again_runs_once(host: HostRun):
    arguments = {"command": "make deploy", "description": "x"}
    denied = host.before("Bash", arguments, use="toolu_1")
    approval = asked(denied)
    assert f": callgate approvals show {approval} ." in str(denied)
    assert host.run("approvals", "show", approval).code == 0
    with Callgate.open_sync(STORE) as gate:
        gate.approve(approval, by="ada", assurance=Assurance.LOCAL)
    assert host.before("Bash", arguments, use="toolu_2")["permissionDecision"] == "allow"
    assert host.after("Bash", arguments, use="toolu_2", tool_response={"stdout": "done"}).out == ""
    assert [call["status"] for call in calls()] == ["resumed", "succeeded"]
    # The yes was for one time.
    assert asked(host.before("Bash", arguments, use="toolu_3")) != approval


def test_a_person_changes_the_command_and_the_host_is_told_what_to_run_instead(host: HostRun):
    approval = asked(host.before("Bash", {"command": "rm -r build"}))
    with Callgate.open_sync(STORE) as gate:
        gate.add(*host_tools("Bash"))
        gate.approve(approval, by="ada", arguments={"command": "rm -ri build"}, assurance=Assurance.LOCAL)
    yes = host.before("Bash", {"command": "rm -r build"}, use="toolu_2")
    assert (yes["permissionDecision"], yes["updatedInput"]) == ("allow", {"command": "rm -ri build"})


def test_a_yes_for_one_folder_is_none_for_another(host: HostRun):
    (host.folder / "sub").mkdir()
    approval = asked(host.before("Bash", {"command": "rm -r build"}))
    with Callgate.open_sync(STORE) as gate:
        assert str(host.folder) in str(gate.approval(approval).what)
        gate.approve(approval, by="ada", assurance=Assurance.LOCAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_PROJECT_DIR", str(host.folder))
        elsewhere = host.before("Bash", {"command": "rm -r build"}, use="toolu_2", cwd=str(host.folder / "sub"))
        assert asked(elsewhere) != approval
        outside = host.before("Bash", {"command": "ls"}, use="toolu_3", cwd=str(host.folder.parent))
    assert "leads to" in outside["permissionDecisionReason"]
    assert host.before("Bash", {"command": "rm -r build"}, use="toolu_4")["permissionDecision"] == "allow"


def test_one_use_that_two_hooks_ask_about_is_allowed_once_and_told_to_both(host: HostRun):
    (host.folder / "callgate.yaml").write_text("autonomy: A4\n")
    arguments = {"file_path": str(host.folder / "a.txt"), "content": "x"}
    for _ in range(2):
        assert host.before("Write", arguments)["permissionDecision"] == "allow"
    other = host.before("Write", arguments | {"content": "y"})
    assert "other arguments" in other["permissionDecisionReason"]
    assert host.after("Write", arguments, tool_response={}).code == 0
    assert host.before("Write", arguments)["permissionDecision"] == "deny"
    assert [call["status"] for call in calls()] == ["succeeded", "deduped", "refused", "deduped"]


def test_a_persons_yes_is_told_to_one_hook_alone(host: HostRun):
    arguments = {"command": "rm -r build"}
    approval = asked(host.before("Bash", arguments))
    with Callgate.open_sync(STORE) as gate:
        gate.approve(approval, by="ada", assurance=Assurance.LOCAL)
    assert host.before("Bash", arguments, use="toolu_2")["permissionDecision"] == "allow"
    assert "still running" in host.before("Bash", arguments)["permissionDecisionReason"]


def test_a_rejection_is_told_with_its_reason(host: HostRun):
    approval = asked(host.before("Bash", {"command": "ls"}))
    with Callgate.open_sync(STORE) as gate:
        gate.reject(approval, by="ada", why="not on a Friday")
    assert "not on a Friday" in host.before("Bash", {"command": "ls"}, use="toolu_2")["permissionDecisionReason"]


def test_what_the_user_says_is_the_intent_of_the_session_and_of_no_other(host: HostRun):
    assert host.event("UserPromptSubmit", prompt="deploy to staging").out == ""
    assert host.event("UserPromptSubmit", prompt="and tell bob").out == ""
    with Callgate.open_sync(STORE) as gate:
        assert gate.words(WHO) == "deploy to staging\nand tell bob"
        assert gate.words(Context(principal="claude-code", session="claude-code/s2")) is None
    kept = [path.read_bytes() for path in Path(".callgate").glob("callgate.db*") if path.is_file()]
    assert kept
    assert b"staging" not in b"".join(kept)


def test_what_switches_the_hook_off_is_out_of_reach(host: HostRun):
    (host.folder / "callgate.yaml").write_text("autonomy: A4\n")
    for name in (".claude/settings.local.json", ".mcp.json", "callgate.yaml", ".callgate/callgate.db"):
        no = host.before("Write", {"file_path": str(host.folder / name), "content": "{}"})
        assert no["permissionDecision"] == "deny", name
    yes = host.before("Write", {"file_path": str(host.folder / "notes.md"), "content": "x"}, use="toolu_2")
    assert yes["permissionDecision"] == "allow"


def test_a_tool_nobody_declared_is_denied_and_foreign_servers_are_asked_about(host: HostRun):
    no = host.before("CronCreate", {"cron": "* * * * *"})
    assert "CronCreate is not declared" in no["permissionDecisionReason"]
    assert asked(host.before("mcp__github__create_issue", {"title": "x"}, use="toolu_2"))


@pytest.mark.parametrize("tool", ["ExitPlanMode", "AskUserQuestion"])
def test_what_is_the_users_own_gets_no_opinion(host: HostRun, tool: str):
    done = host.event("PreToolUse", tool_name=tool, tool_input={}, tool_use_id="toolu_1")
    assert (done.code, done.out, done.err) == (0, "", "")


TWICE = '{"hook_event_name": "PreToolUse", "tool_input": {"command": "ls", "command": "rm"}}'


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"hook_event_name": "PreToolUse"', TWICE, '{"a": NaN}'])
def test_what_cannot_be_read_blocks(host: HostRun, text: str):
    done = host.tell("claude-code", text)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Not run: the gate could not judge it (")


@pytest.mark.parametrize("missing", ["session_id", "tool_use_id", "tool_name", "tool_input"])
def test_a_question_without_what_it_needs_is_denied(host: HostRun, missing: str):
    told: dict[str, Any] = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(host.folder)}
    told |= {"tool_name": "Read", "tool_input": {"file_path": "a.txt"}, "tool_use_id": "toolu_1"}
    told.pop(missing)
    done = host.tell("claude-code", json.dumps(told))
    decision = done.body["hookSpecificOutput"]
    assert (done.code, decision["permissionDecision"]) == (0, "deny")
    assert missing in decision["permissionDecisionReason"]


def test_whatever_is_wrong_with_the_gate_denies_and_says_why(host: HostRun):
    read = {"file_path": str(host.folder / "a.txt")}
    (host.folder / "callgate.yaml").write_text("autonomy: A9\n")
    assert "autonomy" in host.before("Read", read)["permissionDecisionReason"]
    (host.folder / "callgate.yaml").unlink()
    (host.folder / ".callgate").mkdir()
    (host.folder / ".callgate" / "callgate.db").write_text("this is no database, and long enough to be looked at\n" * 9)
    no = host.before("Read", read)
    assert no["permissionDecision"] == "deny"
    assert "could not judge it" in no["permissionDecisionReason"]


def test_nothing_hides_in_a_reason(host: HostRun):
    for name in ("Cron\x1b[2JCreate", "Cron\u202eCreate"):
        reason = host.before(name, {})["permissionDecisionReason"]
        assert "is not declared" in reason
        assert name not in reason


def test_an_end_that_cannot_be_recorded_is_told_to_the_user(host: HostRun):
    done = host.after("Read", {"file_path": "a.txt"}, tool_response={})
    assert done.code == 0
    assert "was not allowed by this gate" in done.body["systemMessage"]
    (host.folder / "callgate.yaml").write_text("autonomy: A9\n")
    assert "could not record" in host.after("Read", {"file_path": "a.txt"}).body["systemMessage"]
    assert "could not record what you said" in host.event("UserPromptSubmit", prompt="hi").body["systemMessage"]


@pytest.mark.parametrize("missing", ["session_id", "tool_use_id", "tool_name", "tool_input"])
def test_an_end_that_cannot_be_read_is_not_told_as_something_that_did_not_run(host: HostRun, missing: str):
    told: dict[str, Any] = {"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": str(host.folder)}
    told |= {"tool_name": "Read", "tool_input": {"file_path": "a.txt"}, "tool_use_id": "toolu_1"}
    told.pop(missing)
    done = host.tell("claude-code", json.dumps(told))
    assert done.code == 0
    assert "could not record how a tool ended that has run" in done.body["systemMessage"]
    assert missing in done.body["systemMessage"]


def test_what_the_user_says_is_not_held_up_where_it_cannot_be_read(host: HostRun):
    done = host.tell("claude-code", json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "hi"}))
    assert done.code == 0
    assert "could not record what you said" in done.body["systemMessage"]


@pytest.mark.slow
def test_a_store_that_somebody_holds_does_not_keep_the_host_waiting(host: HostRun):
    (host.folder / "a.txt").write_text("hello\n")
    told = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(host.folder), "tool_name": "Read"}
    told |= {"tool_input": {"file_path": str(host.folder / "a.txt")}, "tool_use_id": "toolu_1"}

    def ask() -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "callgate", "hook", "claude-code", "--deadline", "15"],
            cwd=host.folder,
            env=environment(PYTHONPATH=os.pathsep.join(map(str, (ROOT / "src", ROOT)))),
            input=json.dumps(told),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done
        return json.loads(done.stdout)["hookSpecificOutput"]

    assert ask()["permissionDecision"] == "allow"
    told["tool_use_id"] = "toolu_2"
    with sqlite3.connect(host.folder / ".callgate" / "callgate.db", isolation_level=None) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        no = ask()
        holder.execute("ROLLBACK")
    assert no["permissionDecision"] == "deny"
    assert "Nothing has happened" in no["permissionDecisionReason"]


def test_a_policy_about_hosts_is_checked_explained_and_its_questions_edited_on_the_command_line(host: HostRun):
    (host.folder / "callgate.yaml").write_text(
        "global: {rules: [{match: host.bash, verdict: confirm, why: it is a shell}]}\n"
    )
    assert (host.run("policy", "check").code, host.run("policy", "check").err) == (0, "")
    approval = asked(host.before("Bash", {"command": "rm x"}))
    done = host.run("approvals", "approve", approval, "--edit", '{"command": "ls x"}', "--json")
    assert done.code == 0, done
    assert host.before("Bash", {"command": "rm x"}, use="toolu_2")["updatedInput"] == {"command": "ls x"}
