"""One reader per field of a declaration: takes what an author wrote, gives the value, or says what to write instead."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from callgate.errors import ConfigurationError
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.levels import Caller, Effect, Origin, Risk
from callgate.model.naming import check_name
from callgate.model.nearest import nearest
from callgate.model.tool import Hooks
from callgate.model.visible import brief, readable, visible

E = TypeVar("E", bound=enum.StrEnum)
Reader = Callable[[str, Any], Any]

_SCOPE = re.compile(r"[a-z][a-z0-9_-]*:[a-z][a-z0-9_.-]*")
_ISOLATIONS = ("thread", "process")
_LABEL_LENGTH = 200


def guess(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known word is near."""
    near = nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def read_name(_key: str, value: Any) -> str:
    """A tool's name."""
    return check_name(value)


def read_text(key: str, value: Any) -> str:
    """A text for readers; hidden characters are shown."""
    if not isinstance(value, str):
        raise ConfigurationError(f"must be text, not {type(value).__name__}", key=key)
    return readable(value)


def read_label(key: str, value: Any) -> str:
    """A short text that is matched by others, so nothing in it may hide."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"must be text that is not empty, not {type(value).__name__}", key=key)
    if visible(value) != value or "\n" in value or len(value) > _LABEL_LENGTH:
        raise ConfigurationError(f"{brief(value)!r} has hidden characters, or is too long", key=key)
    return value


def read_labels(key: str, value: Any) -> tuple[str, ...]:
    """One label or several, each once, in the order given."""
    return tuple(dict.fromkeys(read_label(key, item) for item in _several(key, value)))


def read_flag(key: str, value: Any) -> bool:
    """True or False; a word such as "no" would count as true, so it is refused."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"must be True or False, not {type(value).__name__}", key=key)
    return value


def read_scopes(key: str, value: Any) -> frozenset[str]:
    """Scopes, each `family:verb`."""
    scopes = frozenset(read_label(key, item) for item in _several(key, value))
    for scope in sorted(scopes):
        if _SCOPE.fullmatch(scope) is None:
            raise ConfigurationError(f"{brief(scope)!r} is no scope: write family:verb, such as fs:read", key=key)
    return scopes


def read_effects(key: str, value: Any) -> frozenset[Effect]:
    """Effects: one word or several."""
    return frozenset(_member(key, item, words=Effect) for item in _several(key, value))


def read_callers(key: str, value: Any) -> frozenset[Caller]:
    """Who may put calls together; somebody must."""
    callers = frozenset(_member(key, item, words=Caller) for item in _several(key, value))
    if not callers:
        raise ConfigurationError("nobody could call the tool; write direct, chain or both", key=key)
    return callers


def read_origin(key: str, value: Any) -> Origin:
    """Where the tool comes from."""
    return _member(key, value, words=Origin)


def read_risk(key: str, value: Any) -> Risk:
    """A risk, or its word."""
    if isinstance(value, Risk):
        return value
    if isinstance(value, str) and value.upper() in Risk.__members__:
        return Risk[value.upper()]
    words = ", ".join(risk.label for risk in Risk)
    raise ConfigurationError(f"{brief(str(value))!r} is no risk; use one of {words}", key=key)


def read_seconds(key: str, value: Any) -> float:
    """A time limit: more than nothing, and an end."""
    if not _is_number(value) or not 0 < value < math.inf:
        raise ConfigurationError("must be a number of seconds, more than 0", key=key)
    return float(value)


def read_horizon(key: str, value: Any) -> float:
    """Seconds that may be none."""
    if not _is_number(value) or not 0 <= value < math.inf:
        raise ConfigurationError("must be a number of seconds, 0 or more", key=key)
    return float(value)


def read_bytes(key: str, value: Any) -> int:
    """A size."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError("must be a number of bytes, 1 or more", key=key)
    return value


def read_isolation(key: str, value: Any) -> str:
    """`thread` or `process`."""
    if value not in _ISOLATIONS:
        raise ConfigurationError(f"must be one of {', '.join(_ISOLATIONS)}", key=key)
    return str(value)


def read_mapping(key: str, value: Any) -> dict[str, Any]:
    """A JSON object, copied, so that nobody changes it afterwards."""
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"must be a JSON object, not {type(value).__name__}", key=key)
    try:
        return loads(dumps(dict(value)))  # pyright: ignore[reportUnknownArgumentType]
    except NotCanonical as error:
        raise ConfigurationError(f"must be a JSON object: {error}", key=key) from None


def read_examples(key: str, value: Any) -> tuple[dict[str, Any], ...]:
    """Arguments that show how the tool is used."""
    if isinstance(value, Mapping) or not isinstance(value, Iterable) or isinstance(value, str):
        raise ConfigurationError("must be a list of arguments, each an object", key=key)
    return tuple(read_mapping(key, item) for item in value)  # pyright: ignore[reportUnknownVariableType]


def read_function(key: str, value: Any) -> Callable[..., Any]:
    """A function of the arguments."""
    if not callable(value):
        raise ConfigurationError(f"must be a function, not {type(value).__name__}", key=key)
    return value


def _several(key: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        kind = type(value).__name__  # pyright: ignore[reportUnknownArgumentType]
        raise ConfigurationError(f"must be a word or a list of words, not {kind}", key=key)
    return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _member(key: str, value: Any, *, words: type[E]) -> E:
    if isinstance(value, str):
        for member in words:
            if member.value == value:
                return member
    known = [member.value for member in words]
    hint = guess(str(value), known) or f"; use {', '.join(known)}"
    raise ConfigurationError(f"unknown word {brief(str(value))!r}{hint}", key=key)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


HOOKS = tuple(Hooks.__slots__)
READERS: Mapping[str, Reader] = {
    "id": read_label,
    "name": read_name,
    "description": read_text,
    "connector": read_label,
    "category": read_label,
    "tags": read_labels,
    "capabilities": read_labels,
    "scopes": read_scopes,
    "effects": read_effects,
    "destructive": read_flag,
    "idempotent": read_flag,
    "deterministic": read_flag,
    "concurrency_safe": read_flag,
    "risk": read_risk,
    "timeout": read_seconds,
    "allowed_callers": read_callers,
    "untrusted_output": read_flag,
    "sensitive_output": read_flag,
    "egress": read_flag,
    "isolation": read_isolation,
    "horizon": read_horizon,
    "examples": read_examples,
    "marks_effect": read_flag,
    "input_schema": read_mapping,
    "output_schema": read_mapping,
    "check_output": read_flag,
    "max_argument_bytes": read_bytes,
    "source": read_origin,
    "source_name": read_label,
    "config_ref": read_label,
    "unavailable": read_text,
    **dict.fromkeys(HOOKS, read_function),
}
"""Every field a declaration may have."""
