"""Allowance: how many requests are left, as GitHub counts them, and until when there are none."""

from __future__ import annotations

import email.utils
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import orjson

from callgate.tools.outbound.troubles import TooManyRequests, retry_moment

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

_USUAL_PAUSE = 60.0
"""Seconds, where it does not say: what GitHub asks for."""
_FARTHEST = 86_400.0
_MOST_REMEMBERED = 256
_FORBIDDEN, _TOO_MANY = 403, 429
_LIMIT_WORDS = ("rate limit", "rate-limit", "abuse detection")


class RateLimited(TooManyRequests):
    """No more requests for now. The gate waits, and refuses calls until then without asking anybody."""

    retryable = True


class Allowance:
    """What is known of the limits of each token, for each kind of request: GitHub counts searches apart."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until: dict[tuple[bytes, str], float] = {}

    def refuse(self, token: str, kind: str) -> None:
        """Spend no request where the last answer said that none is left.

        Raises:
            RateLimited: None is left.
        """
        until = self._until.get((_digest(token), kind), 0.0)
        if until > self._now():
            raise RateLimited("GitHub allows no more requests for now", status_code=_TOO_MANY, resets_at=until)

    def note(self, token: str, kind: str, *, answer: Answer) -> None:
        """Read how many are left.

        Raises:
            RateLimited: The answer is that there are none.
        """
        if _is_limit(answer):
            until = self._resets(answer)
            message = f"GitHub answered {answer.status}: too many requests; wait before asking again"
            raise RateLimited(message, status_code=answer.status, resets_at=until)
        if _none_left(answer):
            if len(self._until) >= _MOST_REMEMBERED:
                self._until.clear()
            self._until[_digest(token), kind] = self._resets(answer)

    def _resets(self, answer: Answer) -> float:
        now, asked = self._now(), answer.header("retry-after")
        if asked:
            return min(max(retry_moment(asked, now=now) or now + _USUAL_PAUSE, now + 1), now + _FARTHEST)
        reset = answer.header("x-ratelimit-reset")
        if not (_none_left(answer) and reset.isascii() and reset.isdigit()):
            return now + _USUAL_PAUSE
        # By its clock, which need not be ours.
        there = _date(answer) or now
        return now + min(max(float(reset[:12]) - there, 0.0) + 1, _FARTHEST)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _none_left(answer: Answer) -> bool:
    return answer.header("x-ratelimit-remaining").strip() == "0"


def _is_limit(answer: Answer) -> bool:
    """Whether it is about the number of requests. A secondary limit is a 403 that only its text tells apart."""
    if answer.status == _TOO_MANY:
        return True
    if answer.status != _FORBIDDEN:
        return False
    return _none_left(answer) or bool(answer.header("retry-after")) or _speaks_of_limits(answer.content)


def _speaks_of_limits(content: bytes) -> bool:
    try:
        told: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return False
    said = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    text = f"{said.get('message', '')} {said.get('documentation_url', '')}".lower()
    return any(word in text for word in _LIMIT_WORDS)


def _date(answer: Answer) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(answer.header("date")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
