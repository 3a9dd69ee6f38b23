"""Every built-in tool works from `callgate call`: its own examples are what it is called with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from callgate import Callgate
from callgate.settings.values import Settings
from callgate.tools.catalogue import CATEGORIES, SHIPPED
from tests.doors.furnished import USER, furnished
from tests.doors.running import Cli
from tests.tools.outbound.walls import PUBLIC

OFFERED: dict[str, tuple[str, ...]] = {name: tuple(offered.tools) for name, offered in CATEGORIES.items()} | dict(
    SHIPPED
)
TOOLS = [name for names in OFFERED.values() for name in names]
NEEDED = {"agents": "agents, web, vault"}
"""What else has to be enabled. Only these are, as each command makes all the tools that are."""
LATEST = frozenset({"archive_extract", "archive_file", "archive_search"})
"""Without a name they mean the archive opened last, and a command is a process of its own, which opened none."""


@pytest.fixture
def project(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = cli.folder / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def examples_of(offer: str) -> dict[str, list[dict[str, Any]]]:
    """What the tools of a category, or of a plugin that ships, show as their examples."""
    with Callgate.open_sync("memory://", Settings(), builtin_tools=[offer]) as gate:
        return {tool.name: [dict(example) for example in tool.examples] for tool in gate.tools()}


def run_examples(cli: Cli, name: str, examples: list[dict[str, Any]]) -> None:
    assert examples, f"{name} shows no example"
    for at, example in enumerate(examples):
        arguments = example | (opened(cli) if name in LATEST else {})
        output = called(cli, name, arguments, key=f"{name}-{at}")
        assert not trouble(output), f"{name} {arguments}: {output}"


def called(cli: Cli, name: str, arguments: Mapping[str, Any], *, key: str) -> Any:
    """Call a tool from the command line, and give what it gave."""
    done = cli("call", name, json.dumps(arguments), "--json", "--user", USER, "--key", key)
    assert done.code == 0, f"{name} {arguments}: {done}"
    assert done.body["status"] == "success"
    return done.body["output"]


def opened(cli: Cli) -> dict[str, str]:
    return {"archive_name": called(cli, "archive_open", {"path": "bundle.zip"}, key="opened")["archive_name"]}


def trouble(output: Any) -> object:
    """What a tool says went wrong in an answer that is no failure of the call."""
    if isinstance(output, str) and output.startswith('{"status"'):
        output = json.loads(output)
    if not isinstance(output, Mapping):
        return None
    told = cast("Mapping[str, Any]", output)
    failed = told.get("success", True) is False or told.get("status") in {"error", "failed"}
    return failed or told.get("error") or told.get("returncode")


def test_the_list_of_tools_has_all_of_them_and_no_other(cli: Cli) -> None:
    assert sorted(tool["name"] for tool in cli("tools", "list", "--json").body["tools"]) == sorted(TOOLS)


@pytest.mark.slow
@pytest.mark.parametrize("offer", OFFERED)
def test_each_works_with_each_of_its_examples(
    cli: Cli, project: Path, offer: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if offer == "code":
        request.getfixturevalue("bubblewrap")
    examples = examples_of(offer)
    assert sorted(examples) == sorted(OFFERED[offer])
    with furnished(project, monkeypatch, enable=NEEDED.get(offer, offer)) as wall:
        for name in examples:
            run_examples(cli, name, examples[name])
    assert wall.addresses() <= {PUBLIC, "127.0.0.1"}
