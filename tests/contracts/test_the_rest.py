"""Sealed blobs, checkpoints, readings, named values and projections in every store."""

from typing import Any

import pytest

from callgate.ports import Reading, Store, Transaction
from tests.contracts.conftest import READINGS
from tests.contracts.makers import a_checkpoint


async def test_sealed_blobs_read_back_until_their_retention_ends(store: Store):
    def unit(tx: Transaction) -> None:
        tx.put_sealed("a", b"\x00\xffold", keep_until=10.0)
        tx.put_sealed("b", b"newer", keep_until=20.0)
        tx.put_sealed("c", b"for ever", keep_until=None)
        tx.put_sealed("a", b"replaced", keep_until=10.0)

    await store.write(unit)

    async def sealed() -> list[bytes | None]:
        return await store.read(lambda reader: [reader.sealed(name) for name in ("a", "b", "c", "d")])

    assert await sealed() == [b"replaced", b"newer", b"for ever", None]
    assert await store.write(lambda tx: tx.drop_sealed(before=10.0)) == 0
    assert await store.write(lambda tx: tx.drop_sealed(before=10.5)) == 1
    assert await sealed() == [None, b"newer", b"for ever", None]
    assert await store.write(lambda tx: tx.drop_sealed(before=1e12)) == 1
    assert await sealed() == [None, None, b"for ever", None]


async def test_checkpoints_read_back_oldest_first(store: Store):
    made = [a_checkpoint("1"), a_checkpoint("2", heads={}, time=100.0), a_checkpoint("3")]

    def unit(tx: Transaction) -> None:
        for checkpoint in made:
            tx.put_checkpoint(checkpoint)

    await store.write(unit)
    read = await store.read(lambda reader: reader.checkpoints())
    assert read == made
    read[0].heads.clear()
    assert await store.read(lambda reader: reader.checkpoints()) == made


async def test_readings_belong_to_a_user_and_a_project(store: Store):
    def unit(tx: Transaction) -> None:
        tx.put_reading("ada", "p", "/f", Reading("one", 1.0))
        tx.put_reading("ada", "q", "/f", Reading("two", 2.0))
        tx.put_reading("ada", "p", "/f", Reading("three", 3.0))

    await store.write(unit)

    async def reading(*place: str) -> Reading | None:
        return await store.read(lambda reader: reader.reading(*place))

    assert await reading("ada", "p", "/f") == Reading("three", 3.0)
    assert await reading("ada", "q", "/f") == Reading("two", 2.0)
    assert await reading("bob", "p", "/f") is None


@pytest.mark.requirement("STL-05")
async def test_the_oldest_readings_are_dropped_beyond_a_bound(store: Store):
    async def put(path: str) -> None:
        await store.write(lambda tx: tx.put_reading("ada", "p", path, Reading(path, 1.0)))

    for n in range(READINGS):
        await put(f"/{n}")
    await put("/0")
    await put("/new")
    await put("/newer")
    kept = await store.read(
        lambda reader: [n for n in range(READINGS) if reader.reading("ada", "p", f"/{n}") is not None]
    )
    assert kept == [0, *range(3, READINGS)]


async def test_named_values_are_set_and_replaced(store: Store):
    assert await store.read(lambda reader: reader.meta("name")) is None
    await store.write(lambda tx: tx.put_meta("name", "one"))
    await store.write(lambda tx: tx.put_meta("name", "two"))
    assert await store.read(lambda reader: reader.meta("name")) == "two"


async def test_projections_are_read_by_key_listed_in_order_and_cleared(store: Store):
    def unit(tx: Transaction) -> None:
        for key in ("b", "a", "c"):
            tx.put_projection("calls", key, {"key": key})
        tx.put_projection("calls", "b", {"key": "b", "again": [2**70, None]})
        tx.put_projection("other", "a", {"key": "other"})

    await store.write(unit)

    async def listed(**how: Any) -> str:
        found = await store.read(lambda reader: reader.projections("calls", **how))
        return "".join(body["key"] for body in found)

    assert await store.read(lambda reader: reader.projection("calls", "b")) == {"key": "b", "again": [2**70, None]}
    assert await store.read(lambda reader: reader.projection("calls", "x")) is None
    assert await store.read(lambda reader: reader.projection("absent", "b")) is None
    assert await listed() == "abc"
    assert await listed(newest_first=True) == "cba"
    assert await listed(limit=2) == "ab"
    assert await listed(limit=2, newest_first=True) == "cb"
    assert await listed(limit=0) == ""
    assert await listed(below="c") == "ab"
    assert await listed(below="c", newest_first=True, limit=1) == "b"
    assert await listed(below="a") == ""
    await store.write(lambda tx: tx.clear_projection("calls"))
    assert await listed() == ""
    assert await store.read(lambda reader: reader.projection("other", "a")) == {"key": "other"}
    await store.write(lambda tx: tx.clear_projection("never there"))


@pytest.mark.requirement("EVT-16")
async def test_a_projection_that_json_cannot_hold_is_kept_as_far_as_it_goes(store: Store):
    await store.write(lambda tx: tx.put_projection("calls", "1", {"output": object(), "n": 1}))
    body = await store.read(lambda reader: reader.projection("calls", "1"))
    assert body == {"output": {"unrecordable": "object is not JSON"}, "n": 1}
