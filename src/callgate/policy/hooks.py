"""Hooks: asking a tool's own functions about its arguments. They are other people's code, and may fail in any way."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from callgate.model.shapes import own_copy
from callgate.model.tool import Arguments


class HookFailed(Exception):
    """The function did not answer; the message says how."""


def ask(hook: Callable[[Arguments], Any], arguments: Arguments) -> Any:
    """What the function says about the arguments. It gets a copy of its own.

    Raises:
        HookFailed: It raised, or is asynchronous.
    """
    try:
        answer = hook(own_copy(arguments))
    except Exception as error:
        raise HookFailed(f"it failed with {type(error).__name__}") from error
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise HookFailed("it is asynchronous, and must not be")
    return answer
