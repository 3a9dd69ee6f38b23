"""A formula in two dimensions, as texicode draws it: with what it does not know told, and not left out."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from itertools import accumulate
from typing import Any, cast

from callgate.tools.data.latex_line import DEEPEST

# It has no types.
_arts, _lexer, _nodes, _parser, _renderer, _symbols = (
    cast("Any", import_module(f"texicode.{name}"))
    for name in ("arts", "lexer", "node_data", "parser", "renderer", "symbols_art")
)

_RENAMED = {"operatorname": "mathrm", "textrm": "text", "textbf": "text", "textit": "text", "boldsymbol": "mathbf"}
_AFTER_DELIMITERS = frozenset(
    {"|", "{", "}", "langle", "rangle", "lfloor", "rfloor", "lceil", "rceil", ".", "vert", "Vert"}
)
_KNOWN = frozenset(
    {*_symbols.symbols, *_arts.multi_line_leaf_commands, *_AFTER_DELIMITERS}
    | {word for kind, word in _nodes.type_dict if kind == "cmnd"}
)
_GROWING = frozenset({"frac", "dfrac", "tfrac", "cfrac", "sqrt", "binom", "dbinom"})
_MOST_GROWING = 100
"""Each is drawn around what is inside, which is copied every time."""
# Upright letters, which every font has; it is a setting of the whole library, and set once.
_arts.font = _arts.font_normal


def to_stack(latex: str) -> str:
    """Draw a formula.

    Raises:
        ValueError: It is none, or has something that cannot be drawn; says what.
    """
    try:
        tokens = [_renamed(token) for token in _lexer.lexer(latex, debug=False)]
        unknown = [word for kind, word in tokens if kind == "cmnd" and word not in _KNOWN]
        if unknown:
            raise ValueError(f"\\{unknown[0]} is not known")  # noqa: TRY301 - told like the others
        if sum(word in _GROWING for _, word in tokens) > _MOST_GROWING:
            raise ValueError("it has too many fractions and roots")  # noqa: TRY301 - as above
        if _depth(tokens) > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")  # noqa: TRY301 - as above
        rows = _renderer.render(_parser.parse(tokens, debug=False), debug=False)
    except ValueError as error:
        raise ValueError(f"latex cannot be drawn: {error}") from None
    except (IndexError, KeyError, TypeError, UnboundLocalError, RecursionError):
        raise ValueError("latex cannot be drawn: something in it is missing, or at a wrong place") from None
    lines = ["".join(row).rstrip() for row in rows]
    # It leaves a column of its own on the left.
    return "\n".join(line.removeprefix(" ") for line in lines)


def _depth(tokens: Iterable[tuple[str, str]]) -> int:
    """How many braces are open at once: each exponent is drawn beside what is inside, on a sheet as large as both."""
    steps = {"{": 1, "}": -1}
    return max(accumulate(steps.get(word, 0) for kind, word in tokens if kind == "symb"), default=0)


def _renamed(token: tuple[str, str]) -> tuple[str, str]:
    kind, word = token
    return (kind, _RENAMED.get(word, word)) if kind == "cmnd" else token
