"""Access tokens of an authorization server that the operator named let agents in, and no others do."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from callgate import Callgate
from callgate.settings.values import ServeOAuthSettings, ServeSettings
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import begin

_ISSUER = "https://issuer.example/"
_AUDIENCE = "https://gate.example"
_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
_OTHER = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
_CALL = {"tool": "word_count", "arguments": {"text": "a b"}}


def _token(key: Any = _KEY, *, kid: str = "k1", algorithm: str = "RS256", **changes: Any) -> str:
    claims = {"iss": _ISSUER, "aud": _AUDIENCE, "sub": "robot", "exp": time.time() + 600, "scope": "tools other"}
    claims = {name: value for name, value in (claims | changes).items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})


_PUBLIC = json.loads(RSAAlgorithm.to_jwk(_KEY.public_key())) | {"kid": "k1"}
_KEYS = {"keys": [_PUBLIC, {"kty": "oct", "kid": "k2", "k": "c2VjcmV0"}]}


@pytest.fixture
async def served():
    async with _serving(_KEYS) as found:
        yield found


@asynccontextmanager
async def _serving(keys: object) -> AsyncGenerator[Served]:
    body = json.dumps(keys).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 Fine\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    jwks = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"
    oauth = ServeOAuthSettings(
        issuer=_ISSUER, jwks=jwks, audience=_AUDIENCE, required_scope="tools", private_addresses=True
    )
    async with server, served_gate(Callgate.open("memory://"), ServeSettings(port=0, oauth=oauth)) as found:
        yield found


async def _asked(served: Served, token: str) -> httpx2.Response:
    async with served.nobody() as client:
        return await client.post("/api/v1/calls", json=_CALL, headers={"Authorization": f"Bearer {token}"})


async def test_what_somebody_let_in_so_asked_for_is_collected_once_it_is_approved(served: Served):
    async with served.nobody() as client:
        client.headers["Authorization"] = f"Bearer {_token()}"
        asked = await client.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 5}})
        where = f"/api/v1/approvals/{asked.json()['approval_id']}"
        await served.gate.approve(asked.json()["approval_id"], by="ada")
        assert (await client.post(f"{where}/result")).json()["value"] == "paid 5"
    assert served.paid == [5]


async def test_a_token_of_the_named_server_lets_an_agent_in(served: Served):
    answer = await _asked(served, _token())
    assert (answer.status_code, answer.json()["value"]) == (200, 2)
    (made,) = await served.gate.calls()
    assert made["principal"] == "oauth:robot"


@pytest.mark.parametrize(
    "token",
    [
        _token(_OTHER),
        _token(iss="https://other.example/"),
        _token(aud="https://elsewhere.example"),
        _token(aud=None),
        _token(exp=time.time() - 3600),
        _token(exp=None),
        _token(sub=None),
        _token(sub=""),
        _token(scope="other"),
        _token(scope=None),
        _token(kid="k9"),
        _token("secret" * 6, kid="k2", algorithm="HS256"),
        _token("", kid="k1", algorithm="none"),
        "a.b.c",
        "e30.e30.",
    ],
    ids=[
        "another-key",
        "another-issuer",
        "another-audience",
        "no-audience",
        "expired",
        "no-end",
        "no-subject",
        "empty-subject",
        "another-scope",
        "no-scope",
        "unknown-key",
        "shared-secret",
        "no-signature",
        "no-token",
        "empty-parts",
    ],
)
async def test_any_other_token_lets_nobody_in(served: Served, token: str):
    answer = await _asked(served, token)
    assert answer.status_code == 401
    assert "resource_metadata=" in answer.headers["www-authenticate"]
    assert token not in answer.text


async def test_an_access_token_decides_nothing(served: Served):
    async with served.nobody() as client:
        answer = await client.get("/metrics", headers={"Authorization": f"Bearer {_token()}"})
    assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")


async def test_a_session_over_mcp_goes_on_with_the_next_token(served: Served):
    over = time.time() - 5  # it is taken, within what clocks may differ, and has ended
    async with served.nobody() as client:
        client.headers["Authorization"] = f"Bearer {_token(exp=over)}"
        session = await begin(client)
        client.headers["Authorization"] = f"Bearer {_token()}"
        for number in range(2, 5):
            said = {"jsonrpc": "2.0", "id": number, "method": "ping"}
            assert (await client.post("/mcp", json=said, headers=session)).status_code == 200


async def test_a_client_is_told_where_to_get_a_token(served: Served):
    async with served.nobody() as client:
        answer = await client.get("/.well-known/oauth-protected-resource")
    assert answer.json()["authorization_servers"] == [_ISSUER]
    assert answer.json()["resource"] == served.url


@pytest.mark.parametrize(
    "keys",
    [[], {"keys": 1}, {"keys": [1, None, "k1"]}, {"keys": [{"kid": "k1", "kty": "RSA", "n": 1}]}, "k", None],
    ids=["list", "number", "odd", "broken", "text", "null"],
)
async def test_keys_that_are_none_let_nobody_in_and_break_nothing(keys: object):
    async with _serving(keys) as served:
        assert (await _asked(served, _token())).status_code == 401


async def test_keys_among_odd_ones_are_found():
    async with _serving({"keys": [1, {"kid": ["k1"], "kty": "RSA"}, {"kty": ["RSA"]}, _PUBLIC]}) as served:
        assert (await _asked(served, _token())).status_code == 200
