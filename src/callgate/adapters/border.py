"""Border: which values of the Monty interpreter come into this process. Those that our own code wrote down in there.

Monty's client builds a value of Python as soon as it is read, and what it hashes for that (the keys of objects, sets)
takes years for a few lines: a tuple that holds another twice, sixty times over. So nothing is read that the code of
somebody else hands over. Ours is run first, in the same interpreter: it makes a bounded text of a value, and calls a
function with it. Where a call was made is told by the interpreter, so that it is known whose it is
before anything of it is read. And what our code uses is bound in it, under no name that is left when other code begins:
who could make it anew, with functions of their own, would make our calls with their values.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, NamedTuple

from callgate.model.shapes import as_mapping, as_sequence

FIRST = "<python-input-0>"
"""What the interpreter calls the text it is given first: ours."""
RESERVED = "_callgate_"
"""Names that begin so are ours in there."""
_VALUE = f"{RESERVED}value"
HAND_OVER = f"{RESERVED}hand_over({_VALUE})"
"""Given to the interpreter last: calls the function that ours defined, with the value of the last line."""
_KEEP, _END = f"({_VALUE} := (", "))"
"""Around the last expression: it stays one, so that whoever checks types still sees what nobody waits for."""
UNREAD = "the Python of this host cannot read its last line; write only a name there"
_TYPED = re.compile(r"^([\w.]+):(\d+):(\d+):", re.MULTILINE)
_OUR_FRAME = re.compile(rf'^  File "{FIRST}", line .*\n(?:    .*\n)*', re.MULTILINE)

Place = tuple[int, int]


def places(text: str, expression: str) -> frozenset[Place]:
    """Where a text of ours, given to the interpreter first, has this call."""
    sought = re.escape(expression.encode())
    return frozenset((found.start(), found.end()) for found in re.finditer(sought, text.encode()))


def place_of(at: Any) -> Place | None:
    """Where in our own text the interpreter stopped; None if it did so elsewhere, or came to an end.

    Only the arguments of a call that is at a known place may be read.
    """
    position = getattr(at, "position", None)
    if position is None or position.filename != FIRST:
        return None
    return (position.start, position.end)


class Malformed(ValueError):
    """What came over is not what our code writes."""

    def __init__(self) -> None:
        super().__init__("it came over in a form that is not ours")


def written_down(at: Any, *, most: int) -> dict[str, Any]:
    """What our code wrote down and called a function with, at a place of ours: a value, or what is wrong with it.

    It is looked at all the same as if it were anybody's.

    Raises:
        Malformed: It is nothing of that kind, or longer than so many characters.
    """
    handed: Any = at.args
    if len(handed) != 1 or type(handed[0]) is not str or len(handed[0]) > most:
        raise Malformed
    try:
        read = as_mapping(json.loads(handed[0]))
    except (ValueError, RecursionError):
        raise Malformed from None
    if read is None or not ("value" in read or type(read.get("fault")) is str):
        raise Malformed
    return dict(read)


class Kept(NamedTuple):
    """Somebody's code that keeps the value of its last line in a variable instead of handing it over."""

    text: str
    has_value: bool
    """Whether its last line has a value."""
    is_read: bool
    """Whether it is known what its last line is; if not, it is unchanged."""
    line: int = 0
    column: int = 0
    lines: tuple[tuple[str, str], ...] = ()
    """Lines that were changed: as they are, and as they were."""

    def told(self, message: str) -> str:
        """What the interpreter says of it, as if it were unchanged, and without what is ours."""
        message = _OUR_FRAME.sub("", message)
        return self._unchanged(_TYPED.sub(self._placed, message)) if self.has_value else message

    def _placed(self, found: re.Match[str]) -> str:
        name, line, column = found[1], int(found[2]), int(found[3])
        if line == self.line and column > self.column:
            column = max(self.column + 1, column - len(_KEEP))
        return f"{name}:{line}:{column}:"

    def _unchanged(self, message: str) -> str:
        """The lines of code in a message as they were, and what marks a place below them."""
        were = dict(self.lines)
        lines = message.split("\n")
        for at, line in enumerate(lines):
            was = were.get(line.strip())
            if was is None:
                continue
            lines[at] = line[: len(line) - len(line.lstrip())] + was
            found = line.find(_KEEP)
            if found >= 0 and at + 1 < len(lines) and not lines[at + 1].strip(" ~^"):
                marks = lines[at + 1][:found] + lines[at + 1][found + len(_KEEP) :]
                lines[at + 1] = marks[: len(lines[at])]
        return "\n".join(lines)


def keeping(source: str) -> Kept:
    """The code, changed in nothing but that it keeps its last value."""
    tree = tree_of(source)
    unread = Kept(source, has_value=False, is_read=False)
    if tree is not None:
        kept = _kept(source, tree, skipped=0)
        return kept if _says_the_same(kept, tree) else unread
    # Perhaps only this Python is too old for it; its last line may be plain.
    lines = lines_of(source)
    start = max((at for at, line in enumerate(lines) if line.strip() and line[:1] not in b" \t#"), default=0)
    tail = tree_of(text_of(lines[start:])) if _is_on_its_own(lines, start) else None
    return unread if tail is None else _kept(source, tail, skipped=start)


def _is_on_its_own(lines: list[bytes], start: int) -> bool:
    """Whether these last lines, if they can be read at all, cannot be part of what is before them.

    Without a quote they end no text that began there, and with as many brackets closed as opened no bracket.
    """
    joined = start > 0 and lines[start - 1].rstrip(b"\r\n").endswith(b"\\")
    return not joined and not re.search(rb"[\"'\\]", b"".join(lines[start:]))


def _says_the_same(kept: Kept, tree: ast.Module) -> bool:
    """Whether the changed code is the code, but for its last line, of which only the value is kept."""
    if not kept.has_value:
        return True
    changed = tree_of(kept.text)
    match changed:
        case ast.Module(body=[*_, ast.Expr(value=ast.NamedExpr(target=ast.Name(id=name), value=value)) as last]):
            last.value = value
            return name == _VALUE and are_equal(tree, changed)
        case _:
            return False


def are_equal(one: ast.Module, other: ast.Module) -> bool:
    """Whether both trees say the same, wherever it stands. Nested code may be deeper than functions may be."""
    left: list[tuple[Any, Any]] = [(one, other)]
    while left:
        this, that = left.pop()
        if type(this) is not type(that):
            return False
        if isinstance(this, ast.AST):
            left.extend((getattr(this, field, None), getattr(that, field, None)) for field in this._fields)
        elif isinstance(this, list):
            items, others = as_sequence(this) or [], as_sequence(that) or []
            left.append((len(items), len(others)))
            left.extend(zip(items, others, strict=False))
        elif this != that:
            return False
    return True


def tree_of(source: str) -> ast.Module | None:
    """What the code says; None where this Python cannot read it."""
    try:
        with warnings.catch_warnings():
            # An odd escape in a string is for nobody but its author.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _kept(source: str, tree: ast.Module, *, skipped: int) -> Kept:
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return Kept(source, has_value=False, is_read=True)
    were, lines = lines_of(source), lines_of(source)
    first, end = skipped + last.lineno - 1, skipped + (last.end_lineno or last.lineno) - 1
    # From the end, so that what is before it is where it was.
    for at, offset, more in ((end, last.end_col_offset or 0, _END), (first, last.col_offset, _KEEP)):
        lines[at] = lines[at][:offset] + more.encode() + lines[at][offset:]
    return Kept(
        text_of(lines),
        has_value=True,
        is_read=True,
        line=first + 1,
        column=len(text_of([were[first][: last.col_offset]])),
        lines=tuple((text_of([lines[at]]).strip(), text_of([were[at]]).strip()) for at in {first, end}),
    )


def lines_of(source: str) -> list[bytes]:
    """Lines as Python ends them, in bytes, by which it counts offsets; half characters stay what they are."""
    return re.split(rb"(?<=\n)|(?<=\r)(?!\n)", source.encode(errors="surrogatepass"))


def text_of(lines: list[bytes]) -> str:
    """These lines, or parts of them, as one text."""
    return b"".join(lines).decode(errors="surrogatepass")
