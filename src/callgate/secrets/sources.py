"""Where secrets come from, chosen by the configuration. Knows the backends by name only."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from callgate.errors import ConfigurationError
from callgate.ports import Keys, SecretsStore
from callgate.secrets.encrypted_file import FileSecrets
from callgate.secrets.environment import EnvironmentSecrets
from callgate.secrets.os_keyring import KeyringSecrets
from callgate.settings.values import SecretsSettings

__all__ = ["EnvironmentSecrets", "FileSecrets", "KeyringSecrets", "WritableSecrets", "open_secrets"]


@runtime_checkable
class WritableSecrets(SecretsStore, Protocol):
    """A store whose secrets the operator sets and deletes through Callgate."""

    def set_secret(self, connector: str, key: str, *, value: str) -> None:
        """Keep a value, in place of the one that was there."""
        ...

    def delete_secret(self, connector: str, key: str) -> None:
        """Forget a value.

        Raises:
            SecretNotFound: There is none.
        """
        ...


def open_secrets(settings: SecretsSettings, keys: Keys, *, default_path: Path) -> SecretsStore:
    """The store that the configuration names.

    Args:
        settings: Backend and path; a relative path is taken as it is.
        keys: What an encrypted file is sealed with.
        default_path: The encrypted file when the settings name none.

    Raises:
        ConfigurationError: There is no such backend.
    """
    if settings.backend == "env":
        return EnvironmentSecrets()
    if settings.backend == "file":
        return FileSecrets(Path(settings.path).expanduser() if settings.path else default_path, keys)
    if settings.backend == "keyring":
        return KeyringSecrets()
    raise ConfigurationError(f"{settings.backend!r} is none of env, file, keyring", key="secrets.backend")
