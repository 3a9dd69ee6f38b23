"""What runs in an interpreter before the code of somebody else: it uses nothing that the other code can change."""

from __future__ import annotations

import symtable
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from callgate.flows.program.handed import Unplain
from callgate.flows.program.prelude import arguments, last_value, prelude_of
from callgate.flows.program.steps import Start
from callgate.tools.code.shaping import PRELUDE, shaped

START = Start(
    source="await eat([1])",
    inputs={},
    stubs="",
    seed="",
    seconds=1,
    memory_bytes=1,
    recursion=1,
    calls=1,
    plain=False,
    functions=frozenset({"eat", "_callgate_later"}),
    output_bytes=9,
)
PROGRAM = prelude_of("_callgate_later()\nawait eat([1])", START, function=str).text
TEXTS = {"program": PROGRAM, "python_eval": PRELUDE}
LEFT = {
    "program": {"_callgate_hand_over"},
    "python_eval": {"_callgate_hand_over", "_callgate_one_pass", "_callgate_added"},
}
"""The second calls nothing of the host's: who makes it anew changes only what generators of theirs are."""
NOT_OURS: list[Any] = ["5", "[1]", '{"fault": 5}', 5, None, {(): 1}]


@pytest.mark.parametrize("what", sorted(TEXTS))
def test_its_functions_use_nothing_of_the_outside(what: str) -> None:
    uses = {(table.get_name(), name) for table in _functions(TEXTS[what]) for name in table.get_globals()}
    assert uses == set()


@pytest.mark.parametrize("what", sorted(TEXTS))
def test_what_makes_its_functions_is_forgotten_at_its_end(what: str) -> None:
    names = {each for each in symtable.symtable(TEXTS[what], "ours", "exec").get_identifiers() if "_callgate" in each}
    ends = TEXTS[what].rpartition(")\n")[2]
    assert {name for name in names if f"{name} =" not in ends} == LEFT[what]


def test_no_name_of_ours_is_a_function_of_the_program() -> None:
    assert "\neat = _callgate_at_once(" in PROGRAM
    assert "_callgate_functions['_callgate_later']" not in PROGRAM


@pytest.mark.parametrize("said", [*NOT_OURS, '{"value": 5}', '{"value": [[], 5]}'], ids=str)
def test_arguments_in_another_form_than_ours_are_told_and_raise_nothing(said: Any) -> None:
    assert isinstance(arguments(_at(PROGRAM, "function(written([positional, named]))", said))[0], Unplain)


@pytest.mark.parametrize("said", NOT_OURS, ids=str)
def test_a_last_value_in_another_form_than_ours_is_told(said: Any) -> None:
    assert isinstance(last_value(_at(PROGRAM, "function(written(value, most, most))", said), most=9), Unplain)
    with pytest.raises(ValueError, match="not ours"):
        shaped(_at(PRELUDE, "function(written(value))", said))


def test_more_than_a_value_can_take_is_not_read() -> None:
    said = f'{{"value": "{"x" * 20_000_000}"}}'
    assert isinstance(last_value(_at(PROGRAM, "function(written(value, most, most))", said), most=9), Unplain)
    with pytest.raises(ValueError, match="not ours"):
        shaped(_at(PRELUDE, "function(written(value))", said))


def _at(text: str, call: str, said: Any) -> Any:
    start = text.encode().index(call.encode())
    position = SimpleNamespace(filename="<python-input-0>", start=start, end=start + len(call))
    return SimpleNamespace(position=position, args=(said,), kwargs={})


def _functions(text: str) -> Iterator[symtable.Function]:
    left = [symtable.symtable(text, "ours", "exec")]
    while left:
        table = left.pop()
        left.extend(table.get_children())
        if isinstance(table, symtable.Function):
            yield table
