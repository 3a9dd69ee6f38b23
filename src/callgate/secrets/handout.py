"""Handing out: a secret goes to a running handler and to nobody else, and is struck everywhere from then on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from callgate.errors import SecretsClosed
from callgate.ports import SecretsStore
from callgate.secrets.private import Private
from callgate.secrets.strike import Striker

_open: ContextVar[SecretsStore | None] = ContextVar("callgate_open_secrets", default=None)


class SecretsDoor(Private):
    """The one way from a secrets store to a handler.

    Args:
        store: Where secrets come from.
        striker: What strikes them from then on.
    """

    __slots__ = ("_store", "_striker")

    def __init__(self, store: SecretsStore, striker: Striker) -> None:
        self._store = store
        self._striker = striker

    def source(self, connector: str, key: str) -> str:
        """A secret, remembered before it is given. For the pipeline, which guards it by the call's own end.

        Raises:
            SecretNotFound: There is none; the message names the pair.
            ConfigurationError: The store cannot be read, or the secret is too short to be struck.
        """
        value = self._store.get_secret(connector, key)
        self._striker.remember(value, connector=connector, key=key)
        return value

    def for_call(self) -> CallSecrets:
        """The secrets of one call, until it is closed."""
        return CallSecrets(self.source)


class CallSecrets(Private):
    """The secrets of one call: gives them while the call runs, and nothing once it ended. Also a plain function."""

    __slots__ = ("_source",)

    def __init__(self, source: Callable[[str, str], str]) -> None:
        self._source: Callable[[str, str], str] | None = source

    def get_secret(self, connector: str, key: str) -> str:
        """A secret, right before its use.

        Raises:
            SecretsClosed: The call has ended, also while the store was asked.
            SecretNotFound: There is none.
        """
        source = self._source
        value = source(connector, key) if source is not None else ""
        if self._source is None:
            raise _closed(connector, key)
        return value

    __call__ = get_secret

    def close(self) -> None:
        """The call has ended, also for a handler that still runs. Twice is once."""
        self._source = None


class SecretsHandle:
    """What a tool is given when it is made: looks like a store, and opens only inside a running handler.

    Args:
        current: Gives the secrets of the call that runs here, None when none does. By default what `secrets_open` set,
            which follows tasks, and threads that the context is copied to.
    """

    __slots__ = ("_current",)

    def __init__(self, current: Callable[[], SecretsStore | None] = _open.get) -> None:
        self._current = current

    def get_secret(self, connector: str, key: str) -> str:
        """A secret, right before its use; never keep it.

        Raises:
            SecretsClosed: No handler is running here: a tool was just being made or imported, or its call has ended.
            SecretNotFound: There is none.
        """
        current = self._current()
        if current is None:
            raise _closed(connector, key)
        return current.get_secret(connector, key)


@contextmanager
def secrets_open(to: SecretsStore | None) -> Generator[None]:
    """Open the secrets of one call to the handles used inside; None keeps them shut, for previews and checks.

    Args:
        to: The call's own secrets (`CallSecrets`, or its `ToolContext`); closing them is for whoever made them.
    """
    token = _open.set(to)
    try:
        yield
    finally:
        _open.reset(token)


def _closed(connector: str, key: str) -> SecretsClosed:
    return SecretsClosed(f"secrets are not open here: {connector}/{key} can only be asked for inside a running handler")
