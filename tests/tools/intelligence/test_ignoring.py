"""What is indexed: git's rules at every level; no binary, huge, hidden or generated files, none of Callgate's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate import Callgate, Context
from callgate.tools.intelligence.ignoring import Ignoring, Rules, read_rules
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


async def test_a_pattern_with_many_stars_is_followed_and_takes_no_longer(tmp_path: Path) -> None:
    """There are more ways to share out the name among its stars than could ever be looked at."""
    name = "a" * 200 + ".py"
    tree(tmp_path, name, "a" * 61 + "z", "b.py")
    write(tmp_path, {".gitignore": "*a" * 60 + "*z\nb.py\n"})
    assert await indexed(tmp_path) == {name}


async def test_many_patterns_with_stars_are_followed_in_time(tmp_path: Path) -> None:
    """Names far down whose letters almost fit, and patterns that are all different."""
    write(tmp_path, {".gitignore": "".join(f"*a*a*b{number}\n" for number in range(2000)), "main.py": CODE})
    chain(tmp_path, "a" * 250, depth=20)
    assert await indexed(tmp_path) == {"main.py"}


def chain(folder: Path, name: str, *, depth: int) -> None:
    """Directories in each other; their path may be longer than any that can be opened."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        above, at = at, os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(above)
    os.close(at)


def test_the_clock_is_looked_at_between_patterns() -> None:
    class Over(Exception):
        pass

    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        if len(looks) > 3:
            raise Over

    with pytest.raises(Over):
        rules_of(b"".join(b"*a%d\n" % number for number in range(1000)), look=look)
    rules = rules_of(b"".join(b"*a%d\n" % number for number in range(1000)))
    looks.clear()
    with pytest.raises(Over):
        Ignoring(look, rules).ignores("b", folder=False)


@pytest.mark.parametrize(
    "rules",
    [
        b"\xef\xbb\xbfprivate.py\n",
        b"".join(b"other%d\n" % number for number in range(20_000)) + b"private.py\n",
        b"#" * 300_000 + b"\nprivate.py\n",
        b"a\x0cb\nprivate.py \n",
        b"private.py\r\n",
        b"private.py\0.txt\n",
        b"private.py",
    ],
    ids=["byte order mark", "many", "long", "blank behind", "crlf", "nul", "no line end"],
)
async def test_a_file_of_rules_is_read_as_git_reads_it(tmp_path: Path, rules: bytes) -> None:
    tree(tmp_path, "private.py", "open.py")
    write(tmp_path, {".gitignore": rules})
    assert await indexed(tmp_path) == {"open.py"}
    assert _told_by_git(tmp_path) in (None, {"open.py"})


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (b"# long\n" * 200_000 + b"private.py\n", "its .gitignore has more than 1024 KiB"),
        (b"".join(b"*%d\n" % number for number in range(2001)), "its .gitignore has more than 2000 patterns"),
        (b"*a" * 600 + b"\n", "its .gitignore has a pattern of more than 1000 bytes"),
    ],
    ids=["bytes", "wildcards", "pattern"],
)
async def test_what_rules_that_cannot_be_followed_are_about_is_left_out(tmp_path: Path, rules: bytes, why: str) -> None:
    tree(tmp_path, "sub/private.py", "sub/deep/b.py", "open.py")
    write(tmp_path, {"sub/.gitignore": rules})
    assert await indexed(tmp_path) == {"open.py"}
    for name, arguments in (
        ("search_code", {"query": "marker"}),
        ("find_definition", {"symbol": "marker"}),
        ("find_definition", {"symbol": "nowhere"}),
        ("find_references", {"symbol": "marker"}),
        ("get_repo_map", {}),
    ):
        [note] = (await answer(tmp_path, name, **arguments))["left_out"]
        assert note.startswith(f"sub/: {why}")


async def test_an_exclude_that_cannot_be_followed_leaves_out_everything(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "sub/b.py")
    write(tmp_path, {".git/info/exclude": b"# long\n" * 200_000})
    output = await answer(tmp_path, "search_code", query="marker")
    assert output["results"] == []
    assert output["left_out"] == ["./: its exclude has more than 1024 KiB"]


@pytest.mark.parametrize(
    ("pattern", "fits", "others"),
    [
        (b"a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "x/a/b"]),
        (b"**/a/**/b", ["a/b", "x/a/b", "x/y/a/z/b"], ["a", "xa/b"]),
        (b"a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]),
        (b"a**/b", ["ab", "ax/b", "a/x/b"], ["b"]),
        (b"x*a**/b", ["xa/b", "xaa/b"], ["xa/c/b"]),
        (b"[]a-c]", ["]", "b", "x/c"], ["d", "-"]),
        (b"[!a-c]", ["d", "a/]"], ["a", "a/b"]),
        (b"[c-a-]", ["c", "-"], ["a", "b"]),
        (b"[[:digit:]_]x", ["1x", "_x"], ["ax", "dx"]),
        (b"[\\]]?", ["]x"], ["x]", "]"]),
        (b"\\*a", ["*a"], ["xa"]),
        (b"a\\ ", ["a "], ["a"]),
        (b"[a", [], ["a", "[a"]),
        (b"[[:nothing:]]", [], ["a", "n"]),
        (b"a*\\", [], ["a", "a\\", "ab"]),
        ("\u00e9?".encode(), ["\u00e9x"], ["\u00e9", "x"]),
    ],
)
def test_a_pattern_fits_what_it_fits_for_git(
    tmp_path: Path, pattern: bytes, fits: list[str], others: list[str]
) -> None:
    ignoring = Ignoring(lambda: None, rules_of(pattern + b"\n"))
    assert [path for path in (*fits, *others) if ignoring.ignores(path, folder=False)] == fits
    git = shutil.which("git")
    if git is not None:
        subprocess.run([git, "init", "-q", tmp_path], check=True)
        write(tmp_path, {".gitignore": pattern + b"\n"})
        asked = "".join(f"{path}\0" for path in (*fits, *others)).encode()
        words = [git, "-C", tmp_path, "check-ignore", "--no-index", "-z", "--stdin"]
        told = subprocess.run(words, input=asked, capture_output=True, check=False).stdout.decode()
        assert told.split("\0")[:-1] == fits


def rules_of(content: bytes, *, look: Callable[[], None] = lambda: None) -> tuple[Rules, ...]:
    return (read_rules(content, name=".gitignore", below="", look=look),)


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
                outcome = await gate.call("search_code", {"query": "marker_outside", "limit": 20}, timeout=300)
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
