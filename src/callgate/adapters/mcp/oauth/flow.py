"""One sign-in, by a person or by a machine: the SDK makes the requests, and each is looked at before it goes.

Imports the SDK. Keeps nothing.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import create_client_registration_request, extract_scope_from_www_auth

from callgate.adapters.mcp.http_bounds import BoundedTransport
from callgate.adapters.mcp.oauth.guard import Guard
from callgate.adapters.mcp.oauth.loopback import listening
from callgate.adapters.mcp.oauth.record import SignedIn, end_of
from callgate.adapters.mcp.oauth.signers import Machine, Person, choose_scope, described_issuer
from callgate.errors import SignInFailed
from callgate.model.visible import visible
from callgate.settings.read_mcp_auth import MACHINE

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext

    from callgate.adapters.mcp.oauth.place import Place

_CONNECTING = 10.0
_READING = 30.0
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_SAYS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
"""Of a version from which on a token is always asked for one server."""
_ASKS = 401
_REFUSED = frozenset({401, 403})
_ERROR = re.compile(r'"error"\s*:\s*"([a-z_]{1,64})"')
_LONGEST = 300
_KEPT_OF_CLIENT = {"client_id", "client_secret", "token_endpoint_auth_method"}


def sign_in_client() -> httpx2.AsyncClient:
    """Follows nobody by itself, and reads no more than it should."""
    timeout = httpx2.Timeout(_CONNECTING, read=_READING)
    return httpx2.AsyncClient(headers={"accept-encoding": "identity"}, timeout=timeout, transport=BoundedTransport())


async def sign_in(place: Place, *, patience: float) -> SignedIn:
    """Have a person sign in, or a machine, as the place says.

    Raises:
        SignInFailed: Nobody did, or the server or its authorization server leads where it may not.
    """
    try:
        async with asyncio.timeout(patience):
            return await (_run(place, Machine(place)) if place.oauth.grant == MACHINE else _by_person(place))
    except TimeoutError:
        raise SignInFailed(f"nobody signed in within {patience:g} seconds") from None
    except OAuthRegistrationError as error:
        raise SignInFailed(f"its authorization server registers no client for us{standard_word(str(error))}") from None
    except OAuthTokenError as error:
        raise SignInFailed(f"its authorization server gives no token{standard_word(str(error))}") from None
    except OAuthFlowError as error:
        raise SignInFailed(visible(str(error)[:_LONGEST])) from None
    except httpx2.HTTPError as error:
        raise SignInFailed(f"{_host(error)} could not be reached ({type(error).__name__})") from None
    except ValueError:
        raise SignInFailed("its authorization server answers something that nobody understands") from None


async def _by_person(place: Place) -> SignedIn:
    if place.oauth.redirect_uri is not None:
        return await _run(place, Person(place, place.oauth.redirect_uri, loopback=None))
    async with listening(place.oauth.redirect_port) as loopback:
        return await _run(place, Person(place, loopback.redirect_uri, loopback=loopback))


async def _run(place: Place, signer: Person | Machine) -> SignedIn:
    async with sign_in_client() as client:
        probe = client.build_request("POST", place.server, json=_PING, headers={**place.headers, **_SAYS})
        flow = signer.async_auth_flow(probe)
        try:
            await anext(flow)
            response = await client.send(probe)
            if response.status_code != _ASKS:
                # One that asks nobody by itself is asked as if it did.
                response = httpx2.Response(_ASKS, request=probe)
            signer.challenged = extract_scope_from_www_auth(response) is not None
            while (request := await flow.asend(response)) is not probe:
                response = await client.send(_checked(request, signer, place=place))
        finally:
            await flow.aclose()
        # Now it carries the token.
        if (await client.send(probe)).status_code in _REFUSED:
            raise SignInFailed("the server does not take the token that its authorization server gave")
    return _signed_in(place, signer.context)


def _checked(request: httpx2.Request, signer: Person | Machine, *, place: Place) -> httpx2.Request:
    """The request, if a server may have us make it.

    Raises:
        SignInFailed: It goes where it may not.
    """
    context, guard = signer.context, Guard(place.server, place.oauth.issuer)
    if context.oauth_metadata is None and context.auth_server_url is None:
        guard.own(str(request.url), "its description")
    else:
        guard.any(str(request.url), "its authorization server")
    if request.method != "POST" or context.client_info is not None:
        return request
    described = described_issuer(context, place)
    if described.registration_endpoint is None:
        advice = "have one registered there, and write auth.oauth.client_id"
        raise SignInFailed(f"its authorization server registers no clients by itself; {advice}")
    # A client is registered for the rights it will ask for.
    choose_scope(context, place, challenged=signer.challenged)
    return create_client_registration_request(described, context.client_metadata, "")


def _signed_in(place: Place, context: OAuthContext) -> SignedIn:
    tokens, client, described = context.current_tokens, context.client_info, context.oauth_metadata
    if tokens is None or client is None or described is None:
        raise SignInFailed("its authorization server gives no token")
    if described.revocation_endpoint is not None:
        guard = Guard(place.server, place.oauth.issuer)
        guard.any(str(described.revocation_endpoint), "the revocation of its authorization server")
    # What the configuration names is asked for there, whenever it is needed.
    kept = _KEPT_OF_CLIENT - {"client_secret"} if place.client_secret else _KEPT_OF_CLIENT
    return SignedIn(
        server=place.server,
        issuer=str(described.issuer),
        resource=context.get_resource_url(),
        token_endpoint=str(described.token_endpoint),
        revocation_endpoint=str(described.revocation_endpoint) if described.revocation_endpoint else None,
        client=client.model_dump(mode="json", include=kept, exclude_none=True),
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        scope=tokens.scope,
        renew_at=end_of(tokens.expires_in),
    )


def standard_word(answer: str) -> str:
    """What an authorization server answered is not shown, but for the word the standard has for it."""
    found = _ERROR.search(answer)
    return f" ({found[1]})" if found else ""


def _host(error: httpx2.HTTPError) -> str:
    try:
        return error.request.url.host
    except RuntimeError:
        return "its authorization server"
