"""Ways out of the vault: none leads anywhere. The witness is what lies outside, byte for byte. TOOL-15.

T11 of the traps: a prefix is no folder. Users and projects are apart, whatever they are called.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Refused
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy
from callgate.model.outcome import Outcome
from callgate.settings.values import BuiltinToolsSettings, VaultSettings
from callgate.tools.services import Services
from callgate.tools.vault.names import folder_name
from callgate.tools.vault.offer import make
from tests.tools.swapping import exchanging
from tests.tools.vault.calling import asker, call, done, home, opened, put, texts

SECRET = "what-nobody-may-see"
WRITTEN = "written-by-a-tool"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Notes of the agent's, and around them everything it must not reach."""
    root = tmp_path / "root"
    put(root, {"a.md": "mine [[secret]]", "sub/b.md": "mine"})
    for place in (tmp_path / "outside", root, root / "vault", home(root, "bob"), home(root, project="other")):
        (place / "deep").mkdir(parents=True, exist_ok=True)
        (place / "secret.md").write_text(SECRET)
        (place / "deep" / "secret.md").write_text(SECRET)
    beside = home(root).with_name("default-evil")
    beside.mkdir()
    (beside / "secret.md").write_text(SECRET)
    links = {
        "to-file.md": tmp_path / "outside" / "secret.md",
        "to-dir": tmp_path / "outside",
        "to-bob": home(root, "bob"),
        "to-other": "../other",
        "sub/up": "../../../..",
        "to-top": "/",
        "loop.md": "loop.md",
        "dangling.md": tmp_path / "outside" / "new.md",
        "dir-link.md": tmp_path / "outside",
    }
    for name, target in links.items():
        (home(root) / name).symlink_to(target)
    os.mkfifo(home(root) / "pipe.md")
    (home(root) / "dir.md").mkdir()
    (home(root) / ".hidden").mkdir()
    (home(root) / ".hidden" / "secret.md").write_text(SECRET)
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(home(root))  # the name of a socket is short
        try:
            listening.bind("socket.md")
        finally:
            os.chdir(here)
    return root


def witness(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything that is not the agent's own: name by name, byte by byte."""
    own = home(root)
    files = [file for file in sorted(root.parent.rglob("*")) if own not in file.parents and file != own]
    return {str(file): (file.lstat().st_ino, file.read_bytes() if file.is_file() else b"") for file in files}


WAYS: dict[str, Callable[[Path], str]] = {
    "climbing": lambda _: "../../bob/default/secret.md",
    "climbing-to-another-project": lambda _: "../other/secret.md",
    "climbing-to-one-with-the-same-beginning": lambda _: "../default-evil/secret.md",
    "climbing-from-below": lambda _: "sub/../../other/secret.md",
    "climbing-from-nowhere": lambda _: "nothing/../../other/secret.md",
    "climbing-over-a-file": lambda _: "a.md/../../other/secret.md",
    "climbing-behind-a-link": lambda _: "to-dir/../outside/secret.md",
    "from-here": lambda _: "./../other/secret.md",
    "doubled-slashes": lambda _: "..//other//secret.md",
    "absolute": lambda root: str(home(root, "bob") / "secret.md"),
    "absolute-with-two-slashes": lambda root: f"/{root}/secret.md",
    "as-an-address": lambda root: f"file://{root}/secret.md",
    "from-home": lambda _: "~/secret.md",
    "encoded": lambda _: "%2e%2e/other/secret.md",
    "with-backslashes": lambda _: "..\\other\\secret.md",
    "with-a-nul": lambda _: "../other/secret.md\0.md",
    "a-link-to-a-file": lambda _: "to-file.md",
    "a-link-to-a-folder": lambda _: "to-dir/secret.md",
    "deep-behind-a-link": lambda _: "to-dir/deep/secret.md",
    "a-link-to-another-user": lambda _: "to-bob/secret.md",
    "a-link-to-another-project": lambda _: "to-other/secret.md",
    "a-relative-link": lambda _: "sub/up/secret.md",
    "a-link-to-the-top": lambda root: f"to-top{root}/secret.md",
    "a-link-that-is-called-a-note": lambda _: "dir-link.md/secret.md",
    "a-link-to-itself": lambda _: "loop.md",
    "a-link-to-what-is-not-there": lambda _: "dangling.md",
    "a-hidden-folder": lambda _: ".hidden/secret.md",
    "a-pipe": lambda _: "pipe.md",
    "a-socket": lambda _: "socket.md",
    "a-folder": lambda _: "dir.md",
}


@pytest.mark.parametrize("way", WAYS)
async def test_no_way_leads_out(world: Path, way: str) -> None:
    path = WAYS[way](world)
    before = witness(world)
    async with opened(world) as gate:
        outcomes = [
            await call(gate, "vault_read", path=path),
            await call(gate, "vault_write", path=path, body=WRITTEN),
            await call(gate, "vault_move", old_path=path, new_path="stolen.md"),
            await call(gate, "vault_move", old_path="a.md", new_path=path),
            await call(gate, "vault_list", folder=path.rpartition("/")[0] or "x"),
            await call(gate, "vault_create_index", folder=path.rpartition("/")[0] or "x"),
            await call(gate, "vault_search", query=SECRET),
        ]
    new = way in {"encoded", "with-backslashes", "with-a-nul"}  # names that are only odd may be somebody's own
    assert SECRET not in json.dumps([outcome.output for outcome in outcomes if outcome.ok]).replace(f'"{SECRET}"', "")
    assert [outcome.ok for outcome in outcomes[:1]] == [False]
    if not new:
        assert not any(outcome.ok for outcome in outcomes[1:4])
    assert witness(world) == before


@pytest.mark.parametrize("way", ["a-link-to-a-folder", "a-link-to-another-user", "a-relative-link"])
async def test_no_preview_leads_out(world: Path, way: str) -> None:
    path = WAYS[way](world)
    async with opened(world) as gate:
        for name, arguments in (
            ("vault_write", {"path": path, "body": "x"}),
            ("vault_move", {"old_path": path, "new_path": "x.md"}),
            ("vault_create_index", {"folder": path.rpartition("/")[0]}),
        ):
            shown: Outcome = await gate.call(name, arguments, Context(autonomy="A0"))  # pyright: ignore[reportArgumentType]
            assert SECRET not in str(shown)


async def test_a_link_in_a_note_changes_no_note_outside(world: Path) -> None:
    """Links that climb or are absolute mean nothing, so a move rewrites and resolves nothing by them."""
    put(world, {"n.md": "[x](../../../secret.md) [[../../bob/default/secret]] [y](/../other/secret.md) [[secret]]"})
    before = witness(world)
    async with opened(world) as gate:
        await done(gate, "vault_move", old_path="a.md", new_path="secret.md")
    assert witness(world) == before
    assert texts(world)["n.md"].startswith(
        "[x](../../../secret.md) [[../../bob/default/secret]] [y](/../other/secret.md)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", ["folder", "project", "user"])
async def test_a_folder_that_becomes_a_link_at_the_wrong_moment_leads_nowhere(world: Path, level: str) -> None:
    """A thread swaps it for a link to somebody else's all the while."""
    target = {"folder": home(world, "bob"), "project": home(world, "bob"), "user": home(world, "bob").parent}[level]
    swapped = {"folder": home(world) / "sub", "project": home(world), "user": home(world).parent}[level]
    inside = {"folder": "sub/secret.md", "project": "secret.md", "user": "secret.md"}[level]
    before = {path: value for path, value in witness(world).items() if "agent" not in path}
    told: list[Outcome] = []
    async with opened(world) as gate:
        with exchanging(swapped, target) as rounds:
            for at in range(60):
                told += [
                    await call(gate, "vault_read", path=inside),
                    await call(gate, "vault_write", path=f"{inside[:-3]}-{at}.md", body=WRITTEN),
                    await call(gate, "vault_search", query=SECRET),
                    await call(gate, "vault_list"),
                ]
        assert rounds[0] > 100
    assert not [
        outcome
        for outcome in told
        if outcome.ok and SECRET in json.dumps(outcome.output).replace(f'"query": "{SECRET}"', "")
    ]
    after = {path: value for path, value in witness(world).items() if "agent" not in path}
    assert after == before
    assert WRITTEN not in json.dumps([value[1].decode(errors="replace") for value in after.values()])


NAMES = [
    "ann",
    "Ann",
    "ANN",
    "a%6en",
    "..",
    ".",
    "ann/default",
    "ann%2fdefault",
    "ann ",
    "änn",
    "a\u0308nn",
    "~x",
    "x" * 200,
]


async def test_users_are_apart_whatever_they_are_called(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        for user in NAMES:
            arguments = {"path": "mine.md", "body": f"of {user!r} alone"}
            assert (await gate.call("vault_write", arguments, asker(user))).ok
        for user in NAMES:
            read = (await gate.call("vault_read", {"path": "mine.md"}, asker(user))).unwrap()
            assert read["content"] == f"of {user!r} alone"
            found = (await gate.call("vault_search", {"query": "alone", "limit": 20}, asker(user))).unwrap()
            assert found["count"] == 1
            listed = (await gate.call("vault_list", {}, asker(user))).unwrap()
            assert [note["path"] for note in listed["notes"]] == ["mine.md"]
    folders = sorted(folder.name for folder in (tmp_path / "vault").iterdir())
    assert len({folder.casefold() for folder in folders}) == len(NAMES)
    assert not any(folder.startswith(".") for folder in folders)


async def test_projects_are_apart_and_a_move_changes_only_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        for project in ("one", "two", "default/one", None):
            given: dict[str, Any] = {} if project is None else {"project_id": project}
            await done(gate, "vault_write", path="a.md", body="text", **given)
            await done(gate, "vault_write", path="n.md", body="[[a]]", **given)
        await done(gate, "vault_move", old_path="a.md", new_path="b.md", project_id="one")
        for project in ("two", "default/one", "default"):
            assert (await done(gate, "vault_read", path="n.md", project_id=project))["content"] == "[[a]]"
            assert (await done(gate, "vault_list", project_id=project))["count"] == 2
        assert (await done(gate, "vault_read", path="n.md", project_id="one"))["content"] == "[[b]]"
        assert (await done(gate, "vault_read", path="a.md", project_id="default"))["content"] == "text"


async def test_the_user_goes_before_the_agent_that_acts(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        await gate.call("vault_write", {"path": "a.md", "body": "x"}, asker("ann", principal="helper"))
        outcome = await gate.call("vault_read", {"path": "a.md"}, asker(None, principal="helper"))
    assert not outcome.ok
    assert (home(tmp_path, "ann") / "a.md").exists()


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("ann", "ann"),
        ("ann@example.com", "ann@example.com"),
        ("Ann Lee", "%41nn%20%4cee"),
        ("..", "%2e%2e"),
        (".a.", "%2ea%2e"),
        ("a/b", "a%2fb"),
        ("a%2fb", "a%252fb"),
        ("é", "%c3%a9"),
    ],
)
def test_a_folder_is_called_so_that_a_person_finds_it(name: str, folder: str) -> None:
    assert folder_name(name) == folder


@pytest.mark.parametrize("path", [".callgate", ".callgate/notes", ".", "..", "/", "notes/../.callgate"])
def test_a_vault_among_callgates_own_files_is_a_configuration_error(tmp_path: Path, path: str) -> None:
    settings = BuiltinToolsSettings(vault=VaultSettings(path=path))
    with pytest.raises(ConfigurationError, match="Callgate's own folder"):
        make(settings, Services(working_directory=tmp_path))


async def test_a_vault_that_holds_the_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "callgate.yaml").write_text("builtin_tools: {enable: [vault], vault: {path: notes}}\n")
    store = f"sqlite:///{tmp_path}/notes/callgate.db"
    (tmp_path / "notes").mkdir()
    async with Callgate.open(store, tmp_path / "callgate.yaml", working_directory=tmp_path) as gate:
        for name, arguments in (("vault_write", {"path": "a.md", "body": "x"}), ("vault_list", {})):
            assert not (await call(gate, name, **arguments)).ok
    assert not list((tmp_path / "notes").glob("agent*"))


async def test_a_vault_elsewhere_has_to_be_granted(tmp_path: Path) -> None:
    work, notes = tmp_path / "work", tmp_path / "notes"
    work.mkdir()
    config = work / "callgate.yaml"
    config.write_text(f"builtin_tools: {{enable: [vault], vault: {{path: {notes}}}}}\n")
    async with Callgate.open("memory://", config, working_directory=work) as gate:
        outcome = await call(gate, "vault_write", path="a.md", body="x")
        assert isinstance(outcome, Refused)
        assert "scopes.fs.paths" in str(outcome)
    notes.mkdir()
    config.write_text(f"{config.read_text()}scopes: {{fs: {{paths: ['.', {notes}]}}}}\n")
    async with Callgate.open("memory://", config, working_directory=work) as gate:
        assert (await call(gate, "vault_write", path="a.md", body="x")).ok
    assert (notes / "agent=agent" / "default" / "a.md").read_text() == "x"


async def test_who_may_only_read_writes_nothing(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "a"})
    async with opened(tmp_path) as gate:
        reader = asker(scopes=frozenset({"fs:read"}))
        assert (await gate.call("vault_read", {"path": "a.md"}, reader)).ok
        outcome = await gate.call("vault_write", {"path": "a.md", "body": "x"}, asker(scopes=frozenset({"fs:read"})))
        assert isinstance(outcome, Refused)
    assert texts(tmp_path) == {"a.md": "a"}


async def test_an_agent_called_like_a_person_does_not_reach_that_persons_notes(tmp_path: Path) -> None:
    person = Context(user="ann", autonomy=Autonomy.A4)
    namesake = Context(principal="ann", autonomy=Autonomy.A4)
    async with opened(tmp_path) as gate:
        assert (await gate.call("vault_write", {"path": "a.md", "body": "hers"}, person)).ok
        assert not (await gate.call("vault_read", {"path": "a.md"}, namesake)).ok
        assert (await gate.call("vault_list", {}, namesake)).unwrap()["notes"] == []
    assert home(tmp_path, "ann").is_dir()
