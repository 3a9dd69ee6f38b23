"""While a person thinks the world goes on: what is let through is judged by what is true then, and was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Outcome, Pending, Refused, Succeeded, ToolContext, tool
from callgate.model.approval import Approval, ApprovalState
from callgate.model.levels import Assurance, Autonomy
from callgate.ports import Answer
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import HandClock
from tests.journeys.gates import gate_of, parts_of

pytestmark = pytest.mark.usefixtures("on_each_store")
WITHIN = 10
Meanwhile = Callable[[], Awaitable[None]]


def code(outcome: Outcome) -> str:
    assert isinstance(outcome, Refused)
    assert outcome.error is not None
    return outcome.error.code


class Person:
    """Says yes, after something else has happened."""

    assurance = Assurance.LOCAL

    def __init__(self, meanwhile: Meanwhile) -> None:
        self._meanwhile = meanwhile
        self.seen: list[Approval] = []

    async def ask(self, approval: Approval) -> Answer:
        self.seen.append(approval)
        if len(self.seen) > 1:
            return Answer("wait")
        await self._meanwhile()
        return Answer("approve", by="ann")

    def tell(self, message: str) -> None:
        """Nothing more to say."""


class Till:
    """A tool that pays, and how often it did."""

    def __init__(self) -> None:
        self.paid: list[int] = []

        @tool(effects="system_state", risk="high")
        async def pay(amount: int) -> str:
            """Pay somebody."""
            self.paid.append(amount)
            return "paid"

        self.pay = pay


@pytest.fixture(params=["asked on the spot", "waited for"])
def way(request: pytest.FixtureRequest) -> str:
    return request.param


async def let_through(gate: Callgate, call: Call, meanwhile: Meanwhile, *, way: str) -> Outcome:
    """Make a call that a person approves after something else has happened."""
    if way == "asked on the spot":
        parts_of(gate).asker = Person(meanwhile)
        return await asyncio.wait_for(gate.call(call.tool, call.arguments), WITHIN)
    asked: asyncio.Queue[Any] = asyncio.Queue()
    gate.on("gate.required", asked.put_nowait)
    waiting = asyncio.ensure_future(gate.call(call.tool, call.arguments, wait=60))
    question = await asyncio.wait_for(asked.get(), WITHIN)
    await meanwhile()
    await gate.approve(question.payload["approval_id"], by="ann")
    # Asked once more, nobody answers.
    done, _ = await asyncio.wait({waiting, again := asyncio.ensure_future(asked.get())}, return_when="FIRST_COMPLETED")
    again.cancel()
    if waiting in done:
        return waiting.result()
    waiting.cancel()
    return await gate.call(call.tool, call.arguments)


async def states(gate: Callgate) -> list[ApprovalState]:
    return [approval.state for approval in await gate.approvals(states=None)]


async def test_nothing_else_happened_and_it_runs(way: str) -> None:
    till = Till()

    async def nothing() -> None: ...

    async with gate_of(till.pay) as gate:
        assert isinstance(await let_through(gate, Call("pay", {"amount": 5}), nothing, way=way), Succeeded)
        assert await states(gate) == [ApprovalState.USED]
    assert till.paid == [5]


async def test_a_tool_that_became_another_one_meanwhile_does_not_run(way: str) -> None:
    till, other = Till(), Till()

    async def replace() -> None:
        async def pay(amount: int) -> str:
            """Pay somebody, and tell everybody."""
            other.paid.append(amount)
            return "paid"

        gate.add(pay, effects="system_state", risk="high", update=True)

    async with gate_of(till.pay) as gate:
        outcome = await let_through(gate, Call("pay", {"amount": 5}), replace, way=way)
        assert code(outcome) == "approval_void"
        assert "no longer the one it was given for" in outcome.error.message  # pyright: ignore[reportOptionalMemberAccess]
        assert await states(gate) == [ApprovalState.WITHDRAWN]
    assert till.paid == other.paid == []


@pytest.mark.parametrize(("became", "told"), [("removed", "tool_not_found"), ("held", "tool_quarantined")])
async def test_a_tool_that_was_taken_away_or_held_meanwhile_does_not_run(became: str, told: str, way: str) -> None:
    till = Till()

    async def take_away() -> None:
        if became == "removed":
            gate.remove("pay")
        else:
            await gate.distrust("pay", by="ann", why="it pays the wrong people")

    async with gate_of(till.pay) as gate:
        assert code(await let_through(gate, Call("pay", {"amount": 5}), take_away, way=way)) == told
    assert till.paid == []


async def test_what_the_policy_forbids_by_now_does_not_run(way: str) -> None:
    till = Till()

    async def repeat() -> None:
        # An identical success raises the risk of the next call beyond what its role may do.
        assert (await gate.call("pay", {"amount": 5}, Context(autonomy=Autonomy.A4))).ok

    roles = "roles: {default: {scopes: ['*'], allow: ['group:all'], max_risk: high}}"
    async with gate_of(till.pay, config=parse_settings(roles, file="callgate.yaml")) as gate:
        assert code(await let_through(gate, Call("pay", {"amount": 5}), repeat, way=way)) == "gate_denied"
    assert till.paid == [5]


async def test_what_asks_for_more_by_now_is_asked_again(way: str) -> None:
    till = Till()

    async def repeat() -> None:
        assert (await gate.call("pay", {"amount": 5}, Context(autonomy=Autonomy.A4))).ok

    async with gate_of(till.pay) as gate:
        outcome = await let_through(gate, Call("pay", {"amount": 5}), repeat, way=way)
        assert isinstance(outcome, Pending)
        assert await states(gate) == [ApprovalState.WITHDRAWN, ApprovalState.PENDING]
    assert till.paid == [5]


async def test_a_path_that_leads_elsewhere_by_now_is_not_written_to(way: str, tmp_path: Path) -> None:
    link = tmp_path / "report"
    for name in ("shown", "other"):
        (tmp_path / name).touch()
    link.symlink_to(tmp_path / "shown")

    @tool(effects="modifies_files", risk="high", scopes=["fs:write"])
    async def save(path: str) -> str:
        """Save a report."""
        Path(path).write_text("saved")  # noqa: ASYNC240 - a few bytes
        return "saved"

    async def lead_elsewhere() -> None:
        link.unlink()
        link.symlink_to(tmp_path / "other")

    async with gate_of(save, working_directory=tmp_path) as gate:
        outcome = await let_through(gate, Call("save", {"path": str(link)}), lead_elsewhere, way=way)
        assert code(outcome) == "approval_void"
    assert [(tmp_path / name).read_text() for name in ("shown", "other")] == ["", ""]


async def test_a_tools_own_check_is_asked_again(way: str) -> None:
    paid: list[int] = []
    closed: list[bool] = []

    def check(arguments: dict[str, Any], context: Context) -> None:
        if closed:
            raise PermissionError("the till is closed")

    @tool(effects="system_state", risk="high", check=check)
    async def pay(amount: int) -> str:
        """Pay somebody."""
        paid.append(amount)
        return "paid"

    async def close() -> None:
        closed.append(True)

    async with gate_of(pay) as gate:
        assert code(await let_through(gate, Call("pay", {"amount": 5}), close, way=way)) == "policy_denied"
    assert paid == []


async def test_a_connector_in_trouble_keeps_nobody_from_what_a_person_let_through(way: str) -> None:
    till = Till()

    async def nothing() -> None: ...

    clock = HandClock()
    async with gate_of(till.pay, clock=clock) as gate:
        health = parts_of(gate).health
        for _ in range(5):
            health.failed("pay", "lost", clock.now())
        clock.turn(60)
        # This call is the one probe of a circuit that is half open, also after somebody thought about it.
        assert (await let_through(gate, Call("pay", {"amount": 5}), nothing, way=way)).ok
    assert till.paid == [5]


async def test_a_call_whose_maker_has_ended_uses_up_no_approval() -> None:
    till = Till()
    nested: list[asyncio.Task[Outcome]] = []
    asked: asyncio.Queue[Any] = asyncio.Queue()

    @tool(effects="read_only")
    async def delegate(ctx: ToolContext) -> str:
        """Start a call that needs a person, and wait for nobody."""
        nested.append(asyncio.ensure_future(gate.call("pay", {"amount": 5}, wait=60)))
        await asked.get()
        return "started"

    async with gate_of(delegate, till.pay) as gate:
        gate.on("gate.required", asked.put_nowait)
        assert (await asyncio.wait_for(gate.call("delegate", {}), WITHIN)).ok
        (question,) = await gate.approvals()
        await gate.approve(question.id, by="ann")
        outcome = await asyncio.wait_for(nested[0], WITHIN)
        assert code(outcome) == "policy_denied"
        assert await states(gate) == [ApprovalState.APPROVED]
    assert till.paid == []


# What was shown is what runs, whatever it is.


class Records:
    """A tool that only reads, about which a person is asked all the same."""

    def __init__(self) -> None:
        self.read: list[str] = []

        @tool(effects="read_only", risk="high")
        async def open_record(patient: str) -> str:
            """Open somebody's record."""
            self.read.append(patient)
            return f"the record of {patient}"

        self.tool = open_record


async def test_an_approval_to_read_one_thing_reads_no_other() -> None:
    records = Records()
    async with gate_of(records.tool) as gate:
        first = await gate.call("open_record", {"patient": "ann"})
        assert isinstance(first, Pending)
        other = await gate.call("open_record", {"patient": "bob"})
        assert isinstance(other, Pending)
        assert other.approval_id != first.approval_id
        await gate.approve(first.approval_id, by="dr. who")
        assert isinstance(await gate.call("open_record", {"patient": "bob"}), Pending)
        assert (await gate.call("open_record", {"patient": "ann"})).output == "the record of ann"
        assert isinstance(await gate.call("open_record", {"patient": "ann"}), Pending)
    assert records.read == ["ann"]


@pytest.mark.parametrize("why", ["declared", "a scope that asks", "a rule"])
async def test_whyever_somebody_is_asked_about_a_read_it_is_about_that_one(why: str) -> None:
    read: list[str] = []
    declared: dict[str, Any] = {"risk": "high"} if why == "declared" else {}
    rules = "global: {rules: [{match: open_record, verdict: confirm, why: private}]}" if why == "a rule" else ""
    scopes = ["shell:execute"] if why == "a scope that asks" else []

    @tool(effects="read_only", scopes=scopes, **declared)
    async def open_record(patient: str) -> str:
        """Open somebody's record."""
        read.append(patient)
        return patient

    async with gate_of(open_record, config=parse_settings(rules, file="callgate.yaml")) as gate:
        asked = await gate.call("open_record", {"patient": "ann"})
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="dr. who")
        assert isinstance(await gate.call("open_record", {"patient": "bob"}), Pending)
    assert read == []


async def test_a_read_that_a_person_edits_is_read_as_edited() -> None:
    records = Records()
    async with gate_of(records.tool) as gate:
        asked = await gate.call("open_record", {"patient": "ann"})
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="dr. who", arguments={"patient": "ann, page 1"})
        assert (await gate.call("open_record", {"patient": "ann"})).output == "the record of ann, page 1"
    assert records.read == ["ann, page 1"]


@pytest.mark.parametrize("state", ["v1", 1, 1.5, {"etag": "v1"}, [1, 2], b"v1", False], ids=repr)
async def test_whatever_a_preview_says_its_state_is_an_approval_binds_it(state: Any) -> None:
    states, saved = [state], list[str]()

    def preview(arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        return {"text": "would save", "state": states[-1]}

    @tool(effects="system_state", risk="high", preview=preview)
    async def save(text: str) -> str:
        """Save."""
        saved.append(text)
        return "saved"

    async with gate_of(save) as gate:
        for text, after, told in (("a", state, "succeeded"), ("b", "another", "refused")):
            asked = await gate.call("save", {"text": text})
            assert isinstance(asked, Pending)
            await gate.approve(asked.approval_id, by="ann")
            states.append(after)
            outcome = await gate.call("save", {"text": text})
            assert outcome.status == told
            assert outcome.ok or code(outcome) == "approval_void"
    assert saved == ["a"]


async def test_what_a_person_let_through_for_one_user_is_done_for_no_other() -> None:
    paid: list[str | None] = []

    @tool(effects="system_state", risk="high")
    async def withdraw(amount: int, ctx: ToolContext) -> str:
        """Take money from the account of whoever asks."""
        paid.append(ctx.context.user)
        return f"{amount} of {ctx.context.user}"

    ann, bob = Context(user="ann"), Context(user="bob")
    async with gate_of(withdraw) as gate:
        asked = await gate.call("withdraw", {"amount": 5}, ann)
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="bob")
        other = await gate.call("withdraw", {"amount": 5}, bob)
        assert isinstance(other, Pending)
        assert other.approval_id != asked.approval_id
        assert (await gate.call("withdraw", {"amount": 5}, ann)).output == "5 of ann"
        assert (await gate.call("withdraw", {"amount": 5}, bob)).status == "pending"
    assert paid == ["ann"]


async def test_what_a_key_answered_one_user_it_does_not_tell_another() -> None:
    @tool(effects="system_state", risk="low")
    async def balance(ctx: ToolContext) -> str:
        """Say what is in the account of whoever asks."""
        return f"the money of {ctx.context.user}"

    async with gate_of(balance, config=Settings(autonomy=Autonomy.A4)) as gate:
        first = await gate.call("balance", {}, Context(user="ann", idempotency_key="k"))
        assert first.output == "the money of ann"
        assert code(await gate.call("balance", {}, Context(user="bob", idempotency_key="k"))) == "idempotency_conflict"
        assert (await gate.call("balance", {}, Context(user="ann", idempotency_key="k"))).deduped


async def test_a_read_whose_outcome_is_not_known_is_asked_about_once_and_not_for_ever() -> None:
    @tool(effects="read_only", risk="high", source="host")
    async def open_record(patient: str) -> str:
        """Open somebody's record, at the host."""
        raise AssertionError

    clock, context = HandClock(), Context(idempotency_key="k")
    call = Call("open_record", {"patient": "ann"})
    async with gate_of(open_record, clock=clock) as gate:
        asked = (await gate.judge(call, context)).outcome
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="dr. who")
        judged = await gate.judge(call, context)
        assert judged.allowed
        lost: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("tool_call.unknown", lost.put_nowait)
        clock.turn(3600)
        await asyncio.wait_for(lost.get(), WITHIN)
        again = (await asyncio.wait_for(gate.judge(call, context), WITHIN)).outcome
        assert isinstance(again, Pending)
        assert again.approval_id != asked.approval_id


async def test_of_a_call_that_needs_nobody_as_edited_it_is_not_said_that_it_needs_a_person() -> None:
    @tool(effects="system_state", risk="low")
    async def tip(amount: int) -> int:
        """Tip somebody."""
        return amount

    rules = "autonomy: A4\nglobal: {rules: [{match: tip, when: 'args.amount > 10', verdict: confirm}]}"
    async with gate_of(tip, config=parse_settings(rules, file="callgate.yaml")) as gate:
        asked = await gate.call("tip", {"amount": 50})
        assert isinstance(asked, Pending)
        assert "args.amount > 10" in (await gate.approval(asked.approval_id)).why[0]
        await gate.approve(asked.approval_id, by="ann", arguments={"amount": 5})
        assert (await gate.approval(asked.approval_id)).why == ()
        assert (await gate.resume(asked.approval_id)).output == 5


async def test_a_grant_that_is_revoked_at_the_last_moment_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    paid: list[int] = []

    @tool(effects="system_state", risk="medium")
    async def pay(amount: int) -> str:
        """Pay somebody."""
        paid.append(amount)
        return "paid"

    @tool(effects="read_only", risk="medium")
    async def look(amount: int) -> str:
        """Look somebody up."""
        paid.append(amount)
        return "seen"

    async with gate_of(pay, look, config=Settings(autonomy=Autonomy.A2)) as gate:
        for name in ("pay", "look"):
            grant = await gate.grant(name, by="ann")
            revoke_before_claim(gate, grant.id, monkeypatch)
            outcome = await gate.call(name, {"amount": 5})
            assert code(outcome) == "approval_void"
            assert grant.id in outcome.error.message  # pyright: ignore[reportOptionalMemberAccess]
            assert isinstance(await gate.call(name, {"amount": 5}), Pending)
        assert (await gate.verify_audit()).problems == ()
    assert paid == []


def revoke_before_claim(gate: Callgate, grant_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Revoke a grant after the gate has looked at it and before the claim does."""
    store = parts_of(gate).store
    read = store.read

    async def looked(query: Any) -> Any:
        found = await read(query)
        if isinstance(found, list) and any(getattr(each, "id", None) == grant_id for each in found):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            monkeypatch.setattr(store, "read", read)
            await gate.revoke(grant_id, by="ann")
        return found  # pyright: ignore[reportUnknownVariableType]

    monkeypatch.setattr(store, "read", looked)
