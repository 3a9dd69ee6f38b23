"""Names of tools, and characters that nobody sees."""

import pytest

from callgate.adapters.hidden import has_hidden, visible
from callgate.adapters.naming import check_name, is_name_part, show, snake_case
from callgate.errors import ConfigurationError


@pytest.mark.parametrize("name", ["a", "word_count", "top_10", "gmail.send", "my_mail.send_all", "a" * 64])
def test_snake_case_and_connector_names_are_names(name: str):
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "", "Word", "wordCount", "word-count", "word count", "_word", "word_", "a__b", "a.b.c", ".a", "a.", "1a", "a\n",
        "a" * 65, "é", "\u0430", "wörd", "word\u200bcount", "word\u202e", "word\x00", "\uff57ord",
        f"{'a' * 31}.{'b' * 32}",
    ],
)  # fmt: skip
def test_everything_else_is_refused(name: str):
    with pytest.raises(ConfigurationError) as caught:
        check_name(name)
    assert caught.value.key == "name"


def test_the_longest_name_counts_the_dot_as_providers_see_it():
    assert check_name(f"{'a' * 31}.{'b' * 31}")


def test_a_refused_name_comes_with_one_that_would_do():
    with pytest.raises(ConfigurationError, match="name='send_e_mail'"):
        check_name("sendE-Mail")
    with pytest.raises(ConfigurationError, match=r"name='gmail\.send_all'"):
        check_name("Gmail.sendAll")


def test_a_hidden_character_in_a_refused_name_is_shown():
    with pytest.raises(ConfigurationError, match=r"word<U\+200B>count"):
        check_name("word\u200bcount")


def test_a_huge_name_does_not_fill_the_message():
    with pytest.raises(ConfigurationError) as caught:
        check_name("X" * 100_000)
    assert len(str(caught.value)) < 300
    assert show("a\nb\tc") == "a<U+000A>b<U+0009>c"


@pytest.mark.parametrize(
    ("text", "name"),
    [("WordCount", "word_count"), ("HTTPServer", "http_server"), ("a-b c", "a_b_c"), ("__x__", "x"), ("?", "")],
)
def test_snake_case(text: str, name: str):
    assert snake_case(text) == name


def test_half_a_name_has_no_dot():
    assert is_name_part("send_all")
    assert not is_name_part("gmail.send")


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b", "\u200c", "\u200d", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u034f", "\u115f", "\u3164", "\u2800",
        "\x00", "\x1b", "\x7f", "\u2028", "\U000e0041", "\U000e0100", "\ufe00", "\ufe0f", "\ue000", "\r", "\ud800",
    ],
)  # fmt: skip
def test_a_hidden_character_is_shown(hidden: str):
    assert visible(f"a{hidden}b") == f"a<U+{ord(hidden):04X}>b"
    assert has_hidden(f"a{hidden}b")


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\nlines\tand a tab",
        "schön",
        "日本語",
        "👩\u200d💻",
        "⚠\ufe0f",
        "1\ufe0f",
        "\u0645\u06cc\u200c\u062e",
    ],
)
def test_what_is_seen_stays_as_it_is(text: str):
    assert visible(text) == text


def test_a_message_behind_an_emoji_is_shown():
    assert visible("👍\ufe0f\ufe0f") == "👍\ufe0f<U+FE0F>"
    assert visible("👍\U000e0101\U000e0102") == "👍<U+E0101><U+E0102>"
    assert visible("\u200d👍") == "<U+200D>👍"
    assert visible("👍\u200d\u200d") == "👍\u200d<U+200D>"
