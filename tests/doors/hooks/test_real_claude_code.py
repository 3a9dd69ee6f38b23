"""Claude Code itself, which its SDK brings along, connected with one command, against a scripted model."""

import os
import re
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

from callgate import Callgate, Context
from examples.scripted_anthropic import Blocks, environment, says, scripted_anthropic, uses
from tests.doors.running import ROOT, Cli

pytestmark = pytest.mark.slow
POLICY = """
autonomy: A4
scopes: {shell: {requires_approval: false}}
global:
  rules:
    - {match: host.bash, when: 'args.command.contains("sudo")', verdict: deny, why: "nobody is root here"}
"""


def bash(command: str) -> dict[str, str]:
    return {"command": command, "description": "x"}


async def test_a_connected_claude_code_runs_what_the_gate_allows_and_nothing_else(cli: Cli, tmp_path: Path):
    folder, home = cli.folder, tmp_path / "claude_home"
    home.mkdir()
    (folder / "callgate.yaml").write_text(POLICY)
    (folder / "a.txt").write_text("hello\n")
    (tmp_path.parent / "outside.txt").write_text("hidden\n")
    assert cli("connect", "claude-code", "--write", "--no-mcp").code == 0
    script = (
        uses(
            ("toolu_read", "Read", {"file_path": str(folder / "a.txt")}),
            ("toolu_outside", "Read", {"file_path": str(tmp_path.parent / "outside.txt")}),
            ("toolu_yes", "Bash", bash("echo yes >> host.txt")),
            ("toolu_no", "Bash", bash("sudo true || echo no >> host.txt")),
            ("toolu_fails", "Bash", bash("echo failed >> host.txt; exit 3")),
            ("toolu_off", "Write", {"file_path": str(folder / ".claude" / "settings.json"), "content": "{}"}),
        ),
        says("Done."),
    )
    results = await converse(folder, home, *script)
    assert (folder / "host.txt").read_text().split() == ["yes", "failed"]
    assert "hello" in results["toolu_read"]
    assert "fs allows" in results["toolu_outside"]
    assert "nobody is root here" in results["toolu_no"]
    assert "Not run" in results["toolu_off"]
    assert not (folder / ".claude" / "settings.json").exists()
    async with Callgate.open(config=folder / "callgate.yaml") as gate:
        ended = [(call["tool"], call["status"]) for call in await gate.calls()]
        session = (await gate.calls())[0]["session"]
        words = await gate.words(Context(principal="claude-code", session=session))
    assert sorted(ended) == [
        ("host.bash", "failed"),
        ("host.bash", "refused"),
        ("host.bash", "succeeded"),
        ("host.read", "refused"),
        ("host.read", "succeeded"),
        ("host.write", "refused"),
    ]
    assert words == "Go and see."


@pytest.mark.parametrize("broken", ["configuration", "program"])
async def test_a_gate_that_cannot_judge_stops_everything(cli: Cli, tmp_path: Path, broken: str):
    folder, home = cli.folder, tmp_path / "claude_home"
    home.mkdir()
    assert cli("connect", "claude-code", "--write", "--no-mcp").code == 0
    settings = folder / ".claude" / "settings.local.json"
    if broken == "configuration":
        (folder / "callgate.yaml").write_text("autonomy: A9\n")
    else:
        settings.write_text(
            re.sub(r'"command": "[^"]*? hook ', '"command": "gone_for_good hook ', settings.read_text())
        )
    script = uses(("toolu_1", "Bash", bash("echo yes >> host.txt"))), says("Done.")
    results = await converse(folder, home, *script)
    assert not (folder / "host.txt").exists()
    assert ("autonomy" if broken == "configuration" else "gone_for_good") in results["toolu_1"]


async def converse(folder: Path, home: Path, *script: Blocks) -> dict[str, str]:
    """One conversation, in the mode in which the host itself allows everything; what the model read of each tool."""
    with scripted_anthropic(*script) as model:
        given = environment(model.url, home) | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT)))}
        given["IS_SANDBOX"] = "1"  # the host refuses that mode to root elsewhere
        options = ClaudeAgentOptions(
            cwd=folder, env=given, setting_sources=["project", "local"], permission_mode="bypassPermissions"
        )
        async with ClaudeSDKClient(options) as client:
            await client.query("Go and see.")
            async for _ in client.receive_response():
                pass
        return model.results()
