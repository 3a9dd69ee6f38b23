"""Skills in a folder: listing reads text and runs nothing, loading binds, and every file that is wrong says so."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, SkillContext, SkillFolder, tool
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)

SHOUT = """
description: Make a text loud, and keep it.
tools: [loud]
input:
  text: {type: string, description: What to shout.}
output: {type: string}
function: folder_skills:shout
risk: medium
"""
WHISPER = """---
name: whisper
tools:
  - loud
---
# How to whisper

Say it twice.
"""
CODE = """
from pathlib import Path
from callgate import SkillContext

Path("imported").write_text("yes")


async def shout(text: str, steps: SkillContext) -> str:
    return (await steps.call("loud", {"text": text})).unwrap()


number = 7
"""


@tool(effects="read_only")
def loud(text: str) -> str:
    """Upper case."""
    return text.upper()


async def whisper(steps: SkillContext) -> str:
    """Said twice."""
    return (await steps.call("loud", {"text": "psst psst"})).unwrap()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "folder_skills", raising=False)
    importlib.invalidate_caches()
    (tmp_path / "folder_skills.py").write_text(CODE)
    skills = tmp_path / "skills"
    (skills / "whisper").mkdir(parents=True)
    (skills / "shout.yaml").write_text(SHOUT)
    (skills / "whisper" / "SKILL.md").write_text(WHISPER)
    (skills / "notes.txt").write_text("no skill")
    (skills / ".hidden.yaml").write_text("nor this")
    (skills / "empty").mkdir()
    return skills


def test_listing_reads_what_the_files_say_and_runs_nothing(folder: Path):
    listing = SkillFolder(folder).list()
    assert listing.faults == ()
    shout, soft = listing.skills
    assert (shout.skill.name, shout.skill.tools, shout.file) == ("shout", ("loud",), "shout.yaml")
    assert (shout.function, shout.skill.function) == ("folder_skills:shout", None)
    assert (soft.skill.name, soft.file, soft.text) == (
        "whisper",
        "whisper/SKILL.md",
        "# How to whisper\n\nSay it twice.",
    )
    assert not Path("imported").exists()


async def test_the_skills_of_a_folder_are_added_with_the_functions_they_name_or_are_given(folder: Path):
    async with memory_gate(loud, config=FREE) as gate:
        assert gate.add_skills(SkillFolder(folder, functions={"whisper": whisper})) == ()
        assert (folder.parent / "imported").read_text() == "yes"
        assert (await gate.call("shout", {"text": "hey"})).unwrap() == "HEY"
        assert (await gate.call("whisper")).unwrap() == "PSST PSST"
        assert "required" in gate.tool("shout").input_schema
        assert [report.name for report in gate.skills()] == ["shout", "whisper"]
        assert [fault.reason for fault in gate.add_skills(folder)] == [
            "tool 'shout' is already registered by function; pass update=True to replace it",
            "tool 'whisper' is already registered by function; pass update=True to replace it",
        ]
        assert gate.add_skills(folder, update=True) == ()
        unbound = await gate.call("whisper")
        assert "no function is bound to this skill" in str(unbound)


async def test_a_folder_of_skills_is_out_of_reach_of_tools(folder: Path):
    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def write_file(path: str, text: str) -> None:
        """Write."""
        Path(path).write_text(text)

    async with memory_gate(loud, write_file, config=FREE) as gate:
        gate.add_skills(folder)
        outcome = await gate.call("write_file", {"path": "skills/shout.yaml", "text": "tools: [everything]"})
        assert outcome.status == "refused"
        assert (folder / "shout.yaml").read_text() == SHOUT
        with pytest.raises(ConfigurationError, match="no such folder"):
            gate.add_skills(folder / "absent")


FAULTY: dict[str, tuple[str, str]] = {
    "bad_yaml.yaml": ("tools: [", "is not YAML"),
    "a_list.yaml": ("- a\n- b\n", "is no skill: it needs tools: and a function"),
    "no_tools.yaml": ("description: x\n", "names no tools"),
    "wild_tools.yaml": ("tools: ['*']\n", "is no tool name"),
    "odd_tools.yaml": ("tools: {a: b}\n", "tools must be a list of tool names"),
    "typo.yaml": (
        "tools: [loud]\ndescribtion: x\n",
        "a skill's file has no 'describtion'; did you mean 'description'?",
    ),
    "loosens.yaml": ("tools: [loud]\neffects: read_only\n", "a skill's file has no 'effects'"),
    "odd_function.yaml": ("tools: [loud]\nfunction: 7\n", "must be a place: module:function"),
    "odd_risk.yaml": ("tools: [loud]\nrisk: grave\n", "is no risk"),
    "odd_input.yaml": ("tools: [loud]\ninput: [a]\n", "must be parameters by name"),
    "Odd Name.yaml": ("tools: [loud]\n", "is no tool name"),
    "object.yaml": ("!!python/object/apply:os.system ['touch owned']\n", "is not YAML as it is read here"),
    "no_head.md": ("# Only words\n", "does not begin with YAML between two lines of ---"),
    "twice.yaml": ("name: shout\ntools: [loud]\n", "its skill shout is in shout.yaml already"),
}


def test_every_file_that_is_wrong_says_so_and_harms_no_other(folder: Path, tmp_path: Path):
    for name, (text, _) in FAULTY.items():
        (folder / name).write_text(text)
    (folder / "binary.yaml").write_bytes(b"\xff\xfe")
    outside = tmp_path / "outside.yaml"
    outside.write_text("tools: [loud]")
    (folder / "link.yaml").symlink_to(outside)
    listing = SkillFolder(folder).list()
    assert [each.skill.name for each in listing.skills] == ["shout", "whisper"]
    told = {fault.name: fault.reason for fault in listing.faults}
    assert told.keys() == {*FAULTY, "binary.yaml", "link.yaml"}
    for name, (_, reason) in FAULTY.items():
        assert reason in told[name], name
    assert "not UTF-8" in told["binary.yaml"]
    assert told["link.yaml"] == "leads out of the folder"
    assert not Path("owned").exists()


def test_functions_that_cannot_be_had_are_told_and_leave_their_skills_unbound(folder: Path):
    (folder / "absent.yaml").write_text("tools: [loud]\nfunction: no_such_module:run\n")
    (folder / "number.yaml").write_text("tools: [loud]\nfunction: folder_skills:number\n")
    skills, faults = SkillFolder(folder, functions={"nobody": whisper}).load()
    bound: dict[str, Any] = {skill.name: skill.function for skill in skills}
    assert (bound["absent"], bound["number"], bound["whisper"]) == (None, None, None)
    assert bound["shout"] is not None
    told = {fault.name: fault.reason for fault in faults}
    assert "cannot be imported" in told["absent.yaml"]
    assert "is no function" in told["number.yaml"]
    assert told["nobody"] == "a function is given for it, and no file has such a skill"


async def test_what_cannot_be_a_tool_is_told_by_the_name_of_its_skill(folder: Path):
    async with memory_gate(loud, config=FREE) as gate:
        faults = gate.add_skills(SkillFolder(folder, functions={"whisper": lambda: None}))
        assert [(fault.name, "takes the SkillContext not" in fault.reason) for fault in faults] == [("whisper", True)]
        assert (await gate.call("shout", {"text": "hey"}, Context())).unwrap() == "HEY"
