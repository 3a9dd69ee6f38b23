"""What a person sees: tables that fit, wide and hidden characters, colours only where they belong."""

import io
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.cli.document import escaped, print_document
from callgate.cli.moments import moment, short_moment, span, until
from callgate.cli.screen import Cell, Column, Screen
from callgate.cli.width import columns, cut, fold, pad
from callgate.model.visible import one_line, visible
from tests.doors.running import TOOLS, Cli, Terminal, start

HEADS = [Column("ID", whole=True), Column("NAME"), Column("TEXT")]


def drawn(rows: list[list[str | Cell]], *, width: int | None, colour: bool = False) -> list[str]:
    stream = io.StringIO()
    Screen(stream, width=width, colour=colour).table(HEADS, rows)
    return stream.getvalue().splitlines()


def test_columns_are_counted_as_a_terminal_shows_them():
    assert columns("abc") == 3
    assert columns("日本") == 4
    assert columns("e\u0301") == 1


@given(st.text(), st.integers(min_value=0, max_value=40))
def test_cut_text_fits_and_starts_the_same(text: str, width: int):
    shown = one_line(text)
    short = cut(shown, width)
    assert columns(short) <= width
    assert short == shown or shown.startswith(short.removesuffix("…"))


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_folded_text_fits_and_loses_nothing_but_spaces(text: str, width: int):
    shown = visible(text).replace("\t", " ")
    lines = fold(shown, width)
    assert all(columns(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == shown.replace("\n", "").replace(" ", "")


@given(st.text())
def test_what_is_shown_hides_nothing_and_moves_no_cursor(text: str):
    shown = visible(text)
    assert visible(shown) == shown
    assert all(character.isprintable() or character in "\n\t" for character in shown)
    assert "\n" not in one_line(text)


def test_a_table_fits_the_terminal_and_never_cuts_what_is_copied():
    rows: list[list[str | Cell]] = [["0123456789abcdef", "日本語" * 10, "words " * 30]]
    lines = drawn(rows, width=60)
    assert all(columns(line) <= 60 for line in lines)
    assert "0123456789abcdef" in lines[1]
    assert "…" in lines[1]


def test_columns_stand_below_each_other_whatever_is_in_them():
    rows: list[list[str | Cell]] = [["1", "日本", "x"], ["2", "a\u200bb", "x"], ["3", "line\nbreak", "x"]]
    lines = drawn(rows, width=None)
    assert {columns(line[: line.rindex("x")]) for line in lines[1:]} == {columns(lines[0][: lines[0].index("TEXT")])}
    assert "a<U+200B>b" in lines[2]
    assert "line\\nbreak" in lines[3]


def test_a_piped_table_is_whole_and_plain():
    long = "words " * 100
    lines = drawn([["1", "2", Cell(long, "red")]], width=None)
    assert long.strip() in lines[1]
    assert "\x1b" not in lines[1]


def test_a_terminal_too_narrow_for_a_table_gets_each_row_as_facts():
    lines = drawn([["0123456789abcdef", "name", "text"]], width=20)
    assert lines[0] == "ID    0123456789abcd"
    assert all(columns(line) <= 20 for line in lines)


def test_styles_stand_around_the_text_and_never_inside_it():
    (_, line) = drawn([["1", "2", Cell("\x1b[31mred", "green")]], width=80, colour=True)
    assert line.endswith("\x1b[32m<U+001B>[31mred\x1b[0m")


def test_nothing_in_a_marked_text_can_pass_for_ours():
    stream = io.StringIO()
    Screen(stream).say("a line\nwhy you are asked\r- no reason", mark="| ")
    assert stream.getvalue() == "| a line\n| why you are asked<U+000D>- no reason\n"


def test_facts_leave_out_what_is_empty_and_align_what_goes_on():
    stream = io.StringIO()
    Screen(stream, width=20).facts([("a", "one two three four"), ("longer", ""), ("b", Cell("x" * 30, whole=True))])
    assert stream.getvalue().splitlines() == ["a  one two three", "   four", "b  " + "x" * 30]


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none(), max_size=4))
def test_escaped_json_reads_as_the_same_value(value: dict[str, object]):
    text = escaped(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert visible(text) == text


def test_what_json_cannot_hold_is_written_as_text(capsys: pytest.CaptureFixture[str]):
    print_document({"nan": float("nan"), 1: {Path("x")}, "tuple": (1, 2)})
    assert json.loads(capsys.readouterr().out) == {"nan": "nan", "1": ["x"], "tuple": [1, 2]}


def test_times_are_told_as_people_say_them():
    now = time.time()
    assert until(now - 7200, now=now) == "2 hours ago"
    assert span(5400) == "90 minutes"
    assert span(86_400) == "24 hours"
    assert span(8 * 86_400) == "8 days"
    assert span(1) == "1 second"
    assert span(0.2) == "less than a second"
    assert moment(None) == ""
    assert moment(1e300) == "time 1e+300"
    assert len(short_moment(now, now=now)) == len("12:34:56")
    assert short_moment(0, now=now) == moment(0)


@pytest.mark.parametrize(("left", "told"), [(3600.0, 60), (3599.5, 60), (3595.0, 60), (3500.0, 58), (599.9, 10)])
def test_a_question_that_was_just_asked_has_all_its_time_left(left: float, told: int):
    assert until(1000.0 + left, now=1000.0) == f"in {told} minutes"


def test_text_wider_than_its_room_is_broken_and_keeps_its_indentation():
    assert fold("    indented words here", 14) == ["    indented", "    words here"]
    assert fold(" " * 30 + "far out", 10) == ["far out"]
    assert fold(" " * 30, 10) == [""]
    assert fold("日本語", 1) == ["日", "本", "語"]
    assert cut("abc", 0) == ""


def test_padding_counts_columns():
    assert pad("日", 4) == "日  "


@pytest.mark.slow
def test_colours_are_for_terminals_that_want_them(cli: Cli):
    words = ("tools", "list", "--module", TOOLS)
    for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        with Terminal(*words, cwd=cli.folder, more=more) as terminal:
            assert terminal.end() == 0
            assert ("\x1b[" in terminal.seen) is coloured
    assert "\x1b" not in start(*words, cwd=cli.folder).out


@pytest.mark.slow
def test_on_a_narrow_terminal_every_line_fits(cli: Cli):
    cli.ask_to_pay()
    for words in (["tools", "list", "--module", TOOLS], ["approvals", "list"], ["audit", "list"], ["audit", "verify"]):
        with Terminal(*words, cwd=cli.folder, columns=60, more={"NO_COLOR": "1"}) as terminal:
            assert terminal.end() == 0
            assert max(map(columns, terminal.seen.splitlines())) <= 60
