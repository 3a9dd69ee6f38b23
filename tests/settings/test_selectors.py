"""Selectors: how a policy file names tools."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.levels import Origin
from callgate.settings.selectors import GROUPS, KINDS, LONGEST, PATTERN, Selector, parse_selector


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("pay", Selector("name", "pay")),
        ("gmail.send", Selector("name", "gmail.send")),
        ("gh.create-Issue_2", Selector("name", "gh.create-Issue_2")),
        ("gh.resources/read", Selector("name", "gh.resources/read")),
        ("*", Selector("glob", "*")),
        ("*.resources/*", Selector("glob", "*.resources/*")),
        ("gmail.*", Selector("glob", "gmail.*")),
        ("get_?", Selector("glob", "get_?")),
        ("category:web", Selector("category", "web")),
        *((f"group:{name}", Selector("group", name)) for name in sorted(GROUPS)),
        *((f"source:{origin.value}", Selector("source", origin.value)) for origin in Origin),
    ],
)
def test_every_kind_of_selector_is_read(text: str, selector: Selector):
    assert parse_selector(text) == selector


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("group:", "unknown group"),
        ("group:typo", "unknown group 'typo'; there are all, code"),
        ("group:raed", "did you mean read?"),
        ("group:READ", "did you mean read?"),
        ("group:re*d", "unknown group"),
        ("source:mpc", "did you mean mcp?"),
        ("source:mcp/github", "unknown source"),
        ("category:", "is not a word"),
        ("category:a b", "is not a word"),
        ("gruop:read", "unknown kind of selector 'gruop'"),
        ("Group:read", "unknown kind of selector 'Group'"),
        ("group :read", "unknown kind of selector"),
        ("gmail.[sr]*", "brackets"),
        ("a]", "brackets"),
        ("pay now", "no tool name and no glob"),
        ("pay\n", "no tool name and no glob"),
        ("p\u0430y", "no tool name and no glob"),
        ("gmail.", "before and after each dot"),
        (".send", "before and after each dot"),
        ("a..b", "before and after each dot"),
        ("gh.resources/", "before and after each dot"),
        ("/read", "before and after each dot"),
        ("gh.resources/read/all", "and the one /"),
        ("a" * (LONGEST + 1), f"at most {LONGEST} characters"),
    ],
)
def test_a_malformed_selector_is_refused_in_words(text: str, words: str):
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_selector(text)


def test_a_refusal_does_not_repeat_what_looks_like_a_secret():
    with pytest.raises(ValueError, match="not shown") as caught:
        parse_selector("group:ghp_abcdefghij0123456789")
    assert "ghp_" not in str(caught.value)


@given(st.text(max_size=40) | st.from_regex(PATTERN, fullmatch=True))
def test_a_text_is_a_selector_exactly_if_it_fits_the_pattern_for_editors(text: str):
    try:
        selector = parse_selector(text)
    except ValueError:
        assert not re.fullmatch(PATTERN, text) or len(text) > LONGEST
    else:
        assert selector.kind in KINDS
        assert re.fullmatch(PATTERN, text)
