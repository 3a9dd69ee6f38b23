"""Requests that a server did not take: nothing happened, and that is known. Told apart from what failed at the server.

Over HTTP a status says so before any message does. It travels to the caller as an error of the protocol with a mark of
this process in it, which no server can guess.
"""

from __future__ import annotations

import secrets
from typing import Any, cast

from callgate.errors import NoEffect

_MARK = secrets.token_hex(16)
_INTERNAL_ERROR = -32603


class NotSent(NoEffect, ConnectionError):
    """The request did not leave this process: nothing happened, and it may be tried again."""


class Forgotten(NotSent):
    """The server no longer knows the session it was asked in, and took nothing; it can be asked in a new one."""


class TurnedAway(NoEffect, PermissionError):
    """The server wants more rights for this, and took nothing."""


class SignedOut(TurnedAway):
    """The server wants somebody to sign in, and takes nothing before."""


_KINDS = {kind.__name__: kind for kind in (Forgotten, TurnedAway, SignedOut)}


def message_of(kind: type[Forgotten | TurnedAway], reason: str) -> dict[str, Any]:
    """The message of the protocol that brings one of these to the caller."""
    error = {"code": _INTERNAL_ERROR, "message": reason, "data": {"mark": _MARK, "kind": kind.__name__}}
    return {"jsonrpc": "2.0", "id": None, "error": error}


def not_taken(error: Exception) -> Forgotten | TurnedAway | None:
    """What an error of the protocol means, if it is one of these."""
    told = getattr(error, "error", None)
    data = getattr(told, "data", None)
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("mark") != _MARK:
        return None
    return _KINDS[cast("dict[str, Any]", data)["kind"]](str(getattr(told, "message", "")))
