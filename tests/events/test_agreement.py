"""Ledger and approvals must say what the events say; a row changed behind the gate's back is found."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from callgate.events import vocabulary
from callgate.events.agreement import PagedLedger
from callgate.events.report import Report
from callgate.events.row_digest import ROW_BEFORE, ROW_DIGEST, found_row
from callgate.events.verify import verify, verify_store
from callgate.model.approval import ApprovalState
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.ports import Reader, Store
from callgate.secrets.keys import KeyRing, throwaway_keys
from tests.events.rows import approval_of, put, row_of
from tests.events.stories import HouseKeys, Story, record


@pytest.fixture
def check(store: Store, keys: HouseKeys):
    async def look() -> Report:
        return await verify_store(store, public_keys=keys.public_keys)

    return look


@pytest.mark.requirement("EVT-04")
@pytest.mark.parametrize(
    ("closing", "state"),
    [
        (Story.succeeded, AttemptState.SUCCEEDED),
        (Story.failed, AttemptState.FAILED),
        (Story.timed_out, AttemptState.FAILED),
        (Story.unknown, AttemptState.UNKNOWN),
    ],
)
async def test_a_row_that_says_what_its_closing_event_says_agrees(
    store: Store, check: Any, closing: Callable[[Story], Any], state: AttemptState
):
    story = Story(key="k1")
    await put(store, row_of(story, state))
    await record(store, story.attempted(), closing(story))
    report = await check()
    assert report.ok, report.problems
    assert report.notes == ()


async def test_a_row_still_started_needs_no_closing_event(store: Store, check: Any):
    story = Story(key="k1")
    await put(store, row_of(story, AttemptState.STARTED))
    await record(store, story.attempted())
    report = await check()
    assert (report.ok, report.notes) == (True, ())


async def test_a_row_that_says_something_else_is_found(store: Store, check: Any):
    story = Story(key="k1")
    await put(store, row_of(story, AttemptState.SUCCEEDED))
    await record(store, story.attempted(), story.unknown())
    report = await check()
    assert report.problems == (
        f"the ledger row of key 'k1' (mail.send, call {story.call}) says succeeded, and the events say unknown",
    )


async def test_a_row_that_ended_without_a_closing_event_is_found(store: Store, check: Any):
    story = Story(key="k1")
    await put(store, row_of(story, AttemptState.FAILED))
    await record(store, story.attempted())
    assert "says failed, and the events say started" in (await check()).problems[0]


async def test_a_row_that_was_made_up_is_found(store: Store, check: Any):
    await put(store, row_of(Story(key="k1"), AttemptState.SUCCEEDED))
    assert "no event says that it was attempted" in (await check()).problems[0]


async def test_a_removed_row_is_found_because_its_key_is_free_again(store: Store, check: Any):
    story = Story(key="k1")
    await record(store, story.attempted(), story.succeeded())
    assert (await check()).problems == (
        f"the ledger row of key 'k1' (call {story.call}) is gone: its call could run again",
    )


async def test_a_key_that_was_freed_and_used_again_agrees(store: Store, check: Any):
    first, second = Story(key="k1"), Story(key="k1")
    await record(store, first.attempted(), first.failed(), second.attempted(), second.succeeded())
    await put(store, row_of(second, AttemptState.SUCCEEDED, tries=2))
    assert (await check()).ok


@pytest.mark.requirement("EVT-04")
async def test_two_closing_events_of_one_call_are_found(store: Store, check: Any):
    story = Story()
    await record(store, story.attempted(), story.succeeded(), story.failed())
    assert "was closed twice: succeeded, then tool_call.failed" in (await check()).problems[0]


async def test_a_closing_event_without_an_attempt_and_a_second_attempt_are_found(store: Store, check: Any):
    story, other = Story(), Story()
    await record(store, story.succeeded(), other.attempted(), other.attempted(), other.succeeded())
    problems = (await check()).problems
    assert f"call {story.call} was closed by tool_call.succeeded and never attempted" in problems
    assert f"call {other.call} was attempted twice" in problems


async def test_a_read_that_never_closed_is_noted_and_no_problem(store: Store, check: Any):
    await record(store, Story().attempted())
    report = await check()
    assert report.ok
    assert "1 calls without a ledger row have no closing event" in report.notes[0]


@pytest.mark.parametrize("state", [AttemptState.SUCCEEDED, AttemptState.FAILED])
async def test_an_unknown_that_was_resolved_agrees_with_what_it_was_resolved_to(
    store: Store, check: Any, state: AttemptState
):
    story = Story(key="k1")
    resolved = story.draft(vocabulary.RESOLVED, state=state.value, by="ada")
    await put(store, row_of(story, state))
    await record(store, story.attempted(), story.unknown(), resolved)
    assert (await check()).ok
    await put(store, row_of(story, AttemptState.UNKNOWN))
    assert "and the events say " + state.value in (await check()).problems[0]


async def test_a_late_fact_leaves_open_what_the_row_says_but_not_that_it_ended(store: Store, check: Any):
    story = Story(key="k1")
    await record(store, story.attempted(), story.unknown(), story.draft(vocabulary.SETTLED_LATE))
    for state in (AttemptState.UNKNOWN, AttemptState.SUCCEEDED, AttemptState.FAILED):
        await put(store, row_of(story, state))
        assert (await check()).ok
    await put(store, row_of(story, AttemptState.STARTED))
    assert "says started, and the events say that it ended" in (await check()).problems[0]


async def test_a_late_fact_about_a_call_that_was_never_closed_is_found(store: Store, check: Any):
    story = Story()
    await record(store, story.attempted(), story.draft(vocabulary.SETTLED_LATE))
    assert "has a later fact, tool_call.settled_late, and was never closed" in (await check()).problems[0]


def asked(story: Story, kind: str, state: ApprovalState) -> Any:
    return story.draft(kind, approval_id="a1", state=state.value)


async def test_an_approval_agrees_with_its_last_event(store: Store, check: Any):
    story = Story()
    await put(store, approval_of(story, ApprovalState.USED))
    await record(
        store,
        asked(story, vocabulary.GATE_REQUIRED, ApprovalState.PENDING),
        asked(story, vocabulary.VOTED, ApprovalState.PENDING),
        asked(story, vocabulary.EDITED, ApprovalState.APPROVED),
        asked(story, vocabulary.USED, ApprovalState.USED),
    )
    assert (await check()).ok


async def test_an_approval_that_says_something_else_is_found(store: Store, check: Any):
    story = Story()
    await put(store, approval_of(story, ApprovalState.APPROVED))
    await record(store, asked(story, vocabulary.GATE_REQUIRED, ApprovalState.PENDING))
    assert (await check()).problems == ("approval a1 (mail.send) is approved, and the events say pending",)


async def test_an_approval_that_was_made_up_or_removed_is_found(store: Store, check: Any):
    story = Story()
    await put(store, replace(approval_of(story, ApprovalState.APPROVED), id="a2"))
    await record(store, asked(story, vocabulary.GATE_REQUIRED, ApprovalState.PENDING))
    assert (await check()).problems == (
        "approval a2 (mail.send) is approved, and no event says that anyone asked",
        "approval a1 is gone, and the events say pending",
    )


async def test_an_approval_used_twice_is_found(store: Store, check: Any):
    story = Story()
    await put(store, approval_of(story, ApprovalState.USED))
    used = asked(story, vocabulary.USED, ApprovalState.USED)
    await record(store, asked(story, vocabulary.GATE_REQUIRED, ApprovalState.PENDING), used, used)
    assert (await check()).problems == ("approval a1 was used twice",)


async def test_an_approval_whose_events_are_erased_is_noted_and_no_other_is_excused(store: Store, check: Any):
    story, other = Story(), Story()
    await put(store, approval_of(story, ApprovalState.APPROVED))
    await put(store, replace(approval_of(other, ApprovalState.APPROVED), id="a2"))
    events = await record(
        store,
        asked(story, vocabulary.GATE_REQUIRED, ApprovalState.PENDING),
        other.draft(vocabulary.GATE_REQUIRED, approval_id="a2", state="pending"),
    )
    erased = [events[0].id]
    await store.write(lambda tx: tx.erase_payloads(erased))
    await record(store, story.draft(vocabulary.ERASED, events=erased))
    report = await check()
    assert report.problems == ("approval a2 (mail.send) is approved, and the events say pending",)
    assert report.notes == ("approvals of 1 calls were not compared: events about them are erased",)


class Paged:
    """A reader that hands out its ledger a page at a time, and never all at once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.asked: list[AttemptKey | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def attempts(self, **_: Any) -> list[Attempt]:
        raise AssertionError("all rows at once")

    def attempts_after(self, key: AttemptKey | None, limit: int) -> list[Attempt]:
        self.asked.append(key)
        rows = sorted(self._reader.attempts(), key=lambda row: row.key)
        return [row for row in rows if key is None or row.key > key][: min(limit, 2)]


async def test_a_ledger_that_has_pages_is_read_by_pages(store: Store, keys: HouseKeys):
    stories = [Story(key=f"k{number}") for number in range(5)]
    for story in stories:
        await put(store, row_of(story, AttemptState.SUCCEEDED))
        await record(store, story.attempted(), story.succeeded())

    def look(reader: Reader) -> tuple[Report, int]:
        paged = Paged(reader)
        assert isinstance(paged, PagedLedger)
        return verify(paged, public_keys=keys.public_keys), len(paged.asked)  # pyright: ignore[reportArgumentType]

    report, pages = await store.read(look)
    assert report.ok, report.problems
    assert pages == 4


@pytest.mark.parametrize("house", ["sqlite"], indirect=True)
async def test_the_ledger_of_a_file_has_pages_in_the_order_of_its_keys(store: Store):
    keys = [AttemptKey(principal, session, key) for principal in ("a", "b") for session in ("", "s") for key in "xyz"]
    for key in reversed(keys):
        await put(store, row_of(Story(), AttemptState.STARTED, key=key))

    def pages(reader: Reader) -> list[list[AttemptKey]]:
        assert isinstance(reader, PagedLedger)
        found: list[list[AttemptKey]] = []
        last: AttemptKey | None = None
        while page := reader.attempts_after(last, 5):
            found.append([row.key for row in page])
            last = page[-1].key
        return found

    assert await store.read(pages) == [keys[:5], keys[5:10], keys[10:]]
    inside = await store.write(
        lambda tx: (tx.put_attempt(row_of(Story(key="new"), AttemptState.STARTED)), pages(tx))[1]
    )
    assert inside[1][1] == AttemptKey("agent", "s1", "new")


def digest_of_before(keys: KeyRing, row: Attempt) -> str:
    """As it was made when it left out who ran a row and when it ended."""
    said: list[Any] = [*row.key, row.call_id, row.trace_id, row.tool, row.definition_hash, row.fingerprint]
    said += [row.final_fingerprint, row.state.value, row.happened, row.tries, row.idempotent, row.has_verify]
    said += [row.horizon, row.started_at, row.approval_id, row.sealed_id, row.cause, row.resolved_by]
    return keys.fingerprint(b"ledger row\0" + orjson.dumps(said) + b"null")


@pytest.mark.parametrize("edited", [False, True])
async def test_a_row_from_before_digests_held_its_end_is_held_to_what_they_held(store: Store, edited: bool):
    own, story = throwaway_keys(), Story(key="k1")
    row = row_of(story, AttemptState.UNKNOWN, ended_at=5.0)
    ended = story.unknown()
    assert isinstance(ended.payload, dict)
    ended.payload |= {ROW_DIGEST: digest_of_before(own, row._replace(resolved_by="eve") if edited else row)}
    await put(store, row)
    await record(store, story.attempted(), ended)
    report = await verify_store(store, public_keys={}, keys=own)
    assert ["was edited" in found for found in report.problems] == [True] * edited, report.problems


@pytest.mark.parametrize("edited", [False, True])
async def test_who_finds_a_row_from_before_says_what_is_held_to_what_was_told(store: Store, edited: bool):
    own, first, again = throwaway_keys(), Story(key="k1"), Story(key="k1")
    row = row_of(first, AttemptState.UNKNOWN, ended_at=5.0)
    ended, taken = first.unknown(), again.attempted()
    assert isinstance(ended.payload, dict)
    assert isinstance(taken.payload, dict)
    ended.payload |= {ROW_DIGEST: digest_of_before(own, row)}
    taken.payload |= {ROW_BEFORE: found_row(own, row._replace(resolved_by="eve") if edited else row)}
    await put(store, row_of(again, AttemptState.STARTED, tries=2))
    await record(store, first.attempted(), ended, taken)
    report = await verify_store(store, public_keys={}, keys=own)
    assert ["over a row that was edited" in found for found in report.problems] == [True] * edited, report.problems
