"""The seal on an approval: a MAC over everything it binds, so that nobody who can only write the store can decide."""

from __future__ import annotations

import hmac
from dataclasses import fields, replace
from typing import Any

from callgate.model.approval import Approval, Vote
from callgate.model.canonical import dumps
from callgate.ports import Keys

_BOUND = tuple(field.name for field in fields(Approval) if field.name != "mac")


def bind(approval: Approval, keys: Keys) -> Approval:
    """The same approval with a fresh MAC; every change of an approval ends here."""
    return replace(approval, mac=keys.mac(_bytes(approval)))


def intact(approval: Approval, keys: Keys) -> bool:
    """Whether the approval is as somebody with the key left it."""
    return hmac.compare_digest(approval.mac, keys.mac(_bytes(approval)))


def _bytes(approval: Approval) -> bytes:
    return b"approval\0" + dumps({name: _plain(getattr(approval, name)) for name in _BOUND})


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Vote):
        return [value.by, value.assurance.label, value.at]
    return value.label if hasattr(value, "label") else value
