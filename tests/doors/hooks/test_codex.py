"""Codex's own tools before the gate: a yes is silence, a no is exit code 2 with the reason, as every version knows."""

import pytest

from callgate import Callgate
from callgate.model.levels import Assurance
from callgate.runtime.host_tools import every_host_tool
from tests.doors.hooks.host import CodexRun

STORE = "sqlite:///.callgate/callgate.db"
PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch"


def statuses() -> list[tuple[str, str]]:
    with Callgate.open_sync(STORE) as gate:
        return [(call["tool"], call["status"]) for call in gate.calls()]


@pytest.fixture
def free(codex: CodexRun) -> CodexRun:
    (codex.folder / "callgate.yaml").write_text("autonomy: A4\nscopes: {shell: {requires_approval: false}}\n")
    return codex


@pytest.mark.parametrize("command", ["ls -l", ["ls", "-l"]], ids=["text", "words"])
def test_a_command_is_judged_and_its_end_recorded(free: CodexRun, command: object):
    told = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "call_1"}
    for event in ("PreToolUse", "PostToolUse"):
        done = free.say(event, **told, tool_response="a.txt")
        assert (done.code, done.out, done.err) == (0, "", ""), event
    assert statuses() == [("host.bash", "succeeded")]


def test_a_patch_is_judged_by_the_files_it_touches(free: CodexRun):
    assert free.use("apply_patch", {"command": PATCH.format("a.txt")}).code == 0
    for path in ("../b.txt", "/etc/passwd", "callgate.yaml", ".codex/hooks.json"):
        done = free.use("apply_patch", {"command": PATCH.format(path)}, f"call {path}")
        assert (done.code, done.out) == (2, ""), path
        assert done.err.startswith("Not run"), path
    moved = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: ../out.txt\n*** End Patch"
    assert free.use("apply_patch", {"command": ["apply_patch", moved]}, "call_m").code == 2
    assert "names no file" in free.use("apply_patch", {"command": "nothing"}, "call_n").err


def test_a_no_is_told_and_so_is_a_question(codex: CodexRun):
    done = codex.use("Bash", {"command": "rm -r x"})
    assert (done.code, done.out) == (2, "")
    assert "a person has to decide" in done.err


def test_what_a_person_changed_is_not_run_as_it_was_asked(codex: CodexRun):
    approval = codex.use("Bash", {"command": "rm -r x"}).err.partition("approval ")[2].partition(";")[0]
    with Callgate.open_sync(STORE) as gate:
        gate.add(*every_host_tool())
        gate.approve(approval, by="ada", arguments={"command": "ls x"}, assurance=Assurance.LOCAL)
    done = codex.use("Bash", {"command": "rm -r x"}, "call_2")
    assert done.code == 2
    assert 'Make this one: {"command":"ls x"}' in done.err
    assert statuses()[-1] == ("host.bash", "failed")


def test_what_cannot_be_read_blocks_and_prompts_go_on(codex: CodexRun):
    assert codex.tell("codex", "nonsense").code == 2
    assert codex.use("spawn_agent", {}).code == 2
    assert (codex.say("UserPromptSubmit", prompt="hi").code, codex.say("SessionStart").code) == (0, 0)
