"""The same ten journeys through every door, with the same outcomes, and a record that verifies afterwards.

Through hooks a coding agent makes them with tools of its own: the gate judges, and is told how it ended. All ten apply.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from mcp import Client

from callgate import Callgate
from callgate.serve.server import serving
from callgate.settings.values import ServeSettings
from tests.doors import hooks_door
from tests.doors.each_door import PERSON, CliDoor, Door, HttpDoor, McpDoor, PythonDoor
from tests.doors.http.conftest import Served
from tests.doors.mcp.conftest import with_token
from tests.doors.running import Cli

pytestmark = pytest.mark.slow
_CONFIG = """
version: 1
modules: [tests.doors.journey_tools]
global: {deny: [wipe]}
"""


@pytest.fixture(params=["python", "cli", "http", "mcp", "hooks"])
async def door(request: pytest.FixtureRequest, cli: Cli) -> AsyncGenerator[Door]:
    (cli.folder / "callgate.yaml").write_text(hooks_door.CONFIG if request.param == "hooks" else _CONFIG)
    async with _door(request.param, cli) as found:
        yield found
    verified = await asyncio.to_thread(cli, "audit", "verify")
    assert verified.code == 0, verified


@contextlib.asynccontextmanager
async def _door(kind: str, cli: Cli) -> AsyncGenerator[Door]:
    if kind in {"cli", "hooks"}:
        yield CliDoor(cli) if kind == "cli" else hooks_door.HookDoor(cli)
        return
    async with Callgate.open() as gate:
        if kind == "python":
            yield PythonDoor(gate)
            return
        async with (
            serving(gate, ServeSettings(port=0)) as where,
            _network_door(gate, where.url, kind=kind) as found,
        ):
            yield found


@contextlib.asynccontextmanager
async def _network_door(gate: Callgate, url: str, *, kind: str) -> AsyncGenerator[Door]:
    served = Served(gate, url, [])
    async with await served.person(PERSON) as person:
        if kind == "http":
            async with await served.agent("agent") as agent:
                yield HttpDoor(agent, person)
            return
        _, token = await gate.admit_agent("agent", by="operator")
        async with _in_one_task(f"{url}/mcp", token) as client:
            yield McpDoor(client, person)


@contextlib.asynccontextmanager
async def _in_one_task(url: str, token: str) -> AsyncGenerator[Client]:
    """A client that is opened and closed by the same task, as it wants; a fixture's ends are of two."""
    ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with with_token(url, token) as client:
            ready.set_result(client)
            await over.wait()

    holding = asyncio.create_task(hold())
    try:
        yield await ready
    finally:
        over.set()
        await holding


def _done() -> list[str]:
    found = Path("done.txt")
    return found.read_text().splitlines() if found.exists() else []


async def test_a_read_succeeds(door: Door):
    ended = await door.call("word_count", {"text": "a b c"}, key="k")
    assert (ended.status, ended.value) == ("succeeded", 3)


async def test_wrong_arguments_are_refused_before_anything(door: Door):
    ended = await door.call("pay", {"amount": "much"}, key="k")
    assert (ended.status, ended.code) == ("refused", "invalid_arguments")
    assert _done() == []


async def test_a_tool_that_is_not_there_is_refused(door: Door):
    ended = await door.call("word_cuont", {}, key="k")
    assert (ended.status, ended.code) == ("refused", "tool_not_found")


async def test_what_the_policy_denies_is_refused(door: Door):
    ended = await door.call("wipe", {}, key="k")
    assert (ended.status, ended.code) == ("refused", "policy_denied")
    assert _done() == []


async def test_an_approved_effect_runs_once_when_it_is_asked_for_again(door: Door):
    asked = await door.call("pay", {"amount": 5}, key="k")
    assert asked.status == "pending"
    await door.approve(asked.approval_id)
    assert _done() == []
    ended = await door.call("pay", {"amount": 5}, key="k")
    again = await door.call("pay", {"amount": 5}, key="k")
    assert (ended.status, ended.value) == ("succeeded", "paid 5")
    assert (again.status, again.deduped) == ("succeeded", True)
    assert _done() == ["pay 5"]


async def test_an_edited_effect_runs_as_it_was_edited(door: Door):
    asked = await door.call("pay", {"amount": 500}, key="k")
    await door.approve(asked.approval_id, {"amount": 5})
    ended = await door.call("pay", {"amount": 500}, key="k")
    assert (ended.status, ended.value) == ("succeeded", "paid 5")
    assert _done() == ["pay 5"]


async def test_a_rejected_effect_never_runs(door: Door):
    asked = await door.call("pay", {"amount": 5}, key="k")
    await door.reject(asked.approval_id, "not today")
    ended = await door.call("pay", {"amount": 5}, key="k")
    assert (ended.status, ended.code) == ("refused", "approval_rejected")
    assert _done() == []


async def test_an_answered_question_is_an_answer_and_nothing_runs(door: Door):
    asked = await door.call("pay", {"amount": 5}, key="k")
    await door.respond(asked.approval_id, "ask me on Friday")
    ended = await door.call("pay", {"amount": 5}, key="k")
    assert (ended.status, ended.code) == ("refused", "approval_answered")
    assert _done() == []


async def test_one_key_is_one_effect_and_another_call_under_it_a_conflict(door: Door):
    first = await door.call("post", {"text": "hello"}, key="k")
    again = await door.call("post", {"text": "hello"}, key="k")
    other = await door.call("post", {"text": "bye"}, key="k")
    assert (first.status, again.status, again.deduped) == ("succeeded", "succeeded", True)
    assert (other.status, other.code) == ("refused", "idempotency_conflict")
    assert _done() == ["post hello"]


async def test_what_nobody_knows_is_not_tried_again_until_a_person_has_looked(door: Door):
    lost = await door.call("post", {"text": "lost"}, key="k")
    again = await door.call("post", {"text": "lost"}, key="k")
    assert lost.status == "unknown"
    assert again.status == "unknown" or again.code == "outcome_unknown"
    assert _done() == ["post lost"]
    await door.resolve("k", happened=True)
    known = await door.call("post", {"text": "lost"}, key="k")
    assert known.status == "succeeded"
    assert _done() == ["post lost"]
