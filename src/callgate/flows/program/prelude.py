"""Prelude: what the interpreter runs before a program, so that of the program's values only plain ones come out.

Every function a program calls is one of ours in there. Texts, numbers, truth and nothing go through as they are; the
rest is measured and written there, within the program's own bounds of time and memory, and comes out as one text.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from callgate.adapters.border import RESERVED, Malformed, place_of, places, tree_of, written_down
from callgate.adapters.rounding import ROUND
from callgate.flows.program.handed import DEEPEST, LONGEST_NUMBER, MOST_BYTES, MOST_VALUES, Unplain
from callgate.flows.program.steps import Start
from callgate.model.shapes import as_sequence


def _call(name: str, *, define: str, wait: str) -> str:
    """Code that makes a function of the program's of one of the host's; with `await` in it, its answer is at once."""
    return f"""    def {name}(function):
        {define} call(*positional, **named):
            for each in (*positional, *named.values()):
                kind = type(each)
                if kind is int or kind is str or kind is float or kind is bool or each is None:
                    continue
                return {wait}function(written([positional, named]))
            return {wait}function(*positional, **named)
        return call
"""


# The names of built-in functions are parameters in there: a program can give the outer ones another meaning, not these.
# What makes the functions is gone when the program begins: made anew with others in their place, they would write lies.
_BORDER = f"""import json as _callgate_json
def _callgate_border(dumps, type, isinstance, len, range, str, int, float, bool, list, tuple, dict, TypeError):
    short, large, huge = 1 << 63, 1 << 1024, 1 << {LONGEST_NUMBER}
    def fault(value, most, values):
        left, values_left, level = most + 3, values + 2, [value]
        for depth in range({DEEPEST} + 2):
            below = []
            for each in level:
                kind = type(each)
                if kind is str:
                    left -= 2 + len(each)
                elif kind is int:
                    if not -short <= each < short:
                        if not -huge < each < huge:
                            return 'an integer has more digits than can be written', False
                        left -= 16 if -large < each < large else 256
                elif kind is float or kind is bool or each is None:
                    continue
                elif kind is dict:
                    left -= 1 + 4 * len(each)
                    values_left -= len(each)
                    if left < 0 or values_left < 0:
                        break
                    for name in each:
                        if type(name) is not str:
                            return f'a key is {{type(name).__name__}}, not text', False
                        left -= len(name)
                    below.extend(each.values())
                elif kind is list or isinstance(each, tuple):
                    left -= 1 + len(each)
                    values_left -= len(each)
                    if left < 0 or values_left < 0:
                        break
                    below.extend(each)
                else:
                    return f'{{kind.__name__}} is not JSON', False
            if left < 0:
                return f'it takes more than {{most}} bytes', True
            if values_left < 0:
                return f'it has more than {{values}} values', True
            if not below:
                return None
            level = below
        return 'it is nested more than {DEEPEST} deep', False
    def plain(value):
        if isinstance(value, dict):
            return {{name: plain(each) for name, each in value.items()}}
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        return value
    def written(value, most={MOST_BYTES}, values={MOST_VALUES}):
        wrong = fault(value, most, values)
        if wrong is not None:
            return dumps({{'fault': f'{{wrong[0]}}', 'much': wrong[1]}})
        try:
            return dumps({{'value': value}}, ensure_ascii=False)
        except TypeError:
            return dumps({{'value': plain(value)}}, ensure_ascii=False)
{_call("at_once", define="async def", wait="await ")}
{_call("later", define="def", wait="")}
    def handing(function, most):
        def hand_over(value):
            return function(written(value, most, most))
        return hand_over
    return at_once, later, handing
_callgate_at_once, _callgate_later, _callgate_handing = _callgate_border(
    _callgate_json.dumps, type, isinstance, len, range, str, int, float, bool, list, tuple, dict, TypeError
)
_callgate_hand_over = _callgate_handing(_callgate_functions['_callgate_hand_over'], _callgate_most)
"""
_FORGET = """_callgate_border = _callgate_json = _callgate_functions = _callgate_most = None
_callgate_at_once = _callgate_later = _callgate_handing = _callgate_rounding = None
"""
EDITION = hashlib.sha256((_BORDER + ROUND + _FORGET).encode()).hexdigest()[:16]
"""Which prelude it is: in the state of an interpreter that ran another one, its places are elsewhere."""
_PLAIN = places(_BORDER, "function(*positional, **named)")
_WRITTEN = places(_BORDER, "function(written([positional, named]))")
_LAST = places(_BORDER, "function(written(value, most, most))")
_WORD = re.compile(r"[^\W\d]\w*")
_BUILT_IN = frozenset(dir(builtins))
_BY_TEXT = frozenset({"eval", "exec"})
_WRITTEN_PER_BYTE, _WRITTEN_PER_VALUE, _WRITTEN_AROUND = 20, 32, 1000
"""Characters: what is measured as one byte, or as one value, is written in so many at most."""
_NOT_BY_NAME = Unplain("a function is called by its name, as it is written in the program")


class Prelude(NamedTuple):
    """What is run before a program."""

    text: str
    inputs: dict[str, Any]


def prelude_of(source: str, start: Start, *, function: Callable[[str], Any]) -> Prelude:
    """What is run before this text of the program; `function` stands for one of the host's in there."""
    tree = tree_of(source)
    names = sorted(_called(source, start.functions, tree=tree))
    at_once = frozenset[str]() if tree is None or start.plain else frozenset(_awaited_only(tree))
    wrapped = (f"{name} = _callgate_{'at_once' if name in at_once else 'later'}({_given(name)})\n" for name in names)
    functions = {name: function(name) for name in (*names, "_callgate_hand_over")}
    text = "".join((_BORDER, ROUND, *wrapped, _FORGET))
    return Prelude(text, {"_callgate_functions": functions, "_callgate_most": start.output_bytes})


def arguments(at: Any) -> tuple[Any, Any]:
    """What the program calls a function with: (those without a name, those with one), or what is wrong with them."""
    place = place_of(at)
    if place in _PLAIN:
        return at.args, at.kwargs
    if place not in _WRITTEN:
        return _NOT_BY_NAME, {}
    read = _read(at, most=MOST_BYTES, values=MOST_VALUES)
    if isinstance(read, Unplain):
        return read, {}
    both = as_sequence(read) or []
    return tuple(both) if list(map(type, both)) == [list, dict] else (Unplain(str(Malformed())), {})


def last_value(at: Any, *, most: int) -> Any:
    """The value of a program's last line, or what is wrong with it. Nothing longer is read than so much can be."""
    if place_of(at) not in _LAST:
        return Unplain("the program gave another meaning to a name that its value is read by")
    return _read(at, most=most, values=most)


def _read(at: Any, *, most: int, values: int) -> Any:
    try:
        told = written_down(at, most=most * _WRITTEN_PER_BYTE + values * _WRITTEN_PER_VALUE + _WRITTEN_AROUND)
    except Malformed as error:
        return Unplain(str(error))
    if "value" in told:
        return told["value"]
    return Unplain(told["fault"], told.get("much") is True)


def _given(name: str) -> str:
    return f"_callgate_functions[{name!r}]"


def _called(source: str, functions: frozenset[str], *, tree: ast.Module | None) -> set[str]:
    """Functions of the host that the program may call, and those that it calls and may not: it is told so."""
    # As the interpreter reads names: wide letters are the same as others.
    named = {name for name in functions if not name.startswith(RESERVED)}
    named &= set(_WORD.findall(unicodedata.normalize("NFKC", source)))
    if tree is None:
        return named
    nodes = list(ast.walk(tree))
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    unknown = {name for name in called if not name.startswith(RESERVED)}
    return {*named, *(unknown - set(_bound(nodes)) - _BUILT_IN)}


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case _:
                pass


def _awaited_only(tree: ast.Module) -> set[str]:
    """Names that the program does nothing with but call and await at once: the answer is all it goes on with."""
    nodes = list(ast.walk(tree))
    awaited = {
        node.value.func
        for node in nodes
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    others = {node.id for node in nodes if isinstance(node, ast.Name) and node not in awaited}
    if others & _BY_TEXT:
        return set()
    return {name.id for name in awaited} - others - set(_bound(nodes))
