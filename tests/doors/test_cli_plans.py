"""`callgate approvals` with plans: a plan is one question that lists every call, and is decided as a whole."""

import asyncio
from typing import Any

from callgate import Call, Callgate
from tests.doors import cli_tools
from tests.doors.cli_tools import PAID
from tests.doors.running import TOOLS, Cli, Terminal

CALLS = [
    Call("word_count", {"text": "a b"}),
    Call("pay", {"to": "bob", "amount": 5}),
    Call("pay", {"to": "eve", "amount": 7}),
]


def with_gate(work: Any) -> Any:
    """What comes of some work on the gate of this folder, in a gate of its own."""

    async def main() -> Any:
        async with Callgate.open() as gate:
            gate.add(cli_tools)
            return await work(gate)

    return asyncio.run(main())


def ask(calls: list[Call] = CALLS) -> str:
    async def work(gate: Callgate) -> str | None:
        return (await gate.plan(calls, ask=True)).approval_id

    approval_id = with_gate(work)
    assert approval_id is not None
    return approval_id


def run_plan() -> list[str]:
    async def work(gate: Callgate) -> list[str]:
        outcomes = await gate.batch(await gate.plan(CALLS, ask=True))
        return [outcome.status for outcome in outcomes]

    return with_gate(work)


def test_a_plan_is_listed_as_one_question_and_shown_with_every_call(cli: Cli):
    plan, single = ask(), cli.ask_to_pay(1)
    (first, second) = cli("approvals", "list", "--json").body["approvals"]
    assert (first["id"], second["id"]) == (plan, single)
    assert [(call["tool"], call["asks"]) for call in first["calls"]] == [
        ("word_count", False),
        ("pay", True),
        ("pay", True),
    ]
    assert all(call.keys() == {"tool", "key", "wave", "asks", "what"} for call in first["calls"])
    assert (second["calls"], second["part"]) == ([], None)
    listed = cli("approvals", "list")
    assert "1. word_count" in listed.out
    shown = cli("approvals", "show", plan)
    assert "wants to make these calls, which are decided together" in shown.out
    for line in ("| 1. word_count  (step 1, needs nobody)", "| 2. pay  (step 2, asks you)", '|       to: "eve"'):
        assert line in shown.out
    assert f"callgate approvals reject {plan} --why" in shown.out
    assert cli("approvals", "show", plan[-12:]).out == shown.out


def test_a_plan_is_approved_as_a_whole_and_runs_when_it_is_made_again(cli: Cli):
    plan = ask()
    refused = cli("approvals", "approve", plan, "--edit", "{}", "--module", TOOLS, "--by", "ann")
    assert refused.code == 3
    assert "no call of it can be edited" in refused.err
    done = cli("approvals", "approve", plan, "--by", "ann")
    assert done.code == 0
    assert "approved: a plan of 3 calls, by ann" in done.out
    assert "the same plan, run now, makes each call of it, once" in done.out
    assert not PAID.exists()
    assert run_plan() == ["succeeded"] * 3
    assert len(PAID.read_text().split()) == 2
    assert cli("approvals", "show", plan, "--json").body["state"] == "used"
    assert cli("audit", "verify").code == 0


def test_a_plan_is_rejected_or_answered_as_a_whole(cli: Cli):
    plan = ask()
    assert cli("approvals", "reject", plan, "--why", "too dear", "--by", "ann").code == 0
    assert run_plan() == ["refused"] * 3
    other = ask(CALLS[1:])
    assert cli("approvals", "respond", other, "--text", "use the card", "--by", "ann").code == 0
    states = {each["id"]: each["state"] for each in cli("approvals", "list", "--all", "--json").body["approvals"]}
    assert states == {plan: "rejected", other: "answered"}
    assert not PAID.exists()


def test_whoever_watches_is_asked_once_about_a_plan_and_cannot_edit_it(cli: Cli):
    plan = ask()
    with Terminal("approvals", "watch", "--by", "ann", "--module", TOOLS, cwd=cli.folder) as terminal:
        terminal.expect("these calls, which are decided together")
        terminal.expect("3. pay  (step 3, asks you)")
        terminal.expect("[y] approve all  [n] reject all  [r] answer instead  [enter] decide later")
        terminal.type("e\n")
        terminal.expect("please answer y, n or r")
        terminal.type("y\n")
        terminal.expect("approved: a plan of 3 calls")
        terminal.type("\x03")
        terminal.end()
    assert cli("approvals", "show", plan, "--json").body["state"] == "approved"
