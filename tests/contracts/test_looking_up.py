"""Lists that are looked through by a field, a time or a place, in every store."""

from typing import Any

import pytest

from callgate.model.approval import ApprovalState, Part
from callgate.model.attempt import AttemptState
from callgate.model.event import Draft
from callgate.model.levels import Happened
from callgate.ports import Count, Store, Transaction
from tests.contracts.makers import an_approval, an_attempt

_ENTRIES: dict[str, dict[str, Any]] = {
    "a": {"tool": "pay", "status": "succeeded", "asked_at": 10.0, "duration_ms": 5.0, "role": "clerk"},
    "b": {"tool": "pay", "status": "failed", "principal": "ann", "asked_at": 20.0, "duration_ms": 9},
    "c": {"tool": "look", "status": "succeeded", "principal": "ann", "asked_at": 20.0, "duration_ms": 1.0},
    "d": {"tool": "pay", "status": "succeeded", "principal": "ann", "asked_at": 31.0, "odd": 7},
    "e": {"tool": 3, "status": None, "principal": ["ann"], "asked_at": "late", "session": "s", "duration_ms": True},
}


@pytest.fixture
async def entries(store: Store) -> Store:
    def unit(tx: Transaction) -> None:
        for key, body in _ENTRIES.items():
            tx.put_projection("calls", key, {"tool": "another"})
            tx.put_projection("calls", key, body | {"key": key})
            tx.put_projection("other", key, {"key": "no", "tool": "pay", "asked_at": 20.0})

    await store.write(unit)
    return store


async def _found(store: Store, **how: Any) -> str:
    return "".join(each["key"] for each in await store.read(lambda reader: reader.projections("calls", **how)))


async def test_entries_are_found_by_what_their_fields_are(entries: Store):
    assert await _found(entries, equal={"tool": "pay"}) == "abd"
    assert await _found(entries, equal={"tool": "pay"}, newest_first=True) == "dba"
    assert await _found(entries, equal={"status": "succeeded", "principal": "ann"}) == "cd"
    assert await _found(entries, equal={"tool": "pay", "status": "succeeded", "principal": "ann"}) == "d"
    assert await _found(entries, equal={"session": "s"}) == "e"
    assert await _found(entries, equal={"role": "clerk", "tool": "pay"}) == "a"
    assert await _found(entries, equal={"role": "clerk"}) == "a"
    assert await _found(entries, equal={}) == "abcde"


@pytest.mark.parametrize("field", ["session", "role"])
async def test_a_name_with_a_nul_is_not_the_one_before_it(store: Store, field: str):
    def unit(tx: Transaction) -> None:
        tx.put_projection("calls", "a", {"key": "a", field: "ops"})
        tx.put_projection("calls", "b", {"key": "b", field: "ops\0evil"})

    await store.write(unit)
    assert [await _found(store, equal={field: name}) for name in ("ops", "ops\0evil")] == ["a", "b"]


@pytest.mark.parametrize(
    "equal",
    [
        {"tool": "another"},
        {"tool": "3"},
        {"odd": "7"},
        {"principal": '["ann"]'},
        {"nothing": "x"},
        {'"; DROP': "x"},
        {"tool": "\ud800"},
        {"trace": "pay"},
        {"approval_id": "pay"},
    ],
    ids=["before", "number", "other number", "list", "no field", "no name", "half a letter", "trace", "approval"],
)
async def test_what_no_field_has_is_not_found(entries: Store, equal: dict[str, str]):
    assert await _found(entries, equal=equal) == ""


async def test_found_entries_are_skipped_cut_and_bounded_by_their_key(entries: Store):
    pay = {"tool": "pay"}
    assert await _found(entries, equal=pay, newest_first=True, limit=1, skip=1) == "b"
    assert await _found(entries, equal=pay, newest_first=True, skip=2) == "a"
    assert await _found(entries, skip=3) == "de"
    assert await _found(entries, skip=9, limit=2) == ""
    assert await _found(entries, equal=pay, below="d", newest_first=True) == "ba"


async def test_entries_are_found_by_when_they_were_asked(entries: Store):
    async def since(at: float, **how: Any) -> str:
        found = await entries.read(lambda reader: reader.projections_since("calls", at, **how))
        return "".join(each["key"] for each in found)

    assert await since(0) == "dcba"
    assert await since(20.0) == "dcb"
    assert await since(0, until=20.0) == "a"
    assert await since(0, until=31.0, limit=2) == "cb"
    assert await since(99) == ""


async def test_entries_are_counted_by_time_status_and_tool(entries: Store):
    counts = await entries.read(lambda reader: reader.counts("calls", since=15.0, stretch=10.0))
    assert sorted(counts, key=repr) == [
        Count(2, "failed", "pay", 1, 1, 9.0),
        Count(2, "succeeded", "look", 1, 1, 1.0),
        Count(3, "succeeded", "pay", 1, 0, 0.0),
    ]

    async def middle(since: float, *statuses: str) -> float | None:
        return await entries.read(lambda reader: reader.middle_duration("calls", since=since, statuses=statuses))

    assert await middle(0, "succeeded", "failed") == 5.0
    assert await middle(15.0, "succeeded", "failed") == 9.0
    assert await middle(0, "failed") == 9.0
    assert await middle(0, "refused") is None
    assert await middle(99, "succeeded") is None


async def test_the_end_of_the_record_is_known(store: Store):
    before = await store.read(lambda reader: reader.last_position())
    await store.write(lambda tx: tx.append(Draft(type="note", time=1.0, trace="t", payload={})))
    events = await store.read(lambda reader: reader.events())
    assert await store.read(lambda reader: reader.last_position()) == events[-1].position > before


async def test_rows_of_the_ledger_go_on_behind_one_of_them(store: Store):
    def unit(tx: Transaction) -> None:
        for key in "1234":
            tx.put_attempt(an_attempt(key, state=AttemptState.UNKNOWN if key in "13" else AttemptState.SUCCEEDED))
        tx.put_attempt(an_attempt("5", state=AttemptState.FAILED, happened=Happened.POSSIBLE))

    await store.write(unit)

    async def rows(**how: Any) -> str:
        return "".join(row.key.key for row in await store.read(lambda reader: reader.attempts(**how)))

    async def unsettled(**how: Any) -> str:
        return "".join(row.key.key for row in await store.read(lambda reader: reader.open_attempts(**how)))

    assert await rows(behind="call-2") == "345"
    assert await rows(behind="call-4", newest_first=True, limit=2) == "32"
    assert await rows(behind="call-4", newest_first=True, state=AttemptState.UNKNOWN) == "31"
    assert await rows(behind="call-3", state=AttemptState.SUCCEEDED, owner="owner-1") == "4"
    assert await rows(behind="nothing") == ""
    assert await unsettled(behind="call-1") == "35"
    assert await unsettled(behind="call-5", newest_first=True) == "31"
    assert await unsettled(behind="call-2", newest_first=True, limit=1) == "1"
    assert await unsettled(behind="nothing", newest_first=True) == ""


async def test_approvals_go_on_behind_a_question_or_a_plan(store: Store):
    def unit(tx: Transaction) -> None:
        tx.put_approval(an_approval("1", session="s"))
        for place, name in enumerate("23"):
            tx.put_approval(an_approval(name, session="s/a", part=Part(plan_id="p", place=place, digest="d")))
        tx.put_approval(an_approval("4", session="s0", expires_at=5.0))
        tx.put_approval(an_approval("5", session="s", state=ApprovalState.USED, expires_at=5.0))

    await store.write(unit)

    async def listed(**how: Any) -> str:
        return "".join(each.id for each in await store.read(lambda reader: reader.approvals(**how)))

    assert await listed(behind="2") == "345"
    assert await listed(behind="p") == "45"
    assert await listed(behind="p", newest_first=True) == "1"
    assert await listed(behind="4", newest_first=True, limit=2) == "32"
    assert await listed(behind="nothing") == ""
    assert await listed(within="s") == "1235"
    assert await listed(within="s", principal="agent", states=[ApprovalState.PENDING], newest_first=True) == "321"
    assert await listed(within="s/a") == "23"
    assert await listed(overdue=5.0, states=[ApprovalState.PENDING]) == "4"
    assert await listed(overdue=4.9) == ""
