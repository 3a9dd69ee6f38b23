"""An authorization server and a protected MCP server of this machine, made with the SDK's own parts.

Each runs in a thread, notes who asked what and what they showed, and tells lies as it is told to.
"""

from __future__ import annotations

import base64
import json
import secrets
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import anyio.to_thread
import uvicorn
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MACHINE_ID, MACHINE_SECRET = "the-machine", "machine-secret-4711"


@dataclass(slots=True)
class Asked:
    """A request that came."""

    method: str
    path: str
    authorization: str | None
    body: bytes = b""

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


@dataclass(slots=True)
class Front:
    """Stands before an app: notes what comes, and answers some of it otherwise."""

    app: ASGIApp
    seen: list[Asked] = field(default_factory=list[Asked])
    lies: dict[str, tuple[int, Any]] = field(default_factory=dict[str, tuple[int, Any]])
    """Status and JSON, by path."""
    redirects: dict[str, str] = field(default_factory=dict[str, str])
    """Where else to, by path."""
    demands: str | None = None
    """Words of a call that needs more rights than anybody has."""
    challenge: str | None = None
    """Instead of what the app says with a 401."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        asked = Asked(scope["method"], scope["path"], headers.get("authorization"))
        self.seen.append(asked)

        async def noted() -> Message:
            message = await receive()
            asked.body += message.get("body", b"")
            return message

        async def altered(message: Message) -> None:
            if self.challenge is not None and message.get("status") == 401:
                kept = [pair for pair in message["headers"] if pair[0] != b"www-authenticate"]
                message["headers"] = [*kept, (b"www-authenticate", self.challenge.encode())]
            await send(message)

        lie = self._lie(scope["path"])
        if lie is not None:
            return await lie(scope, receive, send)
        if self.demands is not None:
            first = await noted()
            if self.demands.encode() in asked.body:
                wanted = {"www-authenticate": 'Bearer error="insufficient_scope", scope="notes:write"'}
                return await JSONResponse({}, 403, wanted)(scope, receive, send)
            return await self.app(scope, _again(first, noted), altered)
        return await self.app(scope, noted, altered)

    def _lie(self, path: str) -> Response | None:
        if path in self.redirects:
            return RedirectResponse(self.redirects[path], 307)
        if path not in self.lies:
            return None
        status, body = self.lies[path]
        return JSONResponse(body, status)


def _again(first: Message, rest: Receive) -> Receive:
    waiting = [first]

    async def receive() -> Message:
        return waiting.pop() if waiting else await rest()

    return receive


@contextmanager
def served(port: socket.socket, app: ASGIApp) -> Generator[None]:
    """Serve an app at a port, from a thread."""
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [port]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)


def listening() -> tuple[socket.socket, str]:
    """A port of this machine, and its origin."""
    port = socket.socket()
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port.bind(("127.0.0.1", 0))
    return port, f"http://127.0.0.1:{port.getsockname()[1]}"


class Issuer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Gives tokens, each for one resource."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshing: dict[str, RefreshToken] = {}
        self.told_lifetime = 3600
        """What it says; in truth a token of its holds until `end_access`."""
        self.refuses_refresh = False
        self.refuses_people = False
        self.renewable = True
        """Whether it gives what renews a token."""
        self.knows_documents = False
        """Whether an address is a client that describes itself there."""
        self.resource: str | None = None
        """What its tokens are for, whatever was asked."""
        self.iss: str | None = None
        """Sent back as `iss`."""

    def everything_secret(self) -> set[str]:
        """All it ever gave that nobody else may see."""
        given = {client.client_secret or "" for client in self.clients.values()}
        return {*self.access, *self.refreshing, *given} - {""}

    def described(self) -> dict[str, Any]:
        """What it says of itself."""
        options = ClientRegistrationOptions(enabled=True)
        body = build_metadata(AnyHttpUrl(self.url), None, options, RevocationOptions(enabled=True))
        return json.loads(body.model_dump_json(exclude_none=True))

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        if self.knows_documents and client_id.startswith("https://"):
            anywhere = [AnyUrl(f"http://127.0.0.1:{port}/callback") for port in range(1024, 65536)]
            return OAuthClientInformationFull(
                client_id=client_id, token_endpoint_auth_method="none", redirect_uris=anywhere
            )
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if self.refuses_people:
            raise AuthorizeError("access_denied", "not you")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state, iss=self.iss)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        code = self.codes.pop(authorization_code.code)
        return self.give(client.client_id, code.scopes, resource=code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refuses_refresh:
            raise TokenError("invalid_grant", f"no more of {refresh_token.token}")
        refresh_token.expires_at = 1
        return self.give(client.client_id, scopes, resource=refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return None if found is None or (found.expires_at or 0) < time.time() else found

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        for known in [*self.access.values(), *self.refreshing.values()]:
            if known.client_id == token.client_id:
                known.expires_at = 1

    def give(self, client_id: str, scopes: list[str], *, resource: str | None, refreshing: bool = True) -> OAuthToken:
        access = AccessToken(
            token=f"access-{secrets.token_urlsafe(24)}",
            client_id=client_id,
            scopes=scopes,
            expires_at=int(time.time()) + 3600,
            resource=self.resource or resource,
        )
        self.access[access.token] = access
        if not refreshing or not self.renewable:
            return OAuthToken(access_token=access.token, expires_in=self.told_lifetime, scope=" ".join(scopes))
        again = RefreshToken(
            token=f"refresh-{secrets.token_urlsafe(24)}", client_id=client_id, scopes=scopes, resource=resource
        )
        self.refreshing[again.token] = again
        return OAuthToken(
            access_token=access.token,
            expires_in=self.told_lifetime,
            scope=" ".join(scopes) or None,
            refresh_token=again.token,
        )

    def end_access(self) -> None:
        """No access token that was given is taken any more; those that renew are."""
        for token in self.access.values():
            token.expires_at = 1


@contextmanager
def issuing(**registration: Any) -> Generator[tuple[Issuer, Front]]:
    """An authorization server."""
    port, url = listening()
    issuer = Issuer(url)
    options = ClientRegistrationOptions(enabled=True, **registration)
    handler = TokenHandler(issuer, ClientAuthenticator(issuer))

    async def token(request: Request) -> Response:
        form = await request.form()
        if form.get("grant_type") != "client_credentials":
            return await handler.handle(request)
        shown = base64.b64encode(f"{MACHINE_ID}:{MACHINE_SECRET}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {shown}":
            return JSONResponse({"error": "invalid_client"}, 401)
        scopes = str(form.get("scope", "")).split()
        given = issuer.give(MACHINE_ID, scopes, resource=str(form.get("resource")), refreshing=False)
        return JSONResponse(given.model_dump(exclude_none=True))

    routes = create_auth_routes(
        issuer,
        AnyHttpUrl(url),
        client_registration_options=options,
        revocation_options=RevocationOptions(enabled=True),
    )
    front = Front(Starlette(routes=[Route("/token", token, methods=["POST"]), *routes]))
    with served(port, front):
        yield issuer, front


class Protected:
    """An MCP server that takes nobody without a token for itself."""

    def __init__(self, url: str, issuer: Issuer, *, scopes: list[str]) -> None:
        self.url = f"{url}/mcp"
        self.notes: list[str] = []
        self.entered, self.released = threading.Event(), threading.Event()
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(issuer.url),
            resource_server_url=AnyHttpUrl(self.url),
            required_scopes=scopes,
            validate_token_resource=True,
        )
        server = MCPServer("protected", token_verifier=_Verifier(issuer), auth=settings, log_level="CRITICAL")

        @server.tool()
        def note(text: str) -> str:
            """Note a text."""
            self.notes.append(text)
            return f"noted {text}"

        @server.tool()
        def shown(context: Context) -> str:
            """What the caller showed."""
            headers = context.headers or {}
            return json.dumps({"shown": headers.get("authorization")})

        @server.tool()
        async def hold() -> str:
            """Wait until it is let go."""
            self.entered.set()
            await anyio.to_thread.run_sync(self.released.wait, 30)
            return "let go"

        self.front = Front(server.streamable_http_app(json_response=True))

    def tokens(self) -> list[str]:
        """Every token it was shown, in order, each once."""
        shown = [asked.authorization.removeprefix("Bearer ") for asked in self.front.seen if asked.authorization]
        return list(dict.fromkeys(shown))


class _Verifier:
    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer

    async def verify_token(self, token: str) -> AccessToken | None:
        return await self._issuer.load_access_token(token)


@contextmanager
def protecting(issuer: Issuer, *scopes: str) -> Generator[Protected]:
    """An MCP server that trusts an authorization server."""
    port, url = listening()
    server = Protected(url, issuer, scopes=list(scopes))
    with served(port, server.front):
        yield server
