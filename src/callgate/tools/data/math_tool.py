"""render_math: a formula in LaTeX, as text that can be read."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.tools.data.latex_line import NotLinear, bare, to_line
from callgate.tools.data.latex_style import AsciiStyle, UnicodeStyle
from callgate.tools.data.latex_symbols import ACCENTS, COMMANDS, FONTS, NOTHING
from callgate.tools.data.nothing_outside import nothing_outside

LONGEST = 2_000
_LETTERS = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_NEVER = frozenset("\b\f")
_ROW = re.compile(r"(?:\\\\|\\begin\{[A-Za-z*]+\}(?:\{[^{}]*\})?)[ \t]*\Z")
"""Behind it a line begins, and as well with e, i or u, which behind a lost backslash would be \\ne, \\ni or \\nu."""
_ESCAPED = re.compile(r"([\b\f\n\r\t])([A-Za-z]*)")
_NAMES = frozenset({*COMMANDS, *ACCENTS, *FONTS, *NOTHING, "newline", "begin", "frac", "tfrac", "binom", "tbinom"})
_RENDERED = {
    "type": "object",
    "properties": {"rendered": {"type": "string"}, "original": {"type": "string"}},
    "required": ["rendered", "original"],
    "additionalProperties": False,
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    resources=nothing_outside,
    output_schema=_RENDERED,
    examples=[
        {"latex": "\\frac{d^2y}{dx^2} + \\omega^2 y = 0"},
        {"latex": "x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}", "format": "2d"},
    ],
)
def render_math(
    latex: Annotated[str, Field(min_length=1, max_length=LONGEST)],
    format: Literal["unicode", "2d", "ascii"] = "unicode",  # noqa: A002 - the tool's own word
) -> dict[str, Any]:
    """Write a formula in LaTeX as text that can be read.

    Args:
        latex: The formula, with or without $ around it.
        format: unicode for one line where that can be read (a matrix is drawn), 2d for a drawing, or plain ascii.
    """
    _refuse_lost_backslash(latex)
    return {"rendered": _rendered(bare(latex), format), "original": latex}


def _refuse_lost_backslash(latex: str) -> None:
    """What JSON makes of a backslash that was written once is no letter of a formula, but would be left out of it."""
    for found in _ESCAPED.finditer(latex):
        sign, rest = found[1], found[2]
        name = _LETTERS[sign] + rest
        if sign not in _NEVER and (not rest or name not in _NAMES):
            continue
        is_line = sign == "\n" and len(rest) == 1
        if is_line and _ROW.search(latex, 0, found.start()):
            continue
        wrong = f"latex has the control character \\{name[0]} and no \\{name}"
        other = f"; where a line begins with {rest}, put a space before it" if is_line else ""
        raise ValueError(f"{wrong}; in JSON write \\\\{name}, with two backslashes{other}")


def _need_ascii(text: str) -> str:
    strange = next((char for char in text if not char.isascii()), None)
    if strange is not None:
        raise ValueError(f"latex has {strange}, which has no form in ASCII; use the format unicode")
    return text


def _rendered(formula: str, form: str) -> str:
    if form == "ascii":
        return _need_ascii(to_line(formula, AsciiStyle()))
    if form == "unicode":
        try:
            return to_line(formula, UnicodeStyle())
        except NotLinear:
            pass
    if not formula.strip():
        raise ValueError("latex is empty; give a formula")
    from callgate.tools.data.latex_stack import to_stack  # noqa: PLC0415 - an extra

    return to_stack(formula)
