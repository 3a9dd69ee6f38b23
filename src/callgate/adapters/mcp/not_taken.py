"""Requests that did not leave, and those of which the server says with a status that it took nothing.

Over HTTP a status says so before any message does. It travels to the caller as an error of the protocol with a mark of
this process in it, which no server can guess. What a server says is not what is known: a server may do a thing and
answer so all the same. Hence it counts for what may be sent twice, and leaves an effect unknown.
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


class Renewed(TurnedAway):
    """The server did not take its token, which was renewed since; it can be asked once more."""


_KINDS = {kind.__name__: kind for kind in (Forgotten, TurnedAway, SignedOut, Renewed)}


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


def unsettled(said: Exception) -> ConnectionError:
    """What such an answer means for an effect: the server had it, and only its word says that nothing happened."""
    return ConnectionError(f"{said}; it had been sent by then, and may have happened")
