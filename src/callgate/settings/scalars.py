"""Scalars: what one written value means, read strictly; what two YAML readers would read differently is refused."""

from __future__ import annotations

import re

from callgate.settings.complaints import Fault
from callgate.settings.nodes import ScalarNode

Value = str | int | float | bool

_LONGEST_SPECIAL = 64
_MOST_DIGITS = 15
_TRUTH = {"true": True, "false": False}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")

_SURPRISES = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), advice)
    for pattern, advice in (
        (r"y|yes|n|no|on|off|true|false", "could be a truth value or a word; write true or false, or put it in quotes"),
        (r"|~|null", "no value; write one, or leave the key out"),
        (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", "some readers take it for a number; put it in quotes"),
        (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([t \t].*)?", "some readers take it for a date; put it in quotes"),
        (r"[-+]?\.(inf|nan)", "not a finite number; write a number"),
        (r"[-+]?0[0-9_]+", "could be octal; write the number without the leading zero, or put it in quotes"),
        (r"[-+]?0[xob][0-9a-f_]+", "some readers take it for a number; write it in decimal, or put it in quotes"),
        (r"[-+]?[0-9_]+\.?[0-9_]*e[-+]?[0-9]+", "write the number without an exponent, or put it in quotes"),
        (
            r"[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)",
            "some readers take it for a number; write it as 1000 or 0.5, or put it in quotes",
        ),
        (r"=|<<", "has a meaning of its own in YAML; put it in quotes"),
    )
)


def value_of(node: ScalarNode) -> Value:
    """What the scalar means: text, a number, or true and false; quoted it is always text.

    Raises:
        Fault: It is empty, or YAML readers disagree about it; the message says what to write.
    """
    text = node.text
    if not node.plain or len(text) > _LONGEST_SPECIAL:
        return text
    if text in _TRUTH:
        return _TRUTH[text]
    if _INTEGER.fullmatch(text):
        return int(_few_digits(node))
    if _DECIMAL.fullmatch(text):
        return float(_few_digits(node))
    _refuse_surprises(node)
    return text


def _few_digits(node: ScalarNode) -> str:
    if len(node.text) > _MOST_DIGITS:
        raise Fault(f"a number has at most {_MOST_DIGITS} digits; put text in quotes")
    return node.text


def _refuse_surprises(node: ScalarNode) -> None:
    for pattern, advice in _SURPRISES:
        if pattern.fullmatch(node.text):
            raise Fault(f"{node.shown}: {advice}" if node.text else f"has {advice}")
