"""A standing answer counts only as a person gave it: not made up, not edited, not brought back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, tool
from callgate.approvals.bind import bind, intact
from callgate.errors import ConfigurationError, GrantNotFound
from callgate.model.approval import Grant, GrantScope
from callgate.secrets.keys import throwaway_keys
from tests.contracts.makers import a_grant
from tests.journeys.gates import parts_of


@tool(effects="system_state", risk="medium")
async def order(items: list[Any]) -> int:
    """Order some things."""
    return len(items)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


def gate_on(file: Path) -> Callgate:
    gate = Callgate.open(f"sqlite:///{file}", working_directory=file.parent)
    gate.add(order)
    return gate


def rows(file: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(file)) as db:
        return [json.loads(body) for (body,) in db.execute("SELECT body FROM grants ORDER BY number")]


def put(file: Path, body: dict[str, Any], *, revoked: int = 0) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DELETE FROM grants WHERE id = ?", (body["id"],))
        db.execute(
            "INSERT INTO grants (id, principal, tool, revoked, body) VALUES (?, ?, ?, ?, ?)",
            (body["id"], body["principal"], body["tool"], revoked, json.dumps(body)),
        )


async def asks(gate: Callgate, *items: Any) -> bool:
    return (await gate.call("order", {"items": list(items)})).status == "pending"


async def test_a_grant_answers_until_it_is_revoked_and_the_record_agrees(file: Path):
    async with gate_on(file) as gate:
        grant = await gate.grant("order", by="ann")
        assert not await asks(gate, "pen")
        await gate.revoke(grant.id, by="ann")
        assert await asks(gate, "ink")
        report = await gate.verify_audit()
        assert report.ok, report.problems


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"id": "made up"}, "grant made up (order) stands, and no event says that anyone gave it"),
        ({"pattern": {}}, "was edited by somebody without the key"),
        ({"max_risk": "critical"}, "has another max_risk than the events say"),
        ({"granted_by": "bob"}, "has another granted_by than the events say"),
        ({"mac": None}, "was edited by somebody without the key"),
        ({"pattern": {"items": ["\ud800"]}}, "was edited by somebody without the key"),
    ],
)
async def test_a_grant_that_nobody_gave_as_it_is_answers_nothing_and_is_found(
    file: Path, change: dict[str, Any], found: str, caplog: pytest.LogCaptureFixture
):
    async with gate_on(file) as gate:
        await gate.grant("order", by="ann", pattern={"items": ["pen"]})
        [given] = rows(file)
        put(file, given | change)
        assert await asks(gate, "gold")
        assert "it is ignored" in caplog.text
        report = await gate.verify_audit()
        assert any(found in problem for problem in report.problems), report.problems


async def test_a_revoked_grant_stays_revoked_even_when_its_old_row_is_put_back(file: Path):
    async with gate_on(file) as gate:
        grant = await gate.grant("order", by="ann")
        [given] = rows(file)
        await gate.revoke(grant.id, by="ann")
        put(file, given)
        assert await asks(gate, "pen")
        report = await gate.verify_audit()
        assert report.problems == (f"grant {grant.id} (order) stands, and the events say that it was revoked",)


async def test_a_removed_grant_and_one_revoked_behind_the_gate_are_found(file: Path):
    async with gate_on(file) as gate:
        hidden, gone = [await gate.grant("order", by="ann") for _ in range(2)]
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("DELETE FROM grants WHERE id = ?", (gone.id,))
        [given] = rows(file)
        revoked = bind(Grant(**_fields(given | {"revoked_at": 5.0})), parts_of(gate).keys)
        put(file, given | {"revoked_at": 5.0, "mac": revoked.mac}, revoked=1)
        report = await gate.verify_audit()
        assert set(report.problems) == {
            f"grant {gone.id} is gone, and the events tell of it",
            f"grant {hidden.id} (order) is revoked, and the events say that it was not",
        }


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    return body | {"max_risk": a_grant().max_risk.parse(body["max_risk"]), "scope": GrantScope(body["scope"])}


async def test_grants_whose_events_are_erased_are_not_taken_for_forged(file: Path):
    async with gate_on(file) as gate:
        await gate.grant("order", by="ann")
        await gate.erase(types=["grant.*"], by="ann", why="asked to")
        report = await gate.verify_audit()
        assert report.ok, report.problems


async def test_a_pattern_is_compared_with_its_kinds_at_every_depth(file: Path):
    async with gate_on(file) as gate:
        await gate.grant("order", by="ann", pattern={"items": [1, {"of": [2.5, None]}]})
        assert not await asks(gate, 1, {"of": [2.5, None]})
        for other in ([True, {"of": [2.5, None]}], [1, {"of": [2.5]}], [1, {"of": [2.5, None], "x": 1}], [1], [1.0]):
            assert await asks(gate, *other), other


@pytest.mark.parametrize("pattern", [{"items": {1}}, {"items": float("nan")}, {"items": [10**400]}])
async def test_a_pattern_that_cannot_be_kept_is_refused(file: Path, pattern: dict[str, Any]):
    async with gate_on(file) as gate:
        with pytest.raises(ConfigurationError, match="plain JSON"):
            await gate.grant("order", by="ann", pattern=pattern)


def test_a_seal_fits_one_kind_of_answer_and_one_key():
    keys = throwaway_keys()
    sealed = bind(a_grant(), keys)
    assert intact(sealed, keys)
    assert not intact(sealed, throwaway_keys())
    assert not intact(a_grant(), keys)


@pytest.mark.parametrize("column", ["id", "principal", "tool", "revoked"])
async def test_a_grant_that_is_filed_elsewhere_answers_nothing_and_is_found(file: Path, column: str):
    async with gate_on(file) as gate:
        grant = await gate.grant("order", by="ann", principal="other")
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(f"UPDATE grants SET {column} = ?", (1 if column == "revoked" else "agent",))
        assert await asks(gate, "pen")
        assert grant.id not in {each.id for each in await gate.grants()}
        assert not (await gate.verify_audit()).ok


async def test_what_is_revoked_is_what_was_named(file: Path):
    async with gate_on(file) as gate:
        named, other = await gate.grant("order", by="ann"), await gate.grant("order", by="ann", principal="other")
        with closing(sqlite3.connect(file)) as db, db:
            for old, new in ((named.id, "x"), (other.id, named.id)):
                db.execute("UPDATE grants SET id = ? WHERE id = ?", (new, old))
        with pytest.raises(GrantNotFound):
            await gate.revoke(named.id, by="ann")
        assert await asks(gate, "pen")


async def test_an_edited_grant_can_be_revoked_and_is_found_all_the_same(file: Path):
    async with gate_on(file) as gate:
        grant = await gate.grant("order", by="ann", pattern={"items": ["pen"]})
        put(file, rows(file)[0] | {"pattern": {}})
        assert (await gate.revoke(grant.id, by="ann")).revoked_at is not None
        report = await gate.verify_audit()
        assert any("was edited by somebody without the key" in problem for problem in report.problems), report.problems
