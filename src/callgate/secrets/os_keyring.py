"""Secrets in the operating system's keyring, through the package `keyring`, which is imported when first asked."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from callgate.errors import ConfigurationError, SecretNotFound
from callgate.secrets.strike import check_length


class KeyringSecrets:
    """Implements `ports.SecretsStore`, and setting and deleting. One entry per pair, under `callgate/<connector>`."""

    def get_secret(self, connector: str, key: str) -> str:
        value = _ask("get_password", connector, key)
        if not value:
            raise _not_found(connector, key)
        return value

    def set_secret(self, connector: str, key: str, *, value: str) -> None:
        """Keep a value, in place of the one that was there.

        Raises:
            ConfigurationError: The value is too short to be struck from texts, or there is no keyring.
        """
        check_length(value, connector=connector, key=key)
        _ask("set_password", connector, key, value)

    def delete_secret(self, connector: str, key: str) -> None:
        """Forget a value.

        Raises:
            SecretNotFound: There is none.
            ConfigurationError: There is no keyring.
        """
        self.get_secret(connector, key)
        _ask("delete_password", connector, key)


def _ask(action: str, connector: str, *words: str) -> Any:
    keyring = _keyring()
    try:
        return getattr(keyring, action)(f"callgate/{connector}", *words)
    except keyring.errors.NoKeyringError:
        advice = "set `secrets: {backend: file}` or use the environment"
        raise ConfigurationError(f"this system has no keyring; {advice}", key="secrets.backend") from None
    except keyring.errors.KeyringError as error:
        why = f"the keyring refused ({type(error).__name__}); unlock it and try again"
        raise ConfigurationError(why, key="secrets.backend") from None


def _keyring() -> ModuleType:
    try:
        import keyring  # noqa: PLC0415 - an extra
    except ImportError:
        advice = 'run: pip install "callgate[keyring]"'
        raise ConfigurationError(f"the package keyring is not installed; {advice}", key="secrets.backend") from None
    return keyring


def _not_found(connector: str, key: str) -> SecretNotFound:
    how = f"callgate secrets set {connector} {key}"
    return SecretNotFound(f"there is no secret {connector}/{key} in the keyring; set it with: {how}")
