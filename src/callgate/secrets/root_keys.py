"""Root keys: read from CALLGATE_KEY or from the user's config folder, made once, never shown. Knows no use of them."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import re
from pathlib import Path

from callgate.errors import ConfigurationError
from callgate.secrets.private import Private
from callgate.secrets.private_files import make_private_folder, open_folder, read_private, write_once

VARIABLE = "CALLGATE_KEY"
KEYS, ANCHORS, PROGRAMS = "keys", "anchors", "programs"
"""Folders in the config folder; each may be a link to somewhere else."""
KEY_BYTES = 32
KEY_ID_BYTES = 8

_HEX_LENGTH = KEY_BYTES * 2
_FILE = re.compile(r"root-(\d{4,})\.key")
_FILE_AT_MOST = 4096
_HEADER = "callgate-root-key-1"
_SALT = b"callgate root key 1"


class RootKey(Private):
    """One root key. It hands out subkeys and never itself."""

    __slots__ = ("_extracted", "_material", "key_id")

    def __init__(self, material: bytes) -> None:
        if len(material) != KEY_BYTES:
            raise ConfigurationError(f"a root key has {KEY_BYTES} bytes, not {len(material)}")
        self._material = material
        self._extracted = hmac.digest(_SALT, material, "sha256")
        self.key_id = self.subkey("key id")[:KEY_ID_BYTES].hex()
        """Names the key without telling anything about it."""

    def subkey(self, use: str, *, salt: bytes = b"") -> bytes:
        """The 32 bytes for one use: one block of HKDF-SHA256 (RFC 5869) under the use's own name."""
        return hmac.digest(self._extracted, use.encode() + b"\0" + salt + b"\1", "sha256")

    def to_line(self) -> bytes:
        """What the key's file holds; the id makes a damaged file known for what it is."""
        return f"{_HEADER} {self.key_id} {base64.b64encode(self._material).decode()}\n".encode()


def new_root_key() -> RootKey:
    """A key nobody has."""
    return RootKey(os.urandom(KEY_BYTES))


def config_folder() -> Path:
    """`callgate` in the user's config folder: where keys and anchors are.

    Raises:
        ConfigurationError: This user has no home.
    """
    given = os.environ.get("XDG_CONFIG_HOME", "")
    if given.startswith("/"):
        return Path(given) / "callgate"
    try:
        return Path.home() / ".config" / "callgate"
    except RuntimeError:
        raise ConfigurationError(f"this user has no home folder to keep a root key in; set {VARIABLE}") from None


def keys_of_environment() -> tuple[RootKey, ...] | None:
    """The keys in CALLGATE_KEY, oldest first; None when it is not set.

    Several are separated by commas, the current one first.

    Raises:
        ConfigurationError: It is set and holds something else. The message never repeats it.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    return tuple(RootKey(_material(part.strip())) for part in reversed(text.split(",")))


def _material(text: str) -> bytes:
    """32 bytes from hex or base64 (standard or URL-safe, padded or not)."""
    try:
        if len(text) == _HEX_LENGTH:
            return bytes.fromhex(text)
        standard = text.rstrip("=").replace("-", "+").replace("_", "/")
        material = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (ValueError, binascii.Error):
        material = b""
    if len(material) != KEY_BYTES:
        advice = "make one with: python -c 'import secrets; print(secrets.token_hex())'"
        raise ConfigurationError(f"must be {KEY_BYTES} random bytes in hex or base64; {advice}", key=VARIABLE)
    return material


class KeyFolder:
    """The root keys on disk, one file each, numbered. A key is added, never changed or replaced.

    Args:
        folder: The private folder; made when the first key is.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder

    def load(self) -> tuple[RootKey, ...]:
        """Every key, oldest first; none when there is no folder.

        Raises:
            ConfigurationError: The folder or a file is open to others, damaged, or cannot be read.
        """
        try:
            with open_folder(self.path, private=True) as folder:
                return tuple(self._read(name, folder=folder) for name in _names(folder))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ConfigurationError(f"cannot be read: {error.strerror}", file=str(self.path)) from error

    def add(self, *, first: bool) -> tuple[RootKey, ...]:
        """Make a key durable and give all of them, it (or, with `first`, the one another process made) last.

        Args:
            first: Only if there is none yet.

        Raises:
            ConfigurationError: It cannot be written.
        """
        made = new_root_key()
        try:
            make_private_folder(self.path)
            with open_folder(self.path, private=True) as folder:
                while not self._add(made, folder=folder, first=first):
                    pass
        except OSError as error:
            advice = f"a root key cannot be kept here ({error.strerror}); set {VARIABLE} instead"
            raise ConfigurationError(advice, file=str(self.path)) from error
        return self.load()

    def _add(self, key: RootKey, *, folder: int, first: bool) -> bool:
        """Take the next number; False when another process took it meanwhile."""
        names = _names(folder)
        if names and first:
            return True
        number = 1 + (_number(names[-1]) if names else 0)
        return write_once(self.path / f"root-{number:04d}.key", key.to_line(), folder=folder)

    def _read(self, name: str, *, folder: int) -> RootKey:
        path = self.path / name
        words = read_private(path, folder=folder, at_most=_FILE_AT_MOST).decode("ascii", "replace").split()
        try:
            header, key_id, material = words
            key = RootKey(base64.b64decode(material, validate=True))
        except (ValueError, ConfigurationError):
            key, header, key_id = None, "", ""
        if key is None or header != _HEADER or key.key_id != key_id:
            raise ConfigurationError("is not a root key, or is damaged; restore it from a backup", file=str(path))
        return key


def _names(folder: int) -> list[str]:
    return sorted((name for name in os.listdir(folder) if _FILE.fullmatch(name)), key=_number)


def _number(name: str) -> int:
    return int(name.removeprefix("root-").removesuffix(".key"))
