"""Units of work: all or nothing, in order, each by itself, in every store."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from callgate.errors import StoreUnavailable
from callgate.model.attempt import AttemptState
from callgate.model.event import Event
from callgate.pipeline.shield import landed
from callgate.ports import Reader, Reading, Store, Transaction
from tests.contracts.makers import a_checkpoint, a_draft, a_grant, an_approval, an_attempt


class Trouble(Exception):
    """Something a unit raises."""


def everything(reader: Reader) -> list[Any]:
    """All there is to see."""
    return [
        reader.attempts(),
        reader.unresolved("agent", "s1", "asked-k"),
        reader.succeeded_since("agent", "s1", "asked-k", 0.0),
        reader.approvals(),
        reader.pending_count("agent", "s1"),
        reader.grants(),
        reader.sealed("sealed-k"),
        reader.events(),
        reader.heads(),
        reader.checkpoints(),
        reader.reading("ada", "p", "/f"),
        reader.meta("m"),
        reader.projections("calls"),
    ]


def put_everything(tx: Transaction, *, times: int = 1) -> None:
    for n in range(times):
        tx.put_attempt(an_attempt("k", fence=n))
        tx.put_attempt(an_attempt("u", state=AttemptState.UNKNOWN, fingerprint="asked-k"))
        tx.put_attempt(an_attempt("s", state=AttemptState.SUCCEEDED, fingerprint="asked-k", ended_at=n + 1.0))
        tx.put_sealed("sealed-k", b"%d" % n, keep_until=9.0)
        tx.append(a_draft(payload={"n": n}))
        tx.put_approval(an_approval(f"a{n}"))
        tx.put_grant(a_grant())
        tx.put_checkpoint(a_checkpoint())
        tx.put_reading("ada", "p", "/f", Reading(f"digest {n}", 1.0))
        tx.put_meta("m", f"value {n}")
        tx.put_projection("calls", "1", {"n": n})


async def test_a_unit_returns_its_value_and_reads_what_it_wrote(store: Store):
    def unit(tx: Transaction) -> list[Any]:
        put_everything(tx)
        return everything(tx)

    inside = await store.write(unit)
    assert inside == await store.read(everything)
    assert inside[6] == b"0"
    assert [event.type for event in inside[7]] == ["stream.opened", "tool_call.attempted"]


@pytest.mark.parametrize("look", [False, True])
async def test_of_a_unit_that_raises_nothing_remains(store: Store, look: bool):
    await store.write(put_everything)
    before = await store.read(everything)

    def unit(tx: Transaction) -> None:
        put_everything(tx, times=3)
        tx.drop_sealed(before=99.0)
        tx.clear_projection("calls")
        tx.erase_payloads([event.id for event in tx.events()] if look else [])
        raise Trouble

    with pytest.raises(Trouble):
        await store.write(unit)
    assert await store.read(everything) == before
    await store.write(lambda tx: tx.append(a_draft("after")))
    events = await store.read(lambda reader: reader.events())
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [one.previous for one in events[1:]] == [one.hash for one in events[:-1]]


def good(n: int) -> Callable[[Transaction], int]:
    def unit(tx: Transaction) -> int:
        tx.put_attempt(an_attempt(f"good {n}"))
        tx.append(a_draft(call=f"good {n}"))
        return n

    return unit


def bad(n: int) -> Callable[[Transaction], int]:
    """One that raises: before it writes, after it has, or after its writes were read back."""

    def unit(tx: Transaction) -> int:
        if n % 3:
            tx.put_attempt(an_attempt(f"bad {n}"))
            tx.put_sealed(f"bad {n}", b"", keep_until=None)
            tx.append(a_draft(call=f"bad {n}"))
        if n % 3 == 2:
            assert tx.events(call=f"bad {n}")
            tx.put_meta("bad", "yes")
        raise Trouble(n)

    return unit


def late(n: int) -> Callable[[Transaction], int]:
    """One that needs what the good one wrote."""

    def unit(tx: Transaction) -> int:
        assert tx.attempt(an_attempt(f"good {n}").key) == an_attempt(f"good {n}")
        tx.put_attempt(an_attempt(f"good {n}", state=AttemptState.SUCCEEDED, outcome=b"%d" % n))
        return n

    return unit


async def test_one_unit_that_raises_harms_no_other_of_its_commit(store: Store):
    units = [make(n) for n in range(30) for make in (good, bad, late)]
    results = await asyncio.gather(*(store.write(unit) for unit in units), return_exceptions=True)
    assert results[0::3] == results[2::3] == list(range(30))
    assert [str(error) for error in results[1::3]] == [str(n) for n in range(30)]
    rows = await store.read(lambda reader: reader.attempts())
    assert [(row.key.key, row.state.value, row.outcome) for row in rows] == [
        (f"good {n}", "succeeded", b"%d" % n) for n in range(30)
    ]
    events = await store.read(lambda reader: reader.events())
    assert [event.call for event in events] == [None, *(f"good {n}" for n in range(30))]
    assert [event.sequence for event in events] == list(range(31))
    assert await store.read(lambda reader: reader.meta("bad")) is None


async def test_a_unit_that_raises_early_does_not_take_back_the_ones_before_it(store: Store):
    """The unit between them looks (and so makes the first one's writes go out) before it writes and raises."""

    def first(tx: Transaction) -> None:
        tx.put_attempt(an_attempt("first"))
        tx.append(a_draft("first"))

    def looks_writes_raises(tx: Transaction) -> None:
        assert [event.type for event in tx.events()][-1] == "first"
        tx.put_attempt(an_attempt("second"))
        tx.append(a_draft("second"))
        raise Trouble

    results = await asyncio.gather(store.write(first), store.write(looks_writes_raises), return_exceptions=True)
    assert [type(result) for result in results] == [type(None), Trouble]
    assert await store.read(lambda reader: reader.attempts()) == [an_attempt("first")]
    events = await store.read(lambda reader: reader.events())
    assert [event.type for event in events] == ["stream.opened", "first"]


async def test_a_unit_that_cannot_be_kept_is_refused_alone(store: Store):
    """What SQLite cannot hold, other stores may; in no store does it harm the others."""
    odd = an_attempt("odd", tool="lone surrogate \ud800")
    results = await asyncio.gather(
        store.write(lambda tx: tx.put_attempt(an_attempt("1"))),
        store.write(lambda tx: tx.put_attempt(odd)),
        store.write(lambda tx: tx.append(a_draft())),
        return_exceptions=True,
    )
    assert (results[0], results[2]) == (None, None)
    assert not isinstance(results[1], BaseException) or "\ud800" not in str(results[1])
    assert await store.read(lambda reader: reader.attempt(an_attempt("1").key)) == an_attempt("1")
    assert len(await store.read(lambda reader: reader.events())) == 2


async def test_units_run_one_after_the_other_and_see_each_other(store: Store):
    def unit(tx: Transaction) -> int:
        count = int(tx.meta("count") or 0) + 1
        tx.put_meta("count", str(count))
        return count

    counts = await asyncio.gather(*(store.write(unit) for _ in range(50)))
    assert sorted(counts) == list(range(1, 51))


async def test_many_callers_claim_one_key_and_one_gets_it(store: Store):
    def claim(owner: str) -> Any:
        def unit(tx: Transaction) -> str:
            row = tx.attempt(an_attempt("k").key)
            if row is None:
                tx.put_attempt(an_attempt("k", owner=owner))
                return owner
            return row.owner

        return unit

    winners = await asyncio.gather(*(store.write(claim(str(n))) for n in range(40)))
    assert winners == ["0"] * 40


async def test_raising_what_a_future_cannot_carry_is_still_told(store: Store):
    def unit(_: Transaction) -> None:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(store.write(unit), 10)


async def test_a_cancelled_writer_harms_no_other(store: Store):
    ran: list[str] = []

    def unit(name: str) -> Any:
        def run(tx: Transaction) -> str:
            ran.append(name)
            tx.append(a_draft(name))
            return name

        return run

    tasks = [asyncio.ensure_future(store.write(unit(str(n)))) for n in range(6)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[1::2] == ["1", "3", "5"]
    events = await store.read(lambda reader: reader.events(types=["?"]))
    assert [event.type for event in events] == [name for name in "012345" if name in ran]
    assert {"1", "3", "5"} <= set(ran)


async def test_a_query_sees_everything_that_was_acknowledged(store: Store):
    for n in range(20):
        await store.write(lambda tx, n=n: tx.put_meta("n", str(n)))
        assert await store.read(lambda reader: reader.meta("n")) == str(n)
        assert await store.scan(lambda reader: reader.meta("n")) == str(n)


async def test_a_query_that_raises_harms_nothing(store: Store):
    def query(_: Reader) -> None:
        raise Trouble

    for ask in (store.read, store.scan):
        with pytest.raises(Trouble):
            await ask(query)
    assert await store.read(lambda reader: reader.meta("absent")) is None


async def test_a_row_that_ran_in_an_earlier_commit_is_read_with_all_its_fields(store: Store):
    row = an_attempt("k", deadline=5.0, approval_id="a", sealed_id="s", owner=store.owner)
    await store.write(lambda tx: tx.put_attempt(row))

    def settle(tx: Transaction) -> None:
        assert tx.attempt(row.key) == row
        tx.put_attempt(row._replace(state=AttemptState.UNKNOWN, cause="timeout", ended_at=7.0, fence=2))

    await store.write(settle)
    expected = row._replace(state=AttemptState.UNKNOWN, cause="timeout", ended_at=7.0, fence=2)
    assert await store.read(lambda reader: reader.attempt(row.key)) == expected


async def test_listeners_hear_of_every_event_once_in_order_and_only_when_it_is_durable(store: Store):
    heard: list[Event] = []

    def failing(_: object) -> None:
        raise Trouble

    store.subscribe(failing)
    store.subscribe(heard.extend)
    for n in range(5):
        store.behind(a_draft(f"behind {n}"))
        await store.write(lambda tx, n=n: tx.append(a_draft(f"unit {n}")))
        assert heard[-1].type == f"unit {n}"
    with pytest.raises(Trouble):
        await store.write(_append_and_raise)
    store.behind(a_draft("last"))
    await store.flush()
    stored = await store.read(lambda reader: reader.events(after=1))
    assert heard == stored
    assert [event.position for event in heard] == list(range(2, 13))


def _append_and_raise(tx: Transaction) -> None:
    tx.append(a_draft("never"))
    raise Trouble


async def test_what_was_submitted_is_done_although_whoever_waits_lets_go(store: Store):
    promise = store.submit(lambda tx: tx.put_attempt(an_attempt("k")))
    assert not promise.cancel()
    waiting = asyncio.ensure_future(landed(promise))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting, promise}, timeout=20)
    assert promise.done()
    assert await store.read(lambda reader: reader.attempt(an_attempt("k").key)) == an_attempt("k")


async def test_a_submitted_unit_that_raises_leaves_nothing_and_says_why(store: Store):
    def unit(tx: Transaction) -> None:
        tx.put_meta("half", "done")
        raise LookupError("not there")

    with pytest.raises(LookupError, match="not there"):
        await store.submit(unit)
    assert await store.read(lambda reader: reader.meta("half")) is None


async def test_a_unit_submitted_on_another_loop_is_done_on_the_stores_own(store: Store):
    async def elsewhere() -> tuple[str, bool]:
        promise = store.submit(lambda tx: tx.put_meta("from", "elsewhere") or "written")
        return await promise, promise.cancel()

    assert await asyncio.to_thread(asyncio.run, elsewhere()) == ("written", False)
    assert await store.read(lambda reader: reader.meta("from")) == "elsewhere"


async def test_nothing_is_submitted_to_a_store_that_is_closed(store: Store):
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store.submit(lambda tx: tx.put_meta("late", "no"))
