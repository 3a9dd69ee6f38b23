"""Secrets from the environment: CALLGATE_SECRET_<CONNECTOR>_<KEY>. Reads one variable at a time and lists none."""

from __future__ import annotations

import os
import re

from callgate.errors import ConfigurationError, SecretNotFound

PREFIX = "CALLGATE_SECRET_"
_UNUSUAL = re.compile(r"[^A-Z0-9]")


class EnvironmentSecrets:
    """Implements `ports.SecretsStore`.

    Names are upper-cased, and every character that is no letter or digit becomes an underscore. So two pairs can fall
    on one variable: `a_b`/`c` and `a`/`b_c` both read CALLGATE_SECRET_A_B_C; `straße` and `strasse` read one,
    too. A variable belongs to the first pair that read it, and another pair is refused rather than given a secret that
    is not its own. Two underscores between connector and key (CALLGATE_SECRET_A_B__C) say where the one ends; that
    variable is looked for first.
    """

    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, str]] = {}

    def get_secret(self, connector: str, key: str) -> str:
        names = [f"{PREFIX}{_spelled(connector)}{between}{_spelled(key)}" for between in ("__", "_")]
        for name in names:
            value = os.environ.get(name, "")
            if value:
                self._claim(name, connector=connector, key=key)
                return value
        raise SecretNotFound(f"there is no secret {connector}/{key}; set {names[1]}")

    def _claim(self, name: str, *, connector: str, key: str) -> None:
        # In small letters, of which two names have the same only if they differ in case: `ß` and `ss` have one capital.
        pair = (connector.lower(), key.lower())
        owner = self._owners.setdefault(name, pair)
        if owner != pair:
            other = "/".join(owner)
            separate = f"{PREFIX}{_spelled(connector)}__{_spelled(key)}"
            raise ConfigurationError(f"{name} is the secret {other}; for {connector}/{key} set {separate}")


def _spelled(name: str) -> str:
    return _UNUSUAL.sub("_", name.upper())
