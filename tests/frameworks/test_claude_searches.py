"""What Claude's own tools say before an in-process gate is read as the hooks read it: searches, and other names."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from callgate import Callgate, Context
from callgate.frameworks.claude_agent import ClaudeGate, host_tools
from tests.needed import missing

MARK = "approver-of-last-resort"
RIPGREP = Path(sys.prefix) / "bin" / "rg"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project, and what nobody may read in it."""
    for name, text in {"callgate.yaml": f"version: 1 # {MARK}\n", "src/a.py": f"# {MARK}\n", "b.txt": "b\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
async def gate(folder: Path) -> AsyncIterator[Callgate]:
    async with Callgate.open("memory://", config=folder / "callgate.yaml", working_directory=folder) as opened:
        opened.add(*host_tools())
        yield opened


@pytest.fixture
def claude(gate: Callgate) -> ClaudeGate:
    return ClaudeGate(gate, Context(user="ann", session="chat-1"), wait=0)


async def ask(
    claude: ClaudeGate, name: str, arguments: dict[str, str], use: str = "toolu_1"
) -> PermissionResultAllow | PermissionResultDeny:
    return await claude.can_use_tool(name, dict(arguments), ToolPermissionContext(tool_use_id=use))


async def found(claude: ClaudeGate, folder: Path, arguments: dict[str, str]) -> set[str]:
    """The files in which the host's search finds the mark, where the gate lets it search."""
    answer = await ask(claude, "Grep", {"pattern": MARK, **arguments})
    if isinstance(answer, PermissionResultDeny):
        assert "callgate.yaml" in answer.message
        assert "leaves them out" in answer.message
        return set()
    chosen = [f"--{name}={arguments[name]}" for name in ("glob", "type") if name in arguments]
    words = [str(RIPGREP), "--hidden", "--no-ignore", "-l", MARK, *chosen, arguments.get("path", ".")]
    process = await asyncio.create_subprocess_exec(*words, cwd=folder, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        said, _ = await process.communicate()
    return {Path(line).name for line in said.decode().splitlines()}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({}, set[str]()),
        ({"path": "."}, set[str]()),
        ({"glob": "*.yaml"}, set[str]()),
        ({"glob": "!*.py"}, set[str]()),
        ({"path": "src"}, {"a.py"}),
        ({"glob": "*.py"}, {"a.py"}),
        ({"type": "py"}, {"a.py"}),
    ],
    ids=["everything", "here", "glob", "but", "elsewhere", "other files", "other type"],
)
async def test_a_search_does_not_read_what_is_out_of_reach(
    claude: ClaudeGate, folder: Path, arguments: dict[str, str], names: set[str]
):
    if not RIPGREP.exists():
        missing("ripgrep is not here; run make setup")
    assert await found(claude, folder, arguments) == names


@pytest.mark.parametrize("name", ["file_path", "path", "target_file", "filePath"])
async def test_a_file_is_judged_by_whatever_name_it_is_said(claude: ClaudeGate, folder: Path, name: str):
    assert (await ask(claude, "Read", {name: str(folder / "b.txt")}, "toolu_1")).behavior == "allow"
    no = await ask(claude, "Read", {name: str(folder / "callgate.yaml")}, "toolu_2")
    assert isinstance(no, PermissionResultDeny)
    assert "own files" in no.message


async def test_two_names_that_do_not_agree_are_denied(claude: ClaudeGate, gate: Callgate, folder: Path):
    said = {"file_path": str(folder / "b.txt"), "path": str(folder / "callgate.yaml")}
    no = await ask(claude, "Read", said)
    assert isinstance(no, PermissionResultDeny)
    assert "two different things as file_path and as path" in no.message
    assert await gate.calls() == []


async def test_what_a_person_changed_goes_back_in_the_hosts_words(claude: ClaudeGate, gate: Callgate, folder: Path):
    said = {"path": str(folder / "b.txt"), "contents": "asked\n"}
    assert "a person has to decide" in getattr(await ask(claude, "Write", said), "message", "")
    (question,) = await gate.approvals()
    changed = {"file_path": str(folder / "b.txt"), "content": "edited\n"}
    await gate.approve(question.id, by="ann", arguments=changed)
    yes = await ask(claude, "Write", said, "toolu_2")
    assert isinstance(yes, PermissionResultAllow)
    assert yes.updated_input == {"path": str(folder / "b.txt"), "contents": "edited\n"}


async def test_a_search_is_held_to_it_as_a_person_edited_it_too(folder: Path):
    """Nobody's yes lifts what is out of reach: it is denied, and the record says that it did not run."""
    (folder / "callgate.yaml").write_text(
        "version: 1\nglobal: {rules: [{match: host.grep, verdict: confirm, why: look}]}\n"
    )
    async with Callgate.open("memory://", config=folder / "callgate.yaml", working_directory=folder) as gate:
        gate.add(*host_tools())
        claude = ClaudeGate(gate, Context(user="ann", session="chat-1"), wait=0)
        said = {"pattern": "x", "path": "src"}
        for use, path, behavior in (("1", ".", "deny"), ("2", "src", "allow")):
            assert "a person has to decide" in getattr(await ask(claude, "Grep", said, f"asked_{use}"), "message", "")
            (question,) = await gate.approvals()
            await gate.approve(question.id, by="ann", arguments={"pattern": "y", "path": path})
            answer = await ask(claude, "Grep", said, f"again_{use}")
            assert answer.behavior == behavior
            assert ("callgate.yaml" in getattr(answer, "message", "")) == (behavior == "deny")
        assert [call["status"] for call in await gate.calls(tool="host.grep")].count("failed") == 1
