"""Copilot's own tools before the gate, without ids of its own: equal calls are told apart by their order."""

import json

from callgate import Callgate
from tests.doors.hooks.host import CopilotRun
from tests.doors.running import Done

STORE = "sqlite:///.callgate/callgate.db"


def statuses() -> list[tuple[str, str]]:
    with Callgate.open_sync(STORE) as gate:
        return [(call["tool"], call["status"]) for call in gate.calls()]


def ended(copilot: CopilotRun, kind: str) -> Done:
    result = {"resultType": kind, "textResultForLlm": "x"}
    arguments = json.dumps({"path": "a.txt"})
    return copilot.say("postToolUse", toolName="view", toolArgs=arguments, toolResult=result)


def test_equal_reads_one_after_the_other_are_each_allowed_and_recorded(copilot: CopilotRun):
    (copilot.folder / "a.txt").write_text("x")
    for kind in ("success", "failure", "success"):
        assert copilot.use("view", {"path": "a.txt"}) == {"permissionDecision": "allow"}
        assert ended(copilot, kind).body == {}
    assert statuses() == [("host.read", "succeeded"), ("host.read", "failed"), ("host.read", "succeeded")]
    assert "was not allowed" in ended(copilot, "success").err


def test_files_outside_are_denied_and_commands_asked_about(copilot: CopilotRun):
    no = copilot.use("create", {"path": "/etc/x", "file_text": "x"})
    assert (no["permissionDecision"], "fs allows" in no["permissionDecisionReason"]) == ("deny", True)
    asked = copilot.use("bash", {"command": "ls"})
    assert "a person has to decide" in asked["permissionDecisionReason"]
    assert copilot.use("bash", {"command": "ls"}) == asked, "the same question"


def test_what_cannot_be_read_is_denied(copilot: CopilotRun):
    done = copilot.say("preToolUse", toolName="bash", toolArgs="{")
    assert (done.code, done.body["permissionDecision"]) == (0, "deny")
    copilot.options = ()
    done = copilot.tell("copilot", "{}")
    assert (done.code, done.body["permissionDecision"]) == (2, "deny")
    assert copilot.use("other", {})["permissionDecision"] == "deny"


def test_prompts_are_the_intent(copilot: CopilotRun):
    assert copilot.say("userPromptSubmitted", prompt="hello").body == {}
    assert copilot.say("sessionStart").body == {}
