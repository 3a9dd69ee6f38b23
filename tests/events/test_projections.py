"""Projections are what the events add up to, however they were caught up with."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.events import vocabulary
from callgate.events.invocations import invocation, invocation_of
from callgate.events.projections import PROJECTIONS, catch_up, rebuild, refresh
from callgate.model.event import Draft
from callgate.ports import Store
from callgate.stores.memory import MemoryStore
from tests.events.stories import HandClock, Story, record

DAY = 86_400.0


async def entries(store: Store, name: str) -> list[dict[str, Any]]:
    await refresh(store, name)
    return await store.read(lambda reader: reader.projections(name))


async def one(store: Store, name: str) -> dict[str, Any]:
    (entry,) = await entries(store, name)
    return entry


async def test_a_call_is_one_entry_from_its_attempt_to_its_end(store: Store):
    story = Story(key="k1", time=100.0)
    later = Story(story.tool, story.call, story.trace, 103.5)
    await record(store, story.attempted(approval_id="a1"), later.succeeded())
    assert await one(store, "calls") == {
        "call": story.call,
        "trace": story.trace,
        "tool": "mail.send",
        "tool_id": "id-of-mail.send",
        "source": "function",
        "role": "assistant",
        "principal": "agent",
        "user": "ada",
        "session": "s1",
        "key": "k1",
        "approval_id": "a1",
        "verdict": "allow",
        "risk": "medium",
        "autonomy": "A3",
        "status": "succeeded",
        "error_code": None,
        "asked_at": 100.0,
        "started_at": 100.0,
        "ended_at": 103.5,
        "updated_at": 103.5,
        "duration_ms": 12.5,
        "caller_type": "direct",
        "chain_id": None,
        "chain_index": 0,
    }


CASES: list[tuple[Callable[[Story], list[Draft]], str, str | None]] = [
    (lambda s: [s.attempted()], "started", None),
    (lambda s: [s.attempted(), s.failed()], "failed", "handler_failed"),
    (lambda s: [s.attempted(), s.timed_out()], "failed", "timed_out"),
    (lambda s: [s.attempted(), s.unknown()], "unknown", "timed_out"),
    (lambda s: [s.attempted(), s.unknown(), s.draft("tool_call.resolved", state="succeeded")], "succeeded", None),
    (lambda s: [s.attempted(), s.unknown(), s.draft("tool_call.settled_late", outcome="failed")], "failed", None),
    (lambda s: [s.attempted(), s.unknown(), s.draft("tool_call.settled_late", state="succeeded")], "succeeded", None),
    (lambda s: [s.attempted(), s.unknown(), s.draft("tool_call.settled_late")], "unknown", "timed_out"),
    (lambda s: [s.refused("scope_violation")], "refused", "scope_violation"),
    (lambda s: [s.draft("gate.denied", code="gate_denied")], "refused", "gate_denied"),
    (lambda s: [s.draft("gate.required", approval_id="a1")], "pending", None),
    (lambda s: [s.draft("gate.previewed")], "previewed", None),
    (lambda s: [s.draft("tool_call.deduped", original_call="c0")], "deduped", None),
    (lambda s: [s.draft("gate.required"), s.draft("approval.approved")], "pending", None),
    (lambda s: [s.draft("gate.required"), s.draft("approval.rejected")], "refused", "approval_rejected"),
    (lambda s: [s.draft("gate.required"), s.draft("approval.answered")], "refused", "approval_answered"),
    (lambda s: [s.draft("gate.required"), s.draft("approval.expired")], "refused", "approval_expired"),
    (lambda s: [s.draft("gate.required"), s.draft("approval.withdrawn")], "refused", None),
    (lambda s: [s.draft("gate.required"), s.draft("approval.used")], "resumed", None),
    (lambda s: [s.draft("gate.required"), s.draft("approval.used"), s.attempted(), s.succeeded()], "succeeded", None),
]


@pytest.mark.parametrize(("drafts", "status", "code"), CASES)
async def test_the_status_of_a_call_is_that_of_its_last_event(
    store: Store, drafts: Callable[[Story], list[Draft]], status: str, code: str | None
):
    await record(store, *drafts(Story()))
    entry = await one(store, "calls")
    assert entry["status"] == status
    assert entry.get("error_code") == code


@pytest.mark.requirement("EVT-15")
async def test_the_invocation_log_has_what_ran_for_whom_how_it_ended_and_its_place_in_the_chain(store: Store):
    direct, chained = Story(), Story()
    await record(store, direct.attempted(), direct.succeeded({"id": 7}))
    await record(store, chained.attempted(caller="chain", chain_id="c1", chain_index=2), chained.failed("gone"))
    expected = {
        "call": direct.call,
        "time": direct.time,
        "tool": "mail.send",
        "args": {"to": "ada@example.org"},
        "role": "assistant",
        "status": "succeeded",
        "success": True,
        "result": {"id": 7},
        "error": None,
        "elapsed_ms": 12.5,
        "caller_type": "direct",
        "chain_id": None,
        "chain_index": 0,
    }
    assert await store.read(lambda reader: invocation(reader, direct.call)) == expected
    in_chain = await store.read(lambda reader: invocation(reader, chained.call))
    assert in_chain is not None
    assert (in_chain["success"], in_chain["error"], in_chain["elapsed_ms"]) == (False, "gone", 3.0)
    assert (in_chain["caller_type"], in_chain["chain_id"], in_chain["chain_index"]) == ("chain", "c1", 2)
    calls = {entry["call"]: entry for entry in await entries(store, "calls")}
    assert calls[chained.call]["caller_type"] == "chain"
    assert (calls[chained.call]["chain_id"], calls[chained.call]["chain_index"]) == ("c1", 2)


@pytest.mark.requirement("EVT-15")
async def test_the_invocation_log_has_refusals_too(store: Store):
    story = Story()
    await record(store, story.refused())
    refused = await store.read(lambda reader: invocation(reader, story.call))
    assert refused is not None
    assert (refused["tool"], refused["role"], refused["success"]) == ("mail.send", "assistant", False)
    assert refused["error"] == "not for you"
    assert invocation_of([]) is None
    assert await store.read(lambda reader: invocation(reader, "nobody")) is None


@pytest.mark.parametrize(
    ("late", "status"),
    [({"state": "failed"}, "failed"), ({"outcome": "failed"}, "failed"), ({}, "succeeded")],
    ids=["a row that changed", "as it was written before", "a row that did not"],
)
async def test_calls_and_the_invocation_log_agree_on_what_a_late_end_changed(
    store: Store, late: dict[str, Any], status: str
):
    story = Story()
    resolved = story.draft("tool_call.resolved", state="succeeded", output="found")
    await record(
        store, story.attempted(), story.unknown(), resolved, story.draft("tool_call.settled_late", output="x", **late)
    )
    entry, logged = await one(store, "calls"), await store.read(lambda reader: invocation(reader, story.call))
    assert logged is not None
    assert entry["status"] == logged["status"] == status
    assert logged["result"] == ("found" if status == "succeeded" else "x")


async def test_an_approval_is_one_entry_with_who_said_what(store: Store):
    story = Story(time=10.0)

    def told(kind: str, at: float, **more: Any) -> Draft:
        return Story(story.tool, story.call, story.trace, at).draft(kind, approval_id="a1", **more)

    await record(
        store,
        told(vocabulary.GATE_REQUIRED, 10.0, state="pending", principal="agent", session="s1", expires_at=3610.0),
        told(vocabulary.VOTED, 11.0, state="pending", votes=["grace"]),
        told(vocabulary.EDITED, 12.0, state="approved", by="ada", votes=["ada"]),
        told(vocabulary.USED, 13.0, state="used", by="ada"),
    )
    assert await one(store, "approvals") == {
        "approval": "a1",
        "call": story.call,
        "trace": story.trace,
        "tool": "mail.send",
        "principal": "agent",
        "session": "s1",
        "state": "used",
        "votes": ["ada"],
        "edited": True,
        "asked_at": 10.0,
        "decided_at": 12.0,
        "decided_by": "ada",
        "used_at": 13.0,
        "updated_at": 13.0,
        "expires_at": 3610.0,
    }


async def test_the_health_of_a_connector_says_since_when(store: Store):
    def told(at: float, status: str, **more: Any) -> Draft:
        payload = {"connector": "mail", "status": status, **more}
        return Draft(type=vocabulary.HEALTH_CHANGED, time=at, trace="t", payload=payload)

    await record(store, told(1.0, "degraded", last_error="slow", consecutive_errors=1))
    await record(store, told(2.0, "degraded", last_error="slower", consecutive_errors=2))
    entry = await one(store, "health")
    assert (entry["status"], entry["since"], entry["changes"]) == ("degraded", 1.0, 1)
    assert entry["last_error"] == "slower"
    await record(store, told(3.0, "healthy"))
    assert await one(store, "health") == {
        "connector": "mail",
        "status": "healthy",
        "since": 3.0,
        "changes": 2,
        "updated_at": 3.0,
    }


async def test_usage_counts_by_day_and_tool(store: Store):
    for day, tool in ((0, "a"), (0, "a"), (0, "b"), (1, "a")):
        story = Story(tool=tool, time=day * DAY)
        await record(store, story.attempted(), story.failed() if tool == "b" else story.succeeded())
    await record(store, Story(tool="a", time=DAY).refused())
    found = {(entry["day"], entry["tool"]): entry for entry in await entries(store, "usage")}
    assert set(found) == {("1970-01-01", "a"), ("1970-01-01", "b"), ("1970-01-02", "a")}
    first = found["1970-01-01", "a"]
    assert (first["attempted"], first["succeeded"], first["failed"], first["measured"]) == (2, 2, 0, 2)
    assert (first["duration_ms"], first["slowest_ms"]) == (25.0, 12.5)
    assert found["1970-01-01", "b"]["failed"] == 1
    assert found["1970-01-02", "a"]["refused"] == 1


@pytest.mark.parametrize(
    ("kind", "question", "by"),
    [
        ("gate.required", "pending", None),
        ("approval.approved", "approved", "ann"),
        ("approval.rejected", "rejected", "ann"),
        ("approval.answered", "answered", "ann"),
        ("approval.expired", "expired", None),
        ("approval.withdrawn", "withdrawn", None),
        ("approval.used", "used", "ann"),
    ],
)
async def test_how_the_question_stands_is_told_beside_how_the_call_does(
    store: Store, kind: str, question: str, by: str | None
):
    story = Story()
    await record(store, story.draft("gate.required"), story.draft(kind, by=by))
    entry = await one(store, "calls")
    assert (entry["question"], entry.get("decided_by")) == (question, by)
    plain = Story()
    await record(store, plain.attempted(), plain.succeeded())
    assert "question" not in {call["call"]: call for call in await entries(store, "calls")}[plain.call]


async def counted(store: Store) -> dict[str, dict[str, int]]:
    """How calls ended, by day; what did not happen is left out."""
    ends = ("succeeded", "refused", "pending")
    found = await entries(store, "usage")
    return {entry["day"]: {end: entry[end] for end in ends if entry[end]} for entry in found}


async def test_a_call_that_waited_for_a_person_counts_once(store: Store):
    asked, later = Story(time=0.0), Story(time=DAY)
    await record(store, asked.draft("gate.required", asked_at=0.0))
    assert await counted(store) == {"1970-01-01": {"pending": 1}}
    await record(store, later.draft("approval.used", asked_at=0.0), later.attempted(), later.succeeded())
    assert await counted(store) == {"1970-01-01": {}, "1970-01-02": {"succeeded": 1}}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("approval.rejected", "approval_rejected"),
        ("approval.answered", "approval_answered"),
        ("approval.expired", "approval_expired"),
        ("approval.withdrawn", "approval_void"),
    ],
)
async def test_a_call_that_a_person_turned_down_counts_once_as_refused(store: Store, kind: str, code: str):
    asked = Story(time=0.0)
    await record(store, asked.draft("gate.required", asked_at=0.0), asked.draft(kind, asked_at=0.0))
    assert await counted(store) == {"1970-01-01": {"refused": 1}}
    again = Story(time=1.0)
    await record(store, again.draft("tool_call.refused", code=code, approval_id="a1", original_call=asked.call))
    assert await counted(store) == {"1970-01-01": {"refused": 2}}, "the same call again is another one"
    await record(store, asked.draft("tool_call.refused", code=code, approval_id="a1"))
    assert await counted(store) == {"1970-01-01": {"refused": 2}}, "the call that waited was counted"


async def test_events_without_what_a_projection_needs_are_passed_over(store: Store):
    await record(
        store,
        Draft(type=vocabulary.HEALTH_CHANGED, time=1.0, trace="t"),
        Draft(type=vocabulary.APPROVED, time=1.0, trace="t"),
        Draft(type=vocabulary.SUCCEEDED, time=1e300, trace="t"),
        Draft(type=vocabulary.SUCCEEDED, time=1e300, trace="t", payload={"tool": "odd", "duration_ms": "long"}),
    )
    for name in ("health", "approvals", "calls"):
        assert await entries(store, name) == []
    assert (await one(store, "usage"))["day"] == "0000-00-00"


async def test_looking_when_nothing_is_new_writes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch):
    await record(store, Story().attempted())
    await refresh(store, "calls")

    async def nothing(*_: Any) -> None:
        """Not a write that waits for a disk."""

    async def refuse(*_: Any) -> None:
        raise AssertionError("it wrote")

    with monkeypatch.context() as patch:
        patch.setattr(store, "flush", nothing)
        patch.setattr(store, "write", refuse)
        await refresh(store, "calls")


async def test_what_an_older_version_made_is_made_again(store: Store):
    story = Story()
    await record(store, story.attempted())
    await refresh(store, "calls")
    await store.write(lambda tx: tx.put_projection("calls", "stale", {"call": "stale"}))
    for note in ("0:5", "", "1:x", "nonsense"):
        await store.write(lambda tx, note=note: tx.put_meta("projection.calls", note))
        assert [entry["call"] for entry in await entries(store, "calls")] == [story.call]


async def test_an_unknown_projection_is_an_error(store: Store):
    with pytest.raises(KeyError):
        await refresh(store, "nobody")


TYPES = sorted({name for projection in PROJECTIONS.values() for name in projection.types} | {"tool_call.progress"})
EXTRA = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["healthy", "degraded"]),
        "state": st.sampled_from(["pending", "used"]),
        "duration_ms": st.integers(0, 100),
        "error": st.just({"code": "handler_failed"}),
        "by": st.sampled_from(["ada", None]),
    },
)


@st.composite
def any_draft(draw: st.DrawFn) -> Draft:
    call, tool = draw(st.sampled_from(["c1", "c2", "c3"])), draw(st.sampled_from(["a", "b"]))
    payload: dict[str, Any] = {"tool": tool, "approval_id": call, "connector": tool, **draw(EXTRA)}
    seconds = float(draw(st.integers(0, 200_000)))
    return Draft(type=draw(st.sampled_from(TYPES)), time=seconds, trace="t", call=call, payload=payload)


@settings(max_examples=40)
@given(st.lists(any_draft(), max_size=30), st.lists(st.integers(1, 7), max_size=12), st.randoms())
def test_catching_up_in_any_steps_gives_what_making_it_anew_gives(drafts: list[Draft], steps: list[int], random: Any):
    async def both() -> None:
        store = MemoryStore(clock=HandClock())
        await store.open()
        left = list(drafts)
        for size in steps:
            for draft in left[:size]:
                await store.write(lambda tx, draft=draft: tx.append(draft))
            left = left[size:]
            projection = random.choice(list(PROJECTIONS.values()))
            await store.write(lambda tx, size=size, projection=projection: catch_up(tx, projection, size=size))
        for draft in left:
            await store.write(lambda tx, draft=draft: tx.append(draft))
        for name in PROJECTIONS:
            caught_up = await entries(store, name)
            await rebuild(store, name)
            assert await entries(store, name) == caught_up

    asyncio.run(both())
