"""What nobody meant to type is told as what it is, and never as a fault of callgate."""

from pathlib import Path

import pytest

from tests.doors.running import TOOLS, Cli

HALF = b"b\xffob".decode("utf-8", "surrogateescape")
"""What a terminal of another encoding sends: Python reads it as half a character."""

WORDS = {
    "who rejects": ("approvals", "reject", "1", "--by", HALF),
    "why": ("approvals", "reject", "1", "--by", "bob", "--why", HALF),
    "an answer": ("approvals", "respond", "1", "--by", "bob", "--text", HALF),
    "who approves": ("approvals", "approve", "1", "--by", HALF),
    "a type": ("audit", "list", "--type", HALF),
    "a trace": ("audit", "list", "--trace", HALF),
    "a connector": ("secrets", "set", HALF, "token"),
    "an agent": ("grants", "give", "read", "--principal", HALF),
    "a session": ("grants", "give", "read", "--session", HALF),
    "an agent to look for": ("grants", "list", "--principal", HALF),
    "a tool to look for": ("grants", "list", "--tool", HALF),
}


@pytest.mark.parametrize("what", WORDS)
def test_half_characters_are_refused_by_name(cli: Cli, what: str):
    done = cli(*WORDS[what])
    assert done.code == 2
    assert "'b\\udcffob' is no UTF-8" in done.err
    assert "fault" not in done.err


@pytest.mark.parametrize(
    "what", [("approvals", "list"), ("outcomes", "list"), ("audit", "list"), ("audit", "calls")], ids=" ".join
)
def test_a_limit_is_no_more_than_a_store_counts(cli: Cli, what: tuple[str, str]):
    done = cli(*what, "--limit", "99999999999999999999")
    assert done.code == 2
    assert "range" in done.err


def test_a_module_that_raises_something_of_its_own_is_named(cli: Cli):
    Path("odd.py").write_text("class Stop(BaseException): ...\nraise Stop('x')\n")
    done = cli("call", "look", "{}", "--module", "odd.py")
    assert done.code == 2
    assert "odd.py" in done.err
    assert "Stop" in done.err


@pytest.mark.parametrize("words", [("--minutes", "1e300"), ("--principal", "")], ids=["without an end", "for nobody"])
def test_a_grant_has_an_end_and_somebody_it_is_for(cli: Cli, words: tuple[str, str]):
    cli("call", "harmless", "{}", "--module", TOOLS)
    done = cli("grants", "give", "harmless", "--by", "bob", "--module", TOOLS, *words)
    assert done.code == 2
    assert "a grant needs" in done.err


def test_a_folder_in_place_of_a_store_is_told_with_the_file(cli: Cli):
    Path("kept").mkdir()
    done = cli("audit", "list", "--store", "kept")
    assert done.code == 2
    assert "kept is a folder, and a store is a file, such as kept/callgate.db" in done.err
