"""What was trusted stays known: a foreign tool that changes waits until a person looks, also after a restart."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Refused, tool
from callgate.errors import ConfigurationError, StoreError, ToolNotFoundError
from callgate.model.approval import GrantScope
from callgate.model.levels import Autonomy, Effect, Risk
from callgate.model.tool import Tool
from callgate.settings.values import Settings
from tests.journeys.foreign import Server, server_tool
from tests.journeys.gates import gate_of, parts_of
from tests.waiting import until

FREE = Settings(autonomy=Autonomy.A4)
READ = frozenset({Effect.READ_ONLY})
WRITE = frozenset({Effect.NETWORK_ACCESS})

on_each_store = pytest.mark.usefixtures("on_each_store")


def reader(description: str = "Get something.", **facts: Any) -> Tool:
    body = {"declared": True, "effects": READ, "destructive": False, "base_risk": Risk.LOW}
    return server_tool("gh.get_issue", description, **{**body, **facts})


def other(name: str = "gh.list_issues", **facts: Any) -> Tool:
    return replace(reader(**facts), name=name)


@asynccontextmanager
async def serving(*tools: Tool, store: str | None = None, config: Settings = FREE) -> AsyncGenerator[Callgate]:
    """A gate with a server that has these tools."""
    more = {} if store is None else {"store": store}
    async with gate_of(config=config, **more) as gate:
        await gate.attach(Server(*tools))
        yield gate


def code(outcome: Any) -> str:
    assert isinstance(outcome, Refused), outcome
    assert outcome.error is not None
    return outcome.error.code


async def told(gate: Callgate, *types: str) -> list[dict[str, Any]]:
    await gate.flush()
    return [{"type": event.type, **(event.payload or {})} async for event in gate.events(types=list(types))]


@pytest.fixture
def file_store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'trust.db'}"


@on_each_store
async def test_a_tool_that_changes_waits_with_the_difference_until_a_person_trusts_exactly_it() -> None:
    server = Server(reader())
    async with gate_of(config=FREE) as gate:
        await gate.attach(server)
        assert (await gate.call("gh.get_issue")).ok
        server.tools = (reader("Get something, and the keys.", egress=True),)
        report = await gate.reload("github")
        assert [name for name, _ in report.quarantined] == ["gh.get_issue"]
        assert code(await gate.call("gh.get_issue")) == "tool_quarantined"
        [found] = gate.quarantined()
        assert found.reason is not None
        assert "it changed since it was trusted" in found.reason
        assert (found.looser, found.stricter, found.different) == ((), ("egress set",), ("description changed",))
        assert found.old is not None
        assert (found.old["description"], found.new["description"]) == (
            "Get something.",
            "Get something, and the keys.",
        )
        with pytest.raises(ConfigurationError, match="not the definition that was looked at"):
            await gate.trust("gh.get_issue", by="ann", definition_hash=reader().definition_hash)
        await gate.trust("gh.get_issue", by="ann", definition_hash=found.definition_hash)
        assert gate.quarantined() == ()
        assert (await gate.call("gh.get_issue")).ok
        held, trusted = await told(gate, "tool.quarantined", "tool.trusted")
        assert held["definition_hash"] == trusted["definition_hash"] == found.definition_hash
        assert (trusted["by"], trusted["assurance"], trusted["was"]) == ("ann", "asserted", reader().definition_hash)


@on_each_store
async def test_an_agent_never_trusts_and_nothing_that_does_not_wait_is_trusted() -> None:
    async with serving(reader()) as gate:
        hash_now = reader().definition_hash
        for nobody in ("", " \u200b", "agent", "AGENT", "ag\u200bent"):
            with pytest.raises(ConfigurationError, match="it takes a person"):
                await gate.trust("gh.get_issue", by=nobody, definition_hash=hash_now)
            with pytest.raises(ConfigurationError, match="it takes a person"):
                await gate.distrust("gh.get_issue", by=nobody, why="x")
            with pytest.raises(ConfigurationError, match="it takes a person"):
                await gate.accept((), by=nobody)
        with pytest.raises(ConfigurationError, match="nothing to trust"):
            await gate.trust("gh.get_issue", by="ann", definition_hash=hash_now)
        with pytest.raises(ConfigurationError, match="say why"):
            await gate.distrust("gh.get_issue", by="ann", why=" ")
        with pytest.raises(ToolNotFoundError):
            await gate.trust("gh.nothing", by="ann", definition_hash=hash_now)


@on_each_store
async def test_what_is_held_by_hand_waits_whatever_it_declares() -> None:
    async with serving(reader()) as gate:
        await gate.distrust("gh.get_issue", by="ann", why="odd answers")
        refused = await gate.call("gh.get_issue")
        assert code(refused) == "tool_quarantined"
        assert "ann does not trust it: odd answers" in refused.to_human()
        report = await gate.reload("github")
        assert [name for name, _ in report.quarantined] == ["gh.get_issue"]
        [found] = gate.quarantined()
        await gate.trust("gh.get_issue", by="bob", definition_hash=found.definition_hash)
        assert (await gate.call("gh.get_issue")).ok


async def test_after_a_restart_changed_and_new_tools_of_a_known_server_wait(file_store: str) -> None:
    async with serving(reader(), other(), store=file_store) as gate:
        assert gate.quarantined() == ()
    async with serving(reader("Other words."), other(), other("gh.delete_all"), store=file_store) as gate:
        reasons = {found.name: found.reason or "" for found in gate.quarantined()}
        assert "it changed since it was trusted" in reasons["gh.get_issue"]
        assert "it is new: mcp github did not have it" in reasons["gh.delete_all"]
        assert reasons.keys() == {"gh.get_issue", "gh.delete_all"}
        assert (await gate.call("gh.list_issues")).ok
        assert [item["tool_name"] for item in await told(gate, "tool.quarantined")] == ["gh.get_issue", "gh.delete_all"]
    async with serving(reader("Other words."), other(), other("gh.delete_all"), store=file_store) as gate:
        assert len(gate.quarantined()) == 2
        for found in gate.quarantined():
            await gate.trust(found.name, by="ann", definition_hash=found.definition_hash)
    async with serving(reader("Other words."), other(), other("gh.delete_all"), store=file_store) as gate:
        assert gate.quarantined() == ()
    async with serving(reader(), store=file_store) as gate:
        assert [found.name for found in gate.quarantined()] == ["gh.get_issue"], "the way back is a change too"


async def test_our_own_tool_that_became_looser_between_two_runs_waits(file_store: str) -> None:
    def pay(risk: str, **more: Any) -> Any:
        @tool(effects="network_access", risk=risk, **more)
        async def pay() -> str:
            """Pay."""
            return "paid"

        return pay

    async with gate_of(pay("high"), config=FREE, store=file_store) as gate:
        assert (await gate.call("pay")).ok
    async with gate_of(pay("low"), config=FREE, store=file_store) as gate:
        assert code(await gate.call("pay")) == "tool_quarantined"
        [found] = gate.quarantined()
        assert found.looser == ("risk from high to medium",)
        assert [item["tool_name"] for item in await told(gate, "tool.quarantined")] == ["pay"]
        await gate.trust("pay", by="ann", definition_hash=found.definition_hash)
        assert (await gate.call("pay")).ok
    async with gate_of(pay("low"), config=FREE, store=file_store) as gate:
        assert (await gate.call("pay")).ok
    async with gate_of(pay("critical"), config=FREE, store=file_store) as gate:
        assert gate.quarantined() == (), "stricter is no reason to wait"


@on_each_store
async def test_our_own_tool_that_becomes_looser_while_the_gate_is_open_waits() -> None:
    @tool(effects="network_access", risk="high")
    async def pay() -> str:
        """Pay."""
        return "paid"

    async with gate_of(pay, config=FREE) as gate:
        gate.add(replace(gate.tool("pay"), base_risk=Risk.LOW), update=True)
        assert code(await gate.call("pay")) == "tool_quarantined"


async def test_grants_and_approvals_for_what_a_tool_was_are_void_for_what_it_is(file_store: str) -> None:
    def writer(description: str) -> Tool:
        return reader(description, effects=WRITE, base_risk=Risk.MEDIUM)

    careful = Settings(autonomy=Autonomy.A2)
    asker = Context(session="s")
    async with serving(writer("Send it."), store=file_store, config=careful) as gate:
        asked = await gate.call("gh.get_issue", {"repo": "a"}, asker)
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        await gate.grant("gh.get_issue", by="ann", scope=GrantScope.SESSION, scope_id="s")
        assert (await gate.call("gh.get_issue", {"repo": "b"}, asker)).ok, "the grant lets it through"
    async with serving(writer("Send it, elsewhere."), store=file_store, config=careful) as gate:
        assert code(await gate.call("gh.get_issue", {"repo": "a"}, asker)) == "tool_quarantined"
        assert code(await gate.resume(asked.approval_id)) == "tool_quarantined"
        [found] = gate.quarantined()
        await gate.trust("gh.get_issue", by="ann", definition_hash=found.definition_hash)
        assert isinstance(await gate.call("gh.get_issue", {"repo": "b"}, asker), Pending), "the grant is void"
        again = await gate.call("gh.get_issue", {"repo": "a"}, asker)
        assert isinstance(again, Pending), "the approval is void"
        assert again.approval_id != asked.approval_id
        resumed = await gate.resume(asked.approval_id)
        assert not resumed.ok


async def test_what_one_process_trusts_or_holds_counts_for_the_others(
    file_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.runtime.gate._LOOK_EVERY", 0.01)
    async with serving(reader(), store=file_store) as one, serving(reader(), store=file_store) as two:
        await two.distrust("gh.get_issue", by="ann", why="odd")
        await until(one.quarantined)
        assert code(await one.call("gh.get_issue")) == "tool_quarantined"
        [found] = one.quarantined()
        await one.trust("gh.get_issue", by="bob", definition_hash=found.definition_hash)
        await until(lambda: not two.quarantined())
        assert (await two.call("gh.get_issue")).ok


async def test_two_processes_keep_each_others_pins_and_the_first_look_at_a_tool_stands(file_store: str) -> None:
    async with gate_of(config=FREE, store=file_store) as one, gate_of(config=FREE, store=file_store) as two:
        # Neither has looked at the store since the other wrote.
        one.add(reader())
        two.add(replace(reader("Other words."), source_name="github"), other())
        await asyncio.gather(one.flush(), two.flush())
        for gate in (one, two, one):
            await gate._open().pinning.try_to_keep()  # pyright: ignore[reportPrivateUsage]
        held = {gate: [found.name for found in gate.quarantined()] for gate in (one, two)}
        assert sorted(held.values()) == [[], ["gh.get_issue"]]
        both = [gate._open().parts.registry.quarantine.pins for gate in (one, two)]  # pyright: ignore[reportPrivateUsage]
        assert both[0].to_json() == both[1].to_json()
        assert {pin.name for pin in both[0]} == {"gh.get_issue", "gh.list_issues"}


async def test_pins_that_were_edited_or_taken_away_without_the_key_keep_the_gate_shut(tmp_path: Path) -> None:
    file = tmp_path / "trust.db"
    async with serving(reader(), store=f"sqlite:///{file}"):
        pass
    for change in (
        "UPDATE meta SET value = replace(value, 'Get something', 'Get nothing') WHERE name = 'pins'",
        "DELETE FROM meta WHERE name = 'pins_seal'",
        "UPDATE meta SET value = '{}' WHERE name = 'pins'",
    ):
        with closing(sqlite3.connect(file)) as store:
            assert store.execute(change).rowcount == 1
            store.commit()
        with pytest.raises(StoreError, match="changed without the key; restore the store"):
            async with gate_of(config=FREE, store=f"sqlite:///{file}"):
                pass


async def test_where_the_pins_were_taken_away_as_a_whole_everything_foreign_waits(tmp_path: Path) -> None:
    file = tmp_path / "trust.db"
    async with serving(reader(), store=f"sqlite:///{file}"):
        pass
    with closing(sqlite3.connect(file)) as store:
        store.execute("DELETE FROM meta WHERE name IN ('pins', 'pins_seal')")
        store.commit()
    async with serving(reader(), store=f"sqlite:///{file}") as gate:
        [found] = gate.quarantined()
        assert found.reason is not None
        assert "gone from the store" in found.reason
        await gate.trust("gh.get_issue", by="ann", definition_hash=found.definition_hash)
        with closing(sqlite3.connect(file)) as store:
            store.execute("DELETE FROM meta WHERE name IN ('pins', 'pins_seal')")
            store.commit()
        with pytest.raises(StoreError, match="changed without the key"):
            await gate.distrust("gh.get_issue", by="ann", why="odd")
        assert len(gate.quarantined()) == 1, "held all the same"


async def test_a_trust_that_cannot_be_written_lets_nothing_go(file_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(reader(), store=file_store) as gate:
        await gate.distrust("gh.get_issue", by="ann", why="odd")
        [found] = gate.quarantined()

        async def full(_unit: Any) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(parts_of(gate).store, "write", full)
            with pytest.raises(StoreError, match="full"):
                await gate.trust("gh.get_issue", by="bob", definition_hash=found.definition_hash)
        assert [waiting.name for waiting in gate.quarantined()] == ["gh.get_issue"]


IN_ANOTHER_PROCESS = """
import asyncio, sys
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate import Callgate
from tests.journeys.foreign import Server
from tests.journeys.test_trust import reader

async def main():
    async with Callgate.open(sys.argv[1], Settings(autonomy=Autonomy.A4)) as gate:
        await gate.attach(Server(reader(sys.argv[2])))
        outcome = await gate.call("gh.get_issue")
        print(outcome.status, [found.name for found in gate.quarantined()])

asyncio.run(main())
"""


def elsewhere(store: str, description: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, store, description],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def test_a_second_process_judges_by_what_the_first_trusted(file_store: str) -> None:
    async with serving(reader("First."), store=file_store) as gate:
        assert (await gate.call("gh.get_issue")).ok
    assert elsewhere(file_store, "First.") == "succeeded []"
    assert elsewhere(file_store, "Second.") == "refused ['gh.get_issue']"
    async with serving(reader("Second."), store=file_store) as gate:
        [found] = gate.quarantined()
        await gate.trust("gh.get_issue", by="ann", definition_hash=found.definition_hash)
    assert elsewhere(file_store, "Second.") == "succeeded []"
