"""Ids are short where a person reads them, and what is shown can be typed; nothing is guessed."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.cli.ids import shortener, the_one
from callgate.cli.screen import Screen
from callgate.errors import ConfigurationError
from callgate.model.ids import uuid7
from tests.doors.running import TOOLS, Cli, Terminal

FIRST = "01a1ded2-b0e2-7000-b475-65fa69b04ac6"
SECOND = "01a1ded2-b0e2-7001-8d77-768bc19614ef"


def meant(typed: str, *ids: str) -> str | None:
    return the_one(typed, [(name, name) for name in ids], what="calls")


@pytest.mark.parametrize("typed", [FIRST, FIRST[-8:], FIRST[-4:], FIRST[:18], FIRST[-8:].upper(), "b475-65fa69b04ac6"])
def test_the_end_or_the_beginning_of_an_id_is_enough(typed: str):
    assert meant(typed, FIRST, SECOND) == FIRST


@pytest.mark.parametrize("typed", ["", "ac6", "dead", "69b04", "%", "0" + FIRST[-8:], FIRST + "0"])
def test_what_no_id_ends_or_begins_with_is_none(typed: str):
    assert meant(typed, FIRST, SECOND) is None


def test_where_several_go_so_they_are_named():
    with pytest.raises(ConfigurationError, match="several calls go by 01a1ded2: ") as caught:
        meant("01a1ded2", FIRST, SECOND)
    assert FIRST in str(caught.value)
    assert SECOND in str(caught.value)
    with pytest.raises(ConfigurationError, match="and 2 more; type more"):
        meant("01a1ded2", *(f"01a1ded2-b0e2-7000-b475-65fa69b04ac{digit}" for digit in range(7)))


def test_a_name_that_somebody_chose_is_never_meant_by_a_part_of_it():
    assert meant("rent", "rent-1", "rent-11") is None
    assert meant("cafe", "cafe-1") is None
    assert meant("rent-1", "rent-1", "rent-11") == "rent-1"
    assert the_one("ac6a", [("ac6a", 1), (FIRST[:-4] + "ac6a", 2)], what="calls") == 1


@given(st.integers(1, 60))
def test_what_a_table_shows_of_an_id_means_that_id(count: int):
    ids = [uuid7() for _ in range(count)]
    short = shortener(Screen(io.StringIO(), width=80), ids)
    assert [meant(short(text), *ids) for text in ids] == ids
    assert all(len(short(text)) < 36 for text in ids)


def test_ids_that_end_alike_are_shown_as_far_as_they_differ():
    other = FIRST.replace("b475-65fa", "b475-15fa")
    short = shortener(Screen(io.StringIO(), width=80), [FIRST, other, "mine"])
    assert (short(FIRST), short(other), short("mine")) == ("65fa69b04ac6", "15fa69b04ac6", "mine")


def test_where_a_table_is_kept_ids_are_whole():
    assert shortener(Screen(io.StringIO()), [FIRST])(FIRST) == FIRST


@pytest.mark.parametrize("words", [["show"], ["approve", "--by", "ann"], ["reject"], ["respond", "--text", "no"]])
def test_an_approval_goes_by_the_end_of_its_id(cli: Cli, words: list[str]):
    question = cli.ask_to_pay()
    done = cli("approvals", words[0], question[-8:], *words[1:], "--json")
    assert (done.code, done.body["id"]) == (0, question)


@pytest.mark.parametrize("word", ["show", "approve"])
def test_too_little_of_the_id_of_an_approval_is_told_as_that(cli: Cli, word: str):
    asked = cli.ask_to_pay()
    done = cli("approvals", word, asked[-3:])
    assert done.code == 2
    assert f"{asked[-3:]} is too little of an id: type at least four characters" in done.err
    assert "Unknown approval: xyz" in cli("approvals", word, "xyz").err


def test_an_approval_that_could_be_several_is_left_alone(cli: Cli):
    questions = [cli.ask_to_pay(amount) for amount in (5, 6)]
    done = cli("approvals", "approve", questions[0][:6])
    assert done.code == 2
    assert all(question in done.err for question in questions)
    assert cli("approvals", "approve", "dead-beef").err == "callgate: Unknown approval: dead-beef\n"
    assert len(cli("approvals", "list", "--json").body["approvals"]) == 2


def test_an_outcome_goes_by_its_call_or_by_a_key_that_was_made(cli: Cli):
    cli.call("flaky", {}, "--autonomy", "A4")
    cli.call("flaky", {"booked": False}, "--key", "mine", "--autonomy", "A4")
    rows = {row["key"]: row for row in cli("outcomes", "list", "--json").body["outcomes"]}
    (made,) = set(rows) - {"mine"}
    for key, row in rows.items():
        for typed in (key, row["call_id"], row["call_id"][-8:], key[-8:] if key == made else key):
            assert cli("outcomes", "show", typed, "--json").body["key"] == key
    assert cli("outcomes", "show", "min").code == 2
    short = rows["mine"]["call_id"][-8:]
    assert cli("outcomes", "verify", short, "--module", TOOLS, "--json").body["key"] == "mine"
    assert cli("outcomes", "resolve", made[-8:], "--happened", "--by", "ann").code == 0
    assert cli("outcomes", "list").err == "nothing to look at\n"


def test_a_story_and_filters_go_by_parts_too(cli: Cli):
    question = cli.ask_to_pay()
    (event,) = cli("audit", "list", "--type", "gate.required", "--json").body["events"]
    for typed in (event["call"], event["trace"], event["id"], question):
        for part in (typed, typed[-8:]):
            assert "gate.required" in cli("audit", "show", part).out
    for option, whole in (("--call", event["call"]), ("--trace", event["trace"])):
        found = cli("audit", "list", option, whole[-8:], "--json").body["events"]
        assert found == cli("audit", "list", option, whole, "--json").body["events"] != []
        assert cli("audit", "export", f"{option[2:]}.jsonl", option, whole[-8:]).code == 0
        assert Path(f"{option[2:]}.jsonl").read_text().count("\n") >= len(found)
        assert cli("evidence", "export", f"{option[2:]}.zip", option, whole[-8:]).code == 0
    assert cli("audit", "list", "--call", "dead-beef").err == "no event fits\n"
    erased = cli("audit", "erase", "--call", event["call"][-8:], "--why", "asked", "--confirmed", "--json")
    assert erased.body == {"erased": 1}


@pytest.mark.slow
def test_at_a_terminal_what_a_list_shows_can_be_typed(cli: Cli):
    question = cli.ask_to_pay()
    with Terminal("approvals", "list", cwd=cli.folder) as terminal:
        assert terminal.end() == 0
    assert question[-8:] in terminal.seen
    assert question not in terminal.seen
    assert cli("approvals", "show", question[-8:]).code == 0
    (call,) = cli("audit", "calls", "--json").body["calls"]
    for words in (["audit", "calls"], ["audit", "list"]):
        with Terminal(*words, cwd=cli.folder) as terminal:
            assert terminal.end() == 0
        assert call["call"][-8:] in terminal.seen
        assert call["call"] not in terminal.seen
