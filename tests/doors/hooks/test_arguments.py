"""Arguments of hosts: whatever a host calls a thing, it is judged; one thing said twice and differently is refused."""

from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Assurance
from callgate.runtime.host_tools import every_host_tool
from tests.doors.hooks.host import CodexRun, CopilotRun, CursorRun, HostRun

STORE = "sqlite:///.callgate/callgate.db"
FREE = "autonomy: A4\nscopes: {shell: {requires_approval: false}}\n"
NO_PUSH = "global: {rules: [{match: host.bash, when: 'args.command.contains(\"push\")', verdict: deny}]}\n"
NO_EVIL = "global: {rules: [{match: host.write, when: 'args.content.contains(\"evil\")', verdict: deny}]}\n"


def judged() -> list[tuple[str, str]]:
    with Callgate.open_sync(STORE) as gate:
        return [(call["tool"], call["status"]) for call in gate.calls()]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("view", {"path": "/etc/passwd"}),
        ("create", {"path": "../outside.txt", "file_text": "x"}),
        ("edit", {"path": "callgate.yaml", "old_str": "A4", "new_str": "A0"}),
        ("create", {"path": ".github/hooks/callgate.json", "file_text": "{}"}),
        ("grep", {"path": "/etc", "pattern": "root"}),
    ],
    ids=["reads outside", "writes outside", "changes the policy", "takes the hooks out", "searches outside"],
)
@pytest.mark.parametrize("second", ["file_path", "filePath", "target_file", "FILE-PATH", "directory"])
def test_a_path_is_not_hidden_behind_another_name(copilot: CopilotRun, tool: str, given: dict[str, Any], second: str):
    (copilot.folder / "callgate.yaml").write_text(FREE)
    for told in ({**given, second: "harmless.txt"}, {second: "harmless.txt", **given}):
        assert copilot.use(tool, told)["permissionDecision"] == "deny"


@pytest.mark.parametrize("told", [{"path": "a.txt"}, {"target_file": "a.txt"}, {"filePath": "a.txt", "path": "a.txt"}])
def test_one_name_or_two_that_say_the_same_are_judged_and_reported(cursor: CursorRun, told: dict[str, Any]):
    (cursor.folder / "a.txt").write_text("x")
    assert cursor.use("Read", told) == {"permission": "allow"}
    after = {"tool_name": "Read", "tool_input": told, "tool_use_id": "toolu_1", "tool_output": "x"}
    assert cursor.say("postToolUse", **after).body == {}
    assert judged() == [("host.read", "succeeded")]


def test_a_second_name_is_refused_with_both_named(cursor: CursorRun):
    no = cursor.use("Read", {"path": "a.txt", "target_file": "b.txt"})
    assert (no["permission"], "as path and as target_file" in no["agent_message"]) == ("deny", True)


def test_what_is_typed_into_a_shell_is_the_command(copilot: CopilotRun):
    (copilot.folder / "callgate.yaml").write_text(FREE + NO_PUSH)
    told = {"sessionId": "1", "input": "git push --force\n"}
    for more in ({}, {"command": "ls"}, {"cmd": "ls"}):
        assert copilot.use("write_bash", {**told, **more})["permissionDecision"] == "deny", more
    assert copilot.use("write_bash", {**told, "input": "ls\n"}) == {"permissionDecision": "allow"}


def test_what_is_written_is_judged_by_whatever_name(cursor: CursorRun):
    (cursor.folder / "callgate.yaml").write_text(FREE + NO_EVIL)
    given = {"path": "a.txt", "contents": "evil"}
    for number, more in enumerate(({}, {"content": "fine"}, {"file_text": "fine"})):
        assert cursor.use("Write", {**given, **more}, f"w{number}")["permission"] == "deny", more
    assert cursor.use("Write", {**given, "contents": "fine"}, "w9")["permission"] == "allow"


def test_codex_commands_and_places_are_judged_by_whatever_name(codex: CodexRun):
    (codex.folder / "callgate.yaml").write_text(FREE + NO_PUSH)
    assert codex.use("exec_command", {"cmd": "git push"}, "1").code == 2
    assert codex.use("exec_command", {"cmd": "git push", "command": "ls"}, "2").code == 2
    assert codex.use("exec_command", {"cmd": "ls", "workdir": "/etc"}, "3").code == 2
    assert codex.use("exec_command", {"cmd": "ls", "workdir": "../.."}, "4").code == 2
    assert codex.use("exec_command", {"cmd": "ls", "workdir": "."}, "5").code == 0
    patch = "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch"
    both = {"command": patch.format("a.txt"), "input": patch.format("../b.txt")}
    assert codex.use("apply_patch", both, "6").code == 2


def test_what_a_person_changed_is_told_under_every_name_the_host_said(host: HostRun, cursor: CursorRun):
    (host.folder / "callgate.yaml").write_text("autonomy: A1\n")
    given = {"path": "a.txt", "file_path": "a.txt", "contents": "x"}
    instead = {"file_path": str(host.folder / "a.txt"), "content": "y"}

    def changed(approval: str) -> None:
        with Callgate.open_sync(STORE) as gate:
            gate.add(*every_host_tool())
            gate.approve(approval, by="ada", arguments=instead, assurance=Assurance.LOCAL)

    asked = cursor.use("Write", given, "1")["agent_message"]
    changed(asked.partition("approval ")[2].partition(";")[0])
    told = cursor.use("Write", given, "2")["updated_input"]
    assert (told["contents"], "content" in told, told["path"] == told["file_path"]) == ("y", False, True)
    asked = host.before("Write", given, "3")["permissionDecisionReason"]
    changed(asked.partition("approval ")[2].partition(";")[0])
    assert host.before("Write", given, "4")["updatedInput"] == told
