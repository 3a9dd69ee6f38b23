"""The seal on an approval or a grant: a MAC over all it binds, so that nobody who can only write the store decides."""

from __future__ import annotations

import hmac
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from callgate.model.approval import Approval, Grant, Listed, Part, Vote
from callgate.model.canonical import dumps
from callgate.ports import Keys

Sealed = TypeVar("Sealed", Approval, Grant)

_BOUND: dict[type, tuple[bytes, tuple[str, ...]]] = {
    kind: (prefix, tuple(field.name for field in fields(kind) if field.name != "mac"))
    for kind, prefix in ((Approval, b"approval\0"), (Grant, b"grant\0"))
}
_LATER: dict[str, Any] = {"part": None, "calls": (), "revision": 0}
"""Fields that came later. Nothing is bound where they are not set, so that older seals still fit."""


def bind(answer: Sealed, keys: Keys) -> Sealed:
    """The same approval or grant with a fresh MAC; every change of one ends here, and is counted in an approval."""
    if isinstance(answer, Approval):
        answer = replace(answer, revision=answer.revision + 1)
    return replace(answer, mac=keys.mac(_bytes(answer)))


def intact(answer: Approval | Grant, keys: Keys) -> bool:
    """Whether the approval or grant is as somebody with the key left it."""
    try:
        return hmac.compare_digest(answer.mac.encode(), keys.mac(_bytes(answer)).encode())
    except (AttributeError, TypeError, ValueError):
        # Whoever edits a row is not bound to the kinds of its fields.
        return False


def _bytes(answer: Approval | Grant) -> bytes:
    prefix, names = _BOUND[type(answer)]
    values = ((name, getattr(answer, name)) for name in names)
    return prefix + dumps(
        {name: _plain(value) for name, value in values if name not in _LATER or value != _LATER[name]}
    )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Vote):
        return [value.by, value.assurance.label, value.at]
    if isinstance(value, Part | Listed):
        return asdict(value)
    return value.label if hasattr(value, "label") else value
