"""Secrets for tools that are objects: handed over when they are made, open only while one of their calls runs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from callgate.errors import SecretsClosed
from callgate.model.tool_context import ToolContext
from callgate.ports import SecretsStore

_running: ContextVar[ToolContext | None] = ContextVar("callgate_running_object", default=None)


@contextmanager
def running(tool_context: ToolContext) -> Generator[None]:
    """The call that secrets are open for."""
    token = _running.set(tool_context)
    try:
        yield
    finally:
        _running.reset(token)


class CallSecrets:
    """A secrets store that answers inside a running call, and at no other time."""

    __slots__ = ("_store",)

    def __init__(self, store: SecretsStore | None = None) -> None:
        self._store = store

    def get_secret(self, connector: str, key: str) -> str:
        """The value, right before its use; never keep it.

        Raises:
            SecretsClosed: No call of a tool runs here: at import, at construction, in a preview, or too late.
            SecretNotFound: There is none.
        """
        tool_context = _running.get()
        if tool_context is None or tool_context.closed:
            raise _shut(connector, key)
        if self._store is None:
            return tool_context.get_secret(connector, key)
        value = self._store.get_secret(connector, key)
        # The gate's own store does this itself; a store the author brought must not be the way around it.
        tool_context.strike_from_now(value, connector=connector, key=key)
        if tool_context.closed:
            raise _shut(connector, key)
        return value

    def __repr__(self) -> str:
        return "CallSecrets()"


def _shut(connector: str, key: str) -> SecretsClosed:
    return SecretsClosed(f"{connector}/{key} can only be asked for inside a running call")
