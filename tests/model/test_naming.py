"""Names of tools."""

import pytest

from callgate.errors import ConfigurationError
from callgate.model.naming import check_name, is_name_part, snake_case


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


@pytest.mark.parametrize(
    ("text", "name"),
    [("WordCount", "word_count"), ("HTTPServer", "http_server"), ("a-b c", "a_b_c"), ("__x__", "x"), ("?", "")],
)
def test_snake_case(text: str, name: str):
    assert snake_case(text) == name


def test_half_a_name_has_no_dot():
    assert is_name_part("send_all")
    assert not is_name_part("gmail.send")
