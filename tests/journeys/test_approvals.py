"""A person is asked: what they see, what they answer, and what an approval does and does not let through."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Failed, Pending, Previewed, Refused, Succeeded, ToolContext, tool
from callgate.errors import (
    ApprovalConflict,
    ApprovalNotFound,
    ApprovalRequired,
    AssuranceTooLow,
    InvalidArguments,
    PreviewRequired,
)
from callgate.model.approval import Approval, ApprovalState, GrantScope
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.model.tool import Preview
from callgate.ports import Answer
from callgate.runtime.telling import told
from callgate.settings.load import parse_settings
from callgate.settings.values import ApprovalSettings, Settings
from callgate.testing import HandClock, ScriptedApprover
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")


def till() -> tuple[list[int], Any]:
    """A payment tool and the payments it made."""
    paid: list[int] = []

    @tool(effects="network_access", risk="high")
    async def pay(amount: int, to: str = "ann") -> dict[str, Any]:
        """Pay somebody."""
        paid.append(amount)
        return {"paid": amount, "to": to}

    return paid, pay


async def ask(gate: Callgate, amount: int = 5, context: Context | None = None) -> Pending:
    outcome = await gate.call("pay", {"amount": amount}, context)
    assert isinstance(outcome, Pending)
    return outcome


@pytest.mark.requirement("APR-01", "GATE-07")
async def test_a_question_says_what_why_how_and_until_when() -> None:
    paid, pay = till()
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        outcome = await gate.call("pay", {"amount": 5, "to": "bob\u202e"}, Context(user="ann"))
        assert isinstance(outcome, Pending)
        approval = await gate.approval(outcome.approval_id)
        assert "amount: 5" in approval.what
        assert "<U+202E>" in approval.what
        assert any("high risk at autonomy A2" in reason for reason in approval.why)
        assert (approval.risk, approval.autonomy) == (Risk.HIGH, "A2")
        assert approval.trace_id == outcome.trace_id
        assert approval.expires_at - approval.created_at == 3600
        how = (approval.by, approval.assurance, approval.plus, approval.on_expiry)
        assert how == (ConfirmBy.USER, Assurance.ASSERTED, False, "reject")
        assert [event.type async for event in gate.events(types=["gate.*"])] == ["gate.required"]
        with pytest.raises(ApprovalRequired) as raised:
            outcome.unwrap()
        assert raised.value.approval_id == outcome.approval_id
    assert paid == []


@pytest.mark.requirement("APR-01")
async def test_a_question_says_what_raised_the_risk() -> None:
    def to_all(arguments: Any) -> bool:
        return arguments["text"] == "to all"

    @tool(effects="network_access", risk="high", broadcast=to_all)
    async def post(text: str) -> str:
        return text

    @tool(effects="network_access")
    async def guess(text: str) -> str:
        return text

    async with gate_of(post, guess) as gate:
        undeclared = await gate.call("guess", {"text": "a"})
        assert isinstance(undeclared, Pending)
        raised = "no risk is declared for guess: its base risk is taken to be high"
        assert (await gate.approval(undeclared.approval_id)).why[0] == raised
        assert raised in told(undeclared)

        asked = await gate.call("post", {"text": "to all"})
        assert isinstance(asked, Pending)
        assert (await gate.approval(asked.approval_id)).why == (
            "it reaches an open-ended audience: the risk goes from high to critical",
            "critical risk at autonomy A2 is confirm +",
        )
        plain = await gate.call("post", {"text": "to one"})
        assert isinstance(plain, Pending)
        assert (await gate.approval(plain.approval_id)).why == ("high risk at autonomy A2 is confirm",)


@pytest.mark.requirement("APR-02")
async def test_deciding_twice_is_a_conflict_and_an_unknown_question_is_not_found() -> None:
    _, pay = till()
    async with gate_of(pay) as gate:
        pending = await ask(gate)
        approved = await gate.approve(pending.approval_id, by="ann")
        assert (approved.state, approved.decided_by) == (ApprovalState.APPROVED, "ann")
        with pytest.raises(ApprovalConflict, match="approved, not pending"):
            await gate.reject(pending.approval_id, by="ann")
        with pytest.raises(ApprovalNotFound, match="nosuch"):
            await gate.approve("nosuch", by="ann")


@pytest.mark.requirement("APR-03")
async def test_what_expired_cannot_be_approved_and_admits_nothing() -> None:
    paid, pay = till()
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        first = await ask(gate)
        clock.turn(3600)
        with pytest.raises(ApprovalConflict, match="expired"):
            await gate.approve(first.approval_id, by="ann")
        refused = await gate.resume(first.approval_id)
        assert isinstance(refused, Refused)
        assert refused.error is not None
        assert refused.error.code == "approval_expired"
        again = await ask(gate)
        assert again.approval_id != first.approval_id
        await gate.approve(again.approval_id, by="ann")
        clock.turn(3600)
        third = await ask(gate)
        assert third.approval_id not in {first.approval_id, again.approval_id}
        types = [event.type async for event in gate.events(types=["approval.expired"])]
        assert len(types) == 2
    assert paid == []


@pytest.mark.requirement("APR-04")
async def test_an_approval_admits_only_the_call_it_was_given_for() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        small = await ask(gate, 5)
        await gate.approve(small.approval_id, by="ann")
        large = await ask(gate, 500)
        assert large.approval_id != small.approval_id
        elsewhere = await ask(gate, 5, Context(session="other"))
        assert elsewhere.approval_id != small.approval_id
        stranger = await ask(gate, 5, Context(principal="other"))
        assert stranger.approval_id != small.approval_id
        assert (await gate.call("pay", {"amount": 5})).ok
    assert paid == [5]


@pytest.mark.requirement("APR-05")
async def test_one_approval_is_one_execution() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        pending = await ask(gate)
        await gate.approve(pending.approval_id, by="ann")
        first = await gate.call("pay", {"amount": 5})
        assert isinstance(first, Succeeded)
        assert first.key == pending.key
        replay = await gate.resume(pending.approval_id)
        assert replay.deduped
        assert replay.output == first.output
        second = await ask(gate)
        assert second.approval_id != pending.approval_id
    assert paid == [5]


@pytest.mark.requirement("APR-06")
async def test_asking_again_while_one_is_pending_asks_nobody_again() -> None:
    _, pay = till()
    async with gate_of(pay) as gate:
        first, second = await ask(gate), await ask(gate)
        assert first.approval_id == second.approval_id
        assert first.key == second.key
        assert len(await gate.approvals()) == 1


@pytest.mark.requirement("APR-07")
async def test_rules_that_tightened_since_are_stronger_than_an_approval() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        pending = await ask(gate)
        await gate.approve(pending.approval_id, by="ann")
        lowered = await gate.call("pay", {"amount": 5}, Context(autonomy=Autonomy.A0))
        assert isinstance(lowered, Previewed)
        capped = Layer(name="ceiling", max_risk=Risk.MEDIUM)
        denied = await gate.call("pay", {"amount": 5}, Context(layers=(capped,)))
        assert isinstance(denied, Refused)
        assert denied.error is not None
        assert denied.error.code == "gate_denied"
        revoked = await gate.call("pay", {"amount": 5}, Context(layers=(Layer(name="no", deny=("pay",)),)))
        assert revoked.error is not None
        assert revoked.error.code == "policy_denied"
    assert paid == []


async def test_new_reasons_ask_again() -> None:
    """An approval speaks for the reasons that were shown; a rule that came later asks anew."""
    paid, pay = till()
    async with gate_of(pay) as gate:
        pending = await ask(gate)
        await gate.approve(pending.approval_id, by="ann")
        rule = Layer(name="later", rules=(Rule(match="pay", verdict=Verdict.CONFIRM, why="now watched"),))
        again = await ask(gate, 5, Context(layers=(rule,)))
        assert again.approval_id != pending.approval_id
        old = await gate.approval(pending.approval_id)
        assert old.state is ApprovalState.WITHDRAWN
    assert paid == []


@pytest.mark.requirement("APR-08")
async def test_a_rejected_call_never_runs_and_says_why() -> None:
    paid, pay = till()
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        pending = await ask(gate)
        await gate.reject(pending.approval_id, by="ann", why="not today")
        for outcome in (await gate.call("pay", {"amount": 5}), await gate.resume(pending.approval_id)):
            assert isinstance(outcome, Refused)
            assert outcome.error is not None
            assert outcome.error.code == "approval_rejected"
            assert outcome.error.message == "ann rejected this call: not today"
        clock.turn(3600)
        assert (await ask(gate)).approval_id != pending.approval_id
        # However long ago it was said, it is told in the same words.
        later = await gate.resume(pending.approval_id)
        assert later.error is not None
        assert (later.error.code, later.error.message) == ("approval_rejected", "ann rejected this call: not today")
    assert paid == []


async def test_an_answer_reaches_the_model_instead_of_running() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        pending = await ask(gate)
        await gate.respond(pending.approval_id, by="ann", text="use the company card")
        outcome = await gate.call("pay", {"amount": 5})
        assert outcome.error is not None
        assert outcome.error.code == "approval_answered"
        assert outcome.error.message == "use the company card"
    assert paid == []


async def test_an_edited_call_runs_as_edited_and_the_model_is_told() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        pending = await ask(gate, 500)
        with pytest.raises(InvalidArguments, match="Missing required parameter: amount"):
            await gate.approve(pending.approval_id, by="ann", arguments={"to": "bob"})
        edited = await gate.approve(pending.approval_id, by="ann", arguments={"amount": 50})
        assert edited.edited
        assert edited.asked_fingerprint != edited.final_fingerprint
        outcome = await gate.call("pay", {"amount": 500})
        assert isinstance(outcome, Succeeded)
        assert outcome.output["paid"] == 50
        assert outcome.metadata == {"edited": True, "arguments": {"amount": 50, "to": "ann"}}
        replay = await gate.resume(pending.approval_id)
        assert replay.deduped
        assert replay.output["paid"] == 50
    assert paid == [50]


async def test_an_edit_is_looked_at_before_it_is_approved_and_a_yes_is_to_what_was_seen() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        asked = await gate.approval((await ask(gate, 500)).approval_id)
        shown = await gate.preview_edit(asked.id, {"amount": 50})
        assert (shown.edited, "amount: 50" in shown.what, shown.digest == asked.digest) == (True, True, False)
        assert await gate.approval(asked.id) == asked
        with pytest.raises(InvalidArguments, match="Missing required parameter: amount"):
            await gate.preview_edit(asked.id, {"to": "bob"})
        with pytest.raises(ApprovalConflict):
            await gate.approve(asked.id, by="ann", arguments={"amount": 60}, digest=shown.digest)
        edited = await gate.approve(asked.id, by="ann", arguments={"amount": 50}, digest=shown.digest)
        assert (edited.state, edited.digest) == (ApprovalState.APPROVED, shown.digest)
        assert (await gate.call("pay", {"amount": 500})).ok
    assert paid == [50]


async def test_two_persons_and_the_second_edit_voids_the_first_vote() -> None:
    paid, pay = till()
    two = Layer(name="two", rules=(Rule(match="pay", verdict=Verdict.CONFIRM, by=ConfirmBy.TWO, why="large"),))
    context = Context(layers=(two,), user="ann")
    async with gate_of(pay) as gate:
        pending = await ask(gate, 5, context)
        first = await gate.approve(pending.approval_id, by="ann")
        assert first.state is ApprovalState.PENDING
        changed = await gate.approve(pending.approval_id, by="bob", arguments={"amount": 6})
        assert changed.state is ApprovalState.PENDING
        assert [vote.by for vote in changed.votes] == ["bob"]
        done = await gate.approve(pending.approval_id, by="ann", digest=changed.digest)
        assert done.state is ApprovalState.APPROVED
        assert (await gate.call("pay", {"amount": 5}, context)).ok
    assert paid == [6]


async def test_a_yes_at_the_terminal_is_to_what_it_showed() -> None:
    paid, pay = till()
    two = Layer(name="two", rules=(Rule(match="pay", verdict=Verdict.CONFIRM, by=ConfirmBy.TWO, why="large"),))

    class Slow(ScriptedApprover):
        async def ask(self, approval: Approval) -> Answer:
            """While somebody reads, somebody else edits."""
            if not approval.edited:
                await gate.approve(approval.id, by="bob", arguments={"amount": 5000})
            return await super().ask(approval)

    async with gate_of(pay, ask=Slow(Answer("approve", by="ann"))) as gate:
        outcome = await gate.call("pay", {"amount": 5}, Context(layers=(two,)))
        assert isinstance(outcome, Pending)
        assert [vote.by for vote in (await gate.approval(outcome.approval_id)).votes] == ["bob"]
    assert paid == []


async def test_critical_needs_more_than_a_name_given_in_process() -> None:
    @tool(effects="system_state", risk="critical")
    async def wipe() -> str:
        """Erase everything."""
        return "gone"

    async with gate_of(wipe) as gate:
        pending = await gate.call("wipe", {}, Context(autonomy=Autonomy.A4))
        assert isinstance(pending, Pending)
        with pytest.raises(AssuranceTooLow, match="stays pending"):
            await gate.approve(pending.approval_id, by="ann")
        assert (await gate.approval(pending.approval_id)).state is ApprovalState.PENDING
        await gate.approve(pending.approval_id, by="ann", assurance=Assurance.LOCAL)
        assert (await gate.resume(pending.approval_id)).ok


async def test_an_approval_binds_what_its_preview_showed() -> None:
    world = {"version": "v1"}

    def preview(arguments: dict[str, Any], context: ToolContext) -> Preview:
        return Preview(text=f"would replace {world['version']}", state=world["version"])

    @tool(effects="modifies_files", risk="high", preview=preview)
    async def publish(text: str) -> str:
        """Publish a page."""
        return "published"

    async with gate_of(publish) as gate:
        pending = await gate.call("publish", {"text": "hi"})
        assert isinstance(pending, Pending)
        approval = await gate.approval(pending.approval_id)
        assert approval.preview == {"text": "would replace v1"}
        await gate.approve(pending.approval_id, by="ann")
        world["version"] = "v2"
        void = await gate.call("publish", {"text": "hi"})
        assert void.error is not None
        assert void.error.code == "approval_void"
        assert void.error.message.startswith(f"approval {pending.approval_id} is withdrawn: what its preview showed")
        assert (await gate.approval(pending.approval_id)).state == "withdrawn"
        [gone] = [event.payload async for event in gate.events(types=["approval.withdrawn"])]
        assert gone is not None
        assert gone["text"] == "what the preview showed is no longer so"
        fresh = await gate.call("publish", {"text": "hi"})
        assert isinstance(fresh, Pending)
        await gate.approve(fresh.approval_id, by="ann")
        assert (await gate.call("publish", {"text": "hi"})).ok


@pytest.mark.requirement("GATE-08", "GATE-06")
async def test_at_a0_an_effect_is_shown_and_never_executed() -> None:
    paid, pay = till()
    shown: list[int] = []

    def preview(arguments: dict[str, Any], context: ToolContext) -> str:
        shown.append(arguments["amount"])
        return f"would pay {arguments['amount']}"

    @tool(effects="network_access", risk="low", scopes=["secrets:read"], preview=preview)
    async def pay_with_card(amount: int) -> str:
        """Pay by card."""
        paid.append(amount)
        return "paid"

    text = "autonomy: A0\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}"
    async with gate_of(pay, pay_with_card, config=parse_settings(text, file="callgate.yaml")) as gate:
        bare = await gate.call("pay", {"amount": 7})
        assert isinstance(bare, Previewed)
        assert not bare.supported
        with pytest.raises(PreviewRequired) as raised:
            bare.unwrap()
        assert raised.value.supported is False
        with_secret = await gate.call("pay_with_card", {"amount": 5})
        assert isinstance(with_secret, Previewed)
        assert with_secret.supported
        with pytest.raises(PreviewRequired, match="pay_with_card") as raised:
            with_secret.unwrap()
        assert raised.value.preview.text == "would pay 5"
        assert shown == [5]
        assert await gate.approvals(states=None) == []
    assert paid == []


async def test_a_veto_window_runs_when_nobody_objects() -> None:
    sent: list[str] = []

    def undo(arguments: dict[str, Any], output: Any) -> None:
        sent.remove(arguments["text"])

    @tool(effects="network_access", risk="low", undo=undo)
    async def send(text: str) -> str:
        """Send a note that can be called back."""
        sent.append(text)
        return "sent"

    rule = Rule(match="send", verdict=Verdict.CONFIRM, on_expiry="proceed", why="can be called back")
    settings = Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, rules=(rule,)))
    clock = HandClock()
    async with gate_of(send, clock=clock, config=settings) as gate:
        pending = await gate.call("send", {"text": "hi"})
        assert isinstance(pending, Pending)
        assert isinstance(await gate.resume(pending.approval_id), Pending)
        clock.turn(3600)
        assert (await gate.resume(pending.approval_id)).ok
        vetoed = await gate.call("send", {"text": "no"})
        assert isinstance(vetoed, Pending)
        await gate.reject(vetoed.approval_id, by="ann", why="stop")
        clock.turn(3600)
        assert not (await gate.resume(vetoed.approval_id)).ok
    assert sent == ["hi"]


async def test_a_session_can_have_twenty_questions_and_no_more() -> None:
    _, pay = till()
    settings = Settings(approvals=ApprovalSettings(pending_per_session=2))
    async with gate_of(pay, config=settings) as gate:
        await ask(gate, 1)
        await ask(gate, 2)
        third = await gate.call("pay", {"amount": 3})
        assert third.error is not None
        assert third.error.code == "limit_exceeded"
        assert isinstance(await gate.call("pay", {"amount": 3}, Context(session="other")), Pending)


async def test_a_grant_answers_a_confirm_and_is_named() -> None:
    paid, pay = till()
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        grant = await gate.grant("pay", by="ann", pattern={"amount": 5}, max_risk=Risk.HIGH, scope=GrantScope.SESSION)
        outcome = await gate.call("pay", {"amount": 5})
        assert isinstance(outcome, Succeeded)
        assert outcome.decision is not None
        assert any(grant.id in reason.text for reason in outcome.decision.reasons)
        assert isinstance(await gate.call("pay", {"amount": 6}), Pending)
        assert isinstance(await gate.call("pay", {"amount": 5}, Context(session="other")), Pending)
        clock.turn(1200)
        await gate.revoke(grant.id, by="ann")
        assert isinstance(await gate.call("pay", {"amount": 5}), Pending)
    assert paid == [5]


async def test_waiting_for_a_person_ends_with_their_answer() -> None:
    paid, pay = till()
    script = ScriptedApprover("approve", Answer("reject", text="enough"))
    async with gate_of(pay, ask=script) as gate:
        assert (await gate.call("pay", {"amount": 5})).ok
        no = await gate.call("pay", {"amount": 6})
        assert no.error is not None
        assert no.error.message == "tester rejected this call: enough"
        assert isinstance(await gate.call("pay", {"amount": 7}), Pending)
        assert [question.tool for question in script.seen] == ["pay", "pay", "pay"]
    assert paid == [5]


class _Persistent(ScriptedApprover):
    """Wants to be asked again when an answer did not count."""

    def tell(self, message: str) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride] - as the port allows
        super().tell(message)
        return True


async def test_who_wants_to_mend_an_edit_that_does_not_count_is_asked_again() -> None:
    paid, pay = till()
    edits = [Answer("approve", arguments={"amount": amount}) for amount in ("many", 7)]
    persistent = _Persistent(*edits)
    async with gate_of(pay, ask=persistent) as gate:
        assert (await gate.call("pay", {"amount": 5})).ok
        assert len({question.id for question in persistent.seen}) == 1
        assert len(persistent.told) == 1
        assert "amount" in persistent.told[0]
    async with gate_of(pay, ask=ScriptedApprover(*edits)) as gate:
        assert isinstance(await gate.call("pay", {"amount": 5}, Context(session="other")), Pending)
    assert paid == [7]


async def test_what_failed_without_effect_may_be_asked_again_under_its_key() -> None:
    from callgate import NoEffect  # noqa: PLC0415

    tries: list[int] = []

    @tool(effects="network_access", risk="high")
    async def book(seat: int) -> str:
        """Book a seat."""
        tries.append(seat)
        if len(tries) == 1:
            raise NoEffect("the other side was closed")
        return "booked"

    async with gate_of(book, ask=ScriptedApprover("approve", "approve")) as gate:
        context = Context(idempotency_key="seat-1")
        first = await gate.call("book", {"seat": 1}, context)
        assert isinstance(first, Failed)
        assert first.happened.value == "none"
        assert (await gate.call("book", {"seat": 1}, context)).ok
    assert tries == [1, 1]


async def test_questions_that_ran_out_unseen_do_not_keep_a_session_from_asking() -> None:
    _, pay = till()
    clock = HandClock()
    settings = Settings(approvals=ApprovalSettings(pending_per_session=2))
    async with gate_of(pay, clock=clock, config=settings) as gate:
        await ask(gate, 1)
        await ask(gate, 2)
        assert isinstance(await gate.call("pay", {"amount": 3}), Refused)
        clock.turn(3600)
        await ask(gate, 3)


@pytest.mark.requirement("APR-04")
async def test_a_yes_to_a_read_is_for_that_read_alone() -> None:
    opened: list[str] = []

    @tool(effects="read_only")
    async def open_file(path: str) -> str:
        """Open a file."""
        opened.append(path)
        return f"what is in {path}"

    private = Rule(match="open_file", verdict=Verdict.CONFIRM, why="private")
    settings = Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, rules=(private,)))
    async with gate_of(open_file, config=settings) as gate:
        first = await gate.call("open_file", {"path": "a"})
        other = await gate.call("open_file", {"path": "b"})
        assert isinstance(first, Pending)
        assert isinstance(other, Pending)
        assert first.approval_id != other.approval_id
        await gate.approve(first.approval_id, by="ann")
        assert isinstance(await gate.call("open_file", {"path": "b"}), Pending)
        assert isinstance(await gate.call("open_file", {"path": "c"}), Pending)
        assert opened == []
        assert (await gate.resume(first.approval_id)).output == "what is in a"
        assert isinstance(await gate.call("open_file", {"path": "a"}), Pending)
        await gate.approve(other.approval_id, by="ann", arguments={"path": "public"})
        assert (await gate.call("open_file", {"path": "b"})).output == "what is in public"
        assert opened == ["a", "public"]


async def test_who_resumes_may_wait_for_the_person() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        pending = await ask(gate)
        assert isinstance(await gate.resume(pending.approval_id, wait=0), Pending)
        waiting = asyncio.create_task(gate.resume(pending.approval_id, wait=60))
        await gate.approve(pending.approval_id, by="operator")
        assert (await asyncio.wait_for(waiting, 10)).ok
    assert paid == [5]


async def test_a_host_is_told_what_a_person_changed_in_its_call() -> None:
    @tool(effects="local_exec", risk="high", name="host.bash", source="host")
    async def bash(command: str, seconds: int = 5) -> str:
        """The host's shell."""
        raise AssertionError("the gate never runs it")

    async with gate_of(bash) as gate:
        judged = [await gate.judge(Call("host.bash", {"command": line}, key=line)) for line in ("rm -r x", "ls")]
        asked = [judgement.outcome for judgement in judged]
        assert isinstance(asked[0], Pending)
        assert isinstance(asked[1], Pending)
        await gate.approve(asked[0].approval_id, by="ann", arguments={"command": "rm x"})
        await gate.approve(asked[1].approval_id, by="ann")
        edited = await gate.judge(Call("host.bash", {"command": "rm -r x"}, key="rm -r x"))
        as_asked = await gate.judge(Call("host.bash", {"command": "ls"}, key="ls"))
    assert edited.allowed
    assert edited.edited == {"command": "rm x", "seconds": 5}
    assert as_asked.allowed
    assert as_asked.edited is None
