"""`callgate doctor`: everything Callgate rests on is looked at, and each fault comes with what to do."""

import json
import re
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callgate.runtime import disk
from callgate.runtime.doctor_extras import EXTRAS, Extra
from tests.doors.running import ROOT, Cli


def always(value: Any, _folder: Path) -> Any:
    return value


def facts(cli: Cli, *options: str) -> dict[str, dict[str, Any]]:
    return {fact["name"]: fact for fact in cli("doctor", "--json", *options).body["facts"]}


@pytest.fixture
def syncing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that syncs, wherever the tests run."""
    monkeypatch.setattr(disk, "sync_seconds", partial(always, 0.002))
    monkeypatch.setattr(disk, "file_system", partial(always, "ext4"))


@pytest.mark.usefixtures("syncing")
def test_a_healthy_place_has_nothing_wrong(cli: Cli):
    cli.call("word_count")
    done = cli("doctor")
    assert done.code == 0, done
    assert done.out.endswith("nothing is wrong\n")
    found = facts(cli)
    assert {"versions", "sqlite", "configuration", "key", "store", "room", "sync", "audit", "anchors"} <= found.keys()
    assert found["anchors"]["state"] == "ok"


@pytest.mark.usefixtures("syncing")
def test_a_place_without_a_store_is_told_of_and_left_alone(cli: Cli):
    found = facts(cli)
    assert "is not there yet" in found["store"]["text"]
    assert found["key"]["advice"]
    assert "audit" not in found
    assert list(cli.folder.iterdir()) == []


@pytest.mark.usefixtures("syncing")
def test_a_store_whose_key_is_gone_is_told_with_what_to_do(cli: Cli, home: Path):
    cli.call("word_count")
    (home / ".config" / "callgate" / "keys").rename(home / "away")
    key, opening = (facts(cli)[name] for name in ("key", "opening"))
    assert (key["state"], opening["state"]) == ("wrong", "wrong")
    assert "there is a store, which was made with one" in key["text"]
    assert key["advice"].startswith("bring it back from a backup, or set CALLGATE_KEY")
    in_memory = facts(cli, "--store", "memory://")
    assert in_memory["key"]["state"] == "note"


@pytest.mark.usefixtures("syncing")
def test_what_waits_is_told_with_the_command_that_shows_it(cli: Cli):
    cli.ask_to_pay()
    cli.call("flaky", {}, "--autonomy", "A4")
    found = facts(cli)
    assert found["approvals"]["advice"] == "see: callgate approvals list"
    assert found["outcomes"]["text"] == "1 call without a known outcome"


def test_a_disk_that_does_not_sync_is_wrong(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk, "sync_seconds", partial(always, 0.000_001))
    monkeypatch.setattr(disk, "file_system", partial(always, "nfs4"))
    monkeypatch.setattr(disk, "free_bytes", partial(always, 1024))
    done = cli("doctor")
    assert done.code == 1
    assert "nothing waits for a disk here" in done.out
    assert "nfs4 is a network file system" in done.out
    assert "make room" in done.out
    assert "things need you" in done.out


@pytest.mark.usefixtures("syncing")
def test_a_wrong_configuration_does_not_keep_the_rest_from_being_looked_at(cli: Cli):
    Path("callgate.yaml").write_text("nonsense: 1\n")
    done = cli("doctor", "--json")
    assert done.code == 1
    found = {fact["name"]: fact for fact in done.body["facts"]}
    assert "nonsense" in found["configuration"]["text"]
    assert "sync" in found


def test_every_extra_is_told_with_what_it_gives_and_how_it_is_installed(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = {
        name: tuple(re.split("[><=]", need)[0] for need in needs) for name, needs in declared.items() if name != "all"
    }
    assert {name: extra.packages for name, extra in EXTRAS.items()} == packages
    monkeypatch.setitem(EXTRAS, "reload", Extra("what nobody has", ("no-such-package",)))
    monkeypatch.setitem(EXTRAS, "trees", Extra("what is half there", ("py-trees", "no-such-package")))
    found = facts(cli)
    assert {name for name in found if name.startswith("extra ")} == {f"extra {name}" for name in packages}
    assert found["extra mcp"]["text"].startswith("tools of MCP servers (`mcp_servers:`): installed, mcp ")
    assert found["extra reload"]["text"] == "what nobody has: not installed"
    assert found["extra trees"]["text"] == "what is half there: lacks no-such-package"
    assert found["extra reload"]["advice"] == 'where you need it: pip install "callgate[reload]"'


SERVER = Path(__file__).parents[1] / "adapters" / "mcp" / "scripted_server.py"


@pytest.mark.usefixtures("syncing")
def test_every_configured_mcp_server_is_told_with_how_its_tools_stand(cli: Cli):
    assert facts(cli)["mcp servers"]["text"] == "none is configured"
    there = json.dumps([sys.executable, "-I", str(SERVER), str(cli.folder), "plain"])
    servers = f"  there: {{command: {there}, startup: 20s, declare: {{add: {{effects: read_only}}}}}}\n"
    servers += '  away: {command: ["/no/such/program"]}\n'
    Path("callgate.yaml").write_text(f"modules: [no_such_module]\nmcp_servers:\n{servers}")
    done = cli("doctor", "--json")
    assert done.code == 1
    found = {fact["name"]: fact for fact in done.body["facts"]}
    assert found["mcp there"]["state"] == "note"
    assert found["mcp there"]["text"] == "reachable; 23 tools: 23 as pinned, 0 quarantined, 22 undeclared"
    assert found["mcp there"]["advice"].endswith("see: callgate tools review there")
    assert found["mcp away"]["state"] == "wrong"
    assert "the MCP server away cannot be reached: there is no program" in found["mcp away"]["text"]


@pytest.mark.usefixtures("syncing")
def test_a_missing_key_is_told(cli: Cli, home: Path):
    cli.call("word_count")
    for key in (home / ".config" / "callgate" / "keys").iterdir():
        key.unlink()
    done = cli("doctor")
    assert done.code == 1
    assert "bring it back from a backup" in done.out


@pytest.mark.usefixtures("syncing")
def test_a_broken_record_and_a_damaged_store_are_told(cli: Cli):
    cli.call("word_count")
    Path(".callgate/callgate.db").write_bytes(b"not a database at all")
    found = facts(cli)
    assert found["opening"]["state"] == "wrong"


def test_a_key_in_the_environment_that_is_none_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CALLGATE_KEY", "too short")
    found = facts(cli)
    assert found["key"]["state"] == "wrong"
    assert "too short" not in found["key"]["text"]


def test_the_disk_is_really_written_to_and_left_clean(tmp_path: Path):
    assert disk.sync_seconds(tmp_path) > 0
    assert list(tmp_path.iterdir()) == []
    assert disk.nearest_folder(tmp_path / "not" / "there") == tmp_path
    assert disk.free_bytes(tmp_path) > 0
    assert disk.trouble_with("tmpfs")
    assert disk.trouble_with("ext4") == ""
    assert disk.file_system(Path("/proc")) in {"proc", ""}


def test_surplus_words_are_a_usage_error(cli: Cli):
    assert cli("doctor", "extra").code == 2
