"""Whether a handler says where its point of no return is: only what is certain in its bytecode counts.

A handler that might mark is taken for one that does not: then a failure is never mistaken for *nothing happened*.
"""

from __future__ import annotations

import dis
from types import FunctionType
from typing import Any

_NOISE = frozenset({"CACHE", "PRECALL", "NOP", "EXTENDED_ARG", "PUSH_NULL"})
_ATTRIBUTES = frozenset({"LOAD_METHOD", "LOAD_ATTR"})
_ENTERED = {"effect": ("BEFORE_ASYNC_WITH", "__aexit__"), "effect_sync": ("BEFORE_WITH", "__exit__")}
_CHANGES = ("STORE_", "DELETE_")
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_MARK_LENGTH = 4
"""Load the parameter, load the attribute, call it, enter it."""


def enters_effect(function: Any, parameter: str) -> bool:
    """Whether every way through the function enters `with parameter.effect_sync()` (or `async with` and `effect()`).

    Not counted: a mark in one branch or a loop, in a function it calls, through another variable, without `with`.
    """
    if not isinstance(function, FunctionType):
        return False
    steps = [step for step in dis.get_instructions(function) if step.opname not in _NOISE]
    if any(step.opname.startswith(_CHANGES) and step.argval == parameter for step in steps):
        return False
    return any(
        _is_mark(steps[index : index + _MARK_LENGTH + 1], parameter) and _is_passed_by_all(steps, index)
        for index in range(len(steps) - _MARK_LENGTH)
    )


def _is_mark(steps: list[dis.Instruction], parameter: str) -> bool:
    load, attribute, call, enter, after = steps
    if not (load.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) and load.argval == parameter):
        return False
    if attribute.opname not in _ATTRIBUTES or attribute.argval not in _ENTERED:
        return False
    opcode, special = _ENTERED[attribute.argval]
    # From Python 3.14 a `with` looks its methods up one by one.
    by_name = enter.opname == "COPY" and after.opname == "LOAD_SPECIAL" and special in after.argrepr
    return call.opname == "CALL" and call.arg == 0 and (enter.opname == opcode or by_name)


def _is_passed_by_all(steps: list[dis.Instruction], index: int) -> bool:
    """Nothing before the mark jumps over it; leaving before it, by return or raise, is no way around."""
    mark = steps[index].offset
    around = (step.opcode in _JUMPS and step.argval > mark for step in steps[:index])
    return not any(around) and not any(step.opname == "GET_AITER" for step in steps[:index])
