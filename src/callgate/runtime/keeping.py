"""Keeping secrets for tools: setting and deleting them where the configuration says. Never shows one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError, KeyMissing, SecretNotFound
from callgate.runtime.assemble import secrets_file
from callgate.secrets.keys import open_keys, throwaway_keys
from callgate.secrets.sources import WritableSecrets, open_secrets

if TYPE_CHECKING:
    from callgate.ports import SecretsStore
    from callgate.settings.values import Settings


def keep_secret(settings: Settings, connector: str, key: str, *, value: str) -> None:
    """Keep a value for a connector, in place of the one that was there.

    Raises:
        ConfigurationError: Secrets are not kept by Callgate here, or the value is too short to be struck from texts.
        StoreError: It cannot be written.
    """
    writable_secrets(settings, create=True).set_secret(connector, key, value=value)


def forget_secret(settings: Settings, connector: str, key: str) -> None:
    """Forget a value.

    Raises:
        SecretNotFound: There is none.
        ConfigurationError: Secrets are not kept by Callgate here.
        StoreError: It cannot be written.
    """
    writable_secrets(settings, create=False).delete_secret(connector, key)


def look_for_secret(settings: Settings, connector: str, key: str) -> str | None:
    """None if a tool would get a value, else why not. The value itself goes nowhere.

    Raises:
        ConfigurationError: Where secrets are kept cannot be read.
        KeyMissing: There is a file of secrets, and not the key it was sealed with.
    """
    try:
        _open(settings, create=False).get_secret(connector, key)
    except SecretNotFound as error:
        return str(error)
    except KeyMissing:
        if _file(settings).exists():
            raise
        return f"there is no secret {connector}/{key}; set it with: callgate secrets set {connector} {key}"
    return None


def _file(settings: Settings) -> Path:
    return secrets_file() if settings.secrets.path is None else Path(settings.secrets.path).expanduser()


def writable_secrets(settings: Settings, *, create: bool) -> WritableSecrets:
    """Where secrets are kept, to be written.

    Raises:
        ConfigurationError: Secrets are not kept by Callgate here.
        KeyMissing: There is no root key, and none may be made.
    """
    store = _open(settings, create=create)
    if not isinstance(store, WritableSecrets):
        advice = "set the variable there, or choose `secrets: {backend: file}`"
        raise ConfigurationError(
            f"secrets come from the {settings.secrets.backend} backend, which Callgate does not write; {advice}",
            file=settings.file,
            key="secrets.backend",
        )
    return store


def _open(settings: Settings, *, create: bool) -> SecretsStore:
    # Only the file is sealed with a key; no key is made for the others.
    sealed = settings.secrets.backend == "file"
    keys = open_keys(None, create=create) if sealed else throwaway_keys()
    return open_secrets(settings.secrets, keys, default_path=secrets_file())
