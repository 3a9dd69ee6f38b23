"""Approvals and grants in every store."""

from dataclasses import replace
from typing import Any

import pytest

from callgate.model.approval import Approval, ApprovalState, Grant, Listed, Part
from callgate.ports import Store, Transaction
from tests.contracts.makers import a_decided_approval, a_grant, an_approval


async def put(store: Store, *values: Approval | Grant) -> None:
    def unit(tx: Transaction) -> None:
        for value in values:
            if isinstance(value, Approval):
                tx.put_approval(value)
            else:
                tx.put_grant(value)

    await store.write(unit)


async def test_an_approval_reads_back_as_it_was_put(store: Store):
    await put(store, an_approval("open"), a_decided_approval("decided"))
    assert await store.read(lambda reader: reader.approval("open")) == an_approval("open")
    assert await store.read(lambda reader: reader.approval("decided")) == a_decided_approval("decided")
    assert await store.read(lambda reader: reader.approval("absent")) is None


async def test_what_was_asked_cannot_be_changed_through_what_was_read(store: Store):
    await put(store, an_approval("a"))
    read = await store.read(lambda reader: reader.approval("a"))
    assert read is not None
    read.origins["to"] = "forged"
    assert await store.read(lambda reader: reader.approval("a")) == an_approval("a")


async def test_a_preview_that_json_cannot_hold_is_kept_as_far_as_it_goes(store: Store):
    await put(store, an_approval("a", preview={"text": "would pay", "details": {1, 2}}))
    read = await store.read(lambda reader: reader.approval("a"))
    assert read is not None
    assert read.preview == {"text": "would pay", "details": {"unrecordable": "set is not JSON"}}


async def test_the_latest_approval_of_a_call_is_the_one_put_last_whatever_its_state(store: Store):
    await put(
        store, an_approval("a"), an_approval("b", state=ApprovalState.EXPIRED, key="kb"), an_approval("c", tool="other")
    )
    await put(store, replace(an_approval("a"), state=ApprovalState.APPROVED))

    async def latest(*call: str, **by: Any) -> str | None:
        found = await store.read(lambda reader: reader.latest_approval(*call, **by))
        return found and found.id

    assert await latest("agent", "s1", "pay", "asked") == "b"
    assert await latest("agent", "s1", "pay", "asked", key="key-a") == "a"
    assert await latest("agent", "s1", "pay", "asked", key="kb") == "b"
    assert await latest("agent", "s1", "pay", "asked", key="none") is None
    for call in (
        ("x", "s1", "pay", "asked"),
        ("agent", "x", "pay", "asked"),
        ("agent", "s1", "x", "asked"),
        ("agent", "s1", "pay", "x"),
    ):
        assert await latest(*call) is None


def of_plan(name: str, plan: str, place: int, **changes: Any) -> Approval:
    """An approval of a plan; the first of a plan has the whole list."""
    listed = Listed(
        tool="pay", definition_hash="d", fingerprint="f", key="k", own_key=True, wave=1, asks=True, what="pay naïve"
    )
    part = Part(plan_id=plan, place=place, digest=f"digest-{plan}")
    return an_approval(name, part=part, calls=(listed, replace(listed, key="k2")) if place == 0 else (), **changes)


async def test_the_approvals_of_a_plan_read_back_with_their_plan(store: Store):
    await put(store, of_plan("1", "p", 0), an_approval("2"), of_plan("3", "p", 1), of_plan("4", "q", 0))
    assert await store.read(lambda reader: reader.approval("1")) == of_plan("1", "p", 0)
    assert await store.read(lambda reader: reader.approvals_of_plan("p")) == [
        of_plan("1", "p", 0),
        of_plan("3", "p", 1),
    ]
    assert await store.read(lambda reader: reader.approvals_of_plan("none")) == []
    await put(store, of_plan("1", "p", 0, state=ApprovalState.USED))
    states = [item.state for item in await store.read(lambda reader: reader.approvals_of_plan("p"))]
    assert states == [ApprovalState.USED, ApprovalState.PENDING]


async def test_the_newest_plan_of_a_digest_is_found_within_its_session(store: Store):
    async def newest(*place: str) -> str | None:
        return await store.read(lambda reader: reader.latest_plan(*place))

    part = Part(plan_id="q", place=0, digest="digest-p")
    await put(store, of_plan("1", "p", 0), of_plan("2", "r", 0, session="s2"), an_approval("3"))
    assert await newest("agent", "s1", "digest-p") == "p"
    await put(store, an_approval("4", part=part), of_plan("1", "p", 0, state=ApprovalState.EXPIRED))
    assert await newest("agent", "s1", "digest-p") == "q"
    for place in (("agent", "s2", "digest-p"), ("other", "s1", "digest-p"), ("agent", "s1", "digest-r")):
        assert await newest(*place) is None


async def test_an_approval_of_a_plan_is_found_by_its_key_alone(store: Store):
    async def latest(key: str | None) -> str | None:
        found = await store.read(lambda reader: reader.latest_approval("agent", "s1", "pay", "asked", key=key))
        return found and found.id

    await put(store, of_plan("1", "p", 0))
    assert (await latest(None), await latest("key-1"), await latest("other")) == (None, "1", None)
    await put(store, an_approval("2"), of_plan("3", "p", 1))
    assert (await latest(None), await latest("key-2"), await latest("key-3")) == ("2", "2", "3")


async def test_a_plan_counts_as_one_of_those_that_wait(store: Store):
    async def count(now: float | None = None) -> int:
        return await store.read(lambda reader: reader.pending_count("agent", "s1", now=now))

    await put(store, *(of_plan(str(place), "p", place, expires_at=200.0) for place in range(3)), an_approval("single"))
    assert (await count(), await count(100.0), await count(200.0)) == (2, 2, 1)
    await put(store, of_plan("0", "p", 0, state=ApprovalState.APPROVED))
    assert await count() == 2
    await put(store, *(of_plan(str(place), "p", place, state=ApprovalState.APPROVED) for place in range(3)))
    assert await count() == 1


async def test_a_plan_of_a_unit_that_failed_is_not_there(store: Store):
    def unit(tx: Transaction) -> None:
        tx.put_approval(of_plan("1", "p", 0))
        tx.put_approval(of_plan("2", "p", 1))
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(unit)
    assert await store.read(lambda reader: reader.approvals_of_plan("p")) == []
    assert await store.read(lambda reader: reader.latest_plan("agent", "s1", "digest-p")) is None
    assert await store.read(lambda reader: reader.pending_count("agent", "s1")) == 0


async def test_approvals_are_listed_oldest_first_by_state_and_session(store: Store):
    await put(store, an_approval("1"), an_approval("2", session="s2"), an_approval("3"), an_approval("4"))
    await put(store, an_approval("3", state=ApprovalState.APPROVED), an_approval("1", state=ApprovalState.USED))

    async def listed(**filters: Any) -> str:
        found = await store.read(lambda reader: reader.approvals(**filters))
        return "".join(item.id for item in found)

    assert await listed() == "1234"
    assert await listed(session="s1") == "134"
    assert await listed(states=[ApprovalState.PENDING]) == "24"
    assert await listed(states=iter([ApprovalState.USED, ApprovalState.PENDING]), session="s1") == "14"
    assert await listed(states=[]) == ""
    assert await listed(limit=2) == "12"
    assert await listed(states=[ApprovalState.PENDING, ApprovalState.APPROVED], limit=2) == "23"
    assert await listed(limit=0) == ""
    assert await listed(newest_first=True) == "4321"
    assert await listed(newest_first=True, limit=2) == "43"
    assert await listed(newest_first=True, session="s1", limit=2) == "43"
    assert await listed(states=[ApprovalState.PENDING, ApprovalState.USED], newest_first=True, limit=2) == "42"


async def test_approvals_are_listed_by_who_asked(store: Store):
    await put(store, an_approval("1"), an_approval("2", principal="other"), an_approval("3", session="s2"))

    async def listed(**filters: Any) -> str:
        found = await store.read(lambda reader: reader.approvals(**filters))
        return "".join(item.id for item in found)

    assert await listed(principal="agent") == "13"
    assert await listed(principal="agent", session="s2") == "3"
    assert await listed(principal="other", states=[ApprovalState.PENDING]) == "2"
    assert await listed(principal="agent", states=[ApprovalState.PENDING], newest_first=True, limit=1) == "3"
    assert await listed(principal="nobody") == ""


async def test_all_questions_that_wait_are_counted_a_plan_for_one(store: Store):
    async def count(now: float = 0.0) -> int:
        return await store.read(lambda reader: reader.all_pending_count(now=now))

    assert await count() == 0
    await put(
        store,
        an_approval("1", expires_at=50.0),
        an_approval("2", principal="other", expires_at=100.0),
        an_approval("3", state=ApprovalState.USED),
        *(of_plan(f"p{place}", "p", place, expires_at=100.0) for place in range(3)),
    )
    assert (await count(), await count(50.0), await count(100.0)) == (3, 2, 0)


async def test_pending_questions_are_counted_by_session(store: Store):
    async def count(session: str = "s1", principal: str = "agent") -> int:
        return await store.read(lambda reader: reader.pending_count(principal, session))

    assert await count() == 0
    await put(store, an_approval("1"), an_approval("2"), an_approval("3", session="s2"))
    await put(store, an_approval("1"))
    assert (await count(), await count("s2"), await count(principal="other")) == (2, 1, 0)
    await put(
        store,
        an_approval("1", state=ApprovalState.APPROVED),
        an_approval("3", session="s2", state=ApprovalState.EXPIRED),
    )
    assert (await count(), await count("s2")) == (1, 0)


async def test_questions_whose_time_is_up_are_not_counted_as_waiting(store: Store):
    async def count(now: float | None) -> int:
        return await store.read(lambda reader: reader.pending_count("agent", "s1", now=now))

    await put(store, an_approval("1", expires_at=200.0), an_approval("2", expires_at=300.5))
    assert [await count(now) for now in (None, 199.0, 200.0, 300.0, 300.5)] == [2, 2, 1, 1, 0]
    await put(store, an_approval("1", expires_at=400.0))
    assert [await count(now) for now in (None, 300.0, 350.0)] == [2, 2, 1]
    await put(store, an_approval("2", state=ApprovalState.EXPIRED))
    assert [await count(now) for now in (None, 300.0, 500.0)] == [1, 1, 0]


async def test_questions_of_a_unit_that_failed_do_not_wait(store: Store):
    await put(store, an_approval("1"))

    def unit(tx: Transaction) -> None:
        tx.put_approval(an_approval("1", state=ApprovalState.APPROVED))
        tx.put_approval(an_approval("2"))
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(unit)
    assert await store.read(lambda reader: reader.pending_count("agent", "s1", now=0.0)) == 1


async def test_grants_read_back_and_are_listed_until_they_are_revoked(store: Store):
    await put(store, a_grant("1"), a_grant("2", tool="send"), a_grant("3", principal="other"))

    async def listed(**filters: Any) -> str:
        found = await store.read(lambda reader: reader.grants(**filters))
        return "".join(item.id for item in found)

    assert await store.read(lambda reader: reader.grant("1")) == a_grant("1")
    assert await store.read(lambda reader: reader.grant("absent")) is None
    assert await listed() == "123"
    assert await listed(principal="agent") == "12"
    assert await listed(tool="pay") == "13"
    assert await listed(principal="agent", tool="pay") == "1"
    await put(store, a_grant("1", revoked_at=300.0))
    assert await listed() == "23"
    assert await listed(tool="pay") == "3"
    assert await store.read(lambda reader: reader.grant("1")) == a_grant("1", revoked_at=300.0)
