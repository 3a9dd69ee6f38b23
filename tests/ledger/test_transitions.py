"""Every change of a ledger row, one sentence each."""

from __future__ import annotations

from typing import Any

import pytest

from callgate.ledger.transitions import Answer, Claim, OwnerGone, Resolve, Settle, Silence, look, move
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.levels import Happened

KEY = AttemptKey("agent", "s", "k")


def claim(**changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "key": KEY,
        "call_id": "c1",
        "trace_id": "t",
        "tool": "pay",
        "definition_hash": "d",
        "fingerprint": "f",
        "final_fingerprint": "f",
        "owner": "A",
        "now": 1.0,
    }
    return Claim(**(fields | changes))


def started(**changes: Any) -> Attempt:
    row = move(None, claim()).row
    assert row is not None
    return row._replace(**changes)


def settle(row: Attempt, state: AttemptState, **changes: Any) -> Settle:
    fields: dict[str, Any] = {
        "call_id": row.call_id,
        "owner": row.owner,
        "fence": row.fence,
        "state": state,
        "now": 2.0,
    }
    return Settle(**(fields | changes))


def test_a_free_key_is_claimed_with_fence_one() -> None:
    step = move(None, claim())
    assert step.answer is Answer.CLAIMED
    assert step.row is not None
    assert (step.row.state, step.row.fence, step.row.tries) == (AttemptState.STARTED, 1, 1)


@pytest.mark.requirement("IDM-05")
def test_a_key_used_for_other_arguments_is_a_conflict() -> None:
    assert move(started(), claim(fingerprint="g")).answer is Answer.CONFLICT


def test_a_running_row_answers_running() -> None:
    assert move(started(), claim(call_id="c2")).answer is Answer.RUNNING


def test_only_an_effect_of_none_frees_a_key() -> None:
    """Failed with possible or done stays recorded; failed with none may be claimed again with a higher fence."""
    row = started()
    for happened in (Happened.POSSIBLE, Happened.DONE):
        ended = move(row, settle(row, AttemptState.FAILED, happened=happened)).row
        assert move(ended, claim(call_id="c2")).answer is Answer.RECORDED
    freed = move(row, settle(row, AttemptState.FAILED, happened=Happened.NONE)).row
    again = move(freed, claim(call_id="c2", owner="B"))
    assert again.answer is Answer.CLAIMED
    assert again.row is not None
    assert (again.row.fence, again.row.tries, again.row.owner) == (2, 2, "B")


@pytest.mark.requirement("IDM-04")
def test_unknown_blocks_unless_the_tool_is_idempotent_and_the_last_attempt_ended() -> None:
    row = started()
    unknown = move(row, settle(row, AttemptState.UNKNOWN, cause="timeout")).row
    assert move(unknown, claim(call_id="c2")).answer is Answer.BLOCKED
    assert move(unknown, claim(call_id="c2", idempotent=True)).answer is Answer.CLAIMED
    still = move(row, settle(row, AttemptState.UNKNOWN, cause="timeout", ended=False)).row
    assert move(still, claim(call_id="c2", idempotent=True)).answer is Answer.RUNNING


def test_only_the_owner_with_its_fence_and_call_settles() -> None:
    row = started()
    for change in ({"owner": "B"}, {"fence": 2}, {"call_id": "c9"}):
        assert move(row, settle(row, AttemptState.SUCCEEDED, **change)).answer is Answer.STALE


def test_a_settled_row_does_not_change_again() -> None:
    row = started()
    done = move(row, settle(row, AttemptState.SUCCEEDED, outcome=b'{"output":1}')).row
    assert done is not None
    assert move(done, settle(done, AttemptState.FAILED, happened=Happened.NONE)).answer is Answer.STALE


def test_a_handler_that_ends_late_is_a_late_fact() -> None:
    row = started()
    unknown = move(row, settle(row, AttemptState.UNKNOWN, cause="timeout", ended=False)).row
    assert unknown is not None
    late = move(unknown, settle(unknown, AttemptState.SUCCEEDED, now=9.0))
    assert late.answer is Answer.LATE
    assert late.row is not None
    assert (late.row.state, late.row.ended_at) == (AttemptState.SUCCEEDED, 9.0)


@pytest.mark.requirement("IDM-07")
def test_a_dead_owner_makes_the_row_unknown_and_shuts_it_out() -> None:
    row = started()
    gone = move(row, OwnerGone(owner="A", now=3.0)).row
    assert gone is not None
    assert (gone.state, gone.cause, gone.fence) == (AttemptState.UNKNOWN, "owner_died", 2)
    assert move(gone, settle(row, AttemptState.SUCCEEDED)).answer is Answer.STALE
    assert move(row, OwnerGone(owner="B", now=3.0)).answer is Answer.STALE


def test_an_unreported_judgement_falls_silent_only_after_its_deadline() -> None:
    row = started(deadline=10.0)
    assert move(row, Silence(call_id="c1", now=9.9)).answer is Answer.STALE
    silent = move(row, Silence(call_id="c1", now=10.0)).row
    assert silent is not None
    assert (silent.state, silent.cause) == (AttemptState.UNKNOWN, "unreported")


def test_a_person_resolves_an_unknown_either_way() -> None:
    row = started()
    unknown = move(row, settle(row, AttemptState.UNKNOWN, cause="network")).row
    yes = move(unknown, Resolve(happened=True, by="ann", now=5.0)).row
    assert yes is not None
    assert (yes.state, yes.resolved_by) == (AttemptState.SUCCEEDED, "ann")
    no = move(unknown, Resolve(happened=False, by="ann", now=5.0)).row
    assert look(no, "f", idempotent=False) is Answer.CLAIMED


def test_absent_does_not_count_while_it_may_still_happen() -> None:
    """Neither while the handler runs, nor for `verify` before the tool's horizon."""
    row = started(horizon=60.0)
    still = move(row, settle(row, AttemptState.UNKNOWN, ended=False)).row
    assert move(still, Resolve(happened=False, by="ann", now=5.0)).answer is Answer.RUNNING
    ended = move(row, settle(row, AttemptState.UNKNOWN)).row
    absent = Resolve(happened=False, by="verify", now=99.0)  # the answer took its time
    assert move(ended, absent._replace(asked_at=61.9)).answer is Answer.RUNNING
    assert move(ended, absent._replace(asked_at=62.0)).answer is Answer.APPLIED


def claimed_again(row: Attempt | None, **changes: Any) -> Attempt:
    again = move(row, claim(call_id="c2", idempotent=True, **changes)).row
    assert again is not None
    assert again.call_id == "c2"
    return again


@pytest.mark.parametrize("happened", [Happened.NONE, Happened.POSSIBLE])
def test_an_attempt_that_failed_takes_back_nothing_that_one_before_it_may_have_done(happened: Happened) -> None:
    row = started()
    again = claimed_again(move(row, settle(row, AttemptState.UNKNOWN, cause="timeout")).row)
    failed = move(again, settle(again, AttemptState.FAILED, happened=happened)).row
    assert failed is not None
    assert (failed.state, failed.cause) == (AttemptState.UNKNOWN, "earlier")
    late = move(again, settle(again, AttemptState.UNKNOWN, cause="timeout", ended=False)).row
    assert late is not None
    ended = move(late, settle(late, AttemptState.FAILED, happened=happened)).row
    assert ended is not None
    assert (ended.state, ended.ended_at) == (AttemptState.UNKNOWN, 2.0)


def test_an_attempt_that_knows_better_ends_the_question() -> None:
    row = started()
    again = claimed_again(move(row, settle(row, AttemptState.UNKNOWN, cause="timeout")).row)
    for state, happened in ((AttemptState.SUCCEEDED, None), (AttemptState.FAILED, Happened.DONE)):
        ended = move(again, settle(again, state, happened=happened)).row
        assert ended is not None
        assert (ended.state, ended.happened) == (state, happened)


def test_a_read_is_not_run_again_where_something_inside_of_it_may_have_taken_effect() -> None:
    row = started()
    reading = claim(call_id="c2", idempotent=True, only_reads=True)
    died = move(row, OwnerGone(owner="A", now=3.0)).row
    again = move(died, reading)
    assert again.answer is Answer.CLAIMED
    assert again.row is not None
    assert again.row.happened is None  # a read that died left nothing, so that a failure of the next one frees the key
    inside = move(row, settle(row, AttemptState.UNKNOWN, happened=Happened.POSSIBLE)).row
    assert move(inside, reading).answer is Answer.BLOCKED


def test_an_answer_about_one_attempt_counts_for_no_other() -> None:
    row = started()
    unknown = move(row, settle(row, AttemptState.UNKNOWN, cause="timeout")).row
    again = claimed_again(unknown)
    second = move(again, settle(again, AttemptState.UNKNOWN, cause="timeout")).row
    absent = Resolve(happened=False, by="ann", now=5.0)
    assert move(unknown, absent).answer is Answer.APPLIED
    for said in (absent, absent._replace(call_id="c1")):
        assert move(second, said).answer is Answer.STALE
    assert move(second, absent._replace(call_id="c2")).answer is Answer.APPLIED


def test_there_is_nothing_to_resolve_about_a_success() -> None:
    row = started()
    done = move(row, settle(row, AttemptState.SUCCEEDED)).row
    assert move(done, Resolve(happened=False, by="ann", now=5.0)).answer is Answer.STALE
