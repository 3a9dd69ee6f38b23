"""Claims: what a file says of its tools. Without the operator's word, only what tightens counts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, cast

from callgate.errors import ConfigurationError
from callgate.model.levels import Caller, Effect
from callgate.model.shapes import as_mapping
from callgate.model.source import Failure
from callgate.model.tool import TIGHTENING
from callgate.model.visible import brief

_log = logging.getLogger("callgate")

SPECIALIZED = "specialized"
CATEGORIES = frozenset({"archive", "code", "data", "file", "llm", "math", SPECIALIZED, "system", "web"})
PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "network": ("net:outbound",),
    "filesystem": ("fs:read", "fs:write"),
    "shell": ("shell:execute",),
    "compute": ("compute:run",),
    "none": (),
}
"""What each permission of a registry file stands for."""
_PLAIN = ("idempotent", "deterministic", "concurrency_safe", "risk", "examples", "output_schema")
"""Fields of a declaration that a file may state as they are."""
DECLARING = frozenset({"effects", "scopes", "check"})
"""Fields without any of which a tool is undeclared."""


def read_claims(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry says of its tool, as fields of a declaration; unknown words are dropped with a warning.

    Raises:
        ConfigurationError: It needs a permission that nobody knows.
    """
    claims: dict[str, Any] = {key: entry[key] for key in (*_PLAIN, *TIGHTENING) if entry.get(key) is not None}
    claims["category"] = _category(name, entry.get("category"))
    claims["allowed_callers"] = _callers(name, entry.get("allowed_callers"))
    effects = _effects(name, entry.get("side_effects", entry.get("effects")))
    scopes = _scopes(entry)
    claims |= {"effects": effects} if effects else {}
    claims |= {"scopes": scopes} if scopes else {}
    claims |= {key: _words(entry[key]) for key in ("tags", "capabilities") if entry.get(key) is not None}
    return claims | ({"timeout": entry["timeout"]} if entry.get("timeout") is not None else {})


def tightening(claims: Mapping[str, Any]) -> dict[str, Any]:
    """The claims that cannot loosen anything."""
    kept = {key: claims[key] for key in ("category", "tags", "capabilities", "timeout", "scopes") if key in claims}
    kept |= {key: True for key in TIGHTENING if claims.get(key) is True}
    return kept | ({"risk": "critical"} if claims.get("risk") == "critical" else {})


def said_elsewhere(permissions: Any) -> list[Failure]:
    """What a file says of whole permissions and nobody heeds here: whoever wrote it believes in it."""
    found: list[Failure] = []
    for name, body in (as_mapping(permissions) or {}).items():
        fields = as_mapping(body) or {}
        words = " and ".join(word for word in ("requires_approval", "allowed_paths") if fields.get(word))
        families = sorted({scope.partition(":")[0] for scope in PERMISSIONS.get(str(name), ())})
        if words:
            place = ".".join(("scopes", *families))
            reason = f"what it says under {words} counts in the configuration, under {place}, and not here"
            found.append(Failure(brief(f"permissions.{name}"), reason))
    return found


def _category(name: str, value: Any) -> str:
    if value is None or value in CATEGORIES:
        return value or SPECIALIZED
    _log.warning("%s: unknown category %r, taken as %s", name, brief(str(value)), SPECIALIZED)
    return SPECIALIZED


def _callers(name: str, value: Any) -> list[str]:
    direct = [Caller.DIRECT.value]
    if value is None:
        return direct
    words = cast("list[Any]", value) if isinstance(value, list) else []
    known = [word for word in words if word in list(Caller)]
    if len(known) != len(words) or not known:
        _log.warning("%s: allowed_callers must list direct or chain; what is neither is dropped", name)
    return known or direct


def _effects(name: str, value: Any) -> list[str]:
    words = _words(value)
    known = [word for word in words if word in list(Effect)]
    unknown = [brief(str(word)) for word in words if word not in known]
    if unknown:
        _log.warning("%s: unknown side effects dropped: %s", name, ", ".join(unknown))
        # It does something that nobody knows the word for, so it does more than read.
        return [word for word in known if word != Effect.READ_ONLY]
    return known


def _scopes(entry: Mapping[str, Any]) -> list[str]:
    scopes = [str(scope) for scope in _words(entry.get("scopes"))]
    for key in ("permission", "permissions"):
        for word in _words(entry.get(key)):
            if word in PERMISSIONS:
                scopes += PERMISSIONS[word]
            elif ":" in str(word):
                scopes.append(str(word))
            else:
                known = ", ".join(PERMISSIONS)
                raise ConfigurationError(f"unknown permission {brief(str(word))!r}; known are {known}", key=key)
    return list(dict.fromkeys(scopes))


def _words(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return list(cast("Iterable[Any]", value))
    return [value]
