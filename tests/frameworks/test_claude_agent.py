"""The tools of a gate in Claude Code's hands: every tool use passes the gate, and each end of a call is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from examples.scripted_anthropic import says, uses
from tests.frameworks.claude_house import Talk, approve, converse, lines, reject, respond
from tests.frameworks.examples import run

pytestmark = pytest.mark.slow
PAY = "mcp__gate__bank__pay"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bank") / "work"


@pytest.fixture(scope="module")
def talk(folder: Path) -> Talk:
    """One message with many tool uses, most of which people decide about while the others run."""
    folder.mkdir()
    return converse(
        folder,
        uses(
            ("toolu_read", "mcp__gate__balance", {"account": "rent"}),
            ("toolu_yes", PAY, {"amount": 600, "to": "bob"}),
            ("toolu_edit", PAY, {"amount": 601}),
            ("toolu_no", PAY, {"amount": 602}),
            ("toolu_answer", PAY, {"amount": 603}),
            ("toolu_policy", PAY, {"amount": 5000}),
            ("toolu_wrong", PAY, {"amount": "all", "for": 1}),
            ("toolu_lost", "mcp__gate__lose", {}),
            ("toolu_missed", "mcp__gate__miss", {}),
        ),
        says("All done."),
        answers={
            "amount: 600": approve(),
            "amount: 601": approve(amount=1, to="eve"),
            "amount: 602": reject("too much"),
            "amount: 603": respond("I paid it in cash."),
        },
    )


def test_the_conversation_ends_with_the_models_words(talk: Talk):
    assert talk.said == "All done."


def test_the_pool_is_offered_under_names_that_travel_with_schemas_the_provider_takes(talk: Talk):
    told = {each["name"]: each for each in talk.requests[0]["tools"] if each["name"].startswith("mcp__gate__")}
    assert sorted(told) == [
        "mcp__gate__approval_result",
        "mcp__gate__balance",
        PAY,
        "mcp__gate__lose",
        "mcp__gate__miss",
    ]
    assert told[PAY]["input_schema"]["required"] == ["amount"]


def test_a_read_runs_and_an_effect_runs_once_a_person_approved_it(talk: Talk, folder: Path):
    assert talk.results["toolu_read"] == "700"
    assert talk.results["toolu_yes"] == "paid 600 to bob"
    assert lines(folder / "paid.txt").count("600:bob") == 1


def test_what_a_person_changed_ran_and_the_model_is_told(talk: Talk, folder: Path):
    assert talk.results["toolu_edit"].startswith("paid 1 to eve")
    assert "A person changed the call before it ran" in talk.results["toolu_edit"]
    assert sorted(lines(folder / "paid.txt")) == ["1:eve", "600:bob"]


def test_what_a_person_said_instead_is_told(talk: Talk):
    assert "ann rejected this call: too much" in talk.results["toolu_no"]
    assert "Not run (approval_answered): I paid it in cash." in talk.results["toolu_answer"]


def test_what_policy_or_the_schema_refuses_is_told_with_the_reason(talk: Talk):
    assert "Not run (policy_denied)" in talk.results["toolu_policy"]
    assert "more than the bank has" in talk.results["toolu_policy"]
    assert "Not run (invalid_arguments)" in talk.results["toolu_wrong"]
    assert "amount" in talk.results["toolu_wrong"]


def test_failures_and_unknown_outcomes_are_told_as_what_they_are(talk: Talk):
    assert "Whether it took effect is not known: do not repeat it." in talk.results["toolu_lost"]
    assert "Nothing was changed." in talk.results["toolu_missed"]


def test_a_call_that_nobody_decides_is_told_with_its_id_and_collected_later(tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()
    store = f"sqlite:///{tmp_path}/gate.db"
    asked = converse(folder, uses(("toolu_1", PAY, {"amount": 7})), says("It waits."), store=store, wait=0.1)
    told = asked.results["toolu_1"]
    found = re.search(r"the question is approval ([0-9a-f-]{36})", told)
    assert found is not None
    assert "approval_result with this id" in told
    assert lines(folder / "paid.txt") == []
    collect = ("toolu_2", "mcp__gate__approval_result", {"id": found[1], "wait": 30})
    collected = converse(
        folder,
        uses(collect),
        says("Paid."),
        store=store,
        before=lambda gate: gate.approve(found[1], by="ann"),
    )
    assert collected.results["toolu_2"] == "paid 7 to bob"
    assert lines(folder / "paid.txt") == ["7:bob"]


def test_a_conversation_that_is_repeated_on_the_same_store_has_its_effects_once(tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()
    message = uses(
        ("toolu_1", PAY, {"amount": 7}), ("toolu_2", "Bash", {"command": "echo ran >> host.txt", "description": "x"})
    )
    talks = [
        converse(
            folder,
            message,
            says("Paid."),
            store=f"sqlite:///{tmp_path}/gate.db",
            answers={"amount: 7": approve(), "echo ran": approve()},
        )
        for _ in range(2)
    ]
    assert [talk.results["toolu_1"] for talk in talks] == ["paid 7 to bob"] * 2
    assert talks[1].results["toolu_2"].startswith("Not run again: this very call has run already.")
    assert lines(folder / "paid.txt") == ["7:bob"]
    assert lines(folder / "host.txt") == ["ran"]


def test_the_example_pays_and_notes_what_a_person_allows_and_nothing_else():
    assert run("claude_agent.py") == [
        'ann allows: bank.pay amount: 600 to: "rent"',
        'ann allows: host.bash command: "echo paid >> rent.txt" description: "note it"',
        'ann rejects: host.bash command: "rm -rf notes" description: "tidy up"',
        "claude says: The rent is paid and noted.",
        "toolu_1 -> paid 600 to rent",
        "toolu_2 -> (Bash completed with no output)",
        "toolu_3 -> Not run (approval_rejected)",
        "toolu_4 -> Not run (policy_denied)",
        "paid: [600] noted: ['paid']",
    ]
