"""What counts as a quote, and what as a reference."""

from __future__ import annotations

import pytest

from callgate.tools.agents.citations import only_fetched, referred, says

PAGE = "The tower was “finished” in\n1889 — after two years of work."


@pytest.mark.parametrize(
    "quote",
    ['the tower was "finished" in 1889', "in 1889 - after two years", "  AFTER TWO   YEARS of work. "],
)
def test_a_quote_is_found_whatever_its_spaces_capitals_and_marks(quote: str) -> None:
    assert says(PAGE, quote)


@pytest.mark.parametrize("quote", ["", "1889", "The tower was finished in 1890", "two years of hard work"])
def test_what_the_page_does_not_say_or_is_too_short_to_tell_is_no_quote(quote: str) -> None:
    assert not says(PAGE, quote)


def test_references_are_read_one_by_one_and_in_lists() -> None:
    assert referred("a [2] b [1, 3] c [2] d [x]") == [2, 1, 3]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("known [1] unknown [9].", "known [1] unknown ."),
        ("both [1, 9] and [ 2 ;1 ]", "both [1] and [2, 1]"),
        ("nearly [7]() [#7] [6-9] [1-2] [ 9 ]", "nearly  ()    "),
        ("[label](https://read.example/a) stays", "(label) https://read.example/a stays"),
        ("[label](https://other.example/b) goes", "(label) (address left out) goes"),
        ("![pixel](https://other.example/p.png)", "!(pixel) (address left out)"),
        ("[![x](a)](//other.example/leak)", "(!(x) (a)) (address left out)"),
        ("see https://read.example/a.", "see https://read.example/a"),
        ("see https://other.example/b!", "see (address left out)"),
        ("HTTPS://OTHER.example/b", "(address left out)"),
        ("www.other.example and mailto:a@other.example", "(address left out) and (address left out)"),
        ("ask refunds@other.example, or\nXMPP:a@other.example/x", "ask (address left out) or\n(address left out)"),
        ("a.b+c@other.example a\\@other.example a&#64;other\\.example", " ".join(["(address left out)"] * 3)),
        ("a[9]@other.example and **a@other.example**", "(address left out) and (address left out)"),
        ("`@tool` by @ann, pkg@18 at 5 @ 3.2", "`@tool` by @ann, pkg@18 at 5 @ 3.2"),
        ("http&#58;//other.example http&amp;colon;//other.example", "(address left out) (address left out)"),
        ("all of [1] is there\n\n[1]: //other.example/x", "all of [1] is there\n\n[1] : (address left out)"),
        ("[1](//other.example)", "[1] (address left out)"),
        ("[1][2] [s]: x", "[1][2] (s): x"),
        ("<a href='//other.example'>x</a>", "(a (address left out)"),
        ("[x](javascript:alert(1))", "(x) (javascript:alert(1))"),
        ("\0[1]\0", "[1]"),
    ],
)
def test_what_nobody_fetched_is_left_out(text: str, left: str) -> None:
    assert only_fetched(text, sources={1, 2}, addresses={"https://read.example/a"}) == left


@pytest.mark.parametrize(
    "text", ["[](" * 50_000, "[" * 100_000, "[1" * 50_000, "&amp;" * 50_000, "x://" * 50_000, "a@" * 50_000]
)
def test_a_text_made_to_take_long_leaves_nothing_to_follow(text: str) -> None:
    cleaned = only_fetched(text, sources={1}, addresses=())
    assert "](" not in cleaned
    assert "://" not in cleaned
