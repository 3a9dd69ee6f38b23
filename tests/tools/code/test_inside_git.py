"""A working directory that lies in a repository is no reason to write it: only naming it in the paths is. TOOL-09."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from tests.tools.code.test_git_status import do

pytestmark = pytest.mark.usefixtures("bubblewrap")
FREE = Context(autonomy=Autonomy.A4)
WHERE = ("bare/hooks", "apart/hooks", "tree/.git/hooks")


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    do(tmp_path, "init", "-q", "--bare", "bare")
    do(tmp_path, "init", "-q", "tree")
    do(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "apart"), "other")
    for where in WHERE:
        (tmp_path / where).mkdir(exist_ok=True)
        (tmp_path / where / "a.py").write_text("import os\n")
    file = tmp_path / "settings" / "callgate.yaml"
    file.parent.mkdir()
    file.write_text("autonomy: A4\nscopes: {shell: {requires_approval: false}}\n")
    return file


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("tool", ["run_shell", "write_file", "lint_code"])
async def test_a_repository_is_not_written_from_inside(settings: Path, where: str, tool: str) -> None:
    ground = settings.parents[1] / where
    arguments = {
        "run_shell": {"command": "ls; echo evil > pre-commit; echo evil >> a.py"},
        "write_file": {"path": "pre-commit", "content": "evil"},
        "lint_code": {"path": "a.py", "fix": True},
    }[tool]
    async with Callgate.open("memory://", settings, working_directory=ground, builtin_tools=["code", "files"]) as gate:
        ran = await gate.call(tool, arguments, FREE)
    assert not (ground / "pre-commit").exists(), ran
    assert (ground / "a.py").read_text() == "import os\n"
    if tool == "run_shell":
        assert "a.py" in ran.unwrap()["stdout"]
        assert "could only be read: it lies in a git repository" in ran.unwrap()["note"]


@pytest.fixture
def named(settings: Path) -> Path:
    git = settings.parents[1] / "tree" / ".git"
    granted = f"{{shell: {{requires_approval: false}}, fs: {{paths: [{git}]}}}}"
    settings.write_text(f"autonomy: A4\nscopes: {granted}\n")
    return git


async def test_a_git_that_is_named_is_written_from_inside(settings: Path, named: Path) -> None:
    ground = named / "hooks"
    async with Callgate.open("memory://", settings, working_directory=ground, builtin_tools=["code", "files"]) as gate:
        (await gate.call("run_shell", {"command": "echo mine > one"}, FREE)).unwrap()
        (await gate.call("write_file", {"path": "two", "content": "mine\n"}, FREE)).unwrap()
    assert [(ground / name).read_text() for name in ("one", "two")] == ["mine\n", "mine\n"]
