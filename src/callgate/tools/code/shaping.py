"""Shaping: the value of an expression as JSON has it, made where the expression ran. Nothing else of it is read here.

It is made by code of ours inside of the interpreter, within the bounds of the expression, and comes out as one text.
"""

from __future__ import annotations

from typing import Any

from callgate.adapters.border import Malformed, place_of, places, written_down
from callgate.adapters.passing import ONCE
from callgate.adapters.rounding import ROUND

_DEEPEST = 50
_MOST_ITEMS = 100_000
_MOST_TEXT = 1_000_000
_MOST_WRITTEN = 12 * _MOST_TEXT + 40 * _MOST_ITEMS
"""Characters: one of a text is written in twelve at most, and what is around an item or a number in fewer than 40."""
_BITS = 14_000
"""Of a whole number: longer ones cannot be written."""

# Names of built-in functions are parameters in there: an expression can give the outer ones another meaning, not these.
# What makes the functions is gone when the expression begins: made anew with others, they would write lies.
# Numbers of more than 64 bits are no numbers for most who read JSON; as a text they stay exact.
PRELUDE = f"""import collections as _callgate_collections
import json as _callgate_json
def _callgate_border(
    function, dumps, type, isinstance, len, str, int, float, bool, list, tuple, dict, listed, ValueError
):
    large, huge = 1 << 63, 1 << {_BITS}
    left = [{_MOST_ITEMS}, {_MOST_TEXT}]
    def number(value):
        if not -huge < value < huge:
            raise ValueError('a whole number of more than 4200 digits; give a part of it, or its order of magnitude')
        if -large <= value < large:
            return value
        digits = str(value)
        left[1] -= len(digits)
        return digits
    def named(key):
        kind = type(key)
        if kind is str:
            return key
        if kind is int:
            return str(number(key))
        if kind is float or kind is bool or key is None:
            return str(key)
        raise ValueError(f'a mapping with a {{kind.__name__}} as a key; turn its keys into texts')
    def mapped(value, depth):
        plain = {{}}
        for key, each in value.items():
            name = named(key)
            if name in plain:
                raise ValueError(f'a mapping with two keys that are {{name[:50]!r}} in JSON; make them differ as texts')
            left[1] -= len(name)
            plain[name] = shaped(each, depth + 1)
        return plain
    def shaped(value, depth):
        kind = type(value)
        left[0] -= 1
        if kind is str:
            left[1] -= len(value)
        if depth > {_DEEPEST} or left[0] < 0 or left[1] < 0:
            raise ValueError('a value that is too large; give a part of it, or a summary')
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            return number(value)
        if kind is float:
            return value if value - value == 0 else str(value)
        if isinstance(value, dict):
            return mapped(value, depth)
        if isinstance(value, (list, tuple)) or kind in listed:
            return [shaped(each, depth + 1) for each in value]
        raise ValueError(f'a value of the type {{kind.__name__}}, which JSON has not; give str(…) or list(…) of it')
    def written(value):
        try:
            return dumps({{'value': shaped(value, 0)}})
        except ValueError as error:
            return dumps({{'fault': str(error)}})
    def hand_over(value):
        return function(written(value))
    return hand_over
_callgate_hand_over = _callgate_border(
    _callgate_function, _callgate_json.dumps, type, isinstance, len, str, int, float, bool, list, tuple, dict,
    (
        set, frozenset, range, _callgate_collections.deque, type({{}}.keys()), type({{}}.values()), type({{}}.items()),
        type(iter([]))
    ),
    ValueError
)
{ROUND}
{ONCE}
_callgate_border = _callgate_function = _callgate_json = _callgate_rounding = _callgate_passing = None
_callgate_collections = None
"""
_LAST = places(PRELUDE, "function(written(value))")


def stand_for(_text: str) -> None:
    """The function of the host that the code above calls; never run, it is asked for where the call stops."""


INPUTS = {"_callgate_function": stand_for}


def shaped(at: Any) -> Any:
    """The value that comes by a call of the code above.

    Raises:
        ValueError: JSON has none of its kind, it is too large, or it came in another way.
    """
    if place_of(at) not in _LAST:
        raise ValueError("expression gives another meaning to a name that its value is read by")
    try:
        told = written_down(at, most=_MOST_WRITTEN)
    except Malformed as error:
        raise ValueError(f"the value of expression cannot be read: {error}") from None
    if "value" not in told:
        raise ValueError(f"expression gives {told['fault']}")
    return told["value"]
