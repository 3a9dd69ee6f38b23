"""Rows that somebody edited may not be rows any more: reading one is the store's trouble, and says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from callgate.errors import RowUnreadable, StoreError

P = ParamSpec("P")
T = TypeVar("T")


def readable(table: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function that makes a value of a row fail as the store does."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def read(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except StoreError:
                raise
            except Exception as error:
                message = f"a row of {table} cannot be read ({type(error).__name__}); see `callgate audit verify`"
                raise RowUnreadable(message) from error

        return read

    return decorate
