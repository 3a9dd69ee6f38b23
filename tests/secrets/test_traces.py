"""The quick look at long texts: one pattern over the JSON, which never misses what the shapes find."""

import itertools
import re
import sys
from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.secrets import traces
from callgate.secrets.known import Known
from callgate.secrets.shapes import strike_shapes
from callgate.secrets.strike import Striker
from tests.secrets.test_shapes import PARTS, WHOLE
from tests.secrets.test_strike_properties import WORDS

BLANKS = [sign for sign in map(chr, range(sys.maxunicode + 1)) if re.match(r"\s", sign)]
CONTROLS = [sign for sign in map(chr, (*range(0x21), *range(0x7F, 0xA1))) if not sign.isspace()]
ODD = [" ", "\n", "\\n", "\\", "'", "\x00", "\x01", "\b", "\x0b", "\x1c", "\x7f", "\x85", "\xa0", "\u2003", "😀"]
PIECES = st.lists(st.sampled_from([*WORDS.split(), *ODD, "PRIVATE KEY", "Token", "="]), max_size=14).map("".join)
LONG = "lorem ipsum dolor sit amet " * 400


def shapes() -> Iterator[str]:
    yield from WHOLE
    yield from (around.format(secret) for around, (secret, _) in PARTS.items())
    yield from (f"Bearer{blank}abcdef123456" for blank in BLANKS)
    yield from (f"authorization{blank}={blank}'Basic{blank}dXNlcg" for blank in BLANKS)
    yield from (f"redis://us{control}er:pa{control}ss@host" for control in CONTROLS)
    yield "x://" + "ü" * 256 + ":" + "€" * 256 + "@host"
    yield from (f"Authorization{a}:{b}Bearer secret" for a, b in itertools.product(('"', "'''", '\\"\\'), repeat=2))


def is_traced(text: str) -> bool:
    return traces.load()(orjson.dumps(text).decode("latin-1"))


@pytest.mark.requirement("SEC-05")
def test_every_shape_leaves_its_trace_in_json_whatever_is_escaped_there():
    for text in shapes():
        assert strike_shapes(text, Known().shapes) != text, text
        assert is_traced(text), text
        assert is_traced(f"ü\n{text}"), text


@given(PIECES)
def test_what_the_shapes_find_is_traced(text: str):
    assert is_traced(text) or strike_shapes(text, Known().shapes) == text


WORDS_ALONE = [
    "a task-force, an ask-me and @pytest.mark.parametrize",
    "https://example.com:8080/x?mail=a@b.example",
    "the bearer of it, and a bearer_token: str",
    "Authorization is required, eyJ and AKIA are words",
    "ghp_x, xoxb, sk_live and the PRIVATE KEY",
]


@pytest.mark.parametrize("text", WORDS_ALONE)
def test_words_that_shapes_begin_with_make_no_long_text_suspect(text: str):
    assert not Striker().suspects(orjson.dumps({"text": f"{LONG}{text} {LONG}"}))


@pytest.mark.requirement("SEC-05")
def test_shapes_and_secrets_are_struck_from_long_values_as_from_short_ones():
    striker = Striker()
    striker.remember("pass word!", connector="db", key="password")
    for text in (*shapes(), "pass word!", "a pass\\u0020word! of it", "cGFzcyB3b3JkIQ=="):
        struck = striker.strike([text])[0]
        rows = [{"text": LONG}, *({"line": at, "text": f"row {at}"} for at in range(50)), {"text": text}, {"n": 1}]
        assert striker.strike(rows) == [*rows[:-2], {"text": struck}, {"n": 1}], text


def test_the_engine_is_loaded_with_the_first_long_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(traces, "_loaded", [])
    assert traces.look_for(100) is None
    look = traces.look_for(100_000)
    assert look is not None
    assert traces.look_for(100) is look


@pytest.mark.parametrize("text", ["AKIAIOSFODNN7EXAMPLE", "redis://:pw@host", "Bearer abcdef123456", "x" * 99])
def test_short_texts_are_judged_alike_with_and_without_it(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(traces, "_loaded", [])
    before = Striker().strike(text)
    traces.look_for(100_000)
    assert Striker().strike(text) == before
