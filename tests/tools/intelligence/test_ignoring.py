"""What is indexed: git's rules at every level; no binary, huge, hidden or generated files, none of Callgate's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from callgate import Callgate, Context
from tests.tools.intelligence.asking import answer, opened, write
from tests.tools.swapping import swapping

CODE = "def marker(): pass\n"


async def indexed(folder: Path) -> set[str]:
    """The files in which the index finds the marker."""
    output = await answer(folder, "find_references", symbol="marker", include_definition=True, limit=50)
    return {each["path"] for each in output["references"]}


def tree(folder: Path, *names: str, **rules: str) -> Path:
    write(folder, dict.fromkeys(names, CODE))
    return write(folder, {name.replace("__", "/"): text for name, text in rules.items()})


async def test_rules_of_every_directory_hold_and_those_further_down_count_more(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b.py", "sub/a.py", "sub/b.py", "sub/c.py", "sub/deep/c.py", "build/x.py", "sub/build/x.py")
    write(
        tmp_path,
        {
            ".gitignore": "b.py\nbuild/\n# sub/a.py\n\n",
            "sub/.gitignore": "!b.py\n/c.py\n",
            ".git/info/exclude": "sub/a.py\n",
        },
    )
    assert await indexed(tmp_path) == {"a.py", "sub/b.py", "sub/deep/c.py"}


@pytest.mark.parametrize(
    ("rules", "left_out"),
    [
        ("*.py", {"a.py", "x/a.py", "x/y/a.py", "x/b.py"}),
        ("/a.py", {"a.py"}),
        ("a.py", {"a.py", "x/a.py", "x/y/a.py"}),
        ("x/*.py", {"x/a.py", "x/b.py"}),
        ("x/**/a.py", {"x/a.py", "x/y/a.py"}),
        ("**/y", {"x/y/a.py"}),
        ("x/\n!x/b.py", {"x/a.py", "x/b.py", "x/y/a.py"}),
        ("x/*\n!x/b.py", {"x/a.py", "x/y/a.py"}),
        ("[ab].py\n!/a.py", {"x/a.py", "x/b.py", "x/y/a.py"}),
        ("\\!a.py\n#a.py\n  \n!", set[str]()),
    ],
    ids=["ending", "top", "name", "in-x", "below-x", "folder", "no-way-back", "way-back", "class", "nothing"],
)
async def test_patterns_mean_what_they_mean_to_git(tmp_path: Path, rules: str, left_out: set[str]) -> None:
    names = {"a.py", "x/a.py", "x/b.py", "x/y/a.py"}
    tree(tmp_path, *names)
    write(tmp_path, {".gitignore": rules + "\n"})
    assert await indexed(tmp_path) == names - left_out
    assert _told_by_git(tmp_path) in (None, names - left_out)


def _told_by_git(folder: Path) -> set[str] | None:
    """What git itself says, where it is installed."""
    git = shutil.which("git")
    if git is None:
        return None
    subprocess.run([git, "init", "-q", folder], check=True)
    words = [git, "-C", folder, "ls-files", "-o", "--exclude-standard", "*.py"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


async def test_a_pattern_that_would_take_for_ever_is_not_followed(tmp_path: Path) -> None:
    """As a regular expression it would look at every way to share out the name among its stars."""
    name = "a" * 200 + ".py"
    tree(tmp_path, name, "b.py")
    write(tmp_path, {".gitignore": "*a" * 60 + "*z\nb.py\n"})
    assert await indexed(tmp_path) == {name}


async def test_what_nobody_wrote_or_can_read_is_left_out(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "kept.py",
        ".hidden.py",
        ".config/x.py",
        "node_modules/m/x.js",
        "env/lib/x.py",
        "cache/x.py",
        "app.min.js",
    )
    write(
        tmp_path,
        {
            "env/pyvenv.cfg": "home = /usr\n",
            "cache/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n",
            "binary.py": CODE.encode() + b"\0",
            "huge.py": CODE + "# padding\n" * 120_000,
            "one_line.py": "marker = '" + "x" * 20_000 + "'\n",
            "picture.png": CODE,
            "large.txt": "marker\n" * 50_000,
        },
    )
    assert await indexed(tmp_path) == {"kept.py"}
    found = await answer(tmp_path, "search_code", query="marker", limit=20)
    assert {result["path"] for result in found["results"]} == {"kept.py"}


async def test_callgates_own_files_are_never_in_the_index(tmp_path: Path) -> None:
    """Neither under their own name nor under another: a hard link beside the sources."""
    secret = "def marker_of_ours(): pass\n"
    write(tmp_path, {"a.py": CODE, "callgate.yaml": "# marker_of_ours\nversion: 1\n"})
    async with opened(tmp_path, store=f"sqlite:///{tmp_path}/.callgate/callgate.db") as gate:
        own = write(tmp_path, {".callgate/ours.py": secret}) / ".callgate" / "ours.py"
        os.link(own, tmp_path / "innocent.py")
        found = (await gate.call("find_definition", {"symbol": "marker_of_ours"})).unwrap()
        text = (await gate.call("search_code", {"query": "marker_of_ours", "limit": 20})).unwrap()
        shown = (await gate.call("get_repo_map", {})).unwrap()
    assert not found["found"]
    assert "ours" not in str(text["results"])
    assert "ours" not in shown["map_text"]
    [index] = (tmp_path / ".callgate" / "indexes").glob("*.db")
    assert b"marker_of_ours" not in index.read_bytes()


async def test_links_lead_nowhere(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.py": CODE, "folder/x.py": CODE})
    project = tree(tmp_path / "project", "a.py")
    (project / "file.py").symlink_to(outside / "secret.py")
    (project / "folder").symlink_to(outside / "folder")
    (project / "loop").symlink_to(project)
    (project / "self.py").symlink_to("self.py")
    (project / ".gitignore").symlink_to(outside / "secret.py")
    assert await indexed(project) == {"a.py"}


@pytest.mark.slow
async def test_a_directory_that_becomes_a_link_meanwhile_is_not_followed(tmp_path: Path) -> None:
    """The witness is the index itself: nothing of what lies outside is in it."""
    outside = write(tmp_path / "outside", {f"m{number}.py": "def marker_outside(): pass\n" for number in range(20)})
    project = write(tmp_path / "project", {f"moving/m{number}.py": CODE for number in range(20)})
    async with opened(project, store=f"sqlite:///{project}/.callgate/callgate.db") as gate:
        with swapping(project / "moving", outside) as rounds:
            for number in range(15):
                write(project, {f"more{number}.py": CODE})
                outcome = await gate.call("search_code", {"query": "marker_outside", "limit": 20})
                assert "marker_outside" not in str(outcome.unwrap()["results"])
        assert rounds[0] > 100
    [index] = (project / ".callgate" / "indexes").glob("*.db")
    assert b"marker_outside" not in index.read_bytes()


async def test_who_may_go_less_far_has_another_index(tmp_path: Path) -> None:
    """Two askers on one gate, one further down: what lies beside him he does not find."""
    write(tmp_path, {"open/a.py": CODE, "closed/b.py": "def marker_of_b(): pass\n"})
    write(
        tmp_path,
        {
            "callgate.yaml": (
                "version: 1\n"
                "builtin_tools: {enable: [intelligence]}\n"
                "roles:\n"
                "  all: {scopes: ['fs:read'], allow: ['group:all']}\n"
            )
        },
    )
    async with Callgate.open("memory://", tmp_path / "callgate.yaml", working_directory=tmp_path) as gate:
        here = Context(role="all", working_directory=str(tmp_path))
        below = Context(role="all", working_directory=str(tmp_path / "open"))
        seen = (await gate.call("search_code", {"query": "marker_of_b"}, here)).unwrap()
        unseen = (await gate.call("search_code", {"query": "marker_of_b"}, below)).unwrap()
    assert seen["results"][0]["path"] == "closed/b.py"
    assert [result["path"] for result in unseen["results"]] == ["a.py"]
