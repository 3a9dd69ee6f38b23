"""Trouble: which kind an exception is, by its class and never by its words, and what a model is told of it."""

from __future__ import annotations

import math
from typing import Any

from callgate.errors import ConfigurationError, InvalidArguments, NoEffect, SecretNotFound, ToolError
from callgate.model.levels import Category

_BY_CLASS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], Category], ...] = (
    (InvalidArguments, Category.USER_INPUT),
    ((ConfigurationError, SecretNotFound), Category.CONFIGURATION),
    ((NameError, AttributeError, ImportError), Category.CONFIGURATION),
    (TimeoutError, Category.TIMEOUT),
    (ConnectionError, Category.NETWORK),
    (PermissionError, Category.PERMISSION),
    (OSError, Category.RESOURCE),
    (ValueError, Category.USER_INPUT),
)
"""Read from the top: a subclass stands before the class it derives from."""

_BY_NAME: dict[str, Category] = {
    "HTTPStatusError": Category.API,
    "HTTPError": Category.API,
    "APIStatusError": Category.API,
    "ClientResponseError": Category.API,
    "TimeoutException": Category.TIMEOUT,
    "Timeout": Category.TIMEOUT,
    "APITimeoutError": Category.TIMEOUT,
    "TransportError": Category.NETWORK,
    "URLError": Category.NETWORK,
    "ConnectionError": Category.NETWORK,
    "ClientConnectionError": Category.NETWORK,
    "APIConnectionError": Category.NETWORK,
    "SSLError": Category.NETWORK,
    "gaierror": Category.NETWORK,
}
"""What the clients of the field call their classes: the core imports none of them, and some derive from nothing known.
Read along the class's own line of descent, the nearest first.
"""

_SUGGESTIONS: dict[Category, str] = {
    Category.CONFIGURATION: "The tool is not set up right; tell the user instead of retrying.",
    Category.TIMEOUT: "Try a smaller request, or allow more time.",
    Category.NETWORK: "The connection failed; try again later.",
    Category.RESOURCE: "Check that the file or resource exists and can be used.",
    Category.PERMISSION: "Access was refused; do not retry without more rights.",
    Category.USER_INPUT: "Check the arguments and call again.",
    Category.API: "The service answered with an error; check the request or try again later.",
    Category.RUNTIME: "The tool failed unexpectedly; try another way.",
}

_MEANT = (ToolError, NoEffect, SecretNotFound, OSError, ValueError)
"""Whose words are meant for whoever called; a missing secret is named by its connector and key."""

_TRY_AGAIN_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


def categorize(error: BaseException) -> Category:
    """The kind of trouble, subclasses included."""
    if status_of(error) is not None:
        return Category.API
    named = _named(error)
    if named is not None:
        return named
    for classes, category in _BY_CLASS:
        if isinstance(error, classes):
            return category
    return Category.RUNTIME


def status_of(error: BaseException) -> int | None:
    """The HTTP status an exception carries, as the clients of the field attach it."""
    found: list[Any] = [_look(_look(error, "response"), "status_code"), _look(error, "status_code")]
    if _named(error) is Category.API:
        found += [_look(error, "status"), _look(error, "code")]
    return next((status for status in found if isinstance(status, int)), None)


def _named(error: BaseException) -> Category | None:
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((_BY_NAME[name] for name in names if name in _BY_NAME), None)


def _look(holder: Any, name: str) -> Any:
    """An attribute, if it is there and can be read: a property that raises must not cost the call its record."""
    try:
        return getattr(holder, name, None)
    except BaseException:  # noqa: BLE001 - whatever a stranger's property does
        return None


def retryable(error: BaseException) -> bool:
    """Whether the same request may go through later."""
    given = _look(error, "retryable")
    if isinstance(given, bool):
        return given
    status = status_of(error)
    if status is not None:
        return status in _TRY_AGAIN_STATUS
    return categorize(error) in {Category.NETWORK, Category.TIMEOUT}


def resets_at(error: BaseException) -> float | None:
    """When a rate limit ends, in seconds since the epoch, where the exception says so."""
    given: Any = _look(error, "resets_at")
    try:
        return float(given) if isinstance(given, int | float) else None
    except OverflowError:  # further away than any clock goes
        return math.inf


def suggestion(category: Category) -> str:
    """Something a model can act on."""
    return _SUGGESTIONS[category]


def speak(tool: str, error: BaseException) -> str:
    """What a model is told. Exceptions nobody meant for it are masked; the audit keeps their text, redacted."""
    meant = isinstance(error, _MEANT) or categorize(error) is Category.API
    text = words(error) if meant else ""
    return text or f"{tool} failed unexpectedly ({type(error).__name__})"


def words(error: BaseException) -> str:
    """What an exception says of itself; nothing, if it cannot even do that."""
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - an exception that cannot be shown is still a fact to settle
        return ""
