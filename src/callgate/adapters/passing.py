"""Passing: what is gone once it was taken, for the Monty interpreter, whose `map`, `zip` and generators are lists.

So here they are iterators. What these give is still made at once, as Monty does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from callgate.adapters.border import RESERVED, are_equal, lines_of, text_of, tree_of

UNSURE = "the Python of this host cannot read all of it, and so not see to it that its generators are taken once; write\
 lists in their place, or in older syntax what is new"
_ONE = f"{RESERVED}one_pass"
_ADDED = f"{RESERVED}added"
ONCE = f"""
def _callgate_passing(map, filter, zip, enumerate, reversed, iter, list, type):
    passing = type(iter([]))
    def map_(function, *each):
        return iter(map(function, *each))
    def filter_(function, each):
        return iter(filter(function, each))
    def zip_(*each, strict=False):
        return iter(zip(*each, strict=strict))
    def enumerate_(iterable, start=0):
        return iter(enumerate(iterable, start))
    def reversed_(each):
        return iter(reversed(each))
    def one_pass(each):
        return iter(each)
    def added(each):
        return list(each) if type(each) is passing else each
    return map_, filter_, zip_, enumerate_, reversed_, one_pass, added
map, filter, zip, enumerate, reversed, {_ONE}, {_ADDED} = _callgate_passing(
    map, filter, zip, enumerate, reversed, iter, list, type
)
"""
"""A part of what the interpreter is given first, which has to forget `_callgate_passing` at its end."""
_PASS = frozenset({"map", "filter", "zip", "enumerate", "reversed", "iter"})
# A generator has brackets, its own or those of the call that it is alone in.
_GENERATOR = f"({_ONE}".encode(), b")"
_ADDITION = f"({_ADDED}(".encode(), b"))"
# Of a text that is not closed on its line only the quote is passed over, and that once: nothing is looked at twice.
_SIGN = re.compile(r"""'[^'\n]*+'|"[^"\n]*+"|\#[^\n]*+|[()\[\]{}]|\bfor\b""")

_Part = tuple[ast.expr, tuple[bytes, bytes]]


class Passing(NamedTuple):
    """Somebody's code, with its generator expressions taken once."""

    text: str
    is_sure: bool
    """Whether it is; if not, the code is unchanged, and may have some."""


def passing(source: str) -> Passing:
    """The code, with its generator expressions taken once, where this can be done for sure."""
    tree = tree_of(source)
    if tree is None:
        return Passing(source, is_sure=not _may_generate(source))
    found = list(_parts(tree))
    if not found:
        return Passing(source, is_sure=True)
    changed = _around(source, found)
    after = tree_of(changed)
    try:
        is_sure = after is not None and are_equal(tree, _Bare().visit(after))
    except RecursionError:
        is_sure = False
    return Passing(changed if is_sure else source, is_sure)


def _may_generate(source: str) -> bool:
    """Whether there may be a generator in code that is not read: a `for` next in round brackets."""
    opened: list[str] = []
    for sign in _SIGN.findall(source):
        if sign == "for" and opened and opened[-1] == "(":
            return True
        if sign in ("(", "[", "{"):
            opened.append(sign)
        elif sign in (")", "]", "}") and opened:
            opened.pop()
    return False


def _parts(tree: ast.Module) -> Iterator[_Part]:
    """What ours is put around: generators, but for those in f-strings, as Python 3.11 does not know where these are.

    Monty's `+=` of a list takes only a list. So a generator there stays one, and others become one.
    """
    to_lists = {node.value for node in ast.walk(tree) if isinstance(node, ast.AugAssign)}
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        match node:
            case ast.GeneratorExp() if node not in to_lists:
                yield node, _GENERATOR
            case ast.Call(func=ast.Name(id=name)) if name in _PASS and node in to_lists:
                yield node, _ADDITION
            case _:
                pass
        left.extend(each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.JoinedStr))


def _around(source: str, found: list[_Part]) -> str:
    """The code with ours around these."""
    lines = lines_of(source)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    more = [(starts[node.lineno - 1] + node.col_offset, before) for node, (before, _) in found]
    more += [(starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0), after) for node, (_, after) in found]
    whole, pieces, at = b"".join(lines), list[bytes](), 0
    for offset, text in sorted(more):
        pieces += [whole[at:offset], text]
        at = offset
    return text_of([*pieces, whole[at:]])


class _Bare(ast.NodeTransformer):
    """Takes ours away again."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as only]) if name == _ONE:
                return only
            case ast.Call(func=ast.Name(id=name), args=[ast.Call() as only]) if name == _ADDED:
                return only
            case _:
                return node
