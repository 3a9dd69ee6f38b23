"""`callgate approvals`: people look, decide and answer; deciding runs nothing; nothing here says yes by itself."""

import json
import re
import threading
from pathlib import Path

import pytest

from callgate.runtime.terminal import system_user
from tests.doors.cli_tools import PAID
from tests.doors.running import TOOLS, Cli, Terminal, start

ABSENT = "01990000-0000-7000-8000-000000000000"
OTHER = "version: 1\nglobal:\n  rules:\n    - {match: pay, verdict: confirm, by: other, why: a second pair of eyes}\n"


def test_what_waits_is_listed_and_shown_with_the_exact_call(cli: Cli):
    approval = cli.ask_to_pay()
    listed = cli("approvals", "list")
    assert approval in listed.out
    assert 'pay amount: 5.0 to: "bob"' in listed.out
    shown = cli("approvals", "show", approval)
    assert '  | pay\n  |   amount: 5.0\n  |   to: "bob"' in shown.out
    assert "  | +pay 5.0 to bob" in shown.out
    assert "high risk at autonomy A2 is confirm" in shown.out
    assert f"callgate approvals reject {approval} --why" in shown.out


def test_equal_calls_are_told_apart_by_their_keys(cli: Cli):
    for key in ("rent-may", "rent-june"):
        shown = cli("approvals", "show", cli.ask_to_pay(5, "--key", key))
        assert re.search(rf"^key +{key}$", shown.out, re.MULTILINE)


def test_approvals_as_json_hold_nothing_sealed(cli: Cli):
    approval = cli.ask_to_pay()
    (listed,) = cli("approvals", "list", "--json").body["approvals"]
    assert listed | {"before": []} == cli("approvals", "show", approval, "--json").body
    assert (listed["id"], listed["state"], listed["risk"]) == (approval, "pending", "high")
    assert listed.keys().isdisjoint({"mac", "sealed_id", "asked_fingerprint", "final_fingerprint"})


def test_a_decision_has_local_assurance_and_runs_nothing(cli: Cli):
    approval = cli.ask_to_pay()
    body = cli("approvals", "approve", approval, "--by", "ann", "--json").body
    assert (body["state"], body["decided_by"]) == ("approved", "ann")
    assert body["votes"] == [{"by": "ann", "assurance": "local", "at": body["votes"][0]["at"]}]
    assert not PAID.exists()


def test_the_user_name_decides_when_no_other_is_given(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    approval = cli.ask_to_pay()
    monkeypatch.setenv("LOGNAME", "grace")
    done = cli("approvals", "approve", approval)
    assert done.code == 0
    assert "approved: pay, by grace" in done.out
    assert "the same call again runs it, once" in done.out


def test_an_edited_yes_runs_what_was_edited(cli: Cli):
    approval = cli.ask_to_pay()
    done = cli(
        "approvals", "approve", approval, "--edit", '{"to": "eve", "amount": 1}', "--module", TOOLS, "--by", "ann"
    )
    assert done.code == 0
    assert cli.call("pay", {"to": "bob", "amount": 5}).out == "paid 1 to eve\n"


def test_a_no_and_an_answer_reach_the_model(cli: Cli):
    assert cli("approvals", "reject", cli.ask_to_pay(1), "--why", "too much", "--by", "ann").code == 0
    refused = cli.call("pay", {"to": "bob", "amount": 1})
    assert refused.code == 3
    assert "ann rejected this call: too much" in refused.err
    assert cli("approvals", "respond", cli.ask_to_pay(2), "--text", "use the card", "--by", "ann").code == 0
    assert "use the card (approval_answered)" in cli.call("pay", {"to": "bob", "amount": 2}).err


def test_deciding_twice_is_refused_and_changes_nothing(cli: Cli):
    approval = cli.ask_to_pay()
    cli("approvals", "reject", approval, "--by", "ann")
    again = cli("approvals", "approve", approval, "--by", "ann")
    assert again.code == 3
    assert "is rejected, not pending" in again.err
    assert cli("approvals", "list").err == "nothing waits for a person\n"
    (only,) = cli("approvals", "list", "--all", "--json").body["approvals"]
    assert only["state"] == "rejected"
    assert cli("approvals", "list", "--state", "approved").err == "there are none\n"


def test_what_was_decided_is_told_with_who_when_and_why(cli: Cli):
    approval = cli.ask_to_pay()
    cli("approvals", "reject", approval, "--why", "too much", "--by", "ann")
    shown = cli("approvals", "show", approval).out
    assert "rejected by ann" in shown
    assert ": too much" in shown
    assert "callgate approvals approve" not in shown
    assert f"{approval}  rejected  high" in cli("approvals", "list", "--all").out


def test_an_agent_never_decides_about_its_own_call(cli: Cli):
    done = cli("approvals", "approve", cli.ask_to_pay(), "--by", "agent")
    assert done.code == 3
    assert "an agent never decides" in done.err


def test_where_another_person_is_asked_for_the_user_cannot_say_yes(cli: Cli):
    Path("callgate.yaml").write_text(OTHER)
    approval = cli.ask_to_pay(5, "--user", "ann")
    assert "somebody other than the user" in cli("approvals", "show", approval).out
    assert cli("approvals", "approve", approval, "--by", "ann").code == 3
    assert cli("approvals", "approve", approval, "--by", "grace").code == 0


def test_the_command_that_is_proposed_names_somebody_who_may_decide(cli: Cli):
    Path("callgate.yaml").write_text(OTHER)
    mine = cli.call("pay", {"to": "bob", "amount": 5})
    assert mine.code == 4
    approve = next(line for line in mine.err.splitlines() if "approvals approve" in line).split()[2:]
    assert approve[-2:] == ["--by", "NAME"]
    assert f"somebody other than {system_user()}, who may not" in mine.err
    assert cli(*approve[:-2]).code == 3
    assert f"callgate approvals approve {approve[2]} --by NAME" in cli("approvals", "show", approve[2]).out
    assert cli(*approve[:-1], "grace").code == 0
    theirs = cli.call("pay", {"to": "bob", "amount": 6}, "--user", "ann")
    approve = next(line for line in theirs.err.splitlines() if "approvals approve" in line).split()[2:]
    assert "--by" not in approve
    assert cli(*approve).code == 0


def test_after_the_first_of_two_the_command_asks_for_another_name(cli: Cli):
    Path("callgate.yaml").write_text(OTHER.replace("other", "two"))
    approval = cli.ask_to_pay(5, "--user", "ann")
    assert f"callgate approvals approve {approval} --by NAME" in cli("approvals", "approve", approval).out
    assert cli("approvals", "approve", approval, "--by", "grace").out.startswith("approved: pay")


def test_two_people_have_to_say_yes_where_the_rule_says_so(cli: Cli):
    Path("callgate.yaml").write_text(OTHER.replace("other", "two"))
    approval = cli.ask_to_pay(5, "--user", "ann")
    assert "needs another person's yes" in cli("approvals", "approve", approval, "--by", "eve").out
    assert "approved: pay, by eve and grace" in cli("approvals", "approve", approval, "--by", "grace").out


def test_a_question_that_was_edited_is_approved_by_who_saw_the_edit(cli: Cli):
    Path("callgate.yaml").write_text(OTHER.replace("other", "two"))
    approval = cli.ask_to_pay(5, "--user", "ann")
    seen = cli("approvals", "show", approval, "--json").body["digest"]
    edit = ["--edit", '{"to": "eve", "amount": 5000}', "--module", TOOLS, "--by", "eve"]
    assert "needs another person's yes" in cli("approvals", "approve", approval, *edit).out
    for words in ([], ["--digest", seen]):
        done = cli("approvals", "approve", approval, "--by", "grace", *words)
        assert done.code != 0
        assert f"eve edited approval {approval} since it was asked" in done.err
    shown = cli("approvals", "show", approval)
    digest = cli("approvals", "show", approval, "--json").body["digest"]
    assert f"callgate approvals approve {approval} --digest {digest}" in shown.out
    assert "approved: pay" in cli("approvals", "approve", approval, "--by", "grace", "--digest", digest).out
    assert not PAID.exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["show", ABSENT], 2, f"Unknown approval: {ABSENT}"),
        (["approve", ABSENT, "--by", "ann"], 2, "Unknown approval"),
        (["reject", ABSENT, "--by", "ann"], 2, "Unknown approval"),
        (["respond", ABSENT, "--text", "x", "--by", "ann"], 2, "Unknown approval"),
        (["respond", ABSENT], 2, "Missing option '--text'"),
        (["approve"], 2, "Missing argument 'ID'"),
        (["approve", ABSENT, "--by", " "], 2, "--by names nobody"),
        (["approve", ABSENT, "--edit", "[]"], 2, "--edit: this is a list"),
        (["approve", ABSENT, "--yes"], 2, "No such option"),
        (["list", "--state", "odd"], 2, "is not one of"),
        (["watch", "--for", "0"], 2, "is not in the range"),
    ],
)
def test_bad_words_are_one_line(cli: Cli, words: list[str], code: int, said: str):
    cli.call("word_count")
    done = cli("approvals", *words)
    assert done.code == code
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_an_empty_answer_is_refused(cli: Cli):
    assert cli("approvals", "respond", cli.ask_to_pay(), "--text", " ", "--by", "ann").code == 3


def test_an_edit_that_does_not_fit_leaves_the_question_open(cli: Cli):
    approval = cli.ask_to_pay()
    done = cli("approvals", "approve", approval, "--edit", "{}", "--module", TOOLS, "--by", "ann")
    assert done.code == 3
    assert "to" in done.err
    assert cli("approvals", "show", approval, "--json").body["state"] == "pending"


@pytest.mark.parametrize("words", [["list"], ["show", ABSENT], ["approve", ABSENT], ["watch"]])
def test_a_store_that_is_not_there_is_an_error_and_is_not_made(cli: Cli, words: list[str]):
    done = cli("approvals", *words)
    assert done.code == 2
    assert "there is no store at sqlite:///.callgate/callgate.db" in done.err
    assert list(cli.folder.iterdir()) == []


def test_watching_shows_questions_as_they_come_one_document_each(cli: Cli):
    approval = cli.ask_to_pay()
    done = cli("approvals", "watch", "--for", "0.2", "--json")
    assert done.code == 0
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == [approval]
    assert "wants to call" in cli("approvals", "watch", "--for", "0.2").out


@pytest.mark.slow
def test_a_call_that_waits_runs_when_somebody_says_yes_elsewhere(cli: Cli):
    approval = cli.ask_to_pay()
    calling: list[int] = []
    words = ("call", "pay", '{"to": "bob", "amount": 5}', "--module", TOOLS, "--wait", "20")
    waiting = threading.Thread(target=lambda: calling.append(start(*words, cwd=cli.folder).code))
    waiting.start()
    assert cli("approvals", "approve", approval, "--by", "ann").code == 0
    waiting.join(timeout=30)
    assert calling == [0]
    assert len(PAID.read_text().split()) == 1


PAY = ("call", "pay", '{"to": "b\\u202eob", "amount": 5}', "--module", TOOLS, "--key", "k1")


@pytest.mark.slow
def test_at_a_terminal_the_person_is_asked_and_y_runs_it(cli: Cli):
    with Terminal(*PAY, cwd=cli.folder) as terminal:
        terminal.expect("> ")
        assert 'to: "b<U+202E>ob"' in terminal.seen
        assert not PAID.exists()
        terminal.type("maybe\n")
        terminal.expect("please answer")
        terminal.type("y\n")
        assert terminal.end() == 0
        assert "paid 5 to b<U+202E>ob" in terminal.seen
    assert PAID.read_text() == "k1\n"


@pytest.mark.slow
def test_at_a_terminal_n_rejects_and_enter_leaves_it_open(cli: Cli):
    with Terminal(*PAY, cwd=cli.folder) as terminal:
        terminal.expect("> ")
        terminal.type("\n")
        assert terminal.end() == 4
    with Terminal(*PAY, cwd=cli.folder) as terminal:
        terminal.expect("> ")
        terminal.type("n\n")
        terminal.expect("why? ")
        terminal.type("not today\n")
        assert terminal.end() == 3
        assert "not today" in terminal.seen
    assert not PAID.exists()


@pytest.mark.slow
def test_ctrl_c_at_the_question_ends_at_once_and_leaves_it_open(cli: Cli):
    with Terminal(*PAY, cwd=cli.folder) as terminal:
        terminal.expect("> ")
        terminal.type("\x03")
        assert terminal.end() == 130
        assert "interrupted" in terminal.seen
        assert "Traceback" not in terminal.seen
    (waiting,) = cli("approvals", "list", "--json").body["approvals"]
    assert waiting["state"] == "pending"


@pytest.mark.slow
def test_watching_goes_on_when_a_decision_does_not_count(cli: Cli):
    first, second = cli.ask_to_pay(1, "--principal", "ann"), cli.ask_to_pay(2)
    with Terminal("approvals", "watch", "--by", "ann", cwd=cli.folder) as terminal:
        terminal.expect(first)
        terminal.expect("> ")
        terminal.type("y\n")
        terminal.expect("not decided: ann is the agent that asks")
        terminal.expect(second)
        terminal.expect("> ")
        terminal.type("r\nuse the card\n")
        terminal.expect("answered: pay")
        terminal.type("\x03")
        assert terminal.end() == 0


@pytest.mark.slow
def test_watching_at_a_terminal_asks_one_by_one_and_ctrl_c_ends_it(cli: Cli):
    first, second = cli.ask_to_pay(1), cli.ask_to_pay(2)
    with Terminal("approvals", "watch", "--by", "ann", cwd=cli.folder) as terminal:
        terminal.expect(first)
        terminal.expect("> ")
        terminal.type("y\n")
        terminal.expect(second)
        terminal.expect("> ")
        terminal.type("n\n")
        terminal.expect("why? ")
        terminal.type("no\n")
        terminal.expect("rejected: pay")
        terminal.type("\x03")
        assert terminal.end() == 0
    states = {each["id"]: each["state"] for each in cli("approvals", "list", "--all", "--json").body["approvals"]}
    assert states == {first: "approved", second: "rejected"}


@pytest.mark.slow
def test_watching_asks_again_for_an_edit_that_does_not_count(cli: Cli):
    question = cli.ask_to_pay(1)
    with Terminal("approvals", "watch", "--by", "ann", "--module", TOOLS, cwd=cli.folder) as terminal:
        terminal.expect(question)
        terminal.expect("> ")
        terminal.type('e\n{"to": "bob"}\n')
        terminal.expect("that does not count: ")
        terminal.expect('what you typed: {"to": "bob"}')
        terminal.expect("goes back): ")
        terminal.type('{"to": "bob", "amount": 2}\n')
        terminal.expect("+pay 2.0 to bob")
        terminal.expect("> ")
        terminal.type("y\n")
        terminal.expect("approved: pay")
        terminal.type("\x03")
        assert terminal.end() == 0
    assert "amount: 2" in cli("approvals", "show", question).out


@pytest.mark.slow
def test_alone_at_a_terminal_it_goes_through_what_waits_and_says_what_is_left(cli: Cli):
    first, second, third = (cli.ask_to_pay(amount) for amount in (1, 2, 3))
    with Terminal("approvals", "--by", "ann", cwd=cli.folder) as terminal:
        terminal.expect("question 1 of 3")
        terminal.expect(first)
        terminal.expect("> ")
        terminal.type("y\n")
        terminal.expect("approved: pay")
        terminal.expect("question 2 of 3")
        terminal.expect(second)
        terminal.expect("> ")
        terminal.type("\n")
        terminal.expect("question 3 of 3")
        terminal.expect(third)
        terminal.expect("> ")
        terminal.type("r\nuse the card\n")
        terminal.expect("answered: pay")
        terminal.expect("1 question waits")
        assert terminal.end() == 0
    with Terminal("approvals", "--by", "ann", cwd=cli.folder) as terminal:
        terminal.expect(second)
        terminal.expect("> ")
        terminal.type("\x03")
        terminal.expect("the rest stays open")
        assert terminal.end() == 0
    states = {each["id"]: each["state"] for each in cli("approvals", "list", "--all", "--json").body["approvals"]}
    assert states == {first: "approved", second: "pending", third: "answered"}


def test_alone_where_nobody_sits_it_lists_what_waits(cli: Cli):
    which = cli.ask_to_pay()
    assert which in cli("approvals").out
    assert [each["id"] for each in cli("--json", "approvals").body["approvals"]] == [which]
    assert cli("approvals", "--by", "ann", "list").code == 2


def test_a_question_shows_what_its_asker_did_before(cli: Cli):
    cli.call("word_count", {"text": "a"})
    which = cli.ask_to_pay()
    cli.call("hidden")
    shown = cli("approvals", "show", which)
    before = shown.out[shown.out.index("what it did before") :]
    assert "word_count" in before
    assert "hidden" not in before
    assert [each["tool"] for each in cli("approvals", "show", which, "--json").body["before"]] == ["word_count"]
    alone = cli.ask_to_pay(9, "--session", "new")
    assert "nothing: it is its first call" in cli("approvals", "show", alone).out
