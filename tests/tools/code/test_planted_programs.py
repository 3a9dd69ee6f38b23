"""No tool starts, outside of a sandbox, a program that lies where tools may write. TOOL-09."""

from __future__ import annotations

import os
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.tools.programs import find_program
from tests.tools.code.small_program import grounds_of
from tests.tools.code.test_git_status import do

pytestmark = pytest.mark.usefixtures("bubblewrap")
SCRIPTS = os.path.realpath(sysconfig.get_path("scripts"))
CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "git_status": ("bwrap", "git_status", {}),
    "lint_code": ("bwrap", "lint_code", {"path": "."}),
    "lint_code_fix": ("bwrap", "lint_code", {"path": "src", "fix": True}),
    "run_shell": ("bwrap", "run_shell", {"command": "true"}),
    "lint_code_ruff": ("ruff", "lint_code", {"path": "."}),
    "lint_python": ("ruff", "lint_python", {"code": "import os\n"}),
    "python_eval": ("monty", "python_eval", {"expression": "1 + 1"}),
    "search_files": ("rg", "search_files", {"pattern": "a"}),
}


def plant(folder: Path, program: str, *, witness: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    planted = folder / program
    planted.write_text(f"#!/bin/sh\n/usr/bin/env touch {witness}\n")
    planted.chmod(0o755)
    return planted


@pytest.mark.parametrize("way", ["there", "by-link", "other-family"])
@pytest.mark.parametrize("case", CALLS)
async def test_a_program_where_tools_may_write_is_not_started(
    case: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with the environment of a project that is active, or with `node_modules/.bin` on the search path."""
    program, tool, arguments = CALLS[case]
    ground, other, links = (tmp_path / name for name in ("ground", "other", "links"))
    for folder in (ground / "src", other, links):
        folder.mkdir(parents=True)
    (ground / "src" / "program.py").write_text("print(1)\n")
    do(ground, "init", "-q")
    witness = tmp_path / "witness"
    planted = plant((other if way == "other-family" else ground) / ".venv" / "bin", program, witness=witness)
    (links / program).symlink_to(planted)
    first = links if way == "by-link" else planted.parent
    monkeypatch.setenv("PATH", f"{first}:{SCRIPTS}:{os.environ['PATH']}")
    monkeypatch.setattr("callgate.tools.programs._BESIDE", str(first))
    assert find_program(program) == str(first / program)
    settings = tmp_path / "callgate.yaml"
    families = f"shell: {{requires_approval: false}}, fs: {{paths: ['.']}}, own: {{custom: true, paths: [{other}]}}"
    settings.write_text(f"autonomy: A4\nscopes: {{{families}}}\n")
    async with Callgate.open("memory://", settings, working_directory=ground, builtin_tools=[tool]) as gate:
        (await gate.call(tool, arguments, Context(autonomy=Autonomy.A4))).unwrap()
    assert not witness.exists()


def test_a_program_in_what_callgate_runs_from_is_found_also_among_granted_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment of Callgate often lies in the project, and there it is read-only to tools."""
    planted = plant(tmp_path / ".venv" / "bin", "some-tool", witness=tmp_path / "witness")
    monkeypatch.setenv("PATH", str(planted.parent))
    grounds = grounds_of(tmp_path)
    assert find_program("some-tool", grounds) is None
    kept = replace(grounds, code=(str(planted.parent),))
    assert find_program("some-tool", kept) == str(planted)
    (tmp_path / "way").symlink_to(".venv")  # which a program could replace
    monkeypatch.setenv("PATH", str(tmp_path / "way" / "bin"))
    assert find_program("some-tool", kept) is None


def test_a_program_at_the_end_of_a_circle_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some-tool").symlink_to("some-tool")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("some-tool", grounds_of(tmp_path / "ground")) is None
