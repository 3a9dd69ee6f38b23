"""What people's answers make of a question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from callgate.approvals.bind import bind, intact
from callgate.approvals.decide import VETO, Decider, approve, expire, reject, respond, withdraw
from callgate.approvals.show import payload
from callgate.errors import ApprovalConflict, AssuranceTooLow
from callgate.model.approval import Approval, ApprovalState, Listed, Vote
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Risk
from callgate.model.person import same_person
from callgate.secrets.keys import throwaway_keys

KEYS = throwaway_keys()
ANN = Decider(name="ann")
BOB = Decider(name="bob")
SAID: dict[str, Any] = {"by": "ann", "assurance": Assurance.LOCAL, "at": 0.0}
LISTED = Listed(tool="pay", definition_hash="d", fingerprint="f", key="k", own_key=False, wave=0, asks=True, what="pay")


def question(**changes: Any) -> Approval:
    fields: dict[str, Any] = {
        "id": "a1",
        "state": ApprovalState.PENDING,
        "principal": "agent",
        "session": "s",
        "user": "ann",
        "tool": "pay",
        "definition_hash": "d",
        "call_id": "c",
        "trace_id": "t",
        "key": "k",
        "asked_fingerprint": "f",
        "final_fingerprint": "f",
        "sealed_id": "x",
        "what": "pay",
        "why": ("large",),
        "origins": {"amount": "the call"},
        "risk": Risk.HIGH,
        "autonomy": "A2",
        "preview": None,
        "preview_state": None,
        "resources": (),
        "working_directory": "/tmp",
        "account": "",
        "by": ConfirmBy.USER,
        "assurance": Assurance.ASSERTED,
        "plus": False,
        "on_expiry": "reject",
        "created_at": 0.0,
        "expires_at": 3600.0,
        "mac": "",
    }
    return Approval(**(fields | changes))


@pytest.mark.parametrize("principal", ["console:ann", "Console: Ann "])
@pytest.mark.parametrize("name", ["ann", "ANN", " ann", "ann "])
def test_who_tries_a_tool_does_not_decide_about_it(name: str, principal: str) -> None:
    tried = question(principal=principal, user="ann")
    with pytest.raises(ApprovalConflict, match="tries this tool; somebody else has to decide about it"):
        approve(tried, Decider(name=name), now=5.0)
    with pytest.raises(ApprovalConflict, match="tries this tool; somebody else has to decide about it"):
        reject(tried, Decider(name=name), now=5.0, why="")
    assert approve(tried, BOB, now=5.0).state is ApprovalState.APPROVED


@pytest.mark.requirement("APR-02")
def test_a_yes_and_a_no_keep_who_when_and_why() -> None:
    yes = approve(question(), ANN, now=5.0)
    assert (yes.state, yes.decided_by, yes.decided_at) == (ApprovalState.APPROVED, "ann", 5.0)
    no = reject(question(), ANN, now=6.0, why="too much")
    assert (no.state, no.decided_by, no.decided_at, no.text) == (ApprovalState.REJECTED, "ann", 6.0, "too much")


@pytest.mark.requirement("APR-02")
@pytest.mark.parametrize("state", [state for state in ApprovalState if state is not ApprovalState.PENDING])
def test_deciding_what_is_not_pending_is_a_conflict(state: ApprovalState) -> None:
    decided = question(state=state)
    for answer in (
        lambda: approve(decided, ANN, now=1.0),
        lambda: reject(decided, ANN, now=1.0, why=""),
        lambda: respond(decided, ANN, now=1.0, text="hm"),
        lambda: withdraw(decided, 1.0),
    ):
        with pytest.raises(ApprovalConflict, match="not pending"):
            answer()


def test_an_asker_may_withdraw_what_is_pending() -> None:
    withdrawn = withdraw(question(), 5.0)
    assert (withdrawn.state, withdrawn.decided_at, withdrawn.decided_by) == (ApprovalState.WITHDRAWN, 5.0, None)


def test_an_agent_never_decides_about_its_own_call() -> None:
    agent = Decider(name="agent", assurance=Assurance.PASSKEY)
    for answer in (lambda: approve(question(), agent, now=1.0), lambda: reject(question(), agent, now=1.0, why="")):
        with pytest.raises(ApprovalConflict, match="an agent never decides"):
            answer()


@pytest.mark.requirement("APR-03")
def test_past_its_end_a_question_is_expired_whether_approved_or_not() -> None:
    for state in (ApprovalState.PENDING, ApprovalState.APPROVED):
        assert expire(question(state=state), 3599.0).state is state
        assert expire(question(state=state), 3600.0).state is ApprovalState.EXPIRED


def test_a_veto_window_that_closes_lets_the_call_through() -> None:
    late = expire(question(on_expiry="proceed"), 3600.0)
    assert (late.state, late.decided_by) == (ApprovalState.APPROVED, VETO)
    vetoed = reject(question(on_expiry="proceed"), ANN, now=5.0, why="stop")
    assert expire(vetoed, 9999.0).state is ApprovalState.REJECTED


@pytest.mark.parametrize("looked_at", [3600.0, 5000.0, 7199.0])
def test_a_veto_window_is_usable_for_as_long_again_as_it_was_open_whenever_it_is_looked_at(looked_at: float) -> None:
    used = expire(question(on_expiry="proceed"), looked_at)
    assert (used.state, used.decided_at, used.expires_at) == (ApprovalState.APPROVED, 3600.0, 7200.0)
    assert expire(used, 7200.0).state is ApprovalState.EXPIRED


def test_a_veto_window_that_nobody_looked_at_in_its_time_is_expired() -> None:
    for late in (7200.0, 365 * 86_400.0):
        assert expire(question(on_expiry="proceed"), late).state is ApprovalState.EXPIRED


SPELLINGS = ["ann ", "\tann", "ANN", "Ann", "\uff41nn", "a\u200bnn", "\ufeffann", "ann\u00a0", "ann\u3164"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_person_is_not_two_by_another_spelling(spelling: str) -> None:
    again = Decider(name=spelling, assurance=Assurance.PASSKEY)
    first = approve(question(by=ConfirmBy.TWO), ANN, now=1.0)
    with pytest.raises(ApprovalConflict, match="another person"):
        approve(first, again, now=2.0)
    with pytest.raises(ApprovalConflict, match="somebody other"):
        approve(question(by=ConfirmBy.OTHER), again, now=1.0)
    asked_by_ann = question(principal="ann", user=None)
    for answer in (
        lambda: approve(asked_by_ann, again, now=1.0),
        lambda: reject(asked_by_ann, again, now=1.0, why=""),
        lambda: respond(asked_by_ann, again, now=1.0, text="hm"),
    ):
        with pytest.raises(ApprovalConflict, match="an agent never decides"):
            answer()


@pytest.mark.parametrize("other", ["anna", "a nn", "an", "ánn", "bob"])
def test_names_that_differ_in_their_letters_are_different_persons(other: str) -> None:
    assert not same_person("ann", other)
    first = approve(question(by=ConfirmBy.TWO), ANN, now=1.0)
    assert approve(first, Decider(name=other), now=2.0).state is ApprovalState.APPROVED


def test_nobody_is_only_nobody() -> None:
    assert same_person(None, None)
    assert not same_person(None, "")
    assert not same_person("ann", None)
    assert same_person("Ann  of\u2003Kent", "ann of kent")


def test_a_yes_is_to_what_was_seen_and_to_nothing_that_came_after() -> None:
    asked = question(by=ConfirmBy.TWO)
    edited = replace(asked, final_fingerprint="g", what="pay more", edited=True, votes=(Vote(**SAID),))
    assert approve(asked, BOB, now=1, digest=asked.digest).votes == approve(asked, BOB, now=1).votes
    for digest in (asked.digest, None):
        with pytest.raises(ApprovalConflict, match="ann edited approval a1 since it was asked"):
            approve(edited, BOB, now=1, digest=digest)
    with pytest.raises(ApprovalConflict, match=r"What would run now: pay more\."):
        approve(edited, BOB, now=1, digest=asked.digest)
    assert approve(edited, BOB, now=1, digest=edited.digest).state is ApprovalState.APPROVED
    with pytest.raises(ApprovalConflict, match="is not what was looked at"):
        approve(asked, BOB, now=1, digest=edited.digest)


def test_a_no_needs_no_digest_and_one_that_names_another_question_is_none() -> None:
    edited = question(final_fingerprint="g", edited=True)
    seen = question().digest
    for late in (lambda: reject(edited, BOB, now=1, why="", digest=seen), lambda: _responded(edited, digest=seen)):
        with pytest.raises(ApprovalConflict, match="somebody edited"):
            late()
    assert reject(edited, BOB, now=1, why="").state is ApprovalState.REJECTED
    assert _responded(edited, digest=edited.digest).state is ApprovalState.ANSWERED


def _responded(asked: Approval, digest: str) -> Approval:
    return respond(asked, BOB, now=1, text="no", digest=digest)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "a2"},
        {"tool": "send"},
        {"definition_hash": "e"},
        {"final_fingerprint": "g"},
        {"what": "pay more"},
        {"preview_state": "s"},
        {"resources": ("path:/x",)},
        {"working_directory": "/"},
        {"account": "eve"},
        {"calls": (LISTED,)},
    ],
    ids=str,
)
def test_whatever_is_approved_makes_another_digest(changes: dict[str, Any]) -> None:
    assert question(**changes).digest != question().digest


def test_votes_and_states_make_no_other_question() -> None:
    voted = replace(question(), votes=(Vote(**SAID),), state=ApprovalState.APPROVED, mac="m", decided_by="ann")
    assert voted.digest == question().digest


@pytest.mark.parametrize("user", ["ann", None])
@pytest.mark.parametrize("name", ["ann", "the person at the client of agent"])
def test_who_sits_at_the_asking_client_is_its_user_whatever_they_are_called(user: str | None, name: str) -> None:
    there = Decider(name=name, assurance=Assurance.CLIENT)
    with pytest.raises(ApprovalConflict, match="other than its user"):
        approve(question(by=ConfirmBy.OTHER, user=user), there, now=1)
    assert approve(question(user=user), there, now=1).state is ApprovalState.APPROVED
    assert reject(question(by=ConfirmBy.OTHER, user=user), there, now=1, why="").state is ApprovalState.REJECTED


def test_somebody_without_a_name_is_none_of_two() -> None:
    there = Decider(name="the person at the client of agent", assurance=Assurance.CLIENT)
    with pytest.raises(ApprovalConflict, match="may be anybody"):
        approve(question(by=ConfirmBy.TWO, user=None), there, now=1)
    named = Decider(name="ann", assurance=Assurance.CLIENT)
    first = approve(question(by=ConfirmBy.TWO), named, now=1)
    assert approve(first, BOB, now=1).state is ApprovalState.APPROVED


def test_two_persons_have_to_be_two() -> None:
    first = approve(question(by=ConfirmBy.TWO), ANN, now=1.0)
    assert first.state is ApprovalState.PENDING
    with pytest.raises(ApprovalConflict, match="another person"):
        approve(first, ANN, now=2.0)
    second = approve(first, BOB, now=2.0)
    assert second.state is ApprovalState.APPROVED
    assert second.decided_by == "ann and bob"


def test_where_another_is_asked_for_the_user_cannot_approve_but_can_refuse() -> None:
    asked = question(by=ConfirmBy.OTHER)
    with pytest.raises(ApprovalConflict, match="somebody other"):
        approve(asked, ANN, now=1.0)
    assert approve(asked, BOB, now=1.0).state is ApprovalState.APPROVED
    assert reject(asked, ANN, now=1.0, why="no").state is ApprovalState.REJECTED


def test_too_little_assurance_leaves_the_question_pending() -> None:
    asked = question(assurance=Assurance.LOCAL)
    with pytest.raises(AssuranceTooLow, match="stays pending"):
        approve(asked, ANN, now=1.0)
    assert approve(asked, Decider(name="ann", assurance=Assurance.LOCAL), now=1.0).state is ApprovalState.APPROVED


def test_an_answer_needs_words_and_a_decision_a_name() -> None:
    with pytest.raises(ApprovalConflict, match="needs words"):
        respond(question(), ANN, now=1.0, text="  ")
    with pytest.raises(ApprovalConflict, match="needs the name"):
        approve(question(), Decider(name=" "), now=1.0)
    with pytest.raises(ApprovalConflict, match="needs the name"):
        approve(question(), Decider(name="\u200b"), now=1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"state": ApprovalState.APPROVED},
        {"final_fingerprint": "g"},
        {"what": "something harmless"},
        {"expires_at": 9e9},
        {"definition_hash": "e"},
        {"principal": "other"},
        {"session": "other"},
        {"preview_state": "v2"},
        {"working_directory": "/"},
        {"account": "boss"},
        {"resources": ("path:/etc",)},
        {"why": ()},
        {"by": ConfirmBy.USER, "votes": ()},
        {"sealed_id": "y"},
        {"risk": Risk.LOW},
    ],
)
def test_whoever_changes_a_stored_approval_without_the_key_breaks_its_seal(change: dict[str, Any]) -> None:
    bound = bind(question(by=ConfirmBy.TWO), KEYS)
    assert intact(bound, KEYS)
    assert not intact(replace(bound, **change), KEYS)
    assert not intact(bound, throwaway_keys())


HIDING = [
    "\u202e", "\u200b", "\u00a0", "\ufeff", "\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\u034f", "\u17b4",
    "\u180b", "\u180f", "\ufe00", "\ufe0f", "\U000e0001", "\U000e0041", "\U000e0100", "\U000e01ef",
]  # fmt: skip


@pytest.mark.parametrize("character", HIDING)
def test_what_a_person_approves_hides_no_character(character: str) -> None:
    shown = payload("pay", {f"t{character}o": f"ann é{character}"})
    assert character not in shown
    assert shown.count(f"<U+{ord(character):04X}>") == 2


def test_an_argument_cannot_be_named_so_that_it_looks_like_two() -> None:
    assert payload("pay", {"note\n  to": "ann"}) == 'pay\n  note\\n  to: "ann"'
