"""Handing out, and keeping what was handed in: a secret is known to the striker before anybody holds it.

Knows no call; the pipeline guards its end.
"""

from __future__ import annotations

from callgate.errors import ConfigurationError
from callgate.ports import SecretsStore
from callgate.secrets.private import Private
from callgate.secrets.sources import WritableSecrets
from callgate.secrets.strike import Striker


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

    def keep(self, connector: str, key: str, *, value: str) -> None:
        """Keep a secret durably, in place of the one that was there, and remember it. For sources of tools.

        Raises:
            ConfigurationError: The store is not ours to write, or the secret is too short to be struck.
            StoreError: It cannot be written.
        """
        self._striker.remember(value, connector=connector, key=key)
        if not isinstance(self._store, WritableSecrets):
            raise ConfigurationError("secrets are not kept by Callgate here; choose `secrets: {backend: file}`")
        self._store.set_secret(connector, key, value=value)
