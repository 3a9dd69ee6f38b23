"""Troubles: what goes wrong on the way to a server and back, told apart by what may have happened."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping

from callgate.errors import ConfigurationError, NoEffect

_FARTHEST = 366 * 86400
"""Seconds; more than this nobody waits, whatever a server wants."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WORST_ANSWER = 500


class HostRefused(NoEffect, PermissionError):
    """The tool may not speak to that host or address, and did not."""


class NotSetUp(NoEffect, ConfigurationError):
    """A key is missing or is not taken: the operator has to do something, and the message says what."""


class NotConnected(NoEffect, ConnectionError):
    """The server was not reached: nothing was sent."""


class TooSlow(TimeoutError):
    """The answer did not come in full in the time that was given. That time was for all of it: no second try."""

    retryable = False


class ConnectTimedOut(NoEffect, TooSlow):
    """The server was not reached in time: nothing was sent."""


class AnswerLost(ConnectionError):
    """The server was asked, and what it answered did not come whole, or is no HTTP."""


class AnswerUnfit(OSError):
    """The server answered with what cannot be used here; the same request would give the same."""


class StatusError(Exception):
    """The server answered, and its status says no. The message is meant for the model."""

    def __init__(self, message: str, *, status_code: int, resets_at: float | None = None) -> None:
        self.status_code = status_code
        self.resets_at = resets_at
        """When it may be asked again, in seconds since the epoch, where it says so."""
        super().__init__(message)


class PageNotFound(StatusError):
    """404 or 410: there is no such page."""


class AccessRefused(StatusError):
    """401 or 403: the server does not give it to us."""


class TooManyRequests(StatusError):
    """429: the server wants a pause."""


class ServerFailed(StatusError):
    """5xx: the server is in trouble itself."""


_BY_STATUS: Mapping[int, tuple[type[StatusError], str]] = {
    304: (StatusError, "the server says that nothing has changed, and sends nothing"),
    401: (AccessRefused, "the server wants somebody to sign in first"),
    403: (AccessRefused, "the server refuses access to it"),
    404: (PageNotFound, "there is no such page; check the address"),
    410: (PageNotFound, "the page was there once and is gone"),
    429: (TooManyRequests, "the server wants fewer requests; wait before asking again"),
}


def status_error(status: int, url: str, *, retry_after: str | None = None) -> StatusError:
    """The error for an answer whose status is no success."""
    kind, meaning = _BY_STATUS.get(status, (StatusError, "the server did not take the request"))
    if status in REDIRECTS:
        meaning = "the server leads elsewhere, and does not say where to"
    elif status >= _WORST_ANSWER:
        kind, meaning = ServerFailed, "the server has trouble of its own; try again later"
    return kind(f"{url} answered {status}: {meaning}", status_code=status, resets_at=retry_moment(retry_after))


def retry_moment(retry_after: str | None, *, now: float | None = None) -> float | None:
    """When to ask again: `Retry-After` is a number of seconds or a date. None where it says nothing that can be."""
    text = (retry_after or "").strip()
    now = time.time() if now is None else now
    try:
        counted = text.isascii() and text.isdigit()
        moment = now + int(text[:10]) if counted else email.utils.parsedate_to_datetime(text).timestamp()
        return min(moment, now + _FARTHEST)
    except (ValueError, TypeError, OverflowError):
        return None
