"""A context that works in a narrower directory may do no more there than before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy

SETTINGS = "autonomy: A4\nscopes: {shell: {requires_approval: false}, fs: {paths: [PATHS]}}\n"


class Place:
    def __init__(self, folder: Path) -> None:
        self.ground = folder / "ground"
        self.ground.mkdir()
        self._settings = folder / "settings" / "callgate.yaml"
        self._settings.parent.mkdir()
        self.wide = Context(autonomy=Autonomy.A4, working_directory=str(self.ground))

    def open(self, paths: str = ".", *tools: str) -> Callgate:
        self._settings.write_text(SETTINGS.replace("PATHS", paths))
        enabled = ["files", *tools]
        return Callgate.open("memory://", self._settings, working_directory=self.ground.parent, builtin_tools=enabled)

    def narrow(self, name: str) -> Context:
        return self.wide.narrow(working_directory=str(self.ground / name))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def make_hooks(ground: Path) -> Path:
    subprocess.run(["git", "init", "-q", ground], check=True)
    hooks = ground / ".git" / "hooks"
    (hooks / "a.py").write_text("import os\n")
    return hooks


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize("tool", ["write_file", "run_shell", "lint_code"])
async def test_who_works_in_a_git_may_not_write_it(place: Place, tool: str) -> None:
    hooks = make_hooks(place.ground)
    before = sorted(path.name for path in hooks.iterdir())
    arguments = {
        "write_file": {"path": str(hooks / "pre-commit"), "content": "evil"},
        "run_shell": {"command": f"echo evil > {hooks}/pre-commit"},
        "lint_code": {"path": str(hooks / "a.py"), "fix": True},
    }[tool]
    async with place.open(".", "code") as gate:
        told = await gate.call(tool, arguments, place.narrow(".git/hooks"))
    assert sorted(path.name for path in hooks.iterdir()) == before, told
    assert (hooks / "a.py").read_text() == "import os\n"


async def test_what_is_granted_by_a_relative_path_stays_where_it_was(place: Place) -> None:
    for name in ("src", "private/src"):
        (place.ground / name).mkdir(parents=True)
        (place.ground / name / "text").write_text("canary")
    secret = place.ground / "private" / "src" / "text"
    async with place.open("src") as gate:
        assert (await gate.call("read_file", {"path": "src/text"}, place.wide)).ok
        for context in (place.wide, place.narrow("private")):
            told = await gate.call("read_file", {"path": str(secret)}, context)
            assert not told.ok
            assert "canary" not in str(told)
            assert not (await gate.call("write_file", {"path": str(secret), "content": "x"}, context)).ok
    assert secret.read_text() == "canary"


async def test_the_narrower_directory_bounds_as_well(place: Place) -> None:
    for name in ("a", "b"):
        (place.ground / name).mkdir()
        (place.ground / name / "text").write_text(name)
    async with place.open() as gate:
        assert (await gate.call("read_file", {"path": "b/text"}, place.wide)).ok
        assert (await gate.call("read_file", {"path": "text"}, place.narrow("a"))).ok
        told = await gate.call("read_file", {"path": "../b/text"}, place.narrow("a"))
    assert "fs allows" in str(told)


async def test_a_granted_git_is_open_only_where_it_is_in_both(place: Place) -> None:
    for name in (".git", "sub/.git"):
        (place.ground / name).mkdir(parents=True)
    async with place.open("., .git") as gate:
        assert (await gate.call("write_file", {"path": ".git/mine", "content": "x"}, place.wide)).ok
        for context, path in ((place.wide, "sub/.git/x"), (place.narrow("sub"), ".git/x")):
            told = await gate.call("write_file", {"path": path, "content": "x"}, context)
            assert "read-only to tools" in str(told)
    assert not (place.ground / "sub" / ".git" / "x").exists()
