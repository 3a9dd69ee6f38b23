"""What a handler gives back: a schema and a check from its return hint, and JSON out of Python's own objects.

Plain return hints are checked, because what a schema promises has to be true and a look at a type costs nothing.
Others (models, dataclasses) are shown and not checked: their own classes already did.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json, to_jsonable_python

from callgate.adapters.faults import KINDS
from callgate.adapters.hint_rewriting import rewrite
from callgate.adapters.parameters import NONE
from callgate.adapters.plain import is_plain
from callgate.adapters.pydantic_schema import make_schema
from callgate.adapters.schema_walk import Schema
from callgate.model.artifact import WithArtifact
from callgate.model.tool import OutputCheck

_SCALARS: dict[Any, tuple[type, ...]] = {str: (str,), int: (int,), bool: (bool,), float: (float, int)}
_JSON = frozenset(KINDS)
_LOOKED_AT = 100


def output_schema(hint: Any) -> Schema | None:
    """The schema of a return hint; None where the hint says nothing that a reader could use."""
    if hint in (NONE, None, Any, type(None), object):
        return None
    try:
        return make_schema(TypeAdapter(rewrite(hint)), mode="serialization")
    except Exception:  # noqa: BLE001 - a hint for Python readers only is no fault of the tool
        return None


def output_check(hint: Any) -> OutputCheck | None:
    """A check that what was returned fits a plain hint; None for all others."""
    if hint in (NONE, None, Any, type(None), object) or not is_plain(hint):
        return None
    kinds = next((kinds for known, kinds in _SCALARS.items() if hint is known), None)
    return _scalar_check(kinds) if kinds else _plain_check(hint)


def is_json_already(hint: Any) -> bool:
    """Whether what such a function returns needs no look."""
    return hint is not NONE and hint is not Any and is_plain(hint)


def to_json_value(output: Any) -> Any:
    """Models, dataclasses, enums and the like as JSON values; what cannot be one is left for others to refuse."""
    if type(output) in _JSON and type(output) not in (list, dict):
        return output
    if type(output) in (list, dict) and not _holds_objects(output):
        return output
    if type(output) is WithArtifact:
        return WithArtifact(to_json_value(output.content), to_json_value(output.artifact))
    try:
        return to_jsonable_python(output)
    except Exception:  # noqa: BLE001 - the handler has ended; whoever records the output says what is wrong with it
        return output


def _scalar_check(kinds: tuple[type, ...]) -> OutputCheck:
    expected = KINDS[kinds[0]]

    def check(output: Any, /) -> str | None:
        # By exact type: True is no integer here either.
        return None if type(output) in kinds else f"returned {_kind(output)} where {expected} was declared"

    return check


def _plain_check(hint: Any) -> OutputCheck:
    adapter: TypeAdapter[Any] = TypeAdapter(rewrite(hint))
    fits: Callable[..., bool] = adapter.validator.isinstance_python

    def check(output: Any, /) -> str | None:
        if fits(output, strict=True):
            return None
        try:
            # Tuples and members of enums are JSON too, once written.
            adapter.validate_json(to_json(output), strict=True)
        except ValidationError as error:
            return f"returned {_kind(output)} that does not fit its declared type ({error.error_count()} faults)"
        except Exception:  # noqa: BLE001 - whatever it is, it cannot be written
            return f"returned {_kind(output)}, which is not JSON"
        return None

    return check


def _kind(output: Any) -> str:
    kind: type = type(output)  # pyright: ignore[reportUnknownVariableType]
    return KINDS.get(kind, kind.__name__)


def _holds_objects(output: Any) -> bool:
    """A look at the first few: enough for lists of models, and no walk through large results."""
    values = cast("dict[Any, Any]", output).values() if isinstance(output, dict) else cast("list[Any]", output)
    first = itertools.islice(values, _LOOKED_AT)
    return any(isinstance(item, (BaseModel, enum.Enum)) or dataclasses.is_dataclass(item) for item in first)
