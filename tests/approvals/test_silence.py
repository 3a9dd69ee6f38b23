"""Whatever people do with a question before its time is up: what silence then lets through, and what it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callgate.approvals.decide import Decider, approve, edited, expire, let_through_by_silence, votes_needed
from callgate.errors import ApprovalConflict
from callgate.model.approval import Approval, ApprovalState
from callgate.model.layer import ConfirmBy
from tests.approvals.test_decide import question

Asked = dict[str, Any]
Step = tuple[str, str, Asked]
NOTHING: Asked = {}
_ASKED: list[Asked] = [
    {"by": ConfirmBy.USER, "on_expiry": "proceed"},
    {"by": ConfirmBy.USER, "on_expiry": "reject"},
    {"by": ConfirmBy.OTHER, "on_expiry": "reject"},
    {"by": ConfirmBy.TWO, "on_expiry": "reject"},
]
DEMANDS = st.sampled_from(_ASKED)
"""What rules may ask for: silence is an answer only where one person's is."""
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.sampled_from(["ann", "bob", "cy"]), DEMANDS),
        st.tuples(st.just("yes"), st.sampled_from(["ann", "bob", "cy"]), st.just(NOTHING)),
        st.tuples(st.just("wait"), st.just(""), st.just(NOTHING)),
    ),
    max_size=6,
)


def after(asked: Approval, steps: list[Step]) -> tuple[Approval, list[Asked]]:
    """The question after these steps, ten minutes each, and what every version of it asked for."""
    versions: list[Asked] = [{"by": asked.by, "on_expiry": asked.on_expiry}]
    for number, (step, name, demands) in enumerate(steps):
        asked = expire(asked, now := 600.0 * number)
        try:
            if step == "edit":
                changed = edited(asked, {"what": f"pay {number}"} | demands)
                asked = approve(changed, Decider(name=name), now=now, digest=changed.digest)
                versions.append(demands)
            elif step == "yes":
                asked = approve(asked, Decider(name=name), now=now, digest=asked.digest)
        except ApprovalConflict:
            continue
    return asked, versions


@given(DEMANDS, STEPS)
def test_silence_is_a_yes_only_where_every_version_of_the_question_said_so(demands: Asked, steps: list[Step]) -> None:
    asked, versions = after(question(**demands), steps)
    left = expire(asked, 3600.0)
    if left.state is ApprovalState.APPROVED and let_through_by_silence(left):
        assert all(version["on_expiry"] == "proceed" for version in versions)
        assert votes_needed(left) == 1
    elif left.state is ApprovalState.APPROVED:
        assert len({vote.by for vote in left.votes}) == votes_needed(left)


@given(DEMANDS, STEPS)
def test_what_people_approved_ends_with_its_time_and_is_never_open_for_longer(
    demands: Asked, steps: list[Step]
) -> None:
    asked, _ = after(question(**demands), steps)
    if asked.votes:
        assert expire(asked, 3600.0).state is not ApprovalState.PENDING
        assert expire(replace(asked, on_expiry="reject"), 3600.0).state is ApprovalState.EXPIRED
    assert expire(expire(asked, 3600.0), 7200.0).state is ApprovalState.EXPIRED
