"""Striking out what was handed out: forms, nesting, placeholders, threads, and leaving everything else alone."""

import base64
import enum
import html
import inspect
import json
import re
import sys
import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

import pytest

from callgate.errors import ConfigurationError
from callgate.secrets.strike import Striker, process_striker
from callgate.secrets.walk import CONTAINS_ITSELF, TOO_DEEP, UNREADABLE

VALUE = "Zr8/p q+x\"é'\\~9=<&>Lm"
MARK = "[secret:github/token]"


@pytest.fixture
def striker() -> Striker:
    striker = Striker()
    striker.remember(VALUE, connector="github", key="token")
    return striker


def only(value: str, *, label: tuple[str, str] = ("github", "token")) -> Striker:
    striker = Striker()
    striker.remember(value, connector=label[0], key=label[1])
    return striker


DATA = VALUE.encode()


def numbered(text: str, letters: str, way: str) -> str:
    """The text with these letters written by their numbers."""
    return text.translate({ord(letter): way.format(ord(letter)) for letter in letters})


SMALL, LARGE = "\\u{:04x}", "\\u{:04X}"
FORMS = {
    "plain": VALUE,
    "base64": base64.b64encode(DATA).decode(),
    "base64 without padding": base64.b64encode(DATA).decode().rstrip("="),
    "base64 shifted by one": base64.b64encode(b"u" + DATA + b"more").decode(),
    "base64 shifted by two": base64.b64encode(b"u:" + DATA).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(b"u:" + DATA + b"x").decode(),
    "hex": DATA.hex(),
    "HEX": DATA.hex().upper(),
    "percent": quote(VALUE, safe=""),
    "percent, slashes kept": quote(VALUE),
    "percent for forms": quote_plus(VALUE),
    "percent in small letters": re.sub("%..", lambda match: match[0].lower(), quote(VALUE, safe="")),
    "percent as in JavaScript": quote(VALUE, safe="!'()*~"),
    "JSON": json.dumps(VALUE)[1:-1],
    "JSON in JSON": json.dumps(json.dumps(VALUE))[3:-3],
    "JSON in a page": json.dumps(VALUE)[1:-1].translate({ord(each): f"\\u{ord(each):04x}" for each in "<&>'"}),
    "HTML": html.escape(VALUE),
    "HTML as templates write it": html.escape(VALUE).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "HTML between tags": html.escape(VALUE, quote=False),
    "XML": html.escape(VALUE).replace("&#x27;", "&apos;"),
    "JSON as it is": json.dumps(VALUE, ensure_ascii=False)[1:-1],
    "JSON in capitals": json.dumps(VALUE)[1:-1].replace("\\u00e9", "\\u00E9"),
    "JSON with escaped slashes": json.dumps(VALUE)[1:-1].replace("/", "\\/"),
    "repr": repr(VALUE)[1:-1],
    "repr of bytes": repr(DATA)[2:-1],
}


WRITERS = {
    "JSON by Go": numbered(json.dumps(VALUE, ensure_ascii=False)[1:-1], "<>&", SMALL),
    "JSON by .NET": numbered(VALUE.replace("\\", "\\\\"), "\"&'+<>`é", LARGE),
    "JSON by .NET in JSON": json.dumps(numbered(VALUE.replace("\\", "\\\\"), "\"&'+<>`é", LARGE))[1:-1],
    "JSON of base64 by .NET": numbered(base64.b64encode(b">" + DATA).decode(), "+", LARGE),
    "JSON by PHP in JSON": json.dumps(json.dumps(VALUE)[1:-1].replace("/", "\\/"))[1:-1],
    "JavaScript": numbered(VALUE.replace("\\", "\\\\"), "\"&'<>/=", "\\x{:02x}"),
    "HTML by Go": numbered(html.escape(VALUE, quote=False), "+\"'", "&#{};"),
    "HTML by Handlebars": numbered(html.escape(VALUE), "`=", "&#x{:X};"),
    "HTML by mustache": numbered(html.escape(VALUE), "`=/", "&#x{:X};"),
    "HTML by names": html.escape(VALUE).replace("é", "&eacute;").replace("+", "&plus;"),
    "HTML twice": html.escape(numbered(html.escape(VALUE), "`=/", "&#x{:X};")),
    "HTML in JSON by Go": numbered(html.escape(VALUE).replace("\\", "\\\\"), "&", SMALL),
    "JSON by .NET in a page": html.escape(numbered(VALUE.replace("\\", "\\\\"), "\"&'+<>`é", LARGE)),
    "XML with few escapes": VALUE.replace("&", "&amp;").replace("<", "&lt;"),
}


@pytest.mark.parametrize("form", WRITERS)
def test_what_writers_of_json_and_pages_escape_is_struck(striker: Striker, form: str):
    struck = striker.strike({"body": f'&lt;b\\n "before" {WRITERS[form]} after \\t&gt;'})["body"]
    start, end = struck.split(MARK)
    assert start.startswith('&lt;b\\n "before" ')
    assert end.endswith(" after \\t&gt;")
    assert len(start + end) <= len('&lt;b\\n "before"  after \\t&gt;') + 14, "and little else"
    assert striker.strike(struck) == struck


def test_base64_in_json_by_php_is_struck():
    written = base64.b64encode(b"why???because???").decode().replace("/", "\\/")
    assert "\\/" in written
    assert only("why???because???").strike({"body": f'{{"key":"{written}"}}'}) == {"body": f'{{"key":"{MARK}"}}'}


def test_a_secret_of_signs_beyond_the_usual_is_found_where_they_are_escaped():
    striker = only("kürzel-😀-€")
    assert striker.strike("got k\\u00FCrzel-\\uD83D\\uDE00-\\u20ac!") == f"got {MARK}!"
    assert striker.strike("got k&uuml;rzel-&#128512;-&euro;!") == f"got {MARK}!"


def test_a_secret_that_looks_escaped_itself_is_struck():
    striker = only("pa\\u0041ss&amp;=word")
    assert striker.strike("got pa\\u0041ss&amp;=word!") == f"got {MARK}!"
    assert striker.strike("got pa\\u0041ss&amp;amp;&#x3D;word!") == f"got {MARK}!"
    assert striker.strike("got pa\\\\u0041ss\\u0026amp;=word!") == f"got {MARK}!"


def test_a_file_as_github_sends_it_is_struck(striker: Striker):
    whole = base64.b64encode(b"#" * 33 + DATA + b"#" * 80).decode()
    lines = "".join(f"{whole[at : at + 60]}\n" for at in range(0, len(whole), 60))
    for body in (lines, once := json.dumps({"content": lines}), json.dumps({"body": once})):
        struck = striker.strike({"body": body})["body"]
        assert MARK in struck
        assert not any(line in struck for line in lines.split()[1:2])


@pytest.mark.parametrize(
    "end",
    ["\n", "\r\n", "\n    ", "\\n", "\\\\n", "\\r\\n"],
    ids=["lines", "lines of mail", "indented lines", "lines in JSON", "lines in JSON in JSON", "lines of mail in JSON"],
)
def test_base64_that_is_broken_into_lines_is_struck_and_its_surroundings_stay(striker: Striker, end: str):
    lines = base64.encodebytes(b"u" * 50 + DATA + b"v" * 80).decode().replace("\n", end)
    struck = striker.strike(f"before\n{lines}after")
    assert MARK in struck
    assert struck.startswith("before\ndXV1")
    assert struck.endswith(f"dnY={end}after")
    assert len(struck) < len(f"before\n{lines}after") + len(MARK) - len(DATA)
    assert striker.strike(struck) == struck


@pytest.mark.parametrize("form", FORMS)
def test_every_usual_form_is_struck(striker: Striker, form: str):
    struck = striker.strike(f"before {FORMS[form]} after")
    assert MARK in struck
    assert FORMS[form] not in struck
    assert struck.startswith("before ")
    assert struck.endswith(" after")
    assert len(struck) <= len("before  after" + MARK) + 14


def test_base64_leaves_no_bits_of_the_secret_beside_its_placeholder():
    striker = only("abcdefgh")
    header = base64.b64encode(b"user:abcdefgh").decode()
    assert striker.strike(f"Basic {header}") == f"Basic dXNlcj{MARK}"
    assert striker.strike(base64.b64encode(b"abcdefgh").decode()) == MARK


def test_blanks_around_a_secret_do_not_hide_it():
    striker = only("  the-token-value\n")
    assert striker.strike("got the-token-value.") == f"got {MARK}."
    assert striker.strike(base64.b64encode(b"the-token-value\n").decode()).startswith(MARK)


def test_a_secret_of_many_lines_is_struck_line_by_line_too():
    lines = [
        "-----BEGIN THING-----",
        "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn",
        "q2FtZSBvdGhlciBsaW5l0Z3VS5JJcds",
        "-----END THING-----",
    ]
    striker = only("\n".join(lines))
    shown = "\n".join(f"{number}:   {line}\r" for number, line in enumerate(lines))
    struck = striker.strike(shown)
    assert lines[1] not in struck
    assert lines[2] not in struck
    assert striker.strike("-----BEGIN THING-----") == "-----BEGIN THING-----"


def test_overlapping_secrets_leave_nothing_of_either():
    striker = only("abcdefgh")
    striker.remember("efghijkl", connector="other", key="key")
    assert striker.strike("x abcdefghijkl y") == f"x {MARK} y"


def test_a_repeated_secret_becomes_one_placeholder():
    assert only("aaaa").strike("aaaaaaaa b aaaa") == f"{MARK} b {MARK}"


class Colour(enum.Enum):
    RED = VALUE


class Word(enum.StrEnum):
    ONE = VALUE


class Point(NamedTuple):
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    inner: list[str]
    count: int = 0


@dataclass
class Derived:
    name: str
    twice: str = field(init=False)

    def __post_init__(self) -> None:
        self.twice = self.name * 2


class Shouting(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "NOTHING HERE"


MADE_OF: list[tuple[Any, Any]] = [
    ({"a": [1, {"b": (VALUE, 2)}]}, {"a": [1, {"b": (MARK, 2)}]}),
    ({VALUE: 1, "k": None}, {MARK: 1, "k": None}),
    ({VALUE: 1, MARK: 2, "x": 3}, {MARK: 1, f"{MARK} (2)": 2, "x": 3}),
    (OrderedDict(a=VALUE), {"a": MARK}),
    (MappingProxyType({"a": VALUE}), {"a": MARK}),
    ({"a", VALUE}, {"a", MARK}),
    (frozenset({VALUE}), frozenset({MARK})),
    (VALUE.encode(), MARK.encode()),
    (b"\xff" + VALUE.encode("latin-1") + b"\0", b"\xff" + MARK.encode() + b"\0"),
    (bytearray(VALUE, "utf-8"), bytearray(MARK, "utf-8")),
    (memoryview(VALUE.encode()), MARK.encode()),
    (Point(VALUE, 1), Point(MARK, 1)),
    (Record(VALUE, [VALUE]), Record(MARK, [MARK])),
    (Colour.RED, MARK),
    (Word.ONE, MARK),
    (Shouting(VALUE), MARK),
    (ValueError(VALUE), MARK),
    ({1: VALUE, (2, VALUE): 3}, {1: MARK, (2, MARK): 3}),
    (f"\ud800{VALUE}", f"\ud800{MARK}"),
    ({"n": float("nan"), "a": VALUE}, None),
]


@pytest.mark.parametrize(("value", "expected"), MADE_OF)
def test_values_of_every_make_are_struck(striker: Striker, value: Any, expected: Any):
    struck = striker.strike(value)
    assert VALUE not in repr(struck)
    if expected is not None:
        assert struck == expected
        assert type(struck) is type(expected)


def test_a_dataclass_is_struck_without_being_made_again(striker: Striker):
    struck = striker.strike(Derived(VALUE))
    assert (struck.name, struck.twice) == (MARK, MARK)
    assert isinstance(struck, Derived)


@pytest.mark.parametrize(
    ("secret", "value", "expected"),
    [
        ("12345678", {"pin": 12345678}, {"pin": MARK}),
        ("1234.5678", [1234.5678], [MARK]),
        ("0192f0c1-7b1a-7c3e-9a55-2f4b6c8d0e1f", {uuid.UUID("0192f0c1-7b1a-7c3e-9a55-2f4b6c8d0e1f")}, {MARK}),
        ("999.25", Decimal("999.25"), MARK),
        ("hidden-file", PurePosixPath("/home/hidden-file"), f"/home/{MARK}"),
        ("True", True, True),
        ("null", None, None),
    ],
)
def test_numbers_and_objects_count_as_they_are_shown(secret: str, value: Any, expected: Any):
    assert only(secret).strike(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "hello world",
        "x" * 5000,
        {"a": [1, 2.5, None, True, "text"], "b": {"c": ("d",)}},
        b"bytes \xff",
        12345,
        Point("a", 1),
        Record("a", ["b"]),
        {1, 2},
        object(),
        "[secret:something/else]",
        "\ud800",
        "https://example.com/a/very/long/path/to/something-quite-unsuspicious?query=value#fragment",
    ],
)
def test_what_has_nothing_secret_in_it_is_the_same_object(striker: Striker, value: Any):
    assert striker.strike(value) is value


def test_parts_that_have_nothing_secret_are_the_same_objects(striker: Striker):
    clean = {"rows": [1, 2, 3]}
    struck = striker.strike({"clean": clean, "other": [VALUE]})
    assert struck["clean"] is clean


def test_of_many_items_only_those_with_something_secret_are_changed(striker: Striker):
    for number in (1, 2, 15, 16, 17, 100):
        for at in {0, number // 2, number - 1}:
            items: list[Any] = [{"text": "bearer of news", "line": line} for line in range(number)]
            items[at] = {"text": f"a {VALUE}", "line": at}
            struck = striker.strike({"items": items})["items"]
            assert [struck[other] is items[other] for other in range(number)] == [
                other != at for other in range(number)
            ]
            assert struck[at] == {"text": f"a {MARK}", "line": at}


def test_what_cannot_be_shown_is_replaced_by_a_word(striker: Striker):
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError(VALUE)

    assert striker.strike([Broken(), "ok"]) == [UNREADABLE, "ok"]
    assert striker.strike([10**5000, VALUE]) == [UNREADABLE, MARK]


def nested(depth: int, inside: Any) -> Any:
    for _ in range(depth):
        inside = [inside]
    return inside


@pytest.mark.parametrize("depth", [99, 150, 300, 5000, 100_000])
def test_deep_nesting_neither_crashes_nor_leaks(striker: Striker, depth: int):
    struck = striker.strike(nested(depth, VALUE))
    for _ in range(min(depth, 100)):
        struck = struck[0]
    assert struck == (MARK if depth < 100 else TOO_DEEP)


def test_a_value_that_contains_itself_neither_crashes_nor_leaks(striker: Striker):
    loop: dict[str, Any] = {"name": VALUE}
    loop["self"] = loop
    loop["twice"] = [loop, loop]
    struck = striker.strike(loop)
    assert struck == {"name": MARK, "self": CONTAINS_ITSELF, "twice": [CONTAINS_ITSELF, CONTAINS_ITSELF]}


def test_a_value_reached_by_very_many_ways_is_struck_once(striker: Striker):
    shared: list[Any] = [VALUE, {1}]
    for _ in range(90):
        shared = [shared, shared]
    struck = striker.strike(shared)
    for _ in range(90):
        assert struck[0] is struck[1]
        struck = struck[0]
    assert struck == [MARK, {1}]


@pytest.mark.parametrize("short", ["", "a", "abc", "  abc  "])
def test_a_secret_too_short_to_be_struck_is_refused(short: str):
    with pytest.raises(ConfigurationError, match="github/token has fewer than 4 characters") as caught:
        only(short)
    assert "abc" not in str(caught.value)


def test_names_in_a_placeholder_are_made_harmless():
    striker = only("the-secret-value", label=("git]hub\n", "töken" + "x" * 500))
    struck = striker.strike("the-secret-value")
    assert struck.startswith("[secret:git_hub_/t_kenxxx")
    assert len(struck) < 160
    assert striker.contains_placeholder([struck]) == struck
    assert striker.strike(struck) is struck


@pytest.mark.parametrize("value", ["github", "token", "secret", "secret:", "[secret:github/token]", "[***", "hub/tok"])
def test_a_placeholder_never_contains_what_it_hides(value: str):
    striker = only(value)
    struck = striker.strike(f"x {value} y")
    assert value not in struck
    assert striker.strike(struck) == struck
    assert striker.marks(struck)


def test_a_placeholder_gives_way_to_a_secret_that_it_would_show():
    striker = only("first-value")
    assert striker.strike("first-value") == MARK
    striker.remember("github", connector="b", key="c")
    striker.remember("secret", connector="d", key="e")
    for text in ("first-value", MARK, "ghp_0123456789abcdef"):
        struck = striker.strike(text)
        assert "github" not in struck
        assert "secret" not in struck
        assert striker.strike(struck) is struck


def test_a_false_placeholder_hides_nothing(striker: Striker):
    assert VALUE not in striker.strike(f"[secret:{VALUE}]")
    plain = only("ghp-plain-value")
    assert plain.strike("[secret:ghp-plain-value]") == f"[secret:{MARK}]"
    assert plain.strike("[secret:github/ghp-plain-value]") == f"[secret:github/{MARK}]"


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": f"use {MARK} please"},
        {"deep": [{"deeper": (MARK,)}]},
        {MARK: 1},
        {"raw": MARK.encode()},
        json.dumps({"text": MARK}).encode(),
        {1: MARK},
        Record(MARK, []),
    ],
    ids=repr,
)
def test_a_placeholder_among_the_arguments_is_found(arguments: Any):
    assert Striker().contains_placeholder(arguments) == MARK
    assert Striker().marks(arguments)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"text": "secret:github/token"}, {"text": "[secret: of life]"}, {"text": "[secret:]"}, {"a": "[***]"}, {1: 2}],
    ids=repr,
)
def test_what_only_looks_alike_is_no_placeholder(arguments: Any):
    assert Striker().contains_placeholder(arguments) is None
    assert not Striker().marks(arguments)


def test_an_unusual_placeholder_counts_only_where_it_is_in_use():
    striker = only("secret")
    assert striker.strike("secret") == "[struck]"
    assert striker.contains_placeholder({"a": "the [struck] one"}) == "[struck]"
    assert striker.contains_placeholder({"a": "[***]"}) is None


def test_remembering_twice_is_remembering_once(striker: Striker):
    striker.remember(VALUE, connector="other", key="name")
    assert striker.strike(VALUE) == MARK


def test_a_secret_is_struck_in_every_thread_as_soon_as_it_was_remembered():
    striker, wrong, done = Striker(), list[str](), threading.Event()
    known: list[str] = []

    def strike() -> None:
        while not done.is_set():
            for value in known[-3:]:
                if striker.strike({"text": value})["text"] == value:
                    wrong.append(value)

    threads = [threading.Thread(target=strike) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(150):
        value = f"secret-value-number-{number:04d}"
        striker.remember(value, connector="c", key=str(number))
        known.append(value)
    done.set()
    for thread in threads:
        thread.join(timeout=30)
    assert wrong == []


def test_very_many_secrets_are_still_struck_each():
    striker = Striker()
    values = [f"Secret-Value-{number:05d}-xyz" for number in range(300)]
    for number, value in enumerate(values):
        striker.remember(value, connector="c", key=str(number))
    for number in (0, 150, 299):
        assert striker.strike({"a": f"x {values[number]} y"}) == {"a": f"x [secret:c/{number}] y"}
    clean = {"a": "a-long-word-without-anything-in-it"}
    assert striker.strike(clean) is clean


def test_a_text_of_megabytes_is_struck_everywhere(striker: Striker):
    text = f"{'lorem ipsum ' * 50_000}{VALUE}{'dolor sit ' * 50_000}{DATA.hex()}"
    struck = striker.strike({"body": text})["body"]
    assert len(text) > 1_000_000
    assert struck.count(MARK) == 2
    assert struck.startswith("lorem ipsum ")


def test_the_name_of_a_trace_is_struck_and_one_that_is_an_id_only_where_all_of_it_is_secret():
    key, other = "0192f0c1-7b1a-7c3e-9a55-2f4b6c8d0e1f", "0192f0c1-7b1a-7c3e-9a55-2f4b6c8d0e1e"
    striker = only(f" {key}\n")
    striker.remember("2f4b", connector="short", key="pin")
    assert striker.strike_trace(key) == MARK
    assert striker.strike_trace(other) is other
    assert striker.strike_trace(f"run of {key}") == f"run of {MARK}"
    assert striker.strike_trace("run 2f4b") == "run [secret:short/pin]"
    assert striker.strike_trace("nightly") == "nightly"


def test_the_process_has_one_striker():
    assert process_striker() is process_striker()


def test_a_secret_that_is_no_text_is_struck_as_the_bytes_it_stands_for():
    striker = only("token-\udcff-value")
    assert striker.strike("got token-\udcff-value") == f"got {MARK}"
    assert striker.strike(b"token-\xff-value") == MARK.encode()
    assert striker.strike(base64.b64encode(b"token-\xff-value").decode()) == MARK
    assert only("token-\ud800-value").strike("token-\ud800-value") == MARK


def test_json_text_that_holds_a_secret_is_suspected(striker: Striker):
    assert striker.suspects(json.dumps({"a": VALUE}, ensure_ascii=False).encode())
    assert striker.suspects(b'{"a":"AKIAIOSFODNN7EXAMPLE"}')
    assert not striker.suspects(b'{"a":"nothing of interest"}')


def test_a_stack_that_is_nearly_full_neither_crashes_nor_leaks(striker: Striker):
    def down(left: int) -> Any:
        return down(left - 1) if left else striker.strike(nested(90, VALUE))

    with_room = sys.getrecursionlimit() - len(inspect.stack()) - 60
    assert VALUE not in repr(down(with_room))


def test_a_text_that_comes_again_is_looked_through_again_once_a_secret_is_learnt():
    striker = Striker()
    text = b'{"note":"open sesame, please"}'
    assert not striker.suspects_shared(text)
    assert not striker.suspects_shared(text)
    striker.remember("open sesame", connector="cave", key="door")
    assert striker.suspects_shared(text)
    assert striker.suspects_shared(text), "nor is it taken for innocent from then on"


def test_texts_that_come_again_are_told_apart_however_many_there_are():
    striker = only("open sesame")
    texts = [f'{{"note":"{number}"}}'.encode() for number in range(5000)]
    assert not any(striker.suspects_shared(text) for text in texts)
    assert striker.suspects_shared(b'{"note":"open sesame"}')
    assert not any(striker.suspects_shared(text) for text in texts)
