"""Rounding: `round` as Python has it, for the Monty interpreter, whose own multiplies first: 2.675 became 2.68."""

from __future__ import annotations

# A float is written with so many digits, which is rounded right, and read again. With 324 nothing is left to round.
ROUND = """
def _callgate_rounding(plain, float, type, int):
    def round(number, ndigits=None):
        if type(number) is float and type(ndigits) is int and 0 < ndigits < 324:
            return float(f'{number:.{ndigits}f}')
        return plain(number) if ndigits is None else plain(number, ndigits)
    return round
round = _callgate_rounding(round, float, type, int)
"""
"""A part of what the interpreter is given first, which has to forget `_callgate_rounding` at its end."""
