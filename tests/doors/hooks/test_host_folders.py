"""Where a host works: a blank path is its own folder to it, and so it is to the gate."""

import re
from pathlib import Path

import pytest

from tests.doors.hooks.host import HostRun


@pytest.mark.parametrize("path", [{}, {"path": ""}, {"path": " "}, {"directory": ""}], ids=str)
@pytest.mark.parametrize("tool", ["Grep", "Glob"])
def test_a_blank_path_is_the_folder_that_the_host_is_in(
    host: HostRun, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, path: dict[str, str]
):
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    (tmp_path / "elsewhere").mkdir()
    (project / "src").mkdir()
    said = {"pattern": "*.env", **path}
    assert host.before(tool, said, "1", cwd=str(tmp_path / "elsewhere"))["permissionDecision"] == "deny"
    assert host.before(tool, said, "2", cwd=str(project / "src"))["permissionDecision"] == "allow"


def test_a_yes_for_one_folder_is_none_for_another(host: HostRun, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    for name in ("a", "b"):
        (project / name).mkdir()
    call = {"command": "rm -rf build", "cwd": ""}
    asked = host.before("Bash", call, "1", cwd=str(project / "a"))["permissionDecisionReason"]
    question = re.search(r"approvals show (\S+)", asked)
    assert question, asked
    done = host.run("approvals", "approve", question[1])
    assert done.code == 0, done
    assert host.before("Bash", call, "2", cwd=str(project / "b"))["permissionDecision"] == "deny"
    assert host.before("Bash", call, "3", cwd=str(project / "a"))["permissionDecision"] == "allow"
