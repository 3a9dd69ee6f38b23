"""The digest of a tool's code: what would run, read from the bytecode in memory and not from a file beside it.

Only code counts. Values that a closure or a partial holds are left out: they may be secrets, and a digest is shown.
"""

from __future__ import annotations

import functools
import hashlib
from types import CodeType, FunctionType, MethodType
from typing import Any

_DEEPEST = 8


def code_digest(*things: Any) -> str:
    """A stable digest (hex) of the code behind functions, methods, partials or callable objects.

    The same code gives the same digest in every process of one Python version, with and without its source.
    """
    hasher = hashlib.sha256()
    for part in [part for thing in things for part in _code_of(thing, frozenset())]:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        # Lengths keep neighbours apart: "ab","c" is not "a","bc".
        hasher.update(f"{len(data)}:".encode())
        hasher.update(data)
    return hasher.hexdigest()


def _code_of(thing: Any, seen: frozenset[int]) -> list[str | bytes]:
    if len(seen) > _DEEPEST or id(thing) in seen:
        return ["…"]
    seen |= {id(thing)}
    if isinstance(thing, functools.partial):
        bound = [str(len(thing.args)), *sorted(thing.keywords)]  # pyright: ignore[reportUnknownArgumentType]
        return ["partial", *bound, *_code_of(thing.func, seen)]
    if isinstance(thing, (MethodType, staticmethod, classmethod)):
        return ["method", *_code_of(thing.__func__, seen)]  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    if isinstance(thing, FunctionType):
        return _function_parts(thing, seen)
    return _object_parts(thing, seen)


def _function_parts(function: FunctionType, seen: frozenset[int]) -> list[str | bytes]:
    parts: list[str | bytes] = ["function", *_code_parts(function.__code__)]
    inside = [function.__dict__.get("__wrapped__")]
    inside += [_content(cell) for cell in function.__closure__ or ()]
    for value in inside:
        # What a decorator wraps runs too; other values are data.
        if isinstance(value, (FunctionType, MethodType, functools.partial)):
            parts += _code_of(value, seen)
    return parts


def _object_parts(thing: object, seen: frozenset[int]) -> list[str | bytes]:
    if isinstance(thing, type) or not callable(thing):
        return ["opaque", _place(thing)]
    call = type(thing).__call__
    inside = _code_of(call, seen) if isinstance(call, FunctionType) else []
    return ["object", _place(thing if not inside else type(thing)), *inside]


def _code_parts(code: CodeType) -> list[str | bytes]:
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    parts: list[str | bytes] = [code.co_name, repr(shape), repr(names), code.co_code, code.co_exceptiontable]
    for constant in code.co_consts:
        parts += _code_parts(constant) if isinstance(constant, CodeType) else [_spell(constant)]
    return parts


def _spell(constant: Any) -> str:
    """One spelling per constant; sets have no order of their own."""
    if isinstance(constant, frozenset):
        return f"frozenset({sorted(_spell(item) for item in constant)})"  # pyright: ignore[reportUnknownVariableType]
    if isinstance(constant, tuple):
        return f"({','.join(_spell(item) for item in constant)})"  # pyright: ignore[reportUnknownVariableType]
    return f"{type(constant).__name__} {constant!r}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _place(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"
