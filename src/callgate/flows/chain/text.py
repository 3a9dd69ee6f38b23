"""Reading the text of a chain into a syntax tree. Guards against text that is no honest text; judges no statement."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings

from callgate.flows.chain.faults import ChainRefused, Diagnostic
from callgate.model.visible import brief, code_of

LONGEST = 50_000
"""Characters; a chain is a few lines."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_TOO_DEEP = "this is nested too deeply, or too complex, to be read"


class Text:
    """The text of a chain, and how places in its tree are told."""

    def __init__(self, source: str) -> None:
        self._lines = _LINE_END.split(source)

    def at(self, node: ast.AST, message: str) -> Diagnostic:
        """What is wrong with a part of the tree."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return Diagnostic(line, self.column(line, offset), message)

    def column(self, line: int, offset: int) -> int:
        """The column, from 1, of an offset in bytes, as the tree counts them."""
        return len(self._lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1


def parse(source: str) -> list[ast.stmt]:
    """The statements of a text.

    Raises:
        ChainRefused: It is too long, cannot be read, or has names that look like others.
    """
    if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance] - models write anything
        raise ChainRefused(Diagnostic(1, 1, f"a chain is text, not {type(source).__name__}"))
    if len(source) > LONGEST:
        raise ChainRefused(Diagnostic(1, 1, f"the text has {len(source)} characters; {LONGEST} is the most"))
    tree = _tree(source)
    _refuse_odd_names(source)
    return tree.body


def _tree(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # What the text warns of, an odd escape in a string, is for nobody but its author.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        place = (max(1, error.lineno or 1), max(1, error.offset or 1))
        raise ChainRefused(Diagnostic(*place, f"this cannot be read: {brief(error.msg)}")) from None
    except (RecursionError, MemoryError):
        raise ChainRefused(Diagnostic(1, 1, _TOO_DEEP)) from None
    except ValueError as error:  # half characters, and what else no file could hold
        raise ChainRefused(Diagnostic(1, 1, f"this cannot be read: {type(error).__name__}")) from None


def _refuse_odd_names(source: str) -> None:
    """Python takes letters that look alike for each other in names: what is read would not be what is seen."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):  # pragma: no cover - it was read a moment ago
        raise ChainRefused(Diagnostic(1, 1, "this cannot be read")) from None
    for token in tokens:
        if token.type == tokenize.NAME and not token.string.isascii():
            odd = next(letter for letter in token.string if not letter.isascii())
            message = f"the name {brief(token.string)} has {code_of(odd)}; names have plain letters, digits and _"
            raise ChainRefused(Diagnostic(token.start[0], token.start[1] + 1, message))
