"""Renewing a sign-in with who gave it, and telling him that it is over. Nobody else is asked.

Imports the SDK, which makes the requests.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from callgate.adapters.mcp.oauth.flow import sign_in_client, standard_word
from callgate.adapters.mcp.oauth.record import SignedIn, end_of
from callgate.adapters.mcp.oauth.signers import Nowhere
from callgate.errors import SignInFailed, SignInNeeded

if TYPE_CHECKING:
    from collections.abc import Mapping

_OK = 200
_LATER = frozenset({408, 425, 429})
_FAULT = 500


class _Renewing(OAuthClientProvider):
    """The SDK, as it stands after this sign-in."""

    def __init__(self, kept: SignedIn, client_secret: str | None) -> None:
        super().__init__(kept.server, OAuthClientMetadata(redirect_uris=None), Nowhere())
        context = self.context
        secret = {} if client_secret is None else {"client_secret": client_secret}
        context.client_info = OAuthClientInformationFull.model_validate({**kept.client, **secret})
        context.current_tokens = OAuthToken(
            access_token=kept.access_token, refresh_token=kept.refresh_token, scope=kept.scope
        )
        # As they were written, to the last slash: who gave them compares them so.
        context.oauth_metadata = OAuthMetadata.model_validate(
            {
                "issuer": kept.issuer,
                "authorization_endpoint": kept.issuer,
                "token_endpoint": kept.token_endpoint,
            }
        )
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
            {"resource": kept.resource, "authorization_servers": [kept.issuer]}
        )

    async def request(self) -> httpx2.Request:
        """What asks for a new token."""
        return await self._refresh_token()

    async def take(self, response: httpx2.Response) -> OAuthToken | None:
        """The new token, with what the old one had and the answer leaves out."""
        return self.context.current_tokens if await self._handle_refresh_response(response) else None


async def renew(kept: SignedIn, client_secret: str | None) -> SignedIn:
    """The sign-in with a new token.

    Raises:
        SignInNeeded: It is over; somebody has to sign in again.
        SignInFailed: It could not be renewed now; it may be later.
    """
    renewing = _Renewing(kept, client_secret)
    response = await _send(await renewing.request())
    if response.status_code in _LATER or response.status_code >= _FAULT:
        raise SignInFailed(f"its authorization server cannot renew the sign-in now (HTTP {response.status_code})")
    tokens = await renewing.take(response)
    if tokens is None:
        raise SignInNeeded(f"its sign-in has ended{standard_word(response.text[:2000])}")
    return dataclasses.replace(
        kept,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        scope=tokens.scope,
        renew_at=end_of(tokens.expires_in),
    )


async def revoke(kept: SignedIn, client_secret: str | None) -> bool:
    """Tell who gave it that it is over; whether he heard. A token he knows nothing of is over as well.

    Raises:
        SignInFailed: He cannot be reached.
    """
    if kept.revocation_endpoint is None:
        return False
    context = _Renewing(kept, client_secret).context
    token, hint = (kept.refresh_token, "refresh_token") if kept.refresh_token else (kept.access_token, "access_token")
    asked = {"token": token, "token_type_hint": hint, "client_id": str(kept.client.get("client_id", ""))}
    data, headers = context.prepare_token_auth(asked, {"Content-Type": "application/x-www-form-urlencoded"})
    return (await _send(_post(kept.revocation_endpoint, data, headers=headers))).status_code == _OK


def _post(url: str, data: Mapping[str, str], *, headers: Mapping[str, str]) -> httpx2.Request:
    return httpx2.Request("POST", url, data=dict(data), headers=dict(headers))


async def _send(request: httpx2.Request) -> httpx2.Response:
    try:
        async with sign_in_client() as client:
            return await client.send(request)
    except httpx2.HTTPError as error:
        raise SignInFailed(f"its authorization server cannot be reached ({type(error).__name__})") from None
