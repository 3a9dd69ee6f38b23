"""The drawer of a gate: a sign-in is kept where the secrets are, or as long as the gate is open where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.adapters.mcp.values import resolve
from callgate.errors import ConfigurationError, SecretNotFound

if TYPE_CHECKING:
    from callgate.ports import Desk

KEY = "sign_in"
"""Under which a sign-in is kept, for the connector of its server."""


class DeskDrawer:
    """Implements `keeper.Drawer` with what a gate lends to a source."""

    def __init__(self, desk: Desk, connector: str) -> None:
        self._desk = desk
        self._connector = connector
        self._unkept: str | None = None

    def read(self) -> str | None:
        if self._unkept is not None:
            return self._unkept
        try:
            return self._desk.secret(self._connector, KEY)
        except SecretNotFound:
            return None

    def write(self, text: str) -> None:
        try:
            self._desk.keep_secret(self._connector, KEY, value=text)
        except ConfigurationError:
            # The environment is not ours to write.
            self._unkept = text

    def strike(self, value: str, key: str) -> None:
        self._desk.strike(value, connector=self._connector, key=key)

    def secret(self, reference: str) -> str:
        return resolve({KEY: reference}, self._desk.secret)[KEY]
