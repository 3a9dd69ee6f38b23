"""What holds for every secret, every form of it and every value around it."""

import base64
import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

from hypothesis import assume, given
from hypothesis import strategies as st

from callgate.secrets.encodings import forms_of
from callgate.secrets.known import Known
from callgate.secrets.shapes import strike_shapes
from callgate.secrets.strike import Striker
from callgate.secrets.walk import texts

# A secret that holds the signs of placeholders could seem to appear where a placeholder meets a text.
SIGNS = "[]"
ALPHABET = st.characters(exclude_characters=SIGNS, exclude_categories=("Cs",))
SECRETS = st.one_of(
    st.text(ALPHABET, min_size=4, max_size=60),
    st.text("abcdefghijklmnopqrstuvwxyzABCDEF0123456789_-", min_size=4, max_size=60),
    st.text("ab/+%\"\\'\n\té€😀 ~=&?#", min_size=4, max_size=20),
).filter(lambda secret: len(secret.strip()) >= 4)
SHAPED = st.sampled_from(
    [
        "AKIAIOSFODNN7EXAMPLE",
        "sk-ant-api03-abcDEF0123456789",
        "ghp_0123456789abcdefghij",
        "Bearer abc.def.ghi",
        "postgres://user:p4ss@host/db",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
        "[secret:github/token]",
        "[struck]",
    ]
)
FILLER = st.one_of(
    st.text(ALPHABET, max_size=12), SHAPED, st.sampled_from(["", " ", "x", "[", "]", "sk-", "eyJ", "://"])
)

WORDS = """
AKIA IOSFODNN7EXAMPLE ASIA AIza sk- sk_live_ rk_test_ ghp_ github_pat_ xoxb- hooks.slack.com/services/ T0/
eyJ hbGciOiJI . .. ----- -----BEGIN -----END RSA :// u : @ pw Bearer bearer Authorization Basic a1b2c3d4e5f6
abcdefghijkl ABC 0123456789 - _ " [secret:api_key] [secret:x/y] [ ] = / + é zsecretz
"""
PIECES = st.lists(st.sampled_from([*WORDS.split(), " ", "\n", "\\n", "PRIVATE KEY"]), max_size=14).map("".join)


@st.composite
def forms(draw: st.DrawFn, secret: str) -> str:
    """The secret as it is or in one of the promised encodings, inside a larger text that was encoded with it."""
    before, after = draw(st.binary(max_size=4)), draw(st.binary(max_size=4))
    data = before + secret.strip().encode() + after
    whole = secret.strip()
    return draw(
        st.sampled_from(
            [
                whole,
                base64.b64encode(data).decode(),
                base64.b64encode(data).decode().rstrip("="),
                base64.urlsafe_b64encode(data).decode(),
                base64.urlsafe_b64encode(data).decode().rstrip("="),
                data.hex(),
                data.hex().upper(),
                quote(whole, safe=""),
                quote(whole),
                quote_plus(whole),
                json.dumps(whole)[1:-1],
                json.dumps(whole, ensure_ascii=False)[1:-1],
                json.dumps(json.dumps(whole))[3:-3],
                html.escape(whole),
                html.escape(whole, quote=False),
            ]
        )
    )


def values(leaf: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """JSON values with the given texts somewhere in them, as values and as keys."""
    around: st.SearchStrategy[str] = st.tuples(FILLER, leaf, FILLER).map("".join)
    scalars: st.SearchStrategy[Any] = st.one_of(
        around, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False)
    )

    def inside(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists, tuples = st.lists(inner, max_size=3), st.tuples(inner, inner)
        return st.one_of(lists, tuples, st.dictionaries(around, inner, max_size=3))

    return st.recursive(scalars, inside, max_leaves=6)


def remembering(*secrets: str) -> Striker:
    striker = Striker()
    for number, secret in enumerate(secrets):
        striker.remember(secret, connector="service", key=f"key{number}")
    return striker


@given(st.data(), st.lists(SECRETS, min_size=1, max_size=3))
def test_no_secret_survives_in_any_value_in_any_form(data: st.DataObject, secrets: list[str]):
    striker = remembering(*secrets)
    value = data.draw(values(st.one_of([forms(secret) for secret in secrets])))
    seen = list(texts(striker.strike(value)))
    for secret in secrets:
        for form in forms_of(secret):
            assert not any(form.text in text for text in seen), form


@given(st.data(), SECRETS, st.booleans(), st.booleans())
def test_no_secret_survives_whichever_letters_are_escaped(data: st.DataObject, secret: str, page: bool, again: bool):
    whole = secret.strip()
    letters = sorted(set(whole))
    chosen = data.draw(st.sets(st.sampled_from(letters)))
    if page:
        escaped = "".join(in_page(letter) if letter in chosen or letter == "&" else letter for letter in whole)
        read = html.unescape
    else:
        must = {'"', "\\", *(letter for letter in letters if ord(letter) < 32)}
        escaped = "".join(in_json(letter) if letter in chosen | must else letter for letter in whole)
        read = from_json
    text = json.dumps(escaped)[1:-1] if again else escaped
    struck = remembering(secret).strike({"body": f"before {text} after"})["body"]
    assert whole not in read(from_json(struck) if again else struck)
    assert "before " in struck
    assert " after" in struck


def in_page(letter: str) -> str:
    written = f"&#x{ord(letter):X};"
    return written if html.unescape(written) == letter else "&amp;" if letter == "&" else letter


def in_json(letter: str) -> str:
    pair = letter.encode("utf-16-be").hex().upper()
    return "".join(f"\\u{pair[at : at + 4]}" for at in range(0, len(pair), 4))


def from_json(text: str) -> str:
    try:
        return json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text


@given(SECRETS, st.binary(max_size=200), st.binary(max_size=200), st.sampled_from(["\n", "\r\n", "\n    "]))
def test_no_secret_survives_in_base64_that_is_broken_into_lines(secret: str, before: bytes, after: bytes, end: str):
    whole = secret.strip()
    assume(whole.encode() not in before + after)
    lines = base64.encodebytes(before + whole.encode() + after).decode().replace("\n", end)
    struck = remembering(secret).strike(f"its content:\n{lines}")
    assert "[" in struck
    joined = "".join(struck.split())
    assert not any(form.text in joined for form in forms_of(secret) if len(form.text) > 8), struck


@given(st.data(), st.lists(SECRETS, min_size=1, max_size=3))
def test_striking_twice_is_striking_once(data: st.DataObject, secrets: list[str]):
    striker = remembering(*secrets)
    struck = striker.strike(data.draw(values(st.one_of(*[forms(secret) for secret in secrets], SHAPED))))
    assert striker.strike(struck) == struck


@given(PIECES)
def test_striking_pieces_of_shapes_twice_is_striking_them_once(text: str):
    striker = remembering("zsecretz")
    struck = striker.strike(text)
    assert "zsecretz" not in struck
    assert striker.strike(struck) == struck


@given(PIECES)
def test_the_quick_look_never_misses_what_the_pattern_finds(text: str):
    striker = Striker()
    assume("[secret:" not in text)
    assert striker.strike(text) == strike_shapes(text, Known().shapes)


@given(st.data(), SECRETS)
def test_whatever_was_struck_is_marked(data: st.DataObject, secret: str):
    striker = remembering(secret)
    value = data.draw(values(st.one_of(forms(secret), FILLER)))
    struck = striker.strike(value)
    assert (struck is value) or striker.marks(struck)


@given(SECRETS, values(st.text(ALPHABET, max_size=30)))
def test_a_value_without_secrets_and_shapes_is_the_same_object(secret: str, value: Any):
    striker = remembering(secret)
    clean = [text for text in texts(value) if Striker().strike(text) is not text]
    assume(not clean)
    assume(not any(form.text in text for form in forms_of(secret) for text in texts(value)))
    assert striker.strike(value) is value


@given(SECRETS, st.binary(max_size=20), st.binary(max_size=20))
def test_no_secret_survives_in_bytes(secret: str, before: bytes, after: bytes):
    struck = remembering(secret).strike(before + secret.encode() + after)
    assert secret.strip().encode() not in struck


@given(st.text(max_size=200))
def test_any_text_can_be_remembered_or_refused_and_struck(text: str):
    striker = Striker()
    if len(text.strip()) >= 4:
        striker.remember(text, connector="a", key="b")
        assert text.strip() not in striker.strike(f"({text})")
    else:
        assert striker.strike(text) == text
