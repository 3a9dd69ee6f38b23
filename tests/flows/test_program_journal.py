"""The journal of a program: read back it is the same, and whoever does something else than it says is found."""

from __future__ import annotations

from typing import Any

import pytest

from callgate.flows.program.journal import Diverged, Journal, read_journal
from callgate.flows.program.steps import Error, Value


def written() -> Journal:
    """Two calls answered, one of them by an error, and the clock asked between them."""
    journal = Journal()
    journal.call("price", "d0")
    journal.answered(0, Value({"of": [1, None]}))
    journal.clocked(12.5)
    journal.clocked(None)
    journal.call("pay", "d1")
    journal.answered(1, Error("PermissionError", "no"))
    journal.settle([0, 1])
    return journal


def test_read_back_in_any_segments_it_answers_the_same_again() -> None:
    kept = written()
    read = read_journal([kept.new[:2], [], kept.new[2:]])
    assert read.call("price", "d0") == (0, Value({"of": [1, None]}))
    assert [read.moment(), read.moment(), read.moment()] == [(True, 12.5), (True, None), (False, None)]
    assert read.call("pay", "d1") == (1, Error("PermissionError", "no"))
    assert (read.settle_again(), read.settle_again()) == ([0, 1], None)
    assert read.call("send", "d2") == (2, None)
    assert read.new == [["call", "send", "d2"]]


@pytest.mark.parametrize(("function", "digest"), [("pay", "d0"), ("price", "d1")], ids=["function", "arguments"])
def test_another_call_than_before_is_found_at_its_place(function: str, digest: str) -> None:
    journal = written()
    journal.rewind()
    with pytest.raises(Diverged, match=f"call 0 was price, and is {function} now or has other arguments"):
        journal.call(function, digest)


@pytest.mark.parametrize(
    "entry",
    [
        ["answer", 2, "value", 1],
        ["answer", -1, "value", 1],
        ["answer", 0, "value"],
        ["answer", 0, "error", 1, "no"],
        ["settled", "first"],
        ["clock", "noon"],
        ["call", "price"],
        ["other"],
        [],
    ],
    ids=lambda entry: "-".join(map(str, entry)) or "nothing",
)
def test_an_entry_that_nobody_wrote_makes_the_journal_none(entry: list[Any]) -> None:
    with pytest.raises(Diverged, match="a gap or an entry nobody wrote"):
        read_journal([written().new, [entry]])
