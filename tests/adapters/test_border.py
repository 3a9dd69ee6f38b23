"""Code that keeps its last value: the same code, and whatever is said of it is said of the code as it was written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from callgate.adapters.border import Malformed, keeping, place_of, places, written_down

LASTING = {
    "a name": ("x = 1\nx", "x = 1\n(_callgate_value := (x))"),
    "after others": ("x = 1; x + 1  # why", "x = 1; (_callgate_value := (x + 1))  # why"),
    "before nothing": ("5;", "(_callgate_value := (5));"),
    "over lines": ("(1 +\n 2)\n\n# end\n", "(_callgate_value := ((1 +\n 2)))\n\n# end\n"),
    "starred": ("*a, 1", "(_callgate_value := (*a, 1))"),
    "named within": ("(x := 4)", "(_callgate_value := ((x := 4)))"),
    "wide letters": ("é = 3; é", "é = 3; (_callgate_value := (é))"),
    "other line ends": ("x = 1\r\ny = 2\rx", "x = 1\r\ny = 2\r(_callgate_value := (x))"),
    "a page": ("x = 1\n\x0cx", "x = 1\n\x0c(_callgate_value := (x))"),
    "a text": ("'''a\nb'''", "(_callgate_value := ('''a\nb'''))"),
    "deeper than functions may be": ("+".join("1" * 900), f"(_callgate_value := ({'+'.join('1' * 900)}))"),
    "over lines after what no Python reads": ("1 $ 2\nf(x,\n  y)", "1 $ 2\n(_callgate_value := (f(x,\n  y)))"),
    "after what no Python reads": ("x = 1 $ 2\nx\n# end", "x = 1 $ 2\n(_callgate_value := (x))\n# end"),
}


@pytest.mark.parametrize("what", sorted(LASTING))
def test_the_value_of_the_last_line_is_kept_and_nothing_else_is_changed(what: str) -> None:
    source, changed = LASTING[what]
    kept = keeping(source)
    assert (kept.text, kept.has_value, kept.is_read) == (changed, True, True)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "# nothing",
        "x = 1",
        "if x:\n    1",
        "def f():\n    return 1\n",
        "for i in x:\n    i\nelse:\n    2",
        "x: int",
    ],
    ids=["empty", "comment", "assignment", "if", "function", "loop", "annotation"],
)
def test_code_whose_last_line_has_no_value_is_unchanged(source: str) -> None:
    kept = keeping(source)
    assert (kept.text, kept.has_value, kept.is_read) == (source, False, True)


@pytest.mark.parametrize(
    "last",
    ["x = '''\nhello\n# end'''", 'f("""\nhello\n  """)', "'a'", "x = 1 + \\\nx", "x = (\nx\n)", "x = [\nx]"],
    ids=["text", "text-in-call", "short-text", "joined", "bracket", "bracket-in-line"],
)
def test_after_what_no_python_reads_nothing_is_changed_that_could_be_part_of_it(last: str) -> None:
    source = f"x = 1 $ 2\n{last}"
    kept = keeping(source)
    assert (kept.text, kept.has_value, kept.is_read) == (source, False, False)


@pytest.mark.parametrize(
    "handed",
    [
        (),
        ("{}",),
        ("5",),
        ("[]",),
        ("not JSON",),
        ('{"fault": {"a": 1}}',),
        ('{"value": 1}', 2),
        ({"value": 1},),
        (f'{{"value": "{"x" * 10_000}"}}',),
        ("[" * 99,),
        (f'{{"value": {"9" * 5000}}}',),
    ],
    ids=["nothing", "empty", "number", "list", "no-json", "fault", "two", "mapping", "long", "deep", "digits"],
)
def test_what_comes_over_in_another_form_than_ours_is_no_value(handed: tuple[Any, ...]) -> None:
    assert written_down(SimpleNamespace(args=('{"value": 1}',)), most=12) == {"value": 1}
    with pytest.raises(Malformed):
        written_down(SimpleNamespace(args=handed), most=10_000)


@pytest.mark.parametrize("source", ["1 +", "x = '\ud800'\n(", "\0", "(" * 500, "-" * 100_000 + "1"])
def test_code_that_cannot_be_read_is_unchanged_and_said_to_be(source: str) -> None:
    kept = keeping(source)
    assert (kept.text, kept.has_value, kept.is_read) == (source, False, False)


def test_what_is_said_of_changed_code_has_the_places_and_lines_of_the_code_as_it_was() -> None:
    kept = keeping("x = 1; f(x)  # why")
    assert kept.told("program.py:1:31: error[a] b") == "program.py:1:10: error[a] b"
    assert kept.told("program.py:1:9: error[a] b") == "program.py:1:8: error[a] b"
    assert kept.told("program.py:1:1: error[a]\nprogram.py:2:31: b") == "program.py:1:1: error[a]\nprogram.py:2:31: b"
    trace = (
        "Traceback (most recent call last):\n"
        '  File "<python-input-1>", line 1, in <module>\n'
        "    x = 1; (_callgate_value := (f(x)))  # why\n"
        "                                ~~~~\n"
        '  File "<python-input-0>", line 9, in call\n'
        "    return await function(*positional, **named)\n"
        "                 ~~~~~~~~\n"
        "ValueError: no\n"
    )
    assert kept.told(trace) == (
        "Traceback (most recent call last):\n"
        '  File "<python-input-1>", line 1, in <module>\n'
        "    x = 1; f(x)  # why\n"
        "           ~~~~\n"
        "ValueError: no\n"
    )
    assert keeping("(f(\n 1))").told("    (_callgate_value := ((f(\n     1))))\n") == "    (f(\n     1))\n"


class Stop:
    """Where an interpreter stopped."""

    def __init__(self, filename: str, start: int, end: int) -> None:
        self.filename, self.start, self.end = filename, start, end
        self.position = self


def test_only_a_call_in_our_own_text_is_at_a_place_of_ours() -> None:
    ours = places("é = 1\nfunction(text)\nfunction(text)", "function(text)")
    assert ours == {(7, 21), (22, 36)}
    assert place_of(Stop("<python-input-0>", 7, 21)) in ours
    assert place_of(Stop("<python-input-0>", 7, 20)) not in ours
    assert place_of(Stop("<python-input-1>", 7, 21)) not in ours
    assert place_of(Stop("<string>", 7, 21)) not in ours
    assert place_of(object()) not in ours
