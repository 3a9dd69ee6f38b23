"""Secrets in one encrypted file, sealed with the root key. Nothing is listed, and damage is never overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

from callgate.errors import ConfigurationError, KeyMissing, SecretNotFound, StoreError
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.ports import Keys
from callgate.secrets.private_files import lock_beside, make_private_folder, open_folder, read_private, replace_private
from callgate.secrets.strike import check_length

_HEADER = b"callgate-secrets-1\n"
_BOUND_TO = b"callgate/secrets file/1"
_AT_MOST = 16 * 1024 * 1024

_Secrets = dict[str, dict[str, str]]


class FileSecrets:
    """Implements `ports.SecretsStore`, and setting and deleting. Read anew each time, so that a change counts at once.

    Args:
        path: The file; made, readable by its owner only, with the first secret.
        keys: What it is sealed with.
    """

    def __init__(self, path: Path, keys: Keys) -> None:
        self._path = path
        self._keys = keys

    def get_secret(self, connector: str, key: str) -> str:
        try:
            with open_folder(self._path.parent, private=False) as folder:
                return _pick(self._read(folder), connector=connector, key=key)
        except FileNotFoundError:
            raise _not_found(connector, key) from None
        except OSError as error:
            raise ConfigurationError(f"cannot be read: {error.strerror}", file=str(self._path)) from error

    def set_secret(self, connector: str, key: str, *, value: str) -> None:
        """Keep a value durably, in place of the one that was there.

        Raises:
            ConfigurationError: The value is too short to be struck from texts, the file is damaged, or it would be too
                large to be read again; the old file is as it was.
            StoreError: It cannot be written; the old file is as it was.
        """
        check_length(value, connector=connector, key=key)

        def change(secrets: _Secrets) -> None:
            secrets.setdefault(connector, {})[key] = value

        self._change(change)

    def delete_secret(self, connector: str, key: str) -> None:
        """Forget a value.

        Raises:
            SecretNotFound: There is none.
            ConfigurationError: The file is damaged.
            StoreError: It cannot be written; the old file is as it was.
        """

        def change(secrets: _Secrets) -> None:
            _pick(secrets, connector=connector, key=key)
            del secrets[connector][key]

        self._change(change)

    def __repr__(self) -> str:
        return f"<FileSecrets {self._path}>"

    def _change(self, change: Callable[[_Secrets], None]) -> None:
        try:
            make_private_folder(self._path.parent)
            with open_folder(self._path.parent, private=False) as folder, lock_beside(self._path) as beside:
                try:
                    secrets = self._read(folder)
                except FileNotFoundError:
                    secrets = {}
                change(secrets)
                content = _HEADER + self._keys.seal(dumps(secrets), bound_to=_BOUND_TO)
                self._refuse_too_large(content)
                replace_private(self._path, content, folder=folder, written_in=beside)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written, and is as it was: {error.strerror}") from error

    def _read(self, folder: int) -> _Secrets:
        content = read_private(self._path, folder=folder, at_most=_AT_MOST)
        if not content.startswith(_HEADER):
            raise self._damaged("it does not begin as one")
        try:
            secrets = loads(self._keys.unseal(content[len(_HEADER) :], bound_to=_BOUND_TO))
        except KeyMissing as error:
            advice = "bring the key back from a backup, or move the file away to begin with an empty one"
            raise KeyMissing(f"this secrets file cannot be opened: {error}; {advice}", file=str(self._path)) from error
        except (StoreError, NotCanonical) as error:
            raise self._damaged(str(error)) from error
        if not _well_formed(secrets):
            raise self._damaged("its content has an unknown form")
        return secrets

    def _refuse_too_large(self, content: bytes) -> None:
        if len(content) > _AT_MOST:
            what = f"would be larger than {_AT_MOST} bytes with this secret, and could not be read again"
            raise ConfigurationError(f"{what}; delete secrets that nobody uses any more", file=str(self._path))

    def _damaged(self, why: str) -> ConfigurationError:
        advice = "restore it from a backup, or move it away to begin with an empty one"
        return ConfigurationError(f"this secrets file cannot be opened ({why}); {advice}", file=str(self._path))


def _well_formed(secrets: Any) -> TypeGuard[_Secrets]:
    return isinstance(secrets, dict) and all(isinstance(group, dict) for group in secrets.values())  # pyright: ignore[reportUnknownVariableType]


def _pick(secrets: _Secrets, *, connector: str, key: str) -> str:
    try:
        return secrets[connector][key]
    except KeyError:
        raise _not_found(connector, key) from None


def _not_found(connector: str, key: str) -> SecretNotFound:
    return SecretNotFound(f"there is no secret {connector}/{key}; set it with: callgate secrets set {connector} {key}")
