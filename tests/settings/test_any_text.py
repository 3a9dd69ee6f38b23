"""Whatever the text, it is settings or a ConfigurationError, and never anything else."""

import string
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callgate.errors import ConfigurationError
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from tests.settings.described import KEYS
from tests.settings.reading import FILE, NOW

NAMES = sorted({part for key in KEYS for part in key.replace("[]", "").split(".") if part != "*"})
MARKS = [
    *"[]{}:,-?&*!|>'\"%@`#~<=\\ \n\t\r",
    "\n  ",
    "\n    ",
    ": ",
    "- ",
    "? ",
    "<<: ",
    "---\n",
    "...\n",
    "| \n",
    ">-\n",
]
PROPERTIES = ["&a ", "*a", "!!str ", "!x ", '"\\x', '"\\u12', "%YAML 1.1\n", "%TAG ! x\n"]
HIDDEN = ["\ufeff", "\0", "\x85", "\u2028", "\ud800"]
SURPRISES = [
    "yes",
    "no",
    "null",
    "1",
    "010",
    "1_0",
    "12:30",
    ".inf",
    "2026-01-01",
    "1e400",
    "9" * 30,
    "9" * 5000,
    "0.1",
    "-1",
]
WORDS = ["A2", "group:read", "group:typo", "fs:read", "confirm", "deny", "default", "strict", "1h", "forever"]
PIECES = [*NAMES, *MARKS, *PROPERTIES, *HIDDEN, *SURPRISES, *WORDS]


def answer(text: str) -> None:
    heard: ConfigurationError | Settings
    try:
        heard = parse_settings(text, file=FILE, now=NOW)
    except ConfigurationError as error:
        heard = error
    assert heard.file == FILE
    assert isinstance(heard, Settings) or str(heard).startswith(FILE)


@given(st.text(st.characters(codec=None)))
@example("\ud800")
@example('"\\ud800": 1')
@example('a: "\\UFFFFFFFF"')
@example("- - - " * 1000)
def test_arbitrary_text(text: str):
    answer(text)


@given(st.text(string.printable))
def test_arbitrary_printable_text(text: str):
    answer(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_text_made_of_pieces_of_yaml_and_our_own_words(text: str):
    answer(text)


values = st.recursive(
    st.sampled_from(PIECES) | st.text(max_size=8) | st.integers() | st.floats() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def spell(value: Any) -> str:
    """Write the value as a careless person would: text without quotes."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return "{" + ", ".join(f"{key}: {spell(inner)}" for key, inner in entries.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(spell(inner) for inner in cast("list[Any]", value)) + "]"
    return str(value)


@given(st.dictionaries(st.sampled_from(NAMES), values, max_size=6))
def test_documents_of_our_own_keys_with_any_values(document: dict[str, Any]):
    answer(spell(document))


@pytest.mark.parametrize(
    "piece",
    ["[", "{", "- ", "? ", "{a: ", "&a ", "!x ", "'", '"', "|\n", "#", "a: ", "a\n", "*a ", "<<: ", "%", "- a\n"],
)
def test_a_long_repetition_is_answered_too(piece: str):
    answer(piece * (60_000 // len(piece)))
