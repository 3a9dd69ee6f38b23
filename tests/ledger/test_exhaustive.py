"""The transition function explored to the end: two owners, one key, every fact in every reachable state."""

from __future__ import annotations

from collections import deque
from typing import Any

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
        facts.append(OwnerGone(owner=owner, now=0.0))
        for fence in range(1, MOST_FENCE + 1):
            facts += _settles(owner, fence)
    facts += [Silence(call_id=f"{owner}", now=0.0) for owner in ("A", "B")]
    facts += [Resolve(happened=happened, by="person", now=0.0) for happened in (True, False)]
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
        Settle(state=AttemptState.SUCCEEDED, **common),
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
            assert freed or (row.state is AttemptState.UNKNOWN and fact.idempotent)


def test_a_success_is_never_taken_back() -> None:
    for row, fact, step in STEPS:
        if row is not None and row.state is AttemptState.SUCCEEDED and step.changed:
            assert step.row is not None
            # The one exception is a person who said it happened while the handler still ran: its own word is truer.
            late_word = isinstance(fact, Settle) and row.resolved_by is not None
            assert step.row.state is AttemptState.SUCCEEDED or late_word


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
