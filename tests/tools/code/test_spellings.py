"""What is kept from programs is known in every spelling that some file system takes for its name. TOOL-09."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from callgate.policy.own_files import is_configuration, is_git, part_of_key
from callgate.tools.code import code_links
from tests.tools.code.test_kept_places import Place

pytestmark = pytest.mark.usefixtures("bubblewrap")
GIT = [".GIT", "git~1", ".git.", ".git ", ".gi\u200bt", ".git:x"]
POLICIES = ["Callgate.YAML", "callgate.yaml.", "callgate.y\u200baml", "callgate.tools.yaml:x"]
STORES = [".CALLGATE", ".callgate.", ".call\u200bgate"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    ground = tmp_path / "ground"
    ground.mkdir()
    return Place(ground, f"canary_{secrets.token_hex(8)}")


@pytest.mark.parametrize("name", GIT)
async def test_a_git_by_another_spelling_is_only_read_and_a_new_one_set_aside(place: Place, name: str) -> None:
    (place.ground / "a" / name).mkdir(parents=True)
    (place.ground / "a" / name / "config").write_text("before")
    await place.run(f"echo changed > 'a/{name}/config'; mkdir -p 'b/{name}'; echo mine > 'b/{name}/config'")
    assert (place.ground / "a" / name / "config").read_text() == "before"
    assert not [path for path in (place.ground / "b").iterdir() if is_git(part_of_key(path.name))]
    assert (await place.run("echo later"))["note"] is None


@pytest.mark.parametrize("name", POLICIES)
async def test_so_is_what_governs_another_callgate(place: Place, name: str) -> None:
    (place.ground / "a").mkdir()
    (place.ground / "a" / name).write_text("autonomy: A1\n")
    await place.run(f"echo changed > 'a/{name}'; mkdir b; echo mine > 'b/{name}'")
    assert (place.ground / "a" / name).read_text() == "autonomy: A1\n"
    assert not [path for path in (place.ground / "b").iterdir() if is_configuration(part_of_key(path.name))]
    assert (await place.run("echo later > b/new"))["note"] is None


@pytest.mark.parametrize("name", STORES)
async def test_the_store_of_another_callgate_is_not_read_by_another_spelling(place: Place, name: str) -> None:
    (place.ground / "a" / name).mkdir(parents=True)
    (place.ground / "a" / name / "callgate.db").write_text(place.canary)
    assert place.canary not in str(await place.run("cat a/*/* a/.*/*"))


@pytest.mark.parametrize("name", [".git", *GIT])
def test_hard_links_in_a_git_are_not_looked_for_by_any_spelling(tmp_path: Path, name: str) -> None:
    """They can only be read anyway."""
    for folder in ("code", f"ground/{name}", "ground/src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "code" / "a.py").touch()
    for folder in (f"ground/{name}", "ground/src"):
        (tmp_path / folder / "b.py").hardlink_to(tmp_path / "code" / "a.py")
    found = code_links.second_names([f"{tmp_path}/code"], [f"{tmp_path}/ground"], opened=(), seen_twice=True)
    assert found == [f"{tmp_path}/ground/src/b.py"]
