"""Ways out of the tools on files: none leads anywhere. The witness is a directory outside, and what is Callgate's own.

TOOL-12: paths are judged by what is held. T11 and T12 of the traps: a prefix is no directory, and a link is followed
before it is judged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Refused, ToolContext, tool
from callgate.model.grounds import Grounds
from callgate.model.levels import Autonomy
from callgate.model.outcome import Outcome
from callgate.tools.confined import Confined, create, read_all
from callgate.tools.files.listing import list_dir, list_directory
from callgate.tools.files.read import read_file
from callgate.tools.files.search import search_files
from callgate.tools.files.write import write_file
from tests.tools.files.calling import call, once, opened
from tests.tools.swapping import swapping

SECRET = "what-nobody-may-see"
WRITTEN = "written-by-a-tool"


@dataclass(frozen=True)
class World:
    """A directory to work in, one outside of it, and what must not change."""

    root: Path
    outside: Path

    def witness(self) -> dict[str, tuple[int, bytes]]:
        """Everything outside, Callgate's own files, and git's: name by name, byte by byte."""
        places = [self.outside, self.root.parent / "root-evil", self.root / ".callgate" / "plugins"]
        places += [self.root / ".git", self.root / "sub" / ".git"]
        files = [file for place in places for file in sorted(place.rglob("*"))] + [self.root / "callgate.yaml"]
        return {str(file): (file.lstat().st_ino, file.read_bytes() if file.is_file() else b"") for file in files}

    def gate(self) -> Callgate:
        """On a store of its own inside the directory, so that Callgate's own files lie within reach of a path."""
        store = f"sqlite:///{self.root}/.callgate/callgate.db"
        return Callgate.open(store, self.root / "callgate.yaml", working_directory=self.root, builtin_tools=["files"])


LINKS = {
    "to-file": "../outside/secret.txt",
    "to-dir": "../outside",
    "sub/up": "../../outside",
    "first": "second",
    "second": "to-dir",
    "dangling": "../outside/new.txt",
    "loop": "loop",
    "to-own": ".callgate",
    "to-config": "callgate.yaml",
    "to-git": ".git",
    "to-top": "/",
    "to-zero": "/dev/zero",
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub", outside / "deep", tmp_path / "root-evil", root / ".callgate" / "plugins"):
        folder.mkdir(parents=True)
    for file in (outside / "secret.txt", outside / "deep" / "secret.txt", tmp_path / "root-evil" / "secret.txt"):
        file.write_text(SECRET)
    (root / ".callgate" / "plugins" / "secret.txt").write_text(SECRET)
    (root / "callgate.yaml").write_text(f"version: 1\n# {SECRET}\n")
    for git in (root / ".git", root / "sub" / ".git"):
        (git / "hooks").mkdir(parents=True)
        (git / "config").write_text("[core]\n")
    (root / "a.txt").write_text("inside\n")
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    (root / "second-name").hardlink_to(root / "callgate.yaml")
    (root / "sub" / "second-plugin").hardlink_to(root / ".callgate" / "plugins" / "secret.txt")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(root)  # the name of a socket is short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
    return World(root, outside)


WAYS: dict[str, Callable[[World], str]] = {
    "climbing": lambda _: "../outside/secret.txt",
    "climbing-from-here": lambda _: "./../outside/secret.txt",
    "climbing-from-below": lambda _: "sub/../../outside/secret.txt",
    "climbing-from-nowhere": lambda _: "nothing/../../outside/secret.txt",
    "climbing-over-a-file": lambda _: "a.txt/../../outside/secret.txt",
    "doubled-slashes": lambda _: "..//outside///secret.txt",
    "absolute": lambda world: str(world.outside / "secret.txt"),
    "absolute-with-two-slashes": lambda world: f"/{world.outside}/secret.txt",
    "absolute-and-climbing": lambda world: f"{world.root}/../outside/secret.txt",
    "a-sibling-with-the-same-beginning": lambda _: "../root-evil/secret.txt",
    "the-same-absolute": lambda world: f"{world.root}-evil/secret.txt",
    "a-link-to-a-file": lambda _: "to-file",
    "a-link-to-a-directory": lambda _: "to-dir/secret.txt",
    "deep-behind-a-link": lambda _: "to-dir/deep/secret.txt",
    "climbing-behind-a-link": lambda _: "to-dir/../outside/secret.txt",
    "a-relative-link": lambda _: "sub/up/secret.txt",
    "a-chain-of-links": lambda _: "first/secret.txt",
    "a-link-to-what-is-not-there": lambda _: "dangling",
    "a-new-file-behind-a-link": lambda _: "to-dir/new.txt",
    "a-link-to-itself": lambda _: "loop",
    "a-link-to-the-top": lambda world: f"to-top{world.outside}/secret.txt",
    "through-the-process": lambda world: f"/proc/self/root{world.outside}/secret.txt",
    "through-its-directory": lambda _: "/proc/self/cwd/../outside/secret.txt",
    "its-environment": lambda _: "/proc/self/environ",
    "an-open-file": lambda _: "/dev/fd/0",
    "a-device": lambda _: "to-zero",
    "a-pipe": lambda _: "pipe",
    "a-socket": lambda _: "socket",
    "own-configuration": lambda _: "callgate.yaml",
    "own-configuration-in-capitals": lambda _: "CALLGATE.YAML",
    "own-configuration-by-a-link": lambda _: "to-config",
    "own-configuration-by-a-second-name": lambda _: "second-name",
    "own-configuration-around": lambda _: "sub/../callgate.yaml",
    "own-configuration-with-a-blank": lambda _: "callgate.yaml ",
    "own-declarations-not-there-yet": lambda _: "callgate.tools.yaml",
    "own-folder": lambda _: ".callgate/plugins/secret.txt",
    "own-folder-by-a-link": lambda _: "to-own/plugins/secret.txt",
    "own-folder-with-a-dot": lambda _: ".callgate./plugins/secret.txt",
    "own-folder-with-an-invisible-letter": lambda _: ".call\u200bgate/plugins/secret.txt",
    "own-plugin-by-a-second-name": lambda _: "sub/second-plugin",
    "own-store": lambda _: ".callgate/callgate.db",
    "own-store-log": lambda _: ".callgate/callgate.db-wal",
    "a-home": lambda _: "~/.config/callgate/key",
    "an-address": lambda world: f"file://{world.outside}/secret.txt",
    "nothing": lambda _: "",
    "a-nul": lambda _: "a.txt\0/../../outside/secret.txt",
    "too-long": lambda _: "a/" * 3000,
}
GIT = [".git/config", ".GIT/config", ".git/hooks/pre-commit", "sub/.git/config", "to-git/config", "sub/../.git/new"]


async def all_asked(gate: Callgate, path: str, content: str = WRITTEN) -> list[Outcome]:
    """What every tool says of a path: four that look, a search, and two that write."""
    return [
        await call(gate, "read_file", path=path),
        await call(gate, "read_file", file_path=path),
        await call(gate, "list_directory", path=path),
        await call(gate, "list_dir", path=path.rpartition("/")[0] or path),
        await call(gate, "search_files", pattern=".", path=path),
        await call(gate, "write_file", path=path, content=content),
        await call(gate, "write_file", path=path, content=content, mode="a"),
    ]


def tells_the_secret(answers: list[Outcome]) -> bool:
    return any(SECRET in (repr(answer.unwrap()) if answer.ok else str(answer)) for answer in answers)


@pytest.mark.parametrize("way", WAYS)
async def test_no_path_leads_out(world: World, way: str) -> None:
    """TOOL-12: nothing is read, listed, searched or written there, and nothing waits for a pipe."""
    before = world.witness()
    async with asyncio.timeout(60), world.gate() as gate:
        answers = await all_asked(gate, WAYS[way](world))
    assert not tells_the_secret(answers)
    assert not any(answers[at].ok for at in (0, 1, 5, 6))
    assert world.witness() == before


def below_the_gate(grounds: Grounds) -> ToolContext:
    return ToolContext(tool="t", call_id="c", context=Context(), grounds=lambda: grounds)


@pytest.mark.parametrize("way", WAYS)
def test_no_path_leads_out_where_only_the_tools_own_walk_judges_it(world: World, way: str) -> None:
    """Below the gate: its policy looks at paths before a tool runs, and would hide what the tool lets through."""
    path, before = WAYS[way](world), world.witness()
    reading, writing = (below_the_gate(grounds_of(world, writing=each)) for each in (False, True))
    told: list[object] = []
    for look in (list_directory, list_dir):
        with contextlib.suppress(OSError, ValueError):
            told.append(look(path, ctx=reading))
        with contextlib.suppress(OSError, ValueError):
            told.append(look(path.rpartition("/")[0] or path, ctx=reading))
    with contextlib.suppress(OSError, ValueError):
        told.append(search_files(".", path=path, ctx=reading))
    for refused in (
        lambda: read_file(reading, path=path),
        lambda: read_file(reading, file_path=path),
        lambda: write_file(path, WRITTEN, ctx=writing),
        lambda: write_file(path, WRITTEN, mode="a", ctx=writing),
    ):
        with pytest.raises((OSError, ValueError)) as error:
            refused()
        told.append(str(error.value))
    assert SECRET not in repr(told)
    assert world.witness() == before


@pytest.mark.parametrize("path", GIT)
async def test_git_is_not_written_to(world: World, path: str) -> None:
    before = world.witness()
    async with world.gate() as gate:
        for mode in ("w", "a"):
            assert not (await call(gate, "write_file", path=path, content=WRITTEN, mode=mode)).ok
    assert world.witness() == before


@pytest.mark.parametrize("autonomy", [Autonomy.A0, Autonomy.A2, Autonomy.A4], ids=["A0", "A2", "A4"])
async def test_a_link_to_a_name_that_is_no_text_is_refused_and_raises_nothing(
    tmp_path: Path, autonomy: Autonomy
) -> None:
    folder = tmp_path / os.fsdecode(b"d\xfe")
    folder.mkdir()
    (folder / "a.txt").write_text(SECRET)
    (tmp_path / "link").symlink_to(folder)
    async with opened(tmp_path) as gate:
        for name, arguments in (
            ("write_file", {"path": "link/a.txt", "content": WRITTEN}),
            ("read_file", {"path": "link/a.txt"}),
            ("list_directory", {"path": "link"}),
            ("search_files", {"pattern": ".", "path": "link"}),
        ):
            outcome = await gate.call(name, arguments, Context(autonomy=autonomy))
            assert isinstance(outcome, Refused)
            assert json.dumps(outcome.to_machine(), ensure_ascii=False).encode()
    assert (folder / "a.txt").read_text() == SECRET


@pytest.mark.parametrize("kind", ["link", "file", "bare"])
async def test_git_is_not_written_to_under_another_name(tmp_path: Path, kind: str) -> None:
    meta = tmp_path / "meta"
    for folder in ("hooks", "objects", "refs"):
        (meta / folder).mkdir(parents=True)
    if kind == "link":
        (tmp_path / ".git").symlink_to("meta")
    elif kind == "file":
        (tmp_path / ".git").write_text("gitdir: meta\n")
    else:
        (meta / "HEAD").write_text("ref: refs/heads/main\n")
    for mode in ("w", "a"):
        assert not (await once(tmp_path, "write_file", path="meta/hooks/pre-commit", content=WRITTEN, mode=mode)).ok
    assert not (meta / "hooks" / "pre-commit").exists()
    assert (await once(tmp_path, "write_file", path="beside.txt", content=WRITTEN)).ok


async def test_listing_and_searching_everything_shows_nothing_of_it(world: World) -> None:
    async with asyncio.timeout(60), world.gate() as gate:
        listed = (await call(gate, "list_directory", path=".", recursive=True)).unwrap()
        searched = (await call(gate, "search_files", pattern=".", glob="{.**,**}")).unwrap()
    names = {entry["path"] for entry in listed}
    assert "a.txt" in names
    assert not any(name.startswith((".callgate", "to-dir/", "sub/up/", "callgate.yaml")) for name in names)
    assert not {"second-name", "sub/second-plugin"} & names
    # To look into a .git is not to write there.
    assert {match["path"] for match in searched["matches"]} == {"a.txt", ".git/config", "sub/.git/config"}


@pytest.mark.parametrize("glob", [None, "**", "*.txt", "**/plugins/**"])
async def test_of_what_is_closed_not_even_is_told_that_there_is_much(world: World, glob: str | None) -> None:
    """More hits than ripgrep is heard out for: what is found there must not be counted."""
    for number in range(25):
        (world.root / ".callgate" / "plugins" / f"{number}.txt").write_text("needle\n" * 1000)
    async with asyncio.timeout(60), world.gate() as gate:
        searched = (await call(gate, "search_files", pattern="needle", limit=1000, glob=glob)).unwrap()
    assert (searched["count"], searched["truncated"]) == (0, False)


async def test_where_everything_is_granted_callgates_own_and_processes_stay_closed(world: World) -> None:
    """No role and no grant lifts it, and what a process knows is in no file."""
    (world.root / "callgate.yaml").write_text('version: 1\nscopes: {fs: {paths: ["/"]}}\n')
    async with world.gate() as gate:
        assert (await call(gate, "read_file", path="../outside/secret.txt")).ok
        for path in ("callgate.yaml", "to-own/plugins/secret.txt", "second-name", "/proc/self/environ", "/proc/1/maps"):
            assert not (await call(gate, "read_file", path=path)).ok
        for path in ("/proc/self/environ", f"/proc/{os.getpid()}/environ", "to-zero", "pipe"):
            assert "is" in str(await call(gate, "read_file", path=path))
            assert not (await call(gate, "write_file", path=path, content=WRITTEN)).ok


@pytest.fixture
def moving(world: World) -> World:
    """With a directory for links to take the place of, which has what lies outside, too."""
    folder = world.root / "moving"
    (folder / "deep").mkdir(parents=True)
    for file in (folder / "secret.txt", folder / "deep" / "secret.txt"):
        file.write_text("inside\n")
    (world.outside / SECRET).touch()
    (world.outside / "deep" / SECRET).touch()
    return world


def grounds_of(world: World, *, writing: bool) -> Grounds:
    """Where a tool may go, for what opens files below the gate: only its own walk protects it there."""
    given: list[Grounds] = []

    def note(ctx: ToolContext) -> int:
        """Keep them."""
        given.append(ctx.grounds())
        return 1

    declared = tool(effects="modifies_files" if writing else "read_only", scopes=["fs:read"], risk="low")(note)

    async def ask() -> None:
        async with world.gate() as gate:
            gate.add(declared)
            assert (await call(gate, "note")).ok

    asyncio.run(ask())
    return given[0]


def attempts(number: int) -> Iterator[str]:
    for at in range(number):
        yield ("moving/secret.txt", "moving/deep/secret.txt", "moving/deep/../secret.txt")[at % 3]


@pytest.mark.slow
def test_a_directory_that_becomes_a_link_meanwhile_is_not_read_through(moving: World) -> None:
    before, confined = moving.witness(), Confined(grounds_of(moving, writing=False))
    contents: list[bytes] = []
    with swapping(moving.root / "moving", moving.outside) as rounds:
        for path in attempts(9000):
            with contextlib.suppress(OSError), confined.file(path) as held:
                contents.append(read_all(held.fd, 100))
    assert set(contents) == {b"inside\n"}
    assert len(contents) < 9000
    assert rounds[0] > 100
    assert moving.witness() == before


@pytest.mark.slow
def test_a_directory_that_becomes_a_link_meanwhile_is_not_written_through(moving: World) -> None:
    before, confined = moving.witness(), Confined(grounds_of(moving, writing=True))
    written = 0
    with swapping(moving.root / "moving", moving.outside) as rounds:
        for at, path in enumerate(attempts(9000)):
            with contextlib.suppress(OSError), confined.spot(path) as spot:
                name = f"{at}.new"
                os.close(create(spot.folder, name))
                os.replace(name, spot.name, src_dir_fd=spot.folder.fd, dst_dir_fd=spot.folder.fd)
                written += 1
    assert written
    assert rounds[0] > 100
    assert moving.witness() == before


BEFORE = ["", "./", "sub/../", "{root}/", "../{name}/", "here/", "{root}/here/sub/../"]
BEHIND = ["secret.txt", "deep/secret.txt", "deep/../secret.txt", "/deep//secret.txt", "../moving/./secret.txt"]


async def test_no_path_leads_out_while_a_directory_becomes_a_link_and_back(moving: World) -> None:
    """All the ways, and as many that lead through that directory, which are open whenever it is one."""
    (moving.root / "here").symlink_to(".")
    through = [
        f"{start}moving/{end}".format(root=moving.root, name=moving.root.name) for start in BEFORE for end in BEHIND
    ]
    before = moving.witness()
    async with asyncio.timeout(120), moving.gate() as gate:
        with swapping(moving.root / "moving", moving.outside) as rounds:
            closed = [await all_asked(gate, way(moving)) for way in WAYS.values()]
            passed = [await all_asked(gate, path, "inside\n") for path in through]
    assert len(closed) > 40
    assert len(passed) > 30
    assert not any(tells_the_secret(answers) for answers in (*closed, *passed))
    assert not any(answers[at].ok for answers in closed for at in (0, 1, 5, 6))
    assert {answer.ok for answers in passed for answer in answers} == {True, False}
    assert rounds[0] > 100
    assert moving.witness() == before


PLACES = ["moving/secret.txt", "moving/deep/secret.txt", "moving", "moving/deep"]
LOOKS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {}),
    ("list_directory", {"recursive": True}),
    ("search_files", {"pattern": SECRET[:4]}),
    ("write_file", {"content": "inside\n"}),
]


@pytest.mark.parametrize("step", ["locate", "spot_in"])
@pytest.mark.parametrize("part", ["moving", "moving/deep", "moving/secret.txt", "moving/deep/secret.txt"])
async def test_what_becomes_a_link_right_after_a_look_is_not_followed(
    moving: World, part: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the one moment that a thread rarely meets: where a path leads is known, or what is there, and not yet held."""
    there, aside, look = moving.root / part, moving.root / "aside", getattr(Confined, step)
    seen: list[str] = []

    def look_and_swap(*arguments: Any) -> Any:
        found = look(*arguments)
        if not aside.exists():
            seen.append(step)
            there.rename(aside)
            there.symlink_to(moving.outside / part.partition("/")[2])
        return found

    before = moving.witness()
    answers: list[Outcome] = []
    monkeypatch.setattr(Confined, step, look_and_swap)
    async with asyncio.timeout(60), moving.gate() as gate:
        for path, (name, arguments) in product(PLACES, LOOKS):
            answers.append(await call(gate, name, path=path, **arguments))
            if aside.exists():
                there.unlink()
                aside.rename(there)
    assert len(seen) >= 4
    assert not tells_the_secret(answers)
    assert moving.witness() == before


@pytest.mark.slow
@pytest.mark.parametrize("target", ["outside", "root/.callgate/plugins", "root/.git"])
async def test_no_call_meets_what_a_link_leads_to_meanwhile(moving: World, target: str) -> None:
    before = moving.witness()
    answers: list[Outcome] = []
    async with moving.gate() as gate:
        with swapping(moving.root / "moving", moving.root.parent / target) as rounds:
            for path in attempts(75):
                answers += [
                    await call(gate, "read_file", path=path),
                    await call(gate, "list_directory", path=path.rpartition("/")[0], recursive=True),
                    await call(gate, "write_file", path=path, content="inside\n"),
                ]
            searches = [await call(gate, "search_files", pattern=SECRET, path="moving") for _ in range(12)]
            answers += [await call(gate, "search_files", pattern=".", path="moving") for _ in range(12)]
    assert not any(SECRET in repr(answer.unwrap() if answer.ok else str(answer)) for answer in answers)
    assert all(answer.unwrap()["matches"] == [] for answer in searches if answer.ok)
    assert {answer.ok for answer in answers} == {True, False}
    assert rounds[0] > 100
    assert moving.witness() == before
