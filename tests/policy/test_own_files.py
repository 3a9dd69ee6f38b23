"""Callgate's own files: out of reach of every tool, under every name they can be given."""

import os
from pathlib import Path
from typing import Any

import pytest

from callgate.model.context import Context
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.policy import own_files
from callgate.policy.policy import Policy
from callgate.settings.values import Family, Settings
from tests.policy.making import authorize, in_folder, make, reading, role, schema, with_roles

OWN = "one of Callgate's own files"


def tool(**facts: Any) -> Tool:
    return reading("read_file", **{"scopes": {"fs:read"}, "input_schema": schema("path"), **facts})


def destroyer(**facts: Any) -> Tool:
    body = {"scopes": {"fs:write"}, "destructive": True, "input_schema": schema("path", "cwd", "repo_path")}
    return make("remove", "modifies_files", **{**body, **facts})


@pytest.fixture
def house(tmp_path: Path) -> Path:
    house = tmp_path / "house"
    (house / ".callgate").mkdir(parents=True)
    (house / ".callgate" / "key").write_text("k")
    (house / "callgate.yaml").write_text("version: 1")
    return house


@pytest.fixture
def policy(house: Path) -> Policy:
    return in_folder(house, own=[house / ".callgate", house / "callgate.yaml", house / "store.db"])


def refusal(policy: Policy, path: str, asked: Tool | None = None, *, name: str = "path") -> str:
    found = authorize(policy, asked or tool(), {name: path}).refusal
    return "" if found is None else found.text


@pytest.mark.parametrize(
    "path",
    [
        "callgate.yaml",
        "./callgate.yaml",
        "sub/../callgate.yaml",
        "CALLGATE.yaml",
        "callgate.yaml.",
        "callgate.yaml::$DATA",
        "callg\u200bate.yaml",
        "\uff43allgate.yaml",
        ".callgate",
        ".callgate/key",
        ".Callgate/KEY",
        ".callgate/not/there/yet",
        ".callgate/*",
        "store.db",
        "store.db-wal",
        "store.db-shm",
        "store.db-journal",
        "STORE.DB-WAL",
    ],
)
def test_no_tool_reaches_them_by_any_spelling(policy: Policy, path: str):
    assert OWN in refusal(policy, path)


def test_neighbours_with_similar_names_are_free(policy: Policy):
    for path in ("callgate.yaml2", "my.callgate/x", "store.db.txt", "store", "sub/callgate.yaml", "."):
        assert refusal(policy, path) == ""


def test_no_tool_reaches_them_through_links(policy: Policy, house: Path):
    (house / "alias").symlink_to(house / ".callgate")
    (house / "config").symlink_to("callgate.yaml")
    (house / "future").symlink_to(house / "store.db")
    for path in ("alias", "alias/key", "alias/new", "config", "future"):
        assert OWN in refusal(policy, path), path


def test_no_tool_reaches_them_through_a_second_name_of_the_file(policy: Policy, house: Path):
    (house / "store.db-wal").write_text("x")
    os.link(house / "callgate.yaml", house / "copy")
    os.link(house / ".callgate" / "key", house / "spare")
    os.link(house / "store.db-wal", house / "log")
    (house / "a").write_text("free")
    os.link(house / "a", house / "b")
    for path in ("copy", "spare", "log"):
        assert OWN in refusal(policy, path), path
    assert refusal(policy, "b") == ""
    together = authorize(policy, tool(input_schema={"type": "object"}), {"paths": ["b", "copy", "a", "spare"]})
    assert len(together.reasons) == 2


def test_a_second_name_of_what_lies_deep_in_an_own_folder_is_found(policy: Policy, house: Path):
    deep = house / ".callgate" / "plugins" / "mine"
    deep.mkdir(parents=True)
    (deep / "settings.json").write_text("x")
    (deep / "around").symlink_to("..")
    os.link(deep / "settings.json", house / "notes.txt")
    assert OWN in refusal(policy, "notes.txt")


def test_where_there_are_too_many_to_look_at_any_second_name_may_be_theirs(
    policy: Policy, house: Path, monkeypatch: pytest.MonkeyPatch
):
    (house / "a").write_text("free")
    os.link(house / "a", house / "b")
    for name in ("one", "two", "three"):
        (house / ".callgate" / name).write_text("x")
    assert refusal(policy, "b") == ""
    monkeypatch.setattr(own_files, "_MOST_LOOKED_AT", 3)
    assert OWN in refusal(policy, "b")
    assert refusal(policy, "c") == ""


def test_an_own_folder_that_is_a_link_is_guarded_under_both_names(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    policy = in_folder(tmp_path, own=[tmp_path / "link"])
    for path in ("link", "real", "real/x", "link/x"):
        assert OWN in refusal(policy, path), path


def test_nothing_lifts_it(house: Path):
    settings = with_roles(
        role("admin", scopes=("*",), allow=("group:all",)),
        families={"fs": Family(paths=None), "net": Family(), "all": Family(paths=("/",))},
    )
    policy = in_folder(house, settings, own=[house / ".callgate"])
    asked = tool(scopes={"fs:read", "all:x"})
    found = authorize(policy, asked, {"path": ".callgate/key"}, Context(role="admin"))
    assert found.refusal is not None
    assert OWN in found.refusal.text


def test_a_tool_without_any_file_scope_is_kept_away_from_them_and_is_otherwise_free(policy: Policy, house: Path):
    """An argument called path may be a path of an API; it is looked at only for this."""
    api = reading("get_item", "network_access", input_schema=schema("path"))
    assert refusal(policy, "/v1/items", api) == ""
    assert OWN in refusal(policy, str(house / "callgate.yaml"), api)


def test_what_is_destructive_may_not_name_a_directory_that_holds_them(policy: Policy, house: Path):
    (house / "sub").mkdir()
    assert "holds Callgate's own files" in refusal(policy, ".", destroyer())
    assert "holds Callgate's own files" in refusal(policy, str(house), destroyer())
    assert refusal(policy, "sub", destroyer()) == ""
    assert refusal(policy, ".", destroyer(destructive=False)) == ""
    for place in ("cwd", "repo_path"):
        assert refusal(policy, ".", destroyer(), name=place) == ""
    runner = make("run", "local_exec", destructive=True, scopes={"shell:execute"}, input_schema=schema("path"))
    assert refusal(policy, ".", runner) == ""


def test_a_foreign_tool_cannot_talk_its_way_around_by_its_schema(policy: Policy):
    lying = tool(
        source=Origin.MCP,
        input_schema=schema(path={"type": "string", "format": "regex"}),
    )
    assert OWN in refusal(policy, "callgate.yaml", lying)
    assert "and fs allows" in refusal(policy, "/etc/passwd", lying)


def test_a_name_that_is_nothing_but_dots_and_invisible_characters_is_no_own_file(policy: Policy):
    for path in ("\u200b", "...", ":", "\u200b/\u200b"):
        assert refusal(policy, path) == ""


def test_without_own_files_nothing_is_kept_away(tmp_path: Path):
    assert refusal(Policy(Settings(), working_directory=tmp_path), "callgate.yaml") == ""


@pytest.mark.parametrize(
    "path", ["s3://bucket/key", "~nobody/x", "a\0b", "x" * 5000, "x" * 300, ".git/config", "é" * 90]
)
def test_what_is_no_file_to_a_tool_may_look_like_anything(policy: Policy, path: str):
    api = make("post_item", "network_access", input_schema=schema("path"))
    found = authorize(policy, api, {"path": path})
    assert (found.refusal, found.resources) == (None, ())


def test_no_expansion_of_a_tool_leads_to_them(home: Path, tmp_path: Path):
    policy = in_folder(tmp_path, own=[home / ".config" / "callgate"])
    api = reading("get_item", "network_access", input_schema=schema("path"))
    own = f"{home}/.config/callgate"
    addresses = (f"file://{own}/key", f"FILE:{own}", f"file://localhost{own}", f"file://elsewhere{own}/key")
    for path in ("~/.config/callgate/key", *addresses):
        assert OWN in refusal(policy, path, api), path
    assert refusal(policy, f"file://{home}/notes", api) == ""
    assert OWN in refusal(policy, f"file://{own}/key".replace(".config", "%2econfig"), api)


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/environ",
        "/proc",
        "/PROC/1/mem",
        "/proc/nobody",
        "../../../../../../../../proc/1/maps",
        "/dev/mem",
        "/sys/kernel/debug/x",
    ],
)
def test_what_processes_know_is_out_of_reach_whatever_is_granted(house: Path, path: str):
    anywhere = Policy(Settings(families={"fs": Family(paths=("/",))}), working_directory=house)
    assert "what processes know" in refusal(anywhere, path)
    assert "what processes know" in refusal(anywhere, path, reading("count", input_schema=schema("path")))


@pytest.mark.parametrize("path", ["/dev/null", "/sys/kernel", "/dev", "/process", "proc/x"])
def test_what_lies_beside_is_as_it_was(house: Path, path: str):
    anywhere = Policy(Settings(families={"fs": Family(paths=("/",))}), working_directory=house)
    assert not refusal(anywhere, path)


@pytest.mark.parametrize("text", ["data", "dat?", "da{ta,x}", "data/"])
def test_a_text_names_no_directory_that_holds_them_to_a_tool_that_could_move_it(tmp_path: Path, text: str):
    (tmp_path / "data").mkdir()
    policy = in_folder(tmp_path, own=[tmp_path / "data" / "gate.db"])
    mover = make("put_away", "modifies_files", scopes={"fs:write"}, input_schema=schema("name", "body"))
    assert "could move it away" in refusal(policy, text, mover, name="name")
    assert refusal(policy, text, mover, name="body") == "", "a word in a text is a word"
    remover = make("drop", "modifies_files", destructive=True, scopes={"fs:write"}, input_schema=schema("name", "body"))
    for name in ("name", "body"):
        assert "nothing destructive" in refusal(policy, text, remover, name=name)
    assert "nothing destructive" in refusal(policy, ".", remover, name="name")
    assert refusal(policy, ".", mover, name="name") == ""
    assert refusal(policy, "?*", mover, name="name") != "", "as ever"


@pytest.mark.parametrize(
    "text",
    [
        "sub/callgate.yaml",
        "sub/.callgate/x.db",
        "su?/callgate.yam\\l",
        "{sub,x}/callgate.yaml",
        ".git/hooks/x",
        "*/.gi?/x",
    ],
)
def test_a_text_leads_a_tool_that_changes_something_to_nothing_that_governs(tmp_path: Path, text: str):
    (tmp_path / "sub").mkdir()
    policy = in_folder(tmp_path, own=[])
    names = schema("name")
    assert refusal(policy, text, make("put", "modifies_files", scopes={"fs:write"}, input_schema=names), name="name")
    read = reading("look", scopes={"fs:read"}, input_schema=names)
    assert bool(refusal(policy, text, read, name="name")) is (".callgate/" in text)
    assert refusal(policy, f"see what is in {text}", read, name="name") == ""


def test_prose_about_what_governs_is_prose(tmp_path: Path):
    policy = in_folder(tmp_path, own=[])
    put = make("put", "modifies_files", scopes={"fs:write"}, input_schema=schema("name"))
    assert refusal(policy, "see docs/callgate.yaml", put, name="name") == ""
