"""Who signs in, a person or a machine: what the SDK asks of its user, and what it does not look at by itself.

Imports the SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from callgate.adapters.mcp.oauth.guard import Guard
from callgate.adapters.mcp.oauth.loopback import Landing, Loopback, read_landing
from callgate.errors import SignInFailed
from callgate.model.visible import visible

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import OAuthMetadata, OAuthToken

    from callgate.adapters.mcp.oauth.place import Place

CLIENT_NAME = "Callgate"
_LONGEST = 300


class Nowhere:
    """The SDK's place for what it would keep: nowhere, as we keep it ourselves."""

    async def get_tokens(self) -> None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """It is taken from the SDK when all is done."""

    async def get_client_info(self) -> None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """As above."""


def described_issuer(context: OAuthContext, place: Place) -> OAuthMetadata:
    """What the authorization server says of itself, if it is the one that was meant.

    Raises:
        SignInFailed: It says nothing, or is another.
    """
    described, wanted = context.oauth_metadata, place.oauth.issuer
    if described is None:
        raise SignInFailed("its authorization server does not describe itself, so nobody can sign in there")
    if wanted is not None and not issuers_match(str(described.issuer), wanted):
        named = visible(str(described.issuer)[:_LONGEST])
        raise SignInFailed(f"its authorization server is {named}, and auth.oauth.issuer says another")
    return described


def choose_scope(context: OAuthContext, place: Place, *, challenged: bool) -> None:
    """What the operator says; else what the server asks for; never all that an authorization server has."""
    server = context.protected_resource_metadata
    asked = challenged or (server is not None and server.scopes_supported is not None)
    if place.oauth.scopes:
        context.client_metadata.scope = " ".join(place.oauth.scopes)
    elif not asked:
        context.client_metadata.scope = None


class Machine(ClientCredentialsOAuthProvider):
    """A machine signs in, with a secret of its own."""

    def __init__(self, place: Place) -> None:
        oauth = place.oauth
        post = oauth.client_auth == "client_secret_post"
        super().__init__(
            place.server,
            Nowhere(),
            client_id=oauth.client_id or "",
            client_secret=place.client_secret or "",
            token_endpoint_auth_method="client_secret_post" if post else "client_secret_basic",
            issuer=oauth.issuer,
        )
        self._place = place
        self.challenged = False
        """Whether the server itself said which rights it wants."""

    async def _perform_authorization(self) -> httpx2.Request:
        described_issuer(self.context, self._place)
        choose_scope(self.context, self._place, challenged=self.challenged)
        return await super()._perform_authorization()


class Person(OAuthClientProvider):
    """A person signs in."""

    def __init__(self, place: Place, redirect_uri: str, *, loopback: Loopback | None) -> None:
        oauth = place.oauth
        metadata = OAuthClientMetadata(
            client_name=CLIENT_NAME, redirect_uris=[AnyUrl(redirect_uri)], scope=" ".join(oauth.scopes) or None
        )
        super().__init__(
            place.server,
            metadata,
            Nowhere(),
            self._show,
            self._came_back,
            client_metadata_url=oauth.client_metadata_url,
        )
        self._place = place
        self._loopback = loopback
        self._came: Landing | None = None
        self.challenged = False
        """Whether the server itself said which rights it wants."""

    async def _initialize(self) -> None:
        await super()._initialize()
        oauth = self._place.oauth
        if oauth.client_id is not None:
            self.context.client_info = OAuthClientInformationFull(
                client_id=oauth.client_id,
                client_secret=self._place.client_secret,
                token_endpoint_auth_method=oauth.client_auth if self._place.client_secret else "none",
                redirect_uris=self.context.client_metadata.redirect_uris,
                issuer=oauth.issuer,
            )

    def _select_authorization_server(self, advertised: list[str]) -> str:
        wanted = self._place.oauth.issuer
        fitting = [server for server in advertised if wanted is None or issuers_match(server, wanted)]
        if not fitting:
            named = visible(advertised[0][:_LONGEST])
            raise SignInFailed(f"the server names {named} as its authorization server, and auth.oauth.issuer another")
        return fitting[0]

    async def _perform_authorization(self) -> httpx2.Request:
        described = described_issuer(self.context, self._place)
        if "S256" not in (described.code_challenge_methods_supported or []):
            raise SignInFailed("its authorization server knows no PKCE (S256), so a code could be stolen on its way")
        choose_scope(self.context, self._place, challenged=self.challenged)
        return await super()._perform_authorization()

    async def _show(self, url: str) -> None:
        Guard(self._place.server, self._place.oauth.issuer).any(url, "the page to sign in at")
        state = parse_qs(urlsplit(url).query)["state"][-1]
        ask = self._place.oauth.ask
        assert ask is not None  # noqa: S101 - nobody signs in without being asked
        if self._loopback is not None:
            self._loopback.expect(state)
            await ask(url)
            self._came = await self._loopback.landed()
        else:
            self._came = read_landing(await ask(url) or "", state)

    async def _came_back(self) -> AuthorizationCodeResult:
        assert self._came is not None  # noqa: S101 - it was shown before
        return AuthorizationCodeResult(code=self._came.code, state=self._came.state, iss=self._came.iss)
