"""Characters that nobody sees: which they are, and how they are shown."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.visible import brief, code_of, first_hidden, hidden_places, hides, one_line, readable, visible

BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x16FE4, 0x1D159, 0x13441, 0x13442}
RANGES = [(0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0000, 0xE0FFF), (0x200B, 0x200F), (0x2060, 0x206F), (0x202A, 0x202E)]
ANY = st.text(st.characters() | st.sampled_from("\u3164\u2800\ufe0f\u200d\u200c\U000e0041\U000e0101\r\n\t1é👍"))


def is_hidden(code: int) -> bool:
    """The rule, from the tables of Unicode and nothing else."""
    character = chr(code)
    if character in "\n\t ":
        return False
    listed = code in BLANK or any(first <= code <= last for first, last in RANGES)
    return listed or unicodedata.category(character)[0] in "CZ"


def test_every_character_is_hidden_or_not_as_unicode_says():
    wrong = [code for code in range(sys.maxunicode + 1) if hides(chr(code)) is not is_hidden(code)]
    assert [code_of(chr(code)) for code in wrong] == []


def test_every_hidden_character_is_shown_and_no_other_is_touched():
    for first in range(0, sys.maxunicode + 1, 4096):
        codes = range(first, first + 4096)
        expected = "".join(f"<U+{code:04X}>" if is_hidden(code) else chr(code) for code in codes)
        assert visible("".join(map(chr, codes))) == expected


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b", "\u200c", "\u200d", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u034f", "\u115f", "\u3164", "\u2800",
        "\x00", "\x1b", "\x7f", "\u2028", "\U000e0041", "\U000e0100", "\ufe00", "\ufe0f", "\ue000", "\r", "\ud800",
        "\uffa0", "\u1160", "\u17b4", "\u180e", "\u0378", "\u2003",
    ],
)  # fmt: skip
def test_between_plain_letters_a_hidden_character_is_always_shown(hidden: str):
    text = f"a{hidden}b"
    assert visible(text) == readable(text) == f"a<U+{ord(hidden):04X}>b"
    assert first_hidden(text) == f"U+{ord(hidden):04X}"
    assert list(hidden_places(text)) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\nlines\tand a tab, and a line of\r\nanother system",
        "Größe, 日本語, العربية, नमस्ते",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "👩\u200d💻 ❤\ufe0f\u200d🔥 ⚠\ufe0f 1\ufe0f\u20e3",
        "10\u2009km, a no-break\u00a0space\u202f! 全角\u3000空白",
        r"an escape spelt out: \u200b",
    ],
)
def test_honest_writing_stays_as_it_is(text: str):
    assert readable(text) == text
    assert first_hidden(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db", "\u200d", "é\u200c\u200c", "é\u200d\ufe0f", "a\ufe0f", "é\ufe00", "é\U000e0101", "\ufe0f",
        "\ufe0f\u200d", "\u3164\u200d", "a\ufe0f\u200d", "a\rb", "\r",
    ],
)  # fmt: skip
def test_joiners_and_returns_where_nothing_needs_them_hide(text: str):
    assert first_hidden(text) is not None
    assert readable(text) != text


def test_a_message_behind_an_emoji_is_shown():
    assert readable("👍\ufe0f\ufe0f") == "👍\ufe0f<U+FE0F>"
    assert readable("👍\U000e0101\U000e0102") == "👍<U+E0101><U+E0102>"
    assert readable("\u200d👍") == "<U+200D>👍"
    assert readable("👍\u200d\u200d") == "👍\u200d<U+200D>"


def test_who_decides_sees_joiners_and_spaces_too():
    assert visible("👩\u200d💻\u00a0⚠\ufe0f\r\n") == "👩<U+200D>💻<U+00A0>⚠<U+FE0F><U+000D>\n"


@given(ANY)
def test_what_is_shown_hides_nothing_any_more(text: str):
    assert not any(map(hides, visible(text)))
    assert visible(visible(text)) == visible(text)
    assert first_hidden(readable(text)) is None
    assert (first_hidden(text) is None) == (readable(text) == text)
    assert one_line(text).isprintable()
    assert brief(text).isprintable()


def test_a_text_for_a_message_is_one_line_and_short():
    assert brief("plain é") == "plain é"
    assert brief("a\nb\tc\u200d") == "a<U+000A>b<U+0009>c<U+200D>"
    assert len(brief("x" * 1000)) == 81
    assert one_line("a\nb\tc\u200b") == "a\\nb\\tc<U+200B>"
