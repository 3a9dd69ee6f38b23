"""What tools keep, in every store: documents by area and key, put and forgotten with everything else of a unit."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from callgate.ports import Store, Transaction
from tests.contracts.makers import a_draft

KEYS = ("b/2", "a/1", "b/10", "b/1", "ba/1", "c", "b/\u00e9", "b/\U0010ffff", "b", "B/1")


async def keep(store: Store, *keys: str, area: str = "notes") -> None:
    def unit(tx: Transaction) -> None:
        for key in keys:
            tx.put_document(area, key, {"key": key})

    await store.write(unit)


async def listed(store: Store, **how: Any) -> list[str]:
    found = await store.read(lambda reader: reader.documents("notes", **how))
    assert all(each.body == {"key": each.key} for each in found)
    return [each.key for each in found]


async def test_a_document_is_kept_replaced_and_forgotten(store: Store) -> None:
    async def body(area: str, key: str) -> dict[str, Any] | None:
        return await store.read(lambda reader: reader.document(area, key))

    assert await body("notes", "a") is None
    await keep(store, "a")
    await store.write(lambda tx: tx.put_document("notes", "a", {"again": [2**70, None, "\u00e9"]}))
    await store.write(lambda tx: tx.put_document("other", "a", {"other": True}))
    found = await body("notes", "a")
    assert found is not None
    assert found == {"again": [2**70, None, "\u00e9"]}
    found["more"] = 1
    assert await body("notes", "a") == {"again": [2**70, None, "\u00e9"]}
    assert await store.write(lambda tx: tx.drop_document("notes", "a")) is True
    assert await store.write(lambda tx: tx.drop_document("notes", "a")) is False
    assert await store.write(lambda tx: tx.drop_document("never there", "a")) is False
    assert await body("notes", "a") is None
    assert await body("other", "a") == {"other": True}


async def test_documents_are_listed_by_their_keys(store: Store) -> None:
    await keep(store, *KEYS)
    await keep(store, "b/3", area="other")
    assert await listed(store) == sorted(KEYS)
    assert await listed(store, newest_first=True) == sorted(KEYS, reverse=True)
    under = ["b/1", "b/10", "b/2", "b/\u00e9", "b/\U0010ffff"]
    assert await listed(store, prefix="b/") == under
    assert await listed(store, prefix="b/", newest_first=True) == under[::-1]
    assert await listed(store, prefix="b/", limit=2) == under[:2]
    assert await listed(store, prefix="b/", limit=2, newest_first=True) == under[:-3:-1]
    assert await listed(store, prefix="b/", limit=0) == []
    assert await listed(store, prefix="b/", after="b/10") == under[2:]
    assert await listed(store, prefix="b/", after="b/10", newest_first=True) == under[:1]
    assert await listed(store, prefix="b/", after="a/1") == under
    assert await listed(store, prefix="b/", after="z", newest_first=True) == under[::-1]
    assert await listed(store, after="b/10", limit=1) == ["b/2"]
    assert await listed(store, after="b/10", newest_first=True) == ["b/1", "b", "a/1", "B/1"]
    assert await listed(store, prefix="nobody") == []
    assert await store.read(lambda reader: reader.documents("never there")) == []


async def test_any_keys_are_listed_in_the_order_of_their_letters(store: Store) -> None:
    dice = random.Random(7)

    def text(longest: int) -> str:
        return "".join(dice.choices("a\0\ud7ff\ue000\U0010ffff\u00e9", k=dice.randint(0, longest)))

    for area in map(str, range(200)):
        keys = {text(3) for _ in range(12)}
        await keep(store, *keys, area=area)
        prefix, after, newest_first = text(2), dice.choice([None, text(2)]), dice.random() < 0.5
        found = await store.read(
            lambda reader, area=area, prefix=prefix, after=after, newest_first=newest_first: reader.documents(
                area, prefix=prefix, after=after, newest_first=newest_first
            )
        )
        wanted = {key for key in keys if key.startswith(prefix)}
        if after is not None:
            wanted = {key for key in wanted if (key < after if newest_first else key > after)}
        assert [each.key for each in found] == sorted(wanted, reverse=newest_first)


async def test_a_unit_that_fails_keeps_and_forgets_nothing(store: Store) -> None:
    await keep(store, "old")

    def unit(tx: Transaction) -> None:
        tx.put_document("new area", "new", {})
        tx.put_document("notes", "new", {})
        tx.put_document("notes", "old", {"changed": True})
        assert tx.drop_document("notes", "old")
        tx.append(a_draft())
        assert [each.key for each in tx.documents("notes")] == ["new"]
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(unit)
    assert await listed(store) == ["old"]
    assert await store.read(lambda reader: reader.documents("new area")) == []


async def test_a_document_and_an_event_are_kept_together(store: Store) -> None:
    def unit(tx: Transaction) -> str:
        tx.append(a_draft(call="the-call"))
        [event] = tx.events(call="the-call")
        tx.put_document("notes", "a", {"event": event.id})
        return event.id

    made = await store.write(unit)
    [event] = await store.read(lambda reader: reader.events(call="the-call"))
    assert await store.read(lambda reader: reader.document("notes", "a")) == {"event": made}
    assert event.id == made


async def test_what_is_counted_inside_units_is_counted_once_each(store: Store) -> None:
    def unit(tx: Transaction) -> int:
        number = (tx.document("notes", "count") or {"next": 0})["next"]
        tx.put_document("notes", "count", {"next": number + 1})
        return number

    numbers = await asyncio.gather(*(store.write(unit) for _ in range(50)))
    assert sorted(numbers) == list(range(50))


async def test_a_document_that_json_cannot_hold_is_kept_as_far_as_it_goes(store: Store) -> None:
    await store.write(lambda tx: tx.put_document("notes", "1", {"output": object(), "n": 1}))
    body = await store.read(lambda reader: reader.document("notes", "1"))
    assert body == {"output": {"unrecordable": "object is not JSON"}, "n": 1}
