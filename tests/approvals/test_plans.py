"""A plan as one question: how it stands, what deciding it needs, and whether it is whole."""

from dataclasses import replace
from hashlib import sha256
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.approvals.plans import Demands, as_one, decided, is_whole, list_bytes, listing, strictest
from callgate.model.approval import Approval, ApprovalState, Listed, Part, Vote
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Risk
from tests.contracts.makers import an_approval

S = ApprovalState


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def a_call(name: str, *, asks: bool = True, wave: int = 0, own_key: bool = False) -> Listed:
    return Listed(
        tool=name,
        definition_hash="d",
        fingerprint=f"f-{name}",
        key=f"k-{name}",
        own_key=own_key,
        wave=wave,
        asks=asks,
        what=f'{name}\n  to: "x"',
    )


CALLS = (a_call("look", asks=False), a_call("pay", wave=1), a_call("send", wave=1))


def a_plan(*states: ApprovalState, calls: tuple[Listed, ...] = CALLS) -> list[Approval]:
    places = [place for place, call in enumerate(calls) if call.asks]
    part = Part(plan_id="plan", place=0, digest=digest(list_bytes(calls)))
    rows = [
        an_approval(f"a{place}", state=state, part=replace(part, place=place), tool=calls[place].tool)
        for place, state in zip(places, states, strict=True)
    ]
    return [replace(rows[0], calls=calls), *rows[1:]]


def test_a_plan_is_shown_with_every_call_and_the_most_of_its_risks():
    rows = a_plan(S.PENDING, S.PENDING)
    rows[1] = replace(rows[1], risk=Risk.CRITICAL, why=("far away",), preview=None, resources=("host:b",))
    plan = as_one(rows)
    assert (plan.id, plan.is_plan, plan.tool) == ("plan", True, "a plan of 3 calls")
    assert plan.what == listing(CALLS)
    assert plan.why == ("call 2: large payment", "call 2: new target", "call 3: far away")
    assert (plan.risk, plan.preview) == (Risk.CRITICAL, {"text": "call 2: would pay"})
    assert plan.resources == ("bank.example", "host:b")
    assert (plan.key, plan.sealed_id, plan.asked_fingerprint, plan.mac) == ("", "", "", "")
    assert not rows[0].is_plan
    assert not an_approval().is_plan


@pytest.mark.parametrize(
    ("states", "stands"),
    [
        ((S.PENDING, S.PENDING), S.PENDING),
        ((S.APPROVED, S.USED), S.APPROVED),
        ((S.USED, S.USED), S.USED),
        ((S.USED, S.EXPIRED), S.EXPIRED),
        ((S.USED, S.WITHDRAWN), S.WITHDRAWN),
        ((S.REJECTED, S.REJECTED), S.REJECTED),
        ((S.PENDING, S.APPROVED), S.VOID),
        ((S.REJECTED, S.PENDING), S.VOID),
        ((S.REJECTED, S.ANSWERED), S.VOID),
    ],
)
def test_a_plan_stands_as_its_calls_do(states: tuple[ApprovalState, ApprovalState], stands: ApprovalState):
    assert as_one(a_plan(*states)).state is as_one(a_plan(*states[::-1])).state is stands


def test_an_answer_to_the_plan_is_the_answer_to_each_call():
    rows = a_plan(S.PENDING, S.PENDING)
    vote = Vote(by="ann", assurance=Assurance.LOCAL, at=5.0)
    answer = replace(as_one(rows), state=S.APPROVED, votes=(vote,), decided_by="ann", decided_at=5.0, text="fine")
    after = decided(rows, answer)
    assert [(row.state, row.votes, row.decided_by, row.decided_at, row.text) for row in after] == [
        (S.APPROVED, (vote,), "ann", 5.0, "fine")
    ] * 2
    assert [(row.id, row.tool, row.part, row.calls) for row in after] == [
        (row.id, row.tool, row.part, row.calls) for row in rows
    ]


def test_only_all_approvals_of_the_list_are_the_plan():
    rows = a_plan(S.PENDING, S.PENDING)
    assert is_whole(rows, digest)
    assert rows[1].part is not None
    moved = replace(rows[1], part=replace(rows[1].part, place=1))
    elsewhere = replace(rows[1], part=replace(rows[1].part, plan_id="other"))
    forged = replace(rows[0], calls=(*CALLS[:1], replace(CALLS[1], fingerprint="f-other"), CALLS[2]))
    longer = replace(rows[0], calls=(*CALLS, a_call("more")))
    for wrong in (
        rows[:1],
        rows[::-1],
        [*rows, rows[1]],
        [rows[0], moved],
        [rows[0], elsewhere],
        [rows[0], replace(rows[1], part=None)],
        [replace(rows[0], part=None), rows[1]],
        [replace(rows[0], calls=()), rows[1]],
        [forged, rows[1]],
        [longer, rows[1]],
    ):
        assert not is_whole(wrong, digest)


def test_made_keys_are_no_part_of_what_a_list_is_and_keys_of_the_calls_are():
    made, own = a_call("pay"), a_call("pay", own_key=True)
    assert list_bytes([made]) == list_bytes([replace(made, key="another", wave=3, asks=False)])
    assert list_bytes([own]) != list_bytes([replace(own, key="another")])
    assert list_bytes([made]) != list_bytes([own])
    assert list_bytes([a_call("a"), a_call("b")]) != list_bytes([a_call("b"), a_call("a")])


def test_what_a_call_says_cannot_pass_for_a_line_of_the_list():
    sly = replace(a_call("pay"), what='pay\n  to: "x\\n2. look  (step 1, needs nobody)"')
    lines = listing([sly]).split("\n")
    assert [line for line in lines if line[:1].isdigit()] == [lines[0], "1. pay  (step 1, asks you)"]


demands = st.builds(
    Demands,
    by=st.sampled_from(ConfirmBy),
    assurance=st.sampled_from(Assurance),
    plus=st.booleans(),
    on_expiry=st.sampled_from(["reject", "proceed"]),
)
ORDER = [ConfirmBy.USER, ConfirmBy.OTHER, ConfirmBy.TWO]


@given(each=st.lists(demands, min_size=1, max_size=4))
def test_a_plan_needs_no_less_than_any_of_its_calls(each: list[Demands]):
    most = strictest(each)
    for one, other in product([most], each):
        assert ORDER.index(one.by) >= ORDER.index(other.by)
        assert one.assurance >= other.assurance
        assert one.plus >= other.plus
        assert not (one.on_expiry == "proceed" and other.on_expiry == "reject")
    assert strictest([most, *each]) == most
