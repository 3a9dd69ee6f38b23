"""The text of a chain: what is read, what is refused and where, and what hostile text cannot do."""

import subprocess
import sys
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.flows.chain.faults import ChainRefused, Diagnostic
from callgate.flows.chain.script import MOST_CALLS, Script, read_script
from callgate.flows.chain.text import LONGEST
from callgate.flows.chain.values import NotThere, look_up


def called(source: str, results: dict[int, Any] | None = None) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """The calls of a text with their values, as the results given would make them."""
    known = results or {}
    return [
        (
            call.tool,
            [look_up(value, known) for value in call.positional],
            {name: look_up(value, known) for name, value in call.named},
        )
        for call in read_script(source).calls
    ]


def refused(source: Any) -> list[Diagnostic]:
    with pytest.raises(ChainRefused) as raised:
        read_script(source)
    assert raised.value.code == "invalid_arguments"
    return list(raised.value.diagnostics)


def test_literals_lists_and_objects_are_values():
    text = """
    f(1, -2, +3, 1.5, -0.5, "a", 'b' "c", True, None,
      names=["x", ("y", [])], table={"k": {"l": [None]}, "m": 2})  # a comment
    gmail.inbox.send(to="ann")
    """
    assert called("\n".join(line.strip() for line in text.strip().splitlines())) == [
        (
            "f",
            [1, -2, 3, 1.5, -0.5, "a", "bc", True, None],
            {"names": ["x", ["y", []]], "table": {"k": {"l": [None]}, "m": 2}},
        ),
        ("gmail.inbox.send", [], {"to": "ann"}),
    ]


def test_results_are_taken_by_name_attribute_key_and_index():
    results = {0: {"a": [{"b": "c"}], "k": "a", "n": -1}, 1: None}
    text = 'r = f(); n = f(); g(r, n, r.a, r["a"][0].b, r[r.k][r.n], [r["a"][0]["b"][0]], x={"y": n})'
    assert called(text, results)[2] == (
        "g",
        [results[0], None, [{"b": "c"}], "c", {"b": "c"}, ["c"]],
        {"x": {"y": None}},
    )


def test_calls_inside_of_calls_come_first_as_python_makes_them():
    script = read_script("x = [f(g(1)), h()]; k(x, {'l': f(2)})")
    assert [call.tool for call in script.calls] == ["g", "f", "h", "f", "k"]
    assert [sorted(call.needs) for call in script.calls] == [[], [0], [], [], [1, 2, 3]]


@pytest.mark.requirement("CHN-13")
def test_a_name_stands_for_what_it_was_given_last_before_its_use():
    script = read_script("a = f(); b = g(a); a = h(); c = k(a, b); a = 1; m(a)")
    assert [sorted(call.needs) for call in script.calls] == [[], [0], [], [1, 2], []]
    assert look_up(script.names["a"], {}) == 1


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "no call"),
        ("# only words", 1, 1, "no call"),
        ("f(", 1, 2, "cannot be read"),
        ("f()\ng() h()", 2, 5, "cannot be read: invalid syntax"),
        ("f()\na", 2, 1, "calls nothing"),
        ("'text'", 1, 1, "calls nothing"),
        ("a = f(b)", 1, 7, "nothing before this is called b"),
        ("a = f(a)", 1, 7, "nothing before this is called a"),
        ("a = f(b); b = g(a)", 1, 7, "nothing before this is called b"),
        ("x = __import__", 1, 5, "nothing before this is called __import__"),
        ("f(__builtins__)", 1, 3, "nothing before this is called __builtins__"),
        ("f(x=1, x=2)", 1, 8, "given twice"),
        ("a = f(); f(*a)", 1, 12, "spread out"),
        ("a = f(); f(**a)", 1, 12, "spread out"),
        ("f(x={**{}})", 1, 8, "keys of an object"),
        ("f({1: 2})", 1, 4, "keys of an object"),
        ("f({'a': 1, 'a': 2})", 1, 12, "given twice"),
        ("f({'a'})", 1, 3, "this is refused"),
        ("f(1 + 1)", 1, 3, "an operation is refused"),
        ("f(not 1)", 1, 3, "this is refused"),
        ("f(-'a')", 1, 3, "this is refused"),
        ("f(-True)", 1, 3, "this is refused"),
        ("f(--1)", 1, 3, "this is refused"),
        ("f(b'x')", 1, 3, "no text, number"),
        ("f(2j)", 1, 3, "no text, number"),
        ("f(1e999)", 1, 3, "no text, number"),
        ("f(...)", 1, 3, "is refused"),
        ("f(f'{1}')", 1, 3, "a text with values in it"),
        ("f([x for x in y])", 1, 3, "is refused"),
        ("f(lambda: 1)", 1, 3, "a function is refused"),
        ("f(1 if 2 else 3)", 1, 3, "a condition is refused"),
        ("f(a := 1)", 1, 3, "an assignment inside of a value"),
        ("a = f(); g(a[1:2])", 1, 14, "a slice is refused"),
        ("a = f(); a.g()", 1, 10, "a is a result here"),
        ("a = f(); a()", 1, 10, "a is a result here"),
        ("f()()", 1, 1, "only tools can be called"),
        ("'f'.join()", 1, 1, "only tools can be called"),
        ("(lambda: 1)()", 1, 2, "only tools can be called"),
        ("a, b = f()", 1, 1, "one name"),
        ("a = b = f()", 1, 1, "one name"),
        ("a.b = f()", 1, 1, "one name"),
        ("a[0] = f()", 1, 1, "one name"),
        ("a: int = f()", 1, 1, "is refused"),
        ("a = 1\na += 1", 2, 1, "a change of a value"),
        ("if True: f()", 1, 1, "a condition is refused"),
        ("while f(): g()", 1, 1, "a loop is refused"),
        ("import os", 1, 1, "an import is refused"),
        ("from os import path", 1, 1, "an import is refused"),
        ("def f(): pass", 1, 1, "a function is refused"),
        ("del a", 1, 1, "is refused"),
        ("await f()", 1, 1, "await, which a chain does by itself"),
        ("f(\u00e9=1)", 1, 3, "U+00E9"),
        ("\u0440ead()", 1, 1, "U+0440"),
        ("\uff52ead()", 1, 1, "U+FF52"),
        ("r = f(x='\u00e4\u00f6'); g(r.\ufb01eld)", 1, 20, "U+FB01"),
        ("f(x='\u00e4\u00f6\U0001f600', y=b)", 1, 14, "nothing before this is called b"),
    ],
)
def test_everything_else_is_refused_with_its_place(text: str, line: int, column: int, words: str):
    first = refused(text)[0]
    assert words in first.message
    assert (first.line, first.column) == (line, column)


def test_every_statement_that_is_wrong_is_told_once():
    faults = refused("a = f(x)\nb = g(a)\nimport os\nc, d = h()\nk(c, d, b)\n")
    assert [(fault.line, fault.message.split(" ")[0]) for fault in faults] == [(1, "nothing"), (3, "an"), (4, "a")]
    assert str(faults[0]) == "line 1, column 7: nothing before this is called x"


@pytest.mark.parametrize("source", [None, 7, b"f()", ["f()"]])
def test_what_is_no_text_is_no_chain(source: Any):
    assert "a chain is text" in refused(source)[0].message


HEAVY = f"x = [{'1, ' * 18}]\nx = [{'x, ' * 18}]\nx = [{'x, ' * 50}]\n"
"""A few words for a value of sixteen thousand parts, which is as heavy as one may be."""
HOSTILE = {
    "long": "f()\n" * LONGEST,
    "many calls": "f();" * 600,
    "deep calls": "f(" * 150 + ")" * 150,
    "deeper calls": "f(" * 400 + ")" * 400,
    "deep lists": "f(" + "[" * 150 + "]" * 150 + ")",
    "deep access": "a = f(); g(a" + ".b" * 20_000 + ")",
    "deep index": "a = f(); g(a" + "[0]" * 12_000 + ")",
    "minus": "f(" + "-" * 40_000 + "1)",
    "plus": "f(" + "1+" * 20_000 + "1)",
    "long number": "f(" + "9" * 5_000 + ")",
    "nul": "f()\0",
    "half characters": "f('\ud800')#\ud800",
    "lambda": "lambda:" * 7_000 + "1",
    "laughs": "a0 = f()\n" + "".join(f"a{n + 1} = [{', '.join([f'a{n}'] * 10)}]\n" for n in range(30)) + "g(a30)",
    "quiet laughs": "a0 = 1\n" + "".join(f"a{n + 1} = {{'x': a{n}, 'y': a{n}}}\n" for n in range(60)) + "g(a60)",
    "many names": "a = [" + "1," * 15_000 + "]\nf()\n" + "".join(f"b{n} = [a]\n" for n in range(300)),
    "many arguments": "a = [" + "1," * 15_000 + "]\n" + "f(a)\n" * 300,
    "long text": f"a = '{'x' * 20_000}'\nb = [" + "a," * 5_000 + "]\nf(b)",
    "long key": f"a = {{'{'x' * 20_000}': 1}}\nb = [" + "a," * 5_000 + "]\nf(b)",
    "deep names": "a = 1\n" + "a = [a]\n" * 2_000 + "g(a)",
    "deep accesses": "a = f()\n" + "a = a.b\n" * 2_000 + "g(a)",
    "many heavy names": f"{HEAVY}f()\n" + "".join(f"y{n} = [x]\n" for n in range(300)),
    "many heavy arguments": HEAVY + "f(x)\n" * 300,
    "indents": "".join(" " * depth + "if 1:\n" for depth in range(110)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_in_words(name: str):
    faults = refused(HOSTILE[name])
    assert faults
    assert all(fault.message and len(fault.message) < 300 for fault in faults)


def test_the_longest_chain_of_plain_calls_is_not_too_large():
    text = "a0 = f()\n" + "".join(f"a{n + 1} = g(a{n}, a{n}, a{n // 2}.x, [a{n}])\n" for n in range(MOST_CALLS - 1))
    assert len(read_script(text).calls) == MOST_CALLS


def test_hostile_text_ends_no_process_in_a_thread_neither():
    """The reader of Python's own grammar has limits; that it keeps them is looked at from outside."""
    program = (
        "import sys, threading; sys.path.insert(0, '.')\n"
        "from tests.flows.test_chain_script import HOSTILE\n"
        "from callgate.flows.chain.script import read_script\n"
        "from callgate.flows.chain.faults import ChainRefused\n"
        "def look():\n"
        "    for text in HOSTILE.values():\n"
        "        try: read_script(text)\n"
        "        except ChainRefused: print('refused')\n"
        "look(); thread = threading.Thread(target=look); thread.start(); thread.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["refused"] * len(HOSTILE) * 2), done.stderr


def test_what_a_text_would_be_warned_of_is_for_its_author():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert called(r'f("\d")') == [("f", ["\\d"], {})]


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        ("a.b", "line 1, column 12: this object has no 'b'"),
        ("a['x']['y']", "this int has no 'y'"),
        ("a.l[5]", "it has 2 items, and none at 5"),
        ("a.l['x']", "this list has no 'x'"),
        ("a.l[True]", "this list has no True"),
        ("a.n.o", "this NoneType has no 'o'"),
        ("a.__class__", "this object has no '__class__'"),
        ("a.l.append", "this list has no 'append'"),
        ("a[a]", "this object has no {"),
    ],
)
def test_what_is_not_there_is_told_with_its_place(taken: str, words: str):
    script = read_script(f"a = f(); g({taken})")
    with pytest.raises(NotThere) as raised:
        look_up(script.calls[1].positional[0], {0: {"x": 1, "l": [1, 2], "n": None}})
    assert words in str(raised.value)


@given(text=st.text(max_size=60) | st.text("fab(=,)[]{}.;:'\"1 \n-*", max_size=60))
def test_any_text_is_read_or_refused(text: str):
    found = read_or_refused(text)
    if isinstance(found, Script):
        assert all(need < place for place, call in enumerate(found.calls) for need in call.needs)
    else:
        assert found
        assert all(each.line >= 1 and each.column >= 1 for each in found)


def read_or_refused(text: str) -> Script | tuple[Diagnostic, ...]:
    try:
        return read_script(text)
    except ChainRefused as error:
        return error.diagnostics
