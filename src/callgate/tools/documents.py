"""Documents: how tools keep things in the store: in places no other's names lead to, and without the secrets in them.

Knows the store and whose things they are, and nothing of what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from callgate.errors import ConfigurationError, NoEffect, StoreError
from callgate.model.context import Context
from callgate.ports import Store, Transaction
from callgate.secrets.strike import process_striker

T = TypeVar("T")


class NotKept(OSError):
    """The store could not take it; it does not count as kept."""


class SecretName(NoEffect, ValueError):
    """A name that things would be kept under is a secret, and keys are kept as they are; nothing was kept."""


def place(*names: str) -> str:
    """The key of something, by the names that lead to it. No name can reach into another's place."""
    return "/".join(quote(name, safe="") for name in names)


def under(*names: str) -> str:
    """What the keys of everything below begin with."""
    return f"{place(*names)}/"


def whose(context: Context) -> tuple[str, str]:
    """For whom something is kept: the user, and where there is none, the agent itself."""
    return ("principal", context.principal) if context.user is None else ("user", context.user)


def struck(value: T) -> T:
    """The value without the secrets in it."""
    return process_striker().strike(value)


def nameable(**names: str | None) -> None:
    """Texts that are to be parts of a key.

    Raises:
        SecretName: One holds a secret.
    """
    for name, value in names.items():
        if struck(value) != value:
            raise SecretName(f"the {name} is a secret, or looks like one, and would be kept openly; use another")


def keep(tx: Transaction, area: str, key: str, body: dict[str, Any]) -> None:  # noqa: PLR0917 - as the transaction has it
    """Put a document, its secrets struck."""
    tx.put_document(area, key, struck(body))


async def kept(store: Store, unit: Callable[[Transaction], T]) -> T:
    """Run a unit of work until it is durable.

    Raises:
        NotKept: It could not be made so.
    """
    try:
        return await store.write(unit)
    except StoreError as error:
        raise NotKept(f"the store could not keep it: {error}") from error


def lent(what: T | None, tool: str) -> T:
    """What a tool was lent.

    Raises:
        ConfigurationError: It has no gate, and so nothing was.
    """
    if what is None:
        raise ConfigurationError(f"{tool} works inside an open gate only, which lends it what it needs")
    return what
