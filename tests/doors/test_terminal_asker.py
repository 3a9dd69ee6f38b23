"""Asking at a terminal: what a person types becomes an answer, and nothing else does."""

import asyncio
import io
import itertools
import os
import pty
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Pending, tool
from callgate.model.approval import Approval, ApprovalState, Vote
from callgate.model.layer import ConfirmBy, Layer, Rule
from callgate.model.levels import Assurance, Risk, Verdict
from callgate.model.tool import Preview
from callgate.ports import Answer
from callgate.runtime import terminal
from callgate.runtime.terminal import TerminalAsker, render, system_user
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.doors.cli_tools import PAID
from tests.doors.running import TOOLS, Cli, Terminal


def approval(**changes: Any) -> Approval:
    fields: dict[str, Any] = {
        "id": "an-id",
        "state": ApprovalState.PENDING,
        "principal": "agent",
        "session": "default",
        "user": None,
        "tool": "pay",
        "definition_hash": "",
        "call_id": "",
        "trace_id": "",
        "key": "k1",
        "asked_fingerprint": "",
        "final_fingerprint": "",
        "sealed_id": "",
        "what": "pay\n  amount: 5",
        "why": ("high risk",),
        "origins": {},
        "risk": Risk.HIGH,
        "autonomy": "A2",
        "preview": None,
        "preview_state": None,
        "resources": (),
        "working_directory": ".",
        "account": "",
        "by": ConfirmBy.USER,
        "assurance": Assurance.LOCAL,
        "plus": False,
        "on_expiry": "reject",
        "created_at": 0.0,
        "expires_at": 1.0,
        "mac": "",
    }
    return Approval(**fields | changes)


async def answered(typed: str) -> tuple[Any, str]:
    sink = io.StringIO()
    asker = TerminalAsker(source=io.StringIO(typed), sink=sink)
    assert asker.assurance is Assurance.LOCAL
    return await asker.ask(approval()), sink.getvalue()


@pytest.mark.parametrize(
    ("typed", "kind", "text"),
    [
        ("y\n", "approve", ""),
        ("YES\n", "approve", ""),
        ("n\ntoo much\n", "reject", "too much"),
        ("no\n\n", "reject", ""),
        ("r\nuse the card\n", "respond", "use the card"),
        ("r\n\ny\n", "approve", ""),
        ("\n", "wait", ""),
        ("", "wait", ""),
        ("perhaps\n", "wait", ""),
        ("e\n[1]\n\n", "wait", ""),
        ('e\n{"a": 1, "a": 2}\n\n', "wait", ""),
        ("e\n{\n\n", "wait", ""),
    ],
)
async def test_what_is_typed_becomes_the_answer(typed: str, kind: str, text: str):
    answer, _ = await answered(typed)
    assert (answer.kind, answer.text) == (kind, text)


async def test_who_gave_one_yes_of_two_is_told_that_it_counts_and_not_asked_for_the_other():
    sink = io.StringIO()
    asker = TerminalAsker(source=io.StringIO("y\ny\n"), sink=sink)

    @tool(effects="network_access", risk="high")
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    two = Settings(
        global_layer=Layer(name="global", rules=(Rule(match="pay", verdict=Verdict.CONFIRM, by=ConfirmBy.TWO),))
    )
    async with memory_gate(pay, ask=asker, config=two) as gate:
        asked = await gate.call("pay", {"amount": 5})
        assert isinstance(asked, Pending)
        assert sink.getvalue().endswith("> your yes is counted; one more person has to agree\n")
        assert isinstance(await gate.call("pay", {"amount": 5}), Pending)
        assert sink.getvalue().count("[y] approve") == sink.getvalue().count("is counted") == 1
        await gate.approve(asked.approval_id, by="somebody else")
        assert (await gate.resume(asked.approval_id)).output == "paid 5"


async def test_another_vote_asks_who_sits_here():
    sink = io.StringIO()
    asker = TerminalAsker(source=io.StringIO("y\n"), sink=sink)
    other = Vote(by="somebody else", assurance=Assurance.LOCAL, at=0.0)
    assert (await asker.ask(approval(by=ConfirmBy.TWO, votes=(other,)))).kind == "approve"


async def test_an_edit_asks_to_be_shown_and_is_no_yes_yet():
    answer, shown = await answered('e\n{"a": 1, "a": 2}\ne\n{"amount": 1}\n')
    assert (answer.kind, answer.arguments, answer.by) == ("edit", {"amount": 1}, system_user())
    assert "key 'a' is given twice" in shown


async def test_a_faulty_edit_is_asked_for_again_and_what_was_typed_is_shown():
    answer, shown = await answered('e\n{nope\n[1]\n{"amount": 1}\n')
    assert (answer.kind, answer.arguments) == ("edit", {"amount": 1})
    assert "that is no edit: not JSON" in shown
    assert "what you typed: {nope\n" in shown
    assert "that is no edit: arguments must be an object\nwhat you typed: [1]\n" in shown
    assert shown.count("[y] approve") == 1


@pytest.mark.parametrize("typed", ['e\n{"amount": 1', 'e\n{"amount": 1\n', 'e\n{"amount": 1\n\n\n'])
async def test_who_leaves_in_the_middle_of_an_edit_decides_nothing_and_loses_nothing(typed: str):
    answer, shown = await answered(typed)
    assert answer.kind == "wait"
    assert "nothing is decided, and the question stays open\n" in shown
    assert """callgate approvals approve an-id --edit '{"amount": 1'\n""" in shown


async def test_an_edit_that_did_not_count_is_gone_on_with():
    sink = io.StringIO()
    asker = TerminalAsker(source=io.StringIO('e\n{"amount": "x"}\n\ny\n'), sink=sink)
    assert (await asker.ask(approval())).arguments == {"amount": "x"}
    assert asker.tell("amount must be an integer") is True
    before = len(sink.getvalue())
    assert (await asker.ask(approval())).kind == "approve", "Enter goes back to the question"
    assert sink.getvalue()[before:].startswith('what you typed: {"amount": "x"}\nall arguments as one JSON object')
    assert asker.tell("too late") is False, "a plain yes cannot be mended"


async def test_an_edit_runs_only_after_a_yes_to_what_it_would_do():
    deleted: list[str] = []

    def preview(arguments: dict[str, Any], _ctx: Any) -> str:
        return f"would delete {len(arguments['names'])} files"

    @tool(effects="modifies_files", risk="high", preview=preview)
    def delete_files(names: list[str]) -> str:
        """Delete files."""
        deleted.extend(names)
        return "gone"

    sink = io.StringIO()
    typed = 'e\n{"names": ["a", "b"]}\nn\n\n' + 'e\n{"names": ["a", "b", "c"]}\ny\n'
    asker = TerminalAsker(source=io.StringIO(typed), sink=sink)
    async with Callgate.open("memory://", ask=asker) as gate:
        gate.add(delete_files)
        first = await gate.call("delete_files", {"names": ["a"]})
        assert (first.ok, deleted) == (False, [])
        assert sink.getvalue().index("would delete 1 files") < sink.getvalue().index("would delete 2 files")
        assert (await gate.call("delete_files", {"names": ["z"]})).ok
    assert "would delete 3 files" in sink.getvalue()
    assert deleted == ["a", "b", "c"]


async def test_an_edit_whose_preview_is_no_longer_so_is_shown_again():
    seen: list[str] = []
    written: list[str] = []
    versions = itertools.chain(["v1", "v1"], itertools.repeat("v2"))

    def preview(_arguments: dict[str, Any], _ctx: Any) -> Preview:
        version = next(versions)
        return Preview(text=f"would replace {version}", state=version)

    @tool(effects="modifies_files", risk="high", preview=preview)
    def publish(text: str) -> str:
        """Publish a page."""
        written.append(text)
        return text

    class Script:
        assurance = Assurance.LOCAL

        async def ask(self, approval: Approval) -> Answer:
            seen.append((approval.preview or {})["text"])
            assert not written
            return Answer("edit", arguments={"text": "new"}) if len(seen) == 1 else Answer("approve", by="ann")

        def tell(self, message: str) -> bool:
            raise AssertionError(message)

    async with Callgate.open("memory://", ask=Script()) as gate:
        gate.add(publish)
        assert (await gate.call("publish", {"text": "old"})).ok
    assert seen == ["would replace v1", "would replace v1", "would replace v2"]
    assert written == ["new"]


async def test_an_edit_that_was_shown_and_left_open_is_not_lost():
    asker = TerminalAsker(source=io.StringIO('e\n{"amount": 1}\n\n'), sink=(sink := io.StringIO()))
    await asker.ask(approval())
    assert (await asker.ask(approval(edited=True, what="pay\n  amount: 1"))).kind == "wait"
    assert "this tool has no preview" in sink.getvalue()
    assert """callgate approvals approve an-id --edit '{"amount": 1}'\n""" in sink.getvalue()


async def test_an_edit_of_one_question_is_not_gone_on_with_in_another():
    sink = io.StringIO()
    asker = TerminalAsker(source=io.StringIO('e\n{"amount": "x"}\ny\n'), sink=sink)
    await asker.ask(approval())
    asker.tell("no")
    assert (await asker.ask(approval(id="another"))).arguments is None


async def test_at_a_terminal_ctrl_d_leaves_the_question_open_at_once_and_keeps_what_was_typed():
    screen, line = pty.openpty()
    with os.fdopen(line, "r") as source:
        sink = io.StringIO()
        asking = asyncio.create_task(TerminalAsker(source=source, sink=sink).ask(approval()))
        async with asyncio.timeout(10):
            await _shown(sink, "> ")
            os.write(screen, b"e\n")
            await _shown(sink, "goes back): ")
            os.write(screen, b'{"amount": 1\x04')
            assert (await asking).kind == "wait"
        assert "\nnothing is decided, and the question stays open\n" in sink.getvalue()
        assert """--edit '{"amount": 1'\n""" in sink.getvalue()
    os.close(screen)


async def _shown(sink: io.StringIO, text: str) -> None:
    while text not in sink.getvalue():  # noqa: ASYNC110 - a text has no event
        await asyncio.sleep(0)


async def test_without_a_terminal_nobody_answers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert (await TerminalAsker(sink=io.StringIO()).ask(approval())).kind == "wait"


def test_why_an_answer_does_not_count_is_told():
    sink = io.StringIO()
    TerminalAsker(sink=sink).tell("too \u200blate")
    assert sink.getvalue() == "that does not count: too <U+200B>late\n"


def test_nothing_in_the_call_can_pass_for_a_word_of_the_gate():
    text = render(
        approval(
            principal="agent\nrisk: low",
            key="rent-1\nrisk: low",
            what="pay\n  to: bob",
            why=("high\nrisk: low",),
            preview={"text": "nothing\nrisk: low\r\x1b[2J"},
            by=ConfirmBy.TWO,
        )
    )
    assert [line for line in text.splitlines() if line.startswith("risk")] == ["risk: high, autonomy: A2"]
    assert "\x1b" not in text
    assert "\nkey: rent-1" in text
    assert "confirmed by: two" in text


def test_a_user_without_a_name_is_known_by_number(monkeypatch: pytest.MonkeyPatch):
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(terminal.getpass, "getuser", nobody)
    assert system_user() == f"user {os.getuid()}"


async def test_what_was_typed_before_the_question_is_no_answer(tmp_path: Path):
    screen, line = pty.openpty()
    with os.fdopen(line, "r") as source:
        os.write(screen, b"y\n")
        sink = io.StringIO()
        asking = asyncio.create_task(TerminalAsker(source=source, sink=sink).ask(approval()))
        async with asyncio.timeout(10):
            await _shown(sink, "> ")
            assert not asking.done()
            os.write(screen, b"n\n\n")
            assert (await asking).kind == "reject"
    os.close(screen)


@pytest.mark.slow
def test_ctrl_c_at_a_question_prints_the_command_that_goes_on_with_it(cli: Cli):
    words = ("call", "pay", '{"to": "bob", "amount": 5}', "--module", TOOLS)
    with Terminal(*words, cwd=cli.folder) as talk:
        talk.expect("> ")
        talk.type("\x03")
        assert talk.end() == 130
        told = talk.seen
    (waiting,) = cli("approvals", "list", "--json").body["approvals"]
    assert "nothing is decided, and the question stays open" in told
    assert "callgate: interrupted; nothing ran" in told
    assert "if the tool had begun" not in told
    decide = told.partition("decide: callgate ")[2].splitlines()[0].partition("\x1b")[0]
    assert decide == f"approvals approve {waiting['id']}"
    assert cli(*decide.split(), "--by", "ann").code == 0
    with Terminal(*words, cwd=cli.folder) as talk:
        assert talk.end() == 0
    assert len(PAID.read_text().split()) == 1


@pytest.mark.slow
def test_at_a_terminal_an_edit_runs_what_was_typed_and_an_answer_reaches_the_model(cli: Cli):
    words = ("call", "pay", '{"to": "bob", "amount": 5}', "--module", TOOLS)
    with Terminal(*words, cwd=cli.folder) as talk:
        talk.expect("> ")
        talk.type('e\n{"to": "bob"}\n')
        talk.expect("that does not count: ")
        talk.expect('what you typed: {"to": "bob"}')
        talk.expect("goes back): ")
        talk.type("\x03")
        assert talk.end() == 130
        assert "nothing is decided, and the question stays open" in talk.seen
    assert len(cli("approvals", "list", "--json").body["approvals"]) == 1
    with Terminal(*words, cwd=cli.folder) as talk:
        talk.expect("> ")
        talk.type('e\n{"to": "bob"}\n')
        talk.expect("that does not count: ")
        talk.expect("goes back): ")
        talk.type('{"to": "eve", "amount": 1}\n')
        talk.expect("by a person; this is what would run")
        talk.expect("> ")
        assert not PAID.exists(), "an edit is no yes"
        talk.type("y\n")
        assert talk.end() == 0
        assert "paid 1 to eve" in talk.seen
    assert len(PAID.read_text().split()) == 1
    with Terminal(*words, "--session", "other", cwd=cli.folder) as talk:
        talk.expect("> ")
        talk.type("r\nuse the card\n")
        assert talk.end() == 3
        assert "use the card" in talk.seen
