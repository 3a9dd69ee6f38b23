"""What a child gets in its environment and a server in its headers: what was declared, with secrets put in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from callgate.errors import ConfigurationError

Secret = Callable[[str, str], str]
"""A secret by connector and key; raises SecretNotFound."""

Strike = Callable[[str, str], None]
"""Has a value struck from everything that leaves, under the name it is given."""

_SHORTEST = 4
"""Nothing shorter can be struck from texts."""
_TELLING_LENGTH = 8
"""Shorter ones are switches and numbers far more often, which stand in every text."""
_SCHEME = re.compile(r"(?:bearer|basic|token|apikey|digest)\s+(?=\S)", re.IGNORECASE)
_TELLING = re.compile(r"auth|cookie|credential|key|pass|pat\b|pwd|secret|token", re.IGNORECASE)
_STEP = re.compile(r"[a-z]{0,12}|v[0-9]{1,3}")
"""A part of a URL's path that is a word or a version; some services have their tokens there."""
_MEDIA = re.compile(r"[a-z]+/(?:[a-z.+-]+|\*)", re.IGNORECASE)
_REFERENCE = re.compile(r"(?P<before>[A-Za-z][A-Za-z0-9_-]* )?secret:(?P<connector>[^/\s]+)/(?P<key>[^/\s]+)")

_PLAIN = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
    "APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
)  # fmt: skip
"""Where programs and people's files are, which language and which time; nothing here is a credential."""


def check_references(values: Mapping[str, str]) -> None:
    """Refuse what looks like the name of a secret and is none: it would be sent as it stands.

    Raises:
        ConfigurationError: Naming the variable or header, and nothing of its value.
    """
    for name, value in values.items():
        if "secret:" in value and _REFERENCE.fullmatch(value) is None:
            raise ConfigurationError(f"{name} names no secret; write secret:connector/key, or Bearer before it")


def resolve(values: Mapping[str, str], secret: Secret) -> dict[str, str]:
    """The values with `secret:connector/key`, and `Bearer secret:connector/key`, replaced by the secret.

    Raises:
        SecretNotFound: Naming the pair.
    """
    return {name: _resolved(value, secret) for name, value in values.items()}


def child_environment(declared: Mapping[str, str], secret: Secret) -> dict[str, str]:
    """What a child sees: the plain few of our own variables, and those that were declared for it.

    Raises:
        SecretNotFound: Naming the pair.
    """
    plain = {name: os.environ[name] for name in _PLAIN if name in os.environ}
    return plain | resolve(declared, secret)


def strike_credentials(values: Mapping[str, str], strike: Strike) -> None:
    """Have struck what is written out and may be a credential; what a reference names is struck when it is asked for.

    Which of them is one nobody declares, so that each counts as one that is not plainly something else: a short word,
    a word of letters only, a URL of plain words, or a path of this machine. Under a name that says so even these count.
    """
    for name, value in values.items():
        if _REFERENCE.fullmatch(value) is None:
            scheme = _SCHEME.match(value)
            shown = value[scheme.end() :].strip() if scheme else value.strip()
            told = scheme is not None or _TELLING.search(name) is not None
            if len(shown) >= (_SHORTEST if told else _TELLING_LENGTH) and (told or not _is_plain(shown)):
                strike(shown, name)


def _is_plain(value: str) -> bool:
    return value.isalpha() or _MEDIA.fullmatch(value) is not None or _is_address(value) or _is_path(value)


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    plain = all(_STEP.fullmatch(step) for step in parts.path.split("/")) and not (parts.query or parts.fragment)
    return bool(parts.scheme and parts.hostname) and "@" not in parts.netloc and plain


def _is_path(value: str) -> bool:
    """A file that is made later counts too, in a folder that is there; right under the root it could be anything."""
    path = Path(value)
    try:
        return path.is_absolute() and (path.exists() or (path.parent != path.parent.parent and path.parent.is_dir()))
    except (OSError, ValueError):
        return False


def _resolved(value: str, secret: Secret) -> str:
    found = _REFERENCE.fullmatch(value)
    return value if found is None else (found["before"] or "") + secret(found["connector"], found["key"])
