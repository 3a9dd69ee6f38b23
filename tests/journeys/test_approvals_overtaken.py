"""Between a yes and its use the world goes on: what changed meanwhile makes the approval void, and says so."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, NoEffect, Outcome, Pending, Refused, Succeeded, ToolContext, Unknown, tool
from callgate.errors import ApprovalConflict, GateDenied, PolicyDenied
from callgate.model.approval import Approval, ApprovalState
from callgate.model.layer import Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.model.tool import Preview
from callgate.ports import Answer
from callgate.settings.values import Settings
from callgate.testing import HandClock
from tests.journeys.gates import gate_of

WITHIN = 10


def code(outcome: Outcome) -> str:
    assert isinstance(outcome, Refused)
    assert outcome.error is not None
    return outcome.error.code


def why(outcome: Outcome) -> str:
    assert code(outcome) == "approval_void"
    assert outcome.error is not None
    return outcome.error.message


async def ask(gate: Callgate, name: str, arguments: dict[str, Any], context: Context | None = None) -> str:
    outcome = await gate.call(name, arguments, context)
    assert isinstance(outcome, Pending)
    return outcome.approval_id


def run(file: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(file)) as db, db:
        return db.execute(statement, values).fetchall()


class Page:
    """A tool that is previewed, and something that happens while it is previewed for its use."""

    def __init__(self, *, risk: str = "high", fails: bool = False) -> None:
        self.published: list[str] = []
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.state = "v1"
        self._shown, self._go_on = asyncio.Event(), asyncio.Event()

        async def preview(arguments: dict[str, Any], context: ToolContext) -> Preview:
            state = self.state
            if self.meanwhile is not None:
                self._shown.set()
                await self._go_on.wait()
            return Preview(text="would publish", state=state)

        def undo(arguments: dict[str, Any], output: Any) -> None:
            self.published.remove(arguments["text"])

        @tool(effects="modifies_files", risk=risk, preview=preview, undo=undo)
        async def publish(text: str) -> str:
            """Publish a page."""
            self.published.append(text)
            if fails:
                raise ConnectionResetError
            return "published"

        self.tool = publish

    async def use(self, gate: Callgate, meanwhile: Callable[[], Awaitable[Any]]) -> Outcome:
        """Make the approved call, and let something happen after its approval was read and before it is used."""
        self.meanwhile = meanwhile  # the preview waits from now on
        call = asyncio.ensure_future(gate.call("publish", {"text": "hi"}))
        await asyncio.wait_for(self._shown.wait(), WITHIN)
        self.meanwhile = None
        await meanwhile()
        self._go_on.set()
        return await asyncio.wait_for(call, WITHIN)


# What is asked for, and where.


@pytest.mark.usefixtures("on_each_store")
async def test_an_approval_is_for_the_folder_it_was_asked_in(tmp_path: Path) -> None:
    @tool(effects="system_state", risk="high")
    async def build(target: str) -> str:
        """Build something."""
        return "built"

    async with gate_of(build) as gate:
        approval = await ask(gate, "build", {"target": "x"})
        await gate.approve(approval, by="ann")
        elsewhere = await gate.call("build", {"target": "x"}, Context(working_directory=str(tmp_path)))
        assert "working directory" in why(elsewhere)
        assert (await gate.approval(approval)).state is ApprovalState.WITHDRAWN


async def test_an_edited_call_whose_file_became_another_one_does_not_run(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool(effects="modifies_files", risk="high", scopes=["fs:write"])
    async def write(path: str) -> str:
        """Write a file."""
        ran.append(path)
        return "written"

    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    async with gate_of(write, store="memory://", working_directory=tmp_path) as gate:
        approval = await ask(gate, "write", {"path": "c"})
        await gate.approve(approval, by="ann", arguments={"path": "link"})
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "b")
        assert "files and hosts" in why(await gate.call("write", {"path": "c"}))
    assert ran == []


# What a person edited it into.


def mailing() -> tuple[list[str], Any]:
    sent: list[str] = []

    def broadcast(arguments: dict[str, Any]) -> bool:
        return arguments["to"] == "everybody"

    @tool(effects="network_access", risk="high", broadcast=broadcast)
    async def mail(to: str) -> str:
        """Send a mail; to everybody it is critical."""
        sent.append(to)
        return "sent"

    return sent, mail


CAPPED = Context(layers=(Layer(name="ceiling", max_risk=Risk.HIGH),))


@pytest.mark.usefixtures("on_each_store")
async def test_a_call_cannot_be_edited_into_one_that_is_not_allowed() -> None:
    sent, mail = mailing()
    no_boss = Layer(name="no boss", rules=(Rule(match="mail", when="args.to == 'boss'", verdict=Verdict.DENY),))
    async with gate_of(mail) as gate:
        approval = await ask(gate, "mail", {"to": "bob"}, CAPPED)
        with pytest.raises(GateDenied, match="mail with these arguments is not allowed"):
            await gate.approve(approval, by="ann", arguments={"to": "everybody"}, assurance=Assurance.LOCAL)
        other = await ask(gate, "mail", {"to": "ann"}, Context(layers=(no_boss,)))
        with pytest.raises(PolicyDenied):
            await gate.approve(other, by="ann", arguments={"to": "boss"})
        assert {question.id for question in await gate.approvals()} == {approval, other}
    assert sent == []


@pytest.mark.usefixtures("on_each_store")
async def test_an_edited_call_that_is_no_longer_allowed_is_denied_at_its_use() -> None:
    sent, mail = mailing()
    async with gate_of(mail) as gate:
        approval = await ask(gate, "mail", {"to": "bob"})
        await gate.approve(approval, by="ann", arguments={"to": "everybody"}, assurance=Assurance.LOCAL)
        denied = await gate.call("mail", {"to": "bob"}, CAPPED)
        assert code(denied) == "gate_denied"
        assert denied.error is not None
        assert "as edited is no longer allowed" in denied.error.message
        assert [event.type async for event in gate.events(types=["gate.denied"])] == ["gate.denied"]
    assert sent == []


async def test_an_edit_whose_sealed_arguments_are_gone_is_neither_made_nor_used(tmp_path: Path) -> None:
    sent, mail = mailing()
    file = tmp_path / "gate.db"
    async with gate_of(mail, store=f"sqlite:///{file}") as gate:
        edited, other = await ask(gate, "mail", {"to": "bob"}), await ask(gate, "mail", {"to": "ann"})
        await gate.approve(edited, by="ann", arguments={"to": "carl"})
        run(file, "DELETE FROM sealed")
        assert "its sealed arguments are gone" in why(await gate.call("mail", {"to": "bob"}))
        with pytest.raises(ApprovalConflict, match="are gone; ask again"):
            await gate.approve(other, by="ann", arguments={"to": "carl"})
    assert sent == []


# What happens between reading an approval and using it.


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM approvals", "removed"),
        ("UPDATE approvals SET body = replace(body, 'would publish', 'would erase')", "changed"),
    ],
)
async def test_an_approval_that_is_gone_or_changed_at_the_last_moment_lets_nothing_run(
    tmp_path: Path, statement: str, problem: str
) -> None:
    page, file = Page(), tmp_path / "gate.db"
    async with gate_of(page.tool, store=f"sqlite:///{file}") as gate:
        await gate.approve(await ask(gate, "publish", {"text": "hi"}), by="ann")

        async def meddle() -> None:
            run(file, statement)

        assert problem in why(await page.use(gate, meddle))
    assert page.published == []


@pytest.mark.usefixtures("on_each_store")
async def test_an_approval_that_runs_out_at_the_last_moment_lets_nothing_run() -> None:
    page, clock = Page(), HandClock()
    async with gate_of(page.tool, clock=clock) as gate:
        await gate.approve(await ask(gate, "publish", {"text": "hi"}), by="ann")

        async def wait() -> None:
            clock.turn(3601)

        assert "it is expired" in why(await page.use(gate, wait))
    assert page.published == []


@pytest.mark.usefixtures("on_each_store")
async def test_a_veto_window_that_somebody_edits_at_the_last_moment_runs_nothing_nobody_saw() -> None:
    """Two clocks disagree on when the window ends: for one it ran out, for the other a person was in time."""
    page, clock = Page(risk="low"), HandClock()
    rule = Rule(match="publish", verdict=Verdict.CONFIRM, on_expiry="proceed")
    settings = Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, rules=(rule,)))
    async with gate_of(page.tool, clock=clock, config=settings) as gate:
        approval = await ask(gate, "publish", {"text": "hi"})
        clock.turn(3600)

        async def edit() -> None:
            clock.turn(-1)
            await gate.approve(approval, by="ann", arguments={"text": "ho"})

        assert "it was edited meanwhile" in why(await page.use(gate, edit))
    assert page.published == []


async def test_an_approval_that_was_used_stays_used_when_its_old_row_is_put_back(tmp_path: Path) -> None:
    page, file = Page(), tmp_path / "gate.db"
    async with gate_of(page.tool, store=f"sqlite:///{file}") as gate:
        approval = await ask(gate, "publish", {"text": "hi"})
        await gate.approve(approval, by="ann")
        [[body]] = run(file, "SELECT body FROM approvals")
        assert (await gate.call("publish", {"text": "hi"})).ok
        run(file, "UPDATE approvals SET state = ?, body = ?", json.loads(body)["state"], body)
        run(file, "DELETE FROM attempts")
        assert "is approved, and the events say used" in why(await gate.call("publish", {"text": "hi"}))
    assert page.published == ["hi"]


@pytest.mark.usefixtures("on_each_store")
async def test_a_call_whose_preview_changed_while_a_twin_used_the_approval_leaves_it_used() -> None:
    page = Page()
    async with gate_of(page.tool) as gate:
        approval = await ask(gate, "publish", {"text": "hi"})
        await gate.approve(approval, by="ann")
        page.state = "v2"

        async def twin() -> None:
            page.state = "v1"
            assert (await gate.call("publish", {"text": "hi"})).ok

        assert "what its preview showed has changed" in why(await page.use(gate, twin))
        assert (await gate.approval(approval)).state is ApprovalState.USED
    assert page.published == ["hi"]


@pytest.mark.usefixtures("on_each_store")
async def test_an_equal_call_that_ends_unknown_at_the_last_moment_keeps_this_one_from_running() -> None:
    page = Page(fails=True)
    async with gate_of(page.tool) as gate:
        await gate.approve(await ask(gate, "publish", {"text": "hi"}), by="ann")

        async def equal() -> None:
            free = Context(autonomy=Autonomy.A4, idempotency_key="other")
            assert isinstance(await gate.call("publish", {"text": "hi"}, free), Unknown)

        outcome = await page.use(gate, equal)
        assert code(outcome) == "outcome_unknown"
        assert outcome.error is not None
        assert outcome.error.details["unknown_key"] == "other"
    assert page.published == ["hi"]


# What is asked at once by two.


@pytest.mark.usefixtures("on_each_store")
async def test_an_expiry_that_two_see_at_once_is_recorded_once() -> None:
    page, clock = Page(), HandClock()
    async with gate_of(page.tool, clock=clock) as gate:
        approval = await ask(gate, "publish", {"text": "hi"})
        clock.turn(3600)
        seen = await asyncio.gather(gate.approval(approval), gate.approval(approval))
        assert {question.state for question in seen} == {ApprovalState.EXPIRED}
        assert len([event async for event in gate.events(types=["approval.expired"])]) == 1


class Busybody:
    """Somebody who is asked, does something else first, and leaves the question to others."""

    assurance = Assurance.LOCAL

    def __init__(self) -> None:
        self.does: list[Callable[[str], Awaitable[None]]] = []

    async def ask(self, approval: Approval) -> Answer:
        if self.does:
            await self.does.pop(0)(approval.id)
        return Answer("wait")

    def tell(self, message: str) -> None:
        raise AssertionError(message)


def till(*, declines: int = 0) -> tuple[list[int], Any]:
    tried: list[int] = []

    @tool(effects="network_access", risk="high")
    async def pay(amount: int) -> str:
        """Pay; the first few times nothing happens."""
        tried.append(amount)
        if len(tried) <= declines:
            raise NoEffect("the line was busy")
        return "paid"

    return tried, pay


@pytest.mark.usefixtures("on_each_store")
@pytest.mark.parametrize(("declines", "told"), [(0, Succeeded), (1, Pending)])
async def test_whoever_waits_while_a_twin_uses_the_approval_is_told_what_became_of_it(
    declines: int, told: type[Outcome]
) -> None:
    tried, pay = till(declines=declines)
    asker, clock = Busybody(), HandClock()

    async def be_faster(approval: str) -> None:
        await gate.approve(approval, by="ann")
        await gate.call("pay", {"amount": 5})

    async def run_out(_: str) -> None:
        clock.turn(60)

    async with gate_of(pay, ask=asker, clock=clock) as gate:
        asker.does = [be_faster, run_out]
        outcome = await gate.call("pay", {"amount": 5}, wait=60)
        assert isinstance(outcome, told)
        assert outcome.deduped is (declines == 0)
    assert tried == [5]


async def test_whoever_waits_for_a_twin_whose_row_was_removed_is_asked_about_anew(tmp_path: Path) -> None:
    tried, pay = till()
    asker, clock, file = Busybody(), HandClock(), tmp_path / "gate.db"

    async def be_faster_and_meddle(approval: str) -> None:
        await gate.approve(approval, by="ann")
        await gate.call("pay", {"amount": 5})
        run(file, "DELETE FROM attempts")

    async def run_out(_: str) -> None:
        clock.turn(60)

    async with gate_of(pay, ask=asker, clock=clock, store=f"sqlite:///{file}") as gate:
        asker.does = [be_faster_and_meddle, run_out]
        assert isinstance(await gate.call("pay", {"amount": 5}, wait=60), Pending)
    assert tried == [5]


@pytest.mark.usefixtures("on_each_store")
async def test_whoever_waits_is_told_that_the_question_ran_out_or_was_withdrawn() -> None:
    tried, pay = till()
    asker, clock = Busybody(), HandClock()

    async def run_out(_: str) -> None:
        clock.turn(3600)

    async def withdraw(approval: str) -> None:
        await gate.withdraw(approval)

    async with gate_of(pay, ask=asker, clock=clock) as gate:
        asker.does = [run_out]
        assert code(await gate.call("pay", {"amount": 5}, wait=100_000)) == "approval_expired"
        asker.does = [withdraw]
        assert "withdrawn" in why(await gate.call("pay", {"amount": 6}, wait=100_000))
    assert tried == []


@pytest.mark.parametrize("statement", ["DELETE FROM approvals", "UPDATE approvals SET body = replace(body, '5', '6')"])
async def test_whoever_waits_is_told_that_the_question_was_removed_or_changed(tmp_path: Path, statement: str) -> None:
    tried, pay = till()
    asker, file = Busybody(), tmp_path / "gate.db"

    async def meddle(_: str) -> None:
        run(file, statement)

    async with gate_of(pay, ask=asker, store=f"sqlite:///{file}") as gate:
        asker.does = [meddle]
        assert code(await gate.call("pay", {"amount": 5}, wait=100_000)) == "approval_void"
    assert tried == []
