"""Keeper of the sign-in at one server: reads it from where secrets are kept, renews it, and says when it is over.

Knows no HTTP; the SDK is loaded with the first request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from callgate.adapters.mcp.oauth.place import Place
from callgate.adapters.mcp.oauth.record import SignedIn, read_signed_in
from callgate.errors import CallgateError, SignInFailed, SignInNeeded, StoreError
from callgate.settings.read_mcp_auth import MACHINE

if TYPE_CHECKING:
    from callgate.adapters.mcp.oauth.asking import OAuth

_log = logging.getLogger("callgate.mcp")
PATIENCE = 300.0
"""Seconds a person has to sign in."""


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()


def _turn_at(server: str) -> asyncio.Lock:
    """Who renews a sign-in at a server, one after the other, whichever gate of this loop: what one got, all get.

    A server takes what renews a sign-in once, so that two at a time would end it.
    """
    return _turns.setdefault(asyncio.get_running_loop(), {}).setdefault(server, asyncio.Lock())


class Drawer(Protocol):
    """Where one server's sign-in is kept."""

    def read(self) -> str | None:
        """What is kept there."""
        ...

    def write(self, text: str) -> None:
        """Keep it, in place of what was there."""
        ...

    def strike(self, value: str, key: str) -> None:
        """Strike a value from everything that leaves from now on."""
        ...

    def secret(self, reference: str) -> str:
        """A secret that the configuration names.

        Raises:
            SecretNotFound: There is none.
        """
        ...


class Keeper:
    """Keeps one sign-in.

    Args:
        name: The server's name, for what a person is told.
        server: Its URL.
        oauth: How to sign in there.
        drawer: Where it is kept.
        headers: What the server is shown besides.
    """

    def __init__(
        self, name: str, server: str, *, oauth: OAuth, drawer: Drawer, headers: Callable[[], Mapping[str, str]]
    ) -> None:
        self._name = name
        self._server = server
        self._oauth = oauth
        self._drawer = drawer
        self._headers = headers
        self._kept: SignedIn | None = None
        self._over: dict[str, str] = {}
        """Sign-ins that are over, and why, by their digests."""
        self._trouble = ""
        self.may_ask = True
        """Whether somebody may be asked to sign in; once, until somebody loads the server anew."""

    @property
    def advice(self) -> str:
        """Why the server turned us away, and what to do."""
        return self._trouble or f"the server does not take its sign-in; {self._how()}"

    def load(self) -> None:
        """Look whether somebody is signed in, also by another process.

        Raises:
            SignInNeeded: Nobody is, or no longer; says what to do.
        """
        kept = self._read()
        if kept is None:
            raise SignInNeeded(f"the server asks for a sign-in, and nobody is signed in; {self._how()}")
        if kept.digest() in self._over:
            raise SignInNeeded(self._over[kept.digest()])
        self._kept, self._trouble = kept, ""

    async def token(self) -> str:
        """What the server is shown now; renewed if it is time, and as it was if that is not possible now."""
        kept = self._held()
        if kept.is_due(time.time()):
            await self.renewed(kept.access_token)
        return self._held().access_token

    async def renewed(self, shown: str) -> str | None:
        """What to show after the server did not take, or will not take, what it was shown; None if there is nothing."""
        async with _turn_at(self._server):
            if self._held().access_token != shown:
                return self._held().access_token  # Somebody else was faster.
            if self._held().digest() in self._over:
                return None
            try:
                kept = await self._renew(self._held())
            except SignInNeeded as over:
                self.give_up(str(over))
                return None
            except (CallgateError, OSError) as later:
                self._trouble = f"{later}; it is tried again with the next call"
                return None
            await self._keep(kept)
            return kept.access_token

    def give_up(self, why: str = "the server does not take a sign-in that was renewed a moment ago") -> None:
        """It is over: nothing of it is tried again."""
        self._trouble = f"{why}; {self._how()}"
        self._over[self._held().digest()] = self._trouble

    async def sign_in(self) -> bool:
        """Have somebody sign in, where somebody can be asked; whether anybody did.

        Raises:
            SignInFailed: It did not work.
        """
        if self._oauth.grant != MACHINE and (self._oauth.ask is None or not self.may_ask):
            return False
        self.may_ask = False
        await self._keep(await self._new())
        self.may_ask = True
        return True

    async def _new(self) -> SignedIn:
        from callgate.adapters.mcp.oauth.flow import sign_in  # noqa: PLC0415 - the SDK is loaded when it is needed

        place = Place(
            server=self._server, oauth=self._oauth, headers=self._headers(), client_secret=self._client_secret()
        )
        return await sign_in(place, patience=PATIENCE)

    async def _renew(self, held: SignedIn) -> SignedIn:
        """Another process may have renewed it, or somebody signed in anew; what is kept counts."""
        from callgate.adapters.mcp.oauth.renewal import renew  # noqa: PLC0415 - the SDK is loaded by now

        kept = self._read()
        if kept is None:
            raise SignInNeeded("somebody signed out")
        if kept.access_token != held.access_token and kept.digest() not in self._over:
            return kept
        if self._oauth.grant == MACHINE:
            return await self._new()
        if kept.refresh_token is None:
            raise SignInNeeded("its sign-in has ended, and cannot be renewed")
        try:
            return await renew(kept, self._client_secret())
        except SignInNeeded:
            newest = self._read()
            if newest is not None and newest.access_token != kept.access_token:
                return newest  # Somebody else renewed it in the same moment.
            raise

    def _read(self) -> SignedIn | None:
        text = self._drawer.read()
        kept = None if text is None else read_signed_in(text)
        if kept is None or kept.server != self._server or not self._fits(kept):
            return None
        for key, value in kept.secrets():
            self._drawer.strike(value, key)
        return kept

    def _fits(self, kept: SignedIn) -> bool:
        """A sign-in of another issuer or client than the configuration names is none."""
        issuer, client = self._oauth.issuer, self._oauth.client_id
        same_issuer = issuer is None or kept.issuer.rstrip("/") == issuer.rstrip("/")
        return same_issuer and (client is None or kept.client.get("client_id") == client)

    async def _keep(self, kept: SignedIn) -> None:
        for key, value in kept.secrets():
            self._drawer.strike(value, key)
        self._kept, self._trouble = kept, ""
        try:
            await asyncio.to_thread(self._drawer.write, kept.to_text())
        except StoreError as error:
            _log.warning("the sign-in at the MCP server %s could not be kept: %s", self._name, error)

    def _held(self) -> SignedIn:
        if self._kept is None:
            raise SignInFailed("nobody is signed in")
        return self._kept

    def _client_secret(self) -> str | None:
        reference = self._oauth.client_secret
        return None if reference is None else self._drawer.secret(reference)

    def _how(self) -> str:
        if self._oauth.grant == MACHINE:
            return "look at client_id, client_secret and issuer under auth.oauth"
        if self._oauth.ask is not None:
            return "somebody is asked to sign in" if self.may_ask else "load it again to be asked once more"
        return f"run: callgate tools login {self._name}"
