"""Passing: what is gone once it was taken, for the Monty interpreter, whose `map`, `zip` and generators are lists.

So here they are iterators. What these give is still made at once, as Monty does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from callgate.adapters.border import RESERVED, are_equal, lines_of, text_of, tree_of

_ONE = f"{RESERVED}one_pass"
ONCE = f"""
def _callgate_passing(map, filter, zip, enumerate, reversed, iter):
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
    return map_, filter_, zip_, enumerate_, reversed_, one_pass
map, filter, zip, enumerate, reversed, {_ONE} = _callgate_passing(map, filter, zip, enumerate, reversed, iter)
"""
"""A part of what the interpreter is given first, which has to forget `_callgate_passing` at its end."""
_BEFORE, _AFTER = f"({_ONE}".encode(), b")"


def passing(source: str) -> str:
    """The code, with its generator expressions taken once. Where this cannot be done for sure, it is unchanged."""
    tree = tree_of(source)
    if tree is None:
        return source
    found = list(_generators(tree))
    if not found:
        return source
    changed = _around(source, found)
    after = tree_of(changed)
    try:
        return changed if after is not None and are_equal(tree, _Bare().visit(after)) else source
    except RecursionError:
        return source


def _generators(tree: ast.Module) -> Iterator[ast.GeneratorExp]:
    """Every one but those in f-strings, as Python 3.11 does not know where these are, and those added to a list.

    Monty's `+=` takes only a list, and takes it once.
    """
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.GeneratorExp):
            yield node
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.GeneratorExp):
            node = node.value
        left.extend(each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.JoinedStr))


def _around(source: str, found: list[ast.GeneratorExp]) -> str:
    """The code with ours around these. Each has brackets, its own or those of the call that it is alone in."""
    lines = lines_of(source)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    more = [(starts[node.lineno - 1] + node.col_offset, _BEFORE) for node in found]
    more += [(starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0), _AFTER) for node in found]
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
            case _:
                return node
