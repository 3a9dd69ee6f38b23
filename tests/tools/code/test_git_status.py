"""git_status: what git says, and that a repository can make it run nothing. TOOL-10."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.code import git
from tests.tools.examples import run_examples

pytestmark = pytest.mark.usefixtures("bubblewrap")


def do(place: Path, *words: str) -> str:
    """Run git there; what it said."""
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "init.defaultBranch=trunk")
    done = subprocess.run(["git", *who, "-C", str(place), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    do(place, "init", "-q")
    for name in ("kept", "changed", "gone", "gone-staged", "both", "before"):
        (place / name).write_text(f"{name}\n" * 20)
    do(place, "add", ".")
    do(place, "commit", "-q", "-m", "one")
    return place


async def ask(place: Path, **arguments: Any) -> Any:
    async with Callgate.open("memory://", working_directory=place, builtin_tools=["git_status"]) as gate:
        return await gate.call("git_status", arguments)


async def test_a_clean_repository_has_only_its_branch(repository: Path) -> None:
    said = (await ask(repository)).unwrap()
    assert said.pop("branch") == "trunk"
    assert not any(said.values())


async def test_every_kind_of_change_is_told(repository: Path) -> None:
    """TOOL-10: changed, staged, untracked, deleted, renamed, and changed both in the index and in the file."""
    (repository / "changed").write_text("x\n")
    (repository / "gone").unlink()
    do(repository, "rm", "-q", "gone-staged")
    (repository / "both").write_text("staged\n")
    do(repository, "add", "both")
    (repository / "both").write_text("and changed\n")
    do(repository, "mv", "before", "after with a space\nand more")
    (repository / "new").touch()
    (repository / "folder").mkdir()
    (repository / "folder" / "ümläut").touch()
    said = (await ask(repository)).unwrap()
    assert said == {
        "branch": "trunk",
        "modified": ["both", "changed", "gone"],
        "staged": ["after with a space\nand more", "both", "gone-staged"],
        "untracked": ["folder/", "new"],
        "deleted": ["gone", "gone-staged"],
        "renamed": [{"from": "before", "to": "after with a space\nand more"}],
        "conflicted": [],
        "truncated": False,
        "note": None,
    }


async def test_what_two_sides_changed_is_in_conflict(repository: Path) -> None:
    do(repository, "checkout", "-q", "-b", "other")
    (repository / "kept").write_text("theirs\n")
    do(repository, "commit", "-q", "-am", "two")
    do(repository, "checkout", "-q", "trunk")
    (repository / "kept").write_text("ours\n")
    do(repository, "commit", "-q", "-am", "three")
    with pytest.raises(subprocess.CalledProcessError):
        do(repository, "merge", "other")
    assert (await ask(repository)).unwrap()["conflicted"] == ["kept"]


async def test_a_directory_of_it_a_new_one_and_none(repository: Path, tmp_path: Path) -> None:
    (repository / "inner").mkdir()
    assert (await ask(repository, repo_path="inner")).unwrap()["branch"] == "trunk"
    do(repository, "checkout", "-q", "--detach")
    assert (await ask(repository)).unwrap()["branch"] == "(detached)"
    (tmp_path / "none").mkdir()
    outcome = await ask(tmp_path / "none")
    assert outcome.error.category is Category.USER_INPUT
    assert "no git repository" in str(outcome)
    assert "leads to" in str(await ask(repository, repo_path="/etc"))


async def test_a_repository_can_make_git_run_nothing_and_write_nothing(repository: Path) -> None:
    """TOOL-10: its filters, monitors and hooks, each of which git runs where nobody prevents it."""
    mark = repository / "ran"
    script = repository.parent / "work" / "evil.sh"
    script.write_text(f"#!/bin/sh\necho x >> {mark}\ncat\n")
    script.chmod(0o755)
    for name in ("filter.evil.clean", "filter.evil.process", "core.fsmonitor", "core.sshCommand", "core.pager"):
        do(repository, "config", name, str(script))
    (repository / ".gitattributes").write_text("* filter=evil\n")
    (repository / ".git" / "hooks" / "post-index-change").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (repository / ".git" / "hooks" / "post-index-change").chmod(0o755)
    (repository / "changed").write_text("CHANGED\n" * 20)
    index = (repository / ".git" / "index").read_bytes()
    outcome = await ask(repository)
    assert not mark.exists()
    assert (repository / ".git" / "index").read_bytes() == index
    assert "changed" in outcome.unwrap()["modified"]
    with contextlib.suppress(subprocess.CalledProcessError):
        do(repository, "status")
    assert mark.exists(), "git alone would have run it"


async def test_more_than_can_be_told_is_cut(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_MOST_NAMES", 5)
    for number in range(20):
        (repository / f"new{number}").touch()
    said = (await ask(repository)).unwrap()
    assert said["truncated"]
    assert len(said["untracked"]) < 5


async def test_a_rename_of_which_only_one_name_was_read_is_none(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both names are in what git says, one behind the other, and between them it may be cut."""
    do(repository, "mv", "before", "after")
    said = do(repository, "status", "--porcelain=v2", "--branch", "-z")
    for more, renamed in ((3, []), (len("before") + 1, [{"from": "before", "to": "after"}])):
        monkeypatch.setattr(git, "_MOST_BYTES", said.index("after\0before") + len("after\0") + more)
        told = (await ask(repository)).unwrap()
        assert told["renamed"] == renamed
        assert told["staged"] == [each["to"] for each in renamed]
        assert told["truncated"] is not bool(renamed)


@pytest.mark.parametrize("setting", ["status.renames", "diff.renames"])
async def test_a_copy_is_no_rename(repository: Path, setting: str) -> None:
    do(repository, "config", setting, "copies")
    (repository / "copy").write_text((repository / "kept").read_text())
    (repository / "kept").write_text("kept\n" * 21)
    do(repository, "add", ".")
    told = (await ask(repository)).unwrap()
    assert (told["renamed"], told["staged"]) == ([], ["copy", "kept"])


async def test_that_a_filter_was_not_run_is_noted(repository: Path) -> None:
    (repository / ".gitattributes").write_text("kept filter=upper\n")
    do(repository, "config", "filter.upper.clean", "tr a-z A-Z")
    do(repository, "add", "--renormalize", ".")
    do(repository, "add", ".gitattributes")
    do(repository, "commit", "-q", "-m", "two")
    os.utime(repository / "kept", (1, 1))
    assert not do(repository, "--no-optional-locks", "status", "--short")
    told = (await ask(repository)).unwrap()
    assert told["modified"] == ["kept"]
    assert "a filter that the repository names is not run here" in told["note"]


async def test_a_broken_repository_is_told_as_trouble(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"nonsense")
    outcome = await ask(repository)
    assert not outcome.ok
    assert "git could not answer" in str(outcome)


async def test_the_examples_run(repository: Path) -> None:
    async with Callgate.open("memory://", working_directory=repository, builtin_tools=["git_status"]) as gate:
        await run_examples(gate, "git_status")


async def test_a_commit_of_a_submodule_is_a_change(repository: Path, tmp_path: Path) -> None:
    do(tmp_path, "init", "-q", "other")
    do(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "one")
    do(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"{tmp_path}/other", "sub")
    do(repository, "commit", "-q", "-m", "two")
    do(repository / "sub", "commit", "-q", "--allow-empty", "-m", "two")
    assert (await ask(repository)).unwrap()["modified"] == ["sub"]
    do(repository, "add", "sub")
    assert (await ask(repository)).unwrap()["staged"] == ["sub"]


async def test_names_that_are_no_text_stay_two(repository: Path) -> None:
    for name in (b"a\xfe", b"a\xff"):
        (repository / os.fsdecode(name)).touch()
    assert (await ask(repository)).unwrap()["untracked"] == [r"a\xfe", r"a\xff"]


async def test_what_is_no_directory_is_told_by_its_own_name(repository: Path) -> None:
    outcome = await ask(repository, repo_path="kept")
    assert "repo_path " in outcome.error.message
    assert "is no directory" in outcome.error.message


async def test_what_is_hidden_from_git_is_not_told_as_changed(repository: Path) -> None:
    """git sees nothing of Callgate's own files, and would take them for changed or deleted."""
    (repository / "callgate.yaml").write_text("version: 1\nplugins: {folders: [plugins]}\n")
    plugin = repository / "plugins" / "mine"
    plugin.mkdir(parents=True)
    (plugin / "tools.py").write_text("x = 1\n")
    do(repository, "add", ".")
    do(repository, "commit", "-q", "-m", "two")
    (repository / "changed").write_text("x\n")
    said = await ask_configured(repository)
    kept, places = said.pop("note").split(": ")
    assert said == nothing_but(branch="trunk", modified=["changed"])
    assert (kept, places) == (
        "kept from tools, and so hidden from git, which cannot tell of changes in them",
        "callgate.yaml, plugins",
    )


async def test_what_is_hidden_and_staged_is_told_as_staged_alone(repository: Path) -> None:
    (repository / "callgate.yaml").write_text("version: 1\n")
    do(repository, "add", "callgate.yaml")
    said = await ask_configured(repository)
    assert "callgate.yaml" in said.pop("note")
    assert said == nothing_but(branch="trunk", staged=["callgate.yaml"])


async def test_nothing_is_noted_where_all_was_looked_at(repository: Path) -> None:
    assert (await ask(repository)).unwrap()["note"] is None


async def ask_configured(place: Path) -> dict[str, Any]:
    config = place / "callgate.yaml"
    async with Callgate.open("memory://", working_directory=place, config=config, builtin_tools=["git_status"]) as gate:
        return (await gate.call("git_status", {})).unwrap()


async def test_a_working_tree_whose_repository_lies_elsewhere_is_told_where(repository: Path) -> None:
    """As `git worktree add` makes them, and submodules have it."""
    do(repository, "worktree", "add", "-q", str(repository.parent / "tree"))
    said = str(await ask(repository.parent / "tree"))
    assert "its .git leads to " in said
    assert "work/.git/worktrees/tree; work in a directory around both" in said
    assert (await ask(repository.parent, repo_path="tree")).unwrap()["branch"] == "tree"


def nothing_but(**told: Any) -> dict[str, Any]:
    lists = ("modified", "staged", "untracked", "deleted", "renamed", "conflicted")
    return {"branch": None, **{name: list[str]() for name in lists}, "truncated": False} | told
