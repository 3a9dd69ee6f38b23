"""The value of a program is that of its last line, and what is said of that line is said of it as it was written."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import tool
from callgate.model.program import ProgramState
from callgate.testing import memory_gate

ENDS = {
    "name": ("x = 1\nx", 1),
    "after others": ("x = 1; x + 1  # why", 2),
    "over lines": ("x = [\n  1,\n]\n(x +\n x)\n\n# end\n", [1, 1]),
    "tuple": ("x = [1]\n*x, 2", [1, 2]),
    "named tuple": ("import collections\ncollections.namedtuple('P', 'a b')(1, (2,))", [1, [2]]),
    "awaited": ("await eat([1])", "eaten"),
    "assignment": ("x = 1", None),
    "branch": ("if True:\n    5", None),
}


@tool(effects="read_only")
async def eat(what: Any) -> str:
    """Eat something."""
    return "eaten"


@pytest.mark.parametrize("what", sorted(ENDS))
async def test_the_last_line_gives_the_value(what: str) -> None:
    source, value = ENDS[what]
    async with memory_gate(eat) as gate:
        assert (await gate.run_program(source)).unwrap() == value


FAULTS = {
    "type": ("x = 1\neat()", "types", "the program, line 2, column 1: missing-argument: "),
    "type within": (
        "x = 1; x + eat('é', 1)",
        "types",
        "the program, line 1, column 21: too-many-positional-arguments: ",
    ),
    "raised": (
        "x = 1; [x / 0]",
        "raised",
        "  The program, line 1, in <module>\n    x = 1; [x / 0]\n            ~~~~~\nZeroDivisionError: ",
    ),
    "raised over lines": (
        "x = [1]\n(x[0] /\n (x[0] - 1))  # odd",
        "raised",
        "  The program, line 2, in <module>\n    (x[0] /\n     (x[0] - 1))  # odd\nZeroDivisionError: ",
    ),
    "refused": (
        "def f():\n    return eat({1: 2})\nf()",
        "raised",
        "  The program, line 2, in f\n    return eat({1: 2})\n           ~~~~~~~~~~~\nValueError: eat ",
    ),
    "not awaited": ("x = await eat(1)\neat(x)", "types", "is not awaited"),
    "unreadable": ("1 +", "types", "the program, line 1, column 4: invalid-syntax: "),
}


@pytest.mark.parametrize("what", sorted(FAULTS))
async def test_a_fault_of_the_last_line_is_told_at_its_place(what: str) -> None:
    source, kind, said = FAULTS[what]
    async with memory_gate(eat) as gate:
        run = await gate.run_program(source)
    assert run.state is ProgramState.FAILED
    assert run.error is not None
    assert run.error.kind == kind
    assert said in run.error.message
    assert "_callgate" not in run.error.message
