"""Ledger rows in every store."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.errors import StoreUnavailable
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.ids import uuid7
from callgate.model.levels import Happened
from callgate.ports import Past, Reader, Store, Transaction
from tests.contracts.makers import a_full_attempt, an_attempt


async def put(store: Store, *attempts: Attempt) -> None:
    def unit(tx: Transaction) -> None:
        for attempt in attempts:
            tx.put_attempt(attempt)

    await store.write(unit)


async def test_a_row_reads_back_as_it_was_put(store: Store):
    full = a_full_attempt()
    await put(store, full, an_attempt("plain"))
    assert await store.read(lambda reader: reader.attempt(full.key)) == full
    assert await store.read(lambda reader: reader.attempt(an_attempt("plain").key)) == an_attempt("plain")


async def test_a_free_key_has_no_row(store: Store):
    assert await store.read(lambda reader: reader.attempt(AttemptKey("agent", "s1", "free"))) is None
    assert await store.write(lambda tx: tx.attempt(AttemptKey("agent", "s1", "free"))) is None


async def test_keys_of_other_principals_and_sessions_are_other_keys(store: Store):
    await put(store, an_attempt("k"))
    for key in (AttemptKey("other", "s1", "k"), AttemptKey("agent", "s2", "k"), AttemptKey("agent", "s1", "K")):
        assert await store.read(lambda reader, key=key: reader.attempt(key)) is None


async def test_putting_a_key_again_replaces_its_row_and_keeps_its_place(store: Store):
    await put(store, an_attempt("first"), an_attempt("second"))
    changed = an_attempt("first")._replace(tool="other", call_id="another", fingerprint="new", sealed_id="s", fence=2)
    await put(store, changed)
    assert await store.read(lambda reader: reader.attempts()) == [changed, an_attempt("second")]


async def test_a_row_goes_from_started_to_its_end_in_one_commit_or_in_several(store: Store):
    def claim_and_settle(tx: Transaction) -> Attempt | None:
        tx.put_attempt(an_attempt("k"))
        claimed = tx.attempt(an_attempt("k").key)
        assert claimed == an_attempt("k")
        tx.put_attempt(an_attempt("k")._replace(state=AttemptState.SUCCEEDED, ended_at=101.0, outcome=b'{"n":[1]}'))
        return tx.attempt(an_attempt("k").key)

    settled = await store.write(claim_and_settle)
    assert settled is not None
    assert settled.state is AttemptState.SUCCEEDED
    assert settled.outcome == b'{"n":[1]}'
    assert await store.read(lambda reader: reader.attempt(an_attempt("k").key)) == settled
    failed = settled._replace(state=AttemptState.FAILED, tries=2, outcome=None)
    await put(store, failed)
    assert await store.write(lambda tx: tx.attempt(failed.key)) == failed


_ALSO_SET: dict[str, dict[str, Any]] = {
    "nothing else": {},
    "edited": {"final_fingerprint": "edited"},
    "a deadline": {"deadline": 130.0},
    "an approval": {"approval_id": "a1"},
    "what happened": {"happened": Happened.DONE},
    "a cause": {"cause": "timeout"},
    "who resolved it": {"resolved_by": "operator"},
    "flags and counts": {"fence": 4, "tries": 3, "idempotent": True, "has_verify": True, "horizon": 2.5},
}


@pytest.mark.parametrize("also", _ALSO_SET.values(), ids=_ALSO_SET)
@pytest.mark.parametrize("outcome", [b'{"n":1}', None], ids=["told", "untold"])
async def test_whatever_is_set_in_a_claim_and_in_its_success_reads_back(
    store: Store, also: dict[str, Any], outcome: bytes | None
):
    """Stores may have a shorter way for the rows that nearly all calls have; it must not lose the others' fields."""
    claimed = an_attempt("k", sealed_id="sealed", **also)
    ended = claimed._replace(state=AttemptState.SUCCEEDED, ended_at=101.5, outcome=outcome)
    await put(store, claimed)
    assert await store.read(lambda reader: reader.attempt(claimed.key)) == claimed
    await put(store, ended)
    assert await store.read(lambda reader: reader.attempt(claimed.key)) == ended
    elsewhere = claimed.key._replace(key="at once")
    await put(store, claimed._replace(key=elsewhere), ended._replace(key=elsewhere, owner="owner-2"))
    assert await store.read(lambda reader: reader.attempt(elsewhere)) == ended._replace(key=elsewhere, owner="owner-2")


async def test_a_row_is_found_by_its_latest_call(store: Store):
    await put(store, an_attempt("k", call_id="first call"))
    await put(store, an_attempt("k", call_id="second call"))
    assert await store.read(lambda reader: reader.attempt_of_call("first call")) is None
    found = await store.read(lambda reader: reader.attempt_of_call("second call"))
    assert found == an_attempt("k", call_id="second call")


async def test_unresolved_finds_unknown_rows_of_the_session_by_asked_and_by_final_fingerprint(store: Store):
    unknown = an_attempt("k", state=AttemptState.UNKNOWN, fingerprint="asked", final_fingerprint="edited")
    await put(store, unknown, an_attempt("other", fingerprint="running", final_fingerprint="running"))

    def ask(reader: Reader) -> list[Attempt | None]:
        return [
            reader.unresolved("agent", "s1", fingerprint) for fingerprint in ("asked", "edited", "running", "never")
        ] + [reader.unresolved("other", "s1", "asked"), reader.unresolved("agent", "s2", "asked")]

    expected = [unknown, unknown, None, None, None, None]
    assert await store.read(ask) == expected
    assert await store.write(ask) == expected


async def test_unresolved_finds_an_unknown_row_also_while_it_is_tried_again(store: Store):
    unknown = an_attempt("k", state=AttemptState.UNKNOWN, final_fingerprint="edited")
    again = unknown._replace(state=AttemptState.STARTED, happened=Happened.POSSIBLE, call_id="again", fence=2, tries=2)
    place = AttemptKey("agent", "s1", "free")

    def ask(reader: Reader) -> list[Attempt | None]:
        direct = [reader.unresolved("agent", "s1", each) for each in ("asked-k", "edited")]
        return direct + [reader.past(place, each, 0.0).unresolved for each in ("asked-k", "edited")]

    def unit(tx: Transaction) -> list[Attempt | None]:
        tx.put_attempt(unknown)
        tx.put_attempt(again)
        return ask(tx)

    assert await store.write(unit) == [again] * 4
    assert await store.read(ask) == [again] * 4
    assert await store.read(lambda reader: reader.open_count()) == 0
    assert await store.read(lambda reader: reader.attempts(state=AttemptState.UNKNOWN)) == []
    await put(store, again._replace(state=AttemptState.SUCCEEDED, happened=None, ended_at=9.0))
    assert await store.write(ask) == await store.read(ask) == [None] * 4


async def test_unresolved_forgets_a_row_once_it_is_resolved(store: Store):
    unknown = an_attempt("k", state=AttemptState.UNKNOWN)
    later = an_attempt("k2", state=AttemptState.UNKNOWN, fingerprint="asked-k", final_fingerprint="asked-k")

    def unit(tx: Transaction) -> list[str | None]:
        seen: list[str | None] = []
        for attempt in (
            unknown,
            later,
            unknown._replace(state=AttemptState.SUCCEEDED),
            later._replace(state=AttemptState.FAILED),
        ):
            tx.put_attempt(attempt)
            found = tx.unresolved("agent", "s1", "asked-k")
            seen.append(found and found.key.key)
        return seen

    assert await store.write(unit) == ["k", "k", "k2", None]
    assert await store.read(lambda reader: reader.unresolved("agent", "s1", "asked-k")) is None


@pytest.mark.parametrize("ended", [3.0, 1_700_000_000.0])
async def test_succeeded_since_sees_equal_successes_from_that_time_on(store: Store, ended: float):
    edited = an_attempt("k", fingerprint="a", final_fingerprint="b", state=AttemptState.SUCCEEDED, ended_at=ended)
    await put(store, edited, an_attempt("failed", fingerprint="c", state=AttemptState.FAILED, ended_at=ended))

    def ask(reader: Reader) -> list[bool]:
        return [
            reader.succeeded_since("agent", "s1", fingerprint, since)
            for fingerprint in ("a", "b", "c")
            for since in (0.0, ended - 599.0, ended, ended + 0.1, ended + 1_000_000.0)
        ]

    assert await store.read(ask) == [True, True, True, False, False] * 2 + [False] * 5
    assert not await store.read(lambda reader: reader.succeeded_since("other", "s1", "a", 0.0))
    assert not await store.read(lambda reader: reader.succeeded_since("agent", "s2", "a", 0.0))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ends=st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1e4, 1e10), st.booleans()), max_size=12),
    since=st.floats(-1e4, 1e10),
)
async def test_succeeded_since_is_right_whatever_the_clock_did(
    store: Store, monkeypatch: pytest.MonkeyPatch, ends: list[tuple[str, float, bool]], since: float
):
    monkeypatch.setattr("callgate.stores.sqlite.known._STRETCH", 3)
    session = uuid7()

    def settle(name: str, ended: float) -> Callable[[Transaction], None]:
        key = AttemptKey("agent", session, uuid7())
        row = an_attempt("k", fingerprint=name, final_fingerprint=name, call_id=key.key)
        return lambda tx: tx.put_attempt(row._replace(key=key, state=AttemptState.SUCCEEDED, ended_at=ended))

    for name, ended, together in ends:
        unit = settle(name, ended)
        await (store.write(unit) if together else asyncio.gather(store.write(unit), store.flush()))
    for name in "abc":
        expected = any(which == name and ended >= since for which, ended, _ in ends)
        found = await store.read(lambda reader, name=name: reader.succeeded_since("agent", session, name, since))
        assert found == expected


async def test_succeeded_since_is_not_misled_by_fingerprints_that_begin_alike(store: Store):
    alike = "0123456789abcdef"
    await put(store, an_attempt("k", fingerprint=alike + "A", state=AttemptState.SUCCEEDED, ended_at=100.0))
    assert not await store.read(lambda reader: reader.succeeded_since("agent", "s1", alike + "B", 50.0))


async def test_rows_are_listed_oldest_first_by_state_and_owner(store: Store):
    rows = [
        an_attempt("1"),
        an_attempt("2", state=AttemptState.UNKNOWN),
        an_attempt("3", owner="owner-2"),
        an_attempt("4", state=AttemptState.SUCCEEDED, owner="owner-2"),
        an_attempt("5", state=AttemptState.UNKNOWN, owner="owner-2"),
    ]
    await put(store, *rows)

    async def listed(**filters: Any) -> str:
        found = await store.read(lambda reader: reader.attempts(**filters))
        return "".join(item.key.key for item in found)

    assert await listed() == "12345"
    assert await listed(state=AttemptState.STARTED) == "13"
    assert await listed(state=AttemptState.UNKNOWN) == "25"
    assert await listed(state=AttemptState.SUCCEEDED) == "4"
    assert await listed(owner="owner-2") == "345"
    assert await listed(state=AttemptState.STARTED, owner="owner-2") == "3"
    assert await listed(state=AttemptState.UNKNOWN, owner="owner-2") == "5"
    assert await listed(state=AttemptState.FAILED) == ""
    assert await listed(limit=2) == "12"
    assert await listed(state=AttemptState.UNKNOWN, limit=1) == "2"
    assert await listed(limit=0) == ""
    assert await listed(newest_first=True) == "54321"
    assert await listed(newest_first=True, limit=2) == "54"
    assert await listed(newest_first=True, state=AttemptState.UNKNOWN, limit=1) == "5"
    assert await listed(newest_first=True, state=AttemptState.STARTED) == "31"
    assert await listed(newest_first=True, state=AttemptState.STARTED, owner="owner-2") == "3"
    assert await listed(newest_first=True, state=AttemptState.SUCCEEDED, owner="owner-2") == "4"
    assert await listed(newest_first=True, owner="owner-2", limit=2) == "54"


async def test_calls_that_may_still_run_are_listed_by_owner(store: Store):
    ended = {"ended_at": 101.0}
    rows = [
        an_attempt("ended", owner="a", state=AttemptState.SUCCEEDED, **ended),
        an_attempt("late", owner="a", state=AttemptState.UNKNOWN),
        an_attempt("running", owner="b"),
        an_attempt("known", owner="b", state=AttemptState.SUCCEEDED),
        an_attempt("lost", owner="a", state=AttemptState.UNKNOWN, **ended),
        an_attempt("first", owner="a"),
    ]
    await put(store, *rows)

    def listed(reader: Reader) -> list[list[str]]:
        return [[row.key.key for row in reader.unended(owner)] for owner in ("a", "b", "c", None)]

    expected = [["late", "first"], ["running", "known"], [], ["late", "running", "known", "first"]]
    assert await store.read(listed) == expected
    assert await store.write(listed) == expected
    await put(store, rows[1]._replace(ended_at=102.0), rows[-1]._replace(state=AttemptState.FAILED, ended_at=102.0))
    assert await store.read(listed) == [[], ["running", "known"], [], ["running", "known"]]


async def test_what_nobody_knows_is_listed_and_counted(store: Store):
    failed, unknown = AttemptState.FAILED, AttemptState.UNKNOWN

    async def listed(**choices: Any) -> str:
        found = await store.read(lambda reader: reader.open_attempts(**choices))
        return "".join(row.key.key for row in found)

    async def count() -> int:
        return await store.read(lambda reader: reader.open_count())

    assert (await listed(), await count()) == ("", 0)
    await put(
        store,
        an_attempt("1", state=failed, happened=Happened.POSSIBLE, ended_at=101.0),
        an_attempt("2", state=failed, happened=Happened.NONE, ended_at=101.0),
        an_attempt("3", state=unknown, ended_at=101.0),
        an_attempt("4"),
        an_attempt("5", state=failed, happened=Happened.POSSIBLE, ended_at=101.0),
        an_attempt("6", state=AttemptState.SUCCEEDED, ended_at=101.0),
    )
    assert (await listed(), await count()) == ("135", 3)
    assert (await listed(newest_first=True), await listed(limit=2)) == ("531", "13")
    assert (await listed(newest_first=True, limit=1), await listed(limit=0)) == ("5", "")
    await put(store, an_attempt("3", state=AttemptState.SUCCEEDED, ended_at=102.0))
    assert (await listed(), await count()) == ("15", 2)


async def test_hostile_text_is_only_text(store: Store):
    hostile = "'; DROP TABLE attempts; -- \x00 \u202e ../../%00 💥" + "x" * 10_000
    row = an_attempt(hostile, tool=hostile, fingerprint=hostile)
    await put(store, row)
    assert await store.read(lambda reader: reader.attempt(row.key)) == row


async def test_the_past_of_a_call_is_what_the_single_questions_say(store: Store):
    done = an_attempt("done", state=AttemptState.SUCCEEDED, ended_at=101.0, fingerprint="f", final_fingerprint="f")
    lost = an_attempt("lost", state=AttemptState.UNKNOWN, fingerprint="g", final_fingerprint="edited")
    edited = an_attempt("edited", state=AttemptState.SUCCEEDED, ended_at=102.0, fingerprint="h", final_fingerprint="i")
    await put(store, done, lost, edited)

    async def past(key: str, fingerprint: str, since: float) -> Past:
        place = AttemptKey("agent", "s1", key)
        told = await store.peek(lambda reader: reader.past(place, fingerprint, since))
        assert told == await store.write(lambda tx: tx.past(place, fingerprint, since))
        return told

    assert await past("free", "never", 0.0) == Past()
    assert await past("done", "never", 0.0) == Past(attempt=done)
    assert await past("free", "f", 101.0) == Past(repeated=True)
    assert await past("free", "f", 101.5) == Past()
    assert await past("free", "i", 102.0) == Past(repeated=True)
    assert await past("free", "edited", 0.0) == await past("", "g", 0.0) == Past(unresolved=lost)
    assert await past("edited", "g", 0.0) == Past(attempt=edited, unresolved=lost)
    elsewhere = AttemptKey("agent", "s2", "done")
    assert await store.peek(lambda reader: reader.past(elsewhere, "f", 0.0)) == Past()


async def test_the_holder_of_a_key_is_told_without_its_row(store: Store):
    await put(store, an_attempt("k", fence=3))
    for ask in (store.peek, store.read):
        assert await ask(lambda reader: reader.holder(an_attempt("k").key)) == (3, "owner-1", "call-k")
        assert await ask(lambda reader: reader.holder(an_attempt("free").key)) is None

    def unit(tx: Transaction) -> list[tuple[int, str, str] | None]:
        tx.put_attempt(an_attempt("k", fence=4))
        return [tx.holder(an_attempt("k").key), tx.holder(an_attempt("free").key)]

    assert await store.write(unit) == [(4, "owner-1", "call-k"), None]


async def test_the_first_row_of_a_key_is_added_and_a_second_one_is_not(store: Store):
    await store.write(lambda tx: tx.add_attempt(an_attempt("k")))
    done = an_attempt("k", state=AttemptState.SUCCEEDED, ended_at=101.0)
    await put(store, done)
    with pytest.raises((KeyError, StoreUnavailable)):
        await store.write(lambda tx: tx.add_attempt(an_attempt("k", call_id="another")))
    await store.write(lambda tx: tx.add_attempt(an_attempt("other")))
    assert await store.read(lambda reader: reader.attempts()) == [done, an_attempt("other")]


async def test_a_peek_sees_what_was_acknowledged(store: Store):
    for number in range(5):
        row = an_attempt(f"k{number}")
        assert await store.peek(lambda reader, row=row: reader.attempt(row.key)) is None
        await put(store, row)
        told = await asyncio.gather(*(store.peek(lambda reader, row=row: reader.attempt(row.key)) for _ in range(3)))
        assert told == [row] * 3
        assert await store.read(lambda reader, row=row: reader.attempt(row.key)) == row
