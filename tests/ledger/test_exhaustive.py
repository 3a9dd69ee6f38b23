"""The transition function explored to the end: two owners, one key, every fact in every reachable state."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from callgate.ledger.transitions import Answer, Claim, Fact, Move, OwnerGone, Resolve, Settle, Silence, move
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.levels import Happened

KEY = AttemptKey("agent", "s", "k")
MOST_FENCE = 4
"""Deep enough for both owners to lose the row and to take it again."""


def facts_for(row: Attempt | None) -> list[Fact]:
    """Everything either owner, a person or recovery could say next, stale words included."""
    facts: list[Fact] = []
    for owner in ("A", "B"):
        facts += [_claim(owner, idempotent=idempotent) for idempotent in (False, True)]
        facts.append(_claim(owner, idempotent=True)._replace(only_reads=True))
        facts.append(OwnerGone(owner=owner, now=0.0))
        for fence in range(1, MOST_FENCE + 1):
            facts += _settles(owner, fence)
    facts += [Silence(call_id=f"{owner}", now=0.0) for owner in ("A", "B")]
    facts += [Resolve(happened=happened, by="person", now=0.0, outcome=b'"seen"') for happened in (True, False)]
    return facts if row is None or row.fence < MOST_FENCE else [fact for fact in facts if not isinstance(fact, Claim)]


def _claim(owner: str, *, idempotent: bool) -> Claim:
    return Claim(
        key=KEY,
        call_id=owner,
        trace_id="t",
        tool="pay",
        definition_hash="d",
        fingerprint="f",
        final_fingerprint="f",
        owner=owner,
        now=0.0,
        idempotent=idempotent,
    )


def _settles(owner: str, fence: int) -> list[Fact]:
    common: dict[str, Any] = {"call_id": owner, "owner": owner, "fence": fence, "now": 0.0}
    return [
        Settle(state=AttemptState.SUCCEEDED, outcome=b'"its own"', **common),
        *(Settle(state=AttemptState.FAILED, happened=happened, **common) for happened in Happened),
        *(Settle(state=AttemptState.UNKNOWN, cause="timeout", ended=ended, **common) for ended in (True, False)),
    ]


def explore() -> tuple[set[Attempt | None], list[tuple[Attempt | None, Fact, Move]]]:
    """Every reachable row and every step between them."""
    seen: set[Any] = {None}
    steps: list[tuple[Attempt | None, Fact, Move]] = []
    queue: deque[Attempt | None] = deque([None])
    while queue:
        row = queue.popleft()
        for fact in facts_for(row):
            step = move(row, fact)
            steps.append((row, fact, step))
            after = step.row
            # Tries only count; without this the space would not be finite.
            small = None if after is None else after._replace(tries=1)
            if step.changed and small not in seen:
                seen.add(small)
                queue.append(small)
    return seen, steps


ROWS, STEPS = explore()


def test_the_space_is_worth_exploring() -> None:
    assert len(ROWS) > 80
    assert len(STEPS) > 5_000


def test_a_key_is_never_claimed_while_somebody_may_run_it() -> None:
    for row, fact, step in STEPS:
        if step.answer is Answer.CLAIMED and row is not None:
            assert row.state is not AttemptState.STARTED
            assert row.ended_at is not None or row.state is AttemptState.FAILED
            assert isinstance(fact, Claim)


def test_a_key_is_claimed_again_only_if_nothing_happened_or_repeating_is_harmless() -> None:
    for row, fact, step in STEPS:
        if step.answer is Answer.CLAIMED and row is not None:
            assert isinstance(fact, Claim)
            freed = row.state is AttemptState.FAILED and row.happened is Happened.NONE
            harmless = fact.idempotent and not (fact.only_reads and row.happened is Happened.POSSIBLE)
            assert freed or (row.state is AttemptState.UNKNOWN and harmless)


def test_a_success_is_never_taken_back() -> None:
    for row, _, step in STEPS:
        if row is not None and row.state is AttemptState.SUCCEEDED and step.changed:
            assert step.row is not None
            assert (step.row.state, step.row.outcome) == (row.state, row.outcome)


def test_what_somebody_knew_stays_whatever_is_learned_later() -> None:
    """Also where the handler still ran when they looked: its late end says only that nothing runs any more."""
    ended = 0
    for row, fact, step in STEPS:
        if row is None or row.resolved_by is None or isinstance(fact, Claim) or not step.changed:
            continue
        assert step.row is not None
        assert step.row == row._replace(ended_at=0.0, fence=step.row.fence)
        ended += step.answer is Answer.ENDED
    assert ended > 10


def test_a_late_end_changes_a_row_only_while_nobody_knows() -> None:
    for row, _, step in STEPS:
        if step.answer is Answer.LATE:
            assert row is not None
            assert row.resolved_by is None


def test_the_fence_never_falls_and_rises_with_every_take_over() -> None:
    for row, fact, step in STEPS:
        if row is None or step.row is None or not step.changed:
            continue
        assert step.row.fence >= row.fence
        if isinstance(fact, Claim | OwnerGone):
            assert step.row.fence == row.fence + 1


def test_nobody_settles_with_an_old_fence() -> None:
    for row, fact, step in STEPS:
        if isinstance(fact, Settle) and row is not None and fact.fence != row.fence:
            assert step.answer is Answer.STALE


def test_started_becomes_unknown_and_never_absent_when_its_owner_dies() -> None:
    for row, fact, step in STEPS:
        if isinstance(fact, OwnerGone) and row is not None and row.state is AttemptState.STARTED and step.changed:
            assert step.row is not None
            assert step.row.state is AttemptState.UNKNOWN


def test_every_answer_but_a_change_leaves_the_row_alone() -> None:
    for row, _, step in STEPS:
        if not step.changed:
            assert step.row is row


def test_every_unknown_can_still_be_resolved() -> None:
    for row in ROWS:
        if row is not None and row.state is AttemptState.UNKNOWN:
            assert move(row, Resolve(happened=True, by="person", now=0.0)).answer is Answer.APPLIED


class World(NamedTuple):
    """The row of an idempotent tool's key, and what really happened under it."""

    row: Attempt | None = None
    before: bool = False
    """An attempt before the row's had its effect."""
    now: bool = False
    """The row's own attempt had it."""


def worlds_after(world: World) -> Iterator[World]:
    """Whatever can happen next, where everybody says only what they can know; crashes and late ends included."""
    row, acted = world.row, world.before or world.now
    for owner in ("A", "B") if row is None or row.fence < MOST_FENCE else ():
        step = move(row, _claim(owner, idempotent=True))
        if step.answer is Answer.CLAIMED:
            yield World(step.row, before=acted)
    if row is None:
        return
    if row.ended_at is None:
        yield world._replace(now=True)
    for settle in _settles(row.owner, row.fence):
        if _is_honest(settle, acted=world.now):
            yield world._replace(row=move(row, settle).row)
    looked = Resolve(happened=acted, by="person", now=0.0, call_id=row.call_id)
    for fact in (OwnerGone(owner=row.owner, now=0.0), looked, looked._replace(by="verify", asked_at=0.0)):
        yield world._replace(row=move(row, fact).row)


def _is_honest(settle: Fact, *, acted: bool) -> bool:
    """An owner says that it succeeded only if it acted, and that nothing happened only if it did not."""
    assert isinstance(settle, Settle)
    if settle.state is AttemptState.SUCCEEDED or settle.happened is Happened.DONE:
        return acted
    return settle.happened is not Happened.NONE or not acted


def all_worlds() -> set[World]:
    """Every reachable one."""
    seen = {World()}
    queue = deque(seen)
    while queue:
        for after in worlds_after(queue.popleft()):
            small = after if after.row is None else after._replace(row=after.row._replace(tries=1))
            if small not in seen:
                seen.add(small)
                queue.append(small)
    return seen


WORLDS = all_worlds()


def test_an_effect_that_happened_under_a_key_never_reads_absent_or_failed_whatever_later_attempts_did() -> None:
    assert len(WORLDS) > 300
    assert any(world.before and world.row and world.row.state is AttemptState.SUCCEEDED for world in WORLDS)
    for row, before, now in WORLDS:
        if not before and not now:
            continue
        assert row is not None
        assert not (row.state is AttemptState.FAILED and row.happened is Happened.NONE), row
        # That the attempt itself failed, and may have taken effect, is what it says of itself, and of no other.
        assert not (before and row.state is AttemptState.FAILED and row.happened is not Happened.DONE), row


def test_an_attempt_before_which_nothing_may_have_happened_still_frees_its_key() -> None:
    freed = [world.row for world in WORLDS if world.row and world.row.state is AttemptState.FAILED and not world.before]
    assert any(row.happened is Happened.NONE and row.fence == 1 for row in freed)
    assert any(row.happened is Happened.NONE and row.fence > 1 and row.resolved_by is None for row in freed)
