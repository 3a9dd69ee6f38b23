"""Trouble: which kind an exception is, by its class and never by its words, and what a model is told of it."""

from __future__ import annotations

from typing import Any

from callgate.errors import ConfigurationError, InvalidArguments, NoEffect, ToolError
from callgate.model.levels import Category

_BY_CLASS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], Category], ...] = (
    (InvalidArguments, Category.USER_INPUT),
    (ConfigurationError, Category.CONFIGURATION),
    ((NameError, AttributeError, ImportError), Category.CONFIGURATION),
    (TimeoutError, Category.TIMEOUT),
    (ConnectionError, Category.NETWORK),
    (PermissionError, Category.PERMISSION),
    (OSError, Category.RESOURCE),
    (ValueError, Category.USER_INPUT),
)
"""Read from the top: a subclass stands before the class it derives from."""

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

_TRY_AGAIN_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


def categorize(error: BaseException) -> Category:
    """The kind of trouble, subclasses included."""
    if status_of(error) is not None:
        return Category.API
    for classes, category in _BY_CLASS:
        if isinstance(error, classes):
            return category
    return Category.RUNTIME


def status_of(error: BaseException) -> int | None:
    """The HTTP status an exception carries, as the clients of the field attach it."""
    response = getattr(error, "response", None)
    for holder in (response, error):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def retryable(error: BaseException) -> bool:
    """Whether the same request may go through later."""
    given = getattr(error, "retryable", None)
    if isinstance(given, bool):
        return given
    status = status_of(error)
    if status is not None:
        return status in _TRY_AGAIN_STATUS
    return categorize(error) in {Category.NETWORK, Category.TIMEOUT}


def resets_at(error: BaseException) -> float | None:
    """When a rate limit ends, in seconds since the epoch, where the exception says so."""
    given: Any = getattr(error, "resets_at", None)
    return float(given) if isinstance(given, int | float) else None


def suggestion(category: Category) -> str:
    """Something a model can act on."""
    return _SUGGESTIONS[category]


def speak(tool: str, error: BaseException) -> str:
    """What a model is told. Exceptions nobody meant for it are masked; the audit keeps their text, redacted."""
    meant = isinstance(error, ToolError | NoEffect | OSError | ValueError) or status_of(error) is not None
    text = str(error)
    if meant and text:
        return text
    return f"{tool} failed unexpectedly ({type(error).__name__})"
