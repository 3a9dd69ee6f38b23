"""What a child gets in its environment and a server in its headers: what was declared, with secrets put in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from callgate.errors import ConfigurationError

Secret = Callable[[str, str], str]
"""A secret by connector and key; raises SecretNotFound."""

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


def _resolved(value: str, secret: Secret) -> str:
    found = _REFERENCE.fullmatch(value)
    return value if found is None else (found["before"] or "") + secret(found["connector"], found["key"])
