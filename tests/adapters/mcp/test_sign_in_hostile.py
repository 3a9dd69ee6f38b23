"""Signing in where somebody means harm: a server that leads elsewhere, an answer that is not ours, a token for others.

What reached whom is read from what the servers themselves noted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from callgate.adapters.mcp import McpServer, OAuth
from callgate.adapters.mcp.oauth.bearer import Bearer
from callgate.adapters.mcp.oauth.guard import Guard
from callgate.adapters.mcp.oauth.keeper import Keeper
from callgate.adapters.mcp.oauth.loopback import listening, read_landing
from callgate.adapters.mcp.oauth.place import Place
from callgate.adapters.mcp.oauth.record import SignedIn, read_signed_in
from callgate.errors import ConfigurationError, SignInFailed
from callgate.model.levels import Origin
from callgate.runtime.signing_in import sign_in
from callgate.settings.values import McpServerSettings, OAuthSettings
from tests.adapters.mcp.authorization import Front, Issuer, Protected, issuing, protecting
from tests.adapters.mcp.processes import free_port
from tests.adapters.mcp.servers import gate_of
from tests.adapters.mcp.signing_in import Person, at, kept_in

METADATA = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
def two() -> Generator[tuple[Issuer, Front, Protected, Issuer, Front]]:
    """An authorization server and its MCP server; and another authorization server, which has nothing to do with it."""
    with issuing() as (issuer, front), issuing() as (other, other_front), protecting(issuer) as server:
        yield issuer, front, server, other, other_front


Two = tuple[Issuer, Front, Protected, Issuer, Front]


async def refused(server: Protected, folder: Path, auth: Any = None) -> str:
    """Why nobody is signed in, after trying."""
    async with gate_of(config=kept_in(folder)) as gate:
        [failure] = (await gate.attach(at(server, auth or Person()))).failures
        assert gate.tools(source=Origin.MCP) == ()
    assert server.tokens() == []
    return failure.reason


@pytest.mark.slow
async def test_a_description_at_another_place_is_not_even_read(tmp_path: Path, two: Two) -> None:
    issuer, front, server, other, other_front = two
    server.front.challenge = f'Bearer resource_metadata="{other.url}/description"'
    assert f"keeps its description elsewhere ({other.url}/description)" in await refused(server, tmp_path)
    assert other_front.seen == front.seen == []
    assert issuer.access == {}


@pytest.mark.slow
async def test_a_server_cannot_pass_for_another(tmp_path: Path, two: Two) -> None:
    issuer, front, server, *_ = two
    elsewhere = {"resource": "https://bank.example.com/mcp", "authorization_servers": [issuer.url]}
    server.front.lies[RESOURCE] = (200, elsewhere)
    assert "does not match" in await refused(server, tmp_path)
    assert front.seen == []


@pytest.mark.slow
async def test_an_authorization_server_that_says_it_is_another_gets_nothing(tmp_path: Path, two: Two) -> None:
    issuer, front, server, other, other_front = two
    front.lies[METADATA] = (200, {**issuer.described(), "issuer": f"{other.url}/"})
    assert "issuer mismatch" in await refused(server, tmp_path)
    assert {asked.path for asked in front.seen} == {METADATA}
    assert other_front.seen == []


@pytest.mark.slow
async def test_the_operator_decides_which_authorization_server_counts(tmp_path: Path, two: Two) -> None:
    issuer, _, server, other, other_front = two
    server.front.lies[RESOURCE] = (200, {"resource": server.url, "authorization_servers": [f"{other.url}/"]})
    reason = await refused(server, tmp_path, OAuth(issuer=issuer.url, ask=Person()))
    assert f"the server names {other.url}/ as its authorization server" in reason
    assert other_front.seen == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"code_challenge_methods_supported": ["plain"]}, "knows no PKCE (S256)"),
        ({"registration_endpoint": None}, "registers no clients by itself"),
        ({"authorization_endpoint": "http://bank.example.com/authorize"}, "would be reached without encryption"),
        ({"token_endpoint": "http://10.0.0.1/token"}, "would be reached without encryption"),
    ],
)
async def test_an_authorization_server_that_would_give_away_a_code_is_not_used(
    tmp_path: Path, two: Two, change: dict[str, Any], reason: str
) -> None:
    issuer, front, server, *_ = two
    described = {key: value for key, value in {**issuer.described(), **change}.items() if value is not None}
    front.lies[METADATA] = (200, described)
    assert reason in await refused(server, tmp_path)
    assert issuer.access == {}


@pytest.mark.slow
async def test_a_server_that_names_nobody_is_not_signed_in_at(tmp_path: Path, two: Two) -> None:
    _, front, server, *_ = two
    for path in (RESOURCE, "/.well-known/oauth-protected-resource", METADATA):
        server.front.lies[path] = (404, {})
    assert "does not describe itself" in await refused(server, tmp_path)
    assert front.seen == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        ("/register", (400, {"error": "invalid_redirect_uri"}), "registers no client for us (invalid_redirect_uri)"),
        ("/register", (201, {"no": "client"}), "registers no client for us"),
        ("/token", (400, {"error": "invalid_grant", "why": "secret words"}), "gives no token (invalid_grant)"),
        ("/token", (200, {"access_token": 5}), "gives no token"),
        (METADATA, (200, {"issuer": "no description"}), "does not describe itself"),
    ],
)
async def test_an_authorization_server_that_does_not_want_us_is_told_in_its_standards_words(
    tmp_path: Path, two: Two, path: str, answer: tuple[int, Any], reason: str
) -> None:
    _, front, server, *_ = two
    front.lies[path] = answer
    told = await refused(server, tmp_path)
    assert reason in told
    assert "secret words" not in told


@pytest.mark.slow
async def test_an_authorization_server_that_is_not_there_is_told(tmp_path: Path, two: Two) -> None:
    _, _, server, *_ = two
    nowhere = f"http://127.0.0.1:{free_port()}/"
    server.front.lies[RESOURCE] = (200, {"resource": server.url, "authorization_servers": [nowhere]})
    assert "127.0.0.1 could not be reached (ConnectError)" in await refused(server, tmp_path)


@pytest.mark.slow
async def test_a_token_that_its_own_server_does_not_take_is_not_kept(tmp_path: Path, two: Two) -> None:
    issuer, _, server, *_ = two
    issuer.resource = "https://somewhere.example.com/mcp"
    settings = kept_in(tmp_path, srv=McpServerSettings(url=server.url, auth=OAuthSettings()))
    with pytest.raises(SignInFailed, match="does not take the token that its authorization server gave"):
        await sign_in(settings, "srv", show=Person(), patience=60)
    assert not (tmp_path / "secrets.sealed").exists()


@pytest.mark.slow
async def test_a_server_that_sends_us_elsewhere_takes_no_token_along(tmp_path: Path, two: Two) -> None:
    *_, server, other, other_front = two
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server, Person()))).ok
    server.front.redirects["/mcp"] = f"{other.url}/mcp"
    async with gate_of(config=kept_in(tmp_path)) as gate:
        [failure] = (await gate.attach(at(server))).failures
        assert "not followed" in failure.reason
    assert other_front.seen == []


async def test_what_goes_to_another_place_carries_no_token() -> None:
    keeper = Keeper("srv", "https://example.com/mcp", oauth=OAuth(), drawer=Empty(), headers=dict)
    flow = Bearer("https://example.com/mcp", keeper).async_auth_flow(httpx2.Request("POST", "https://evil.example/mcp"))
    assert "authorization" not in (await anext(flow)).headers
    with pytest.raises(StopAsyncIteration):
        await flow.asend(httpx2.Response(401))


class Empty:
    """A drawer with nothing in it."""

    def read(self) -> None:
        return None

    def write(self, text: str) -> None:
        raise AssertionError(text)

    def strike(self, value: str, key: str) -> None:
        raise AssertionError(key)

    def secret(self, reference: str) -> str:
        raise AssertionError(reference)


@pytest.mark.slow
async def test_an_answer_from_another_issuer_is_not_exchanged(tmp_path: Path, two: Two) -> None:
    issuer, front, server, other, _ = two
    issuer.iss = other.url
    assert "iss mismatch" in await refused(server, tmp_path)
    assert "/token" not in {asked.path for asked in front.seen}


class Hurried(Person):
    """Somebody else is at the door before the person is."""

    async def land(self, browser: httpx2.AsyncClient, address: str) -> None:
        right = parse_qs(urlsplit(address).query)["state"][0]
        place = address.partition("?")[0]
        for strange in (
            f"{place}?code=stolen&state=wrong",
            f"{place}?code=stolen",
            f"{place}?code=stolen&state={right}&state=wrong",
            f"{place}?state={right}",
            f"{place.removesuffix('/callback')}/?code=stolen&state={right}",
        ):
            self.landed.append((await browser.get(strange)).status_code)
        self.landed.append((await browser.post(address)).status_code)
        named = await browser.get(address, headers={"host": f"evil.example:{urlsplit(address).port}"})
        self.landed.append(named.status_code)
        await super().land(browser, address)
        await super().land(browser, address)


@pytest.mark.slow
async def test_only_the_answer_to_our_own_question_is_taken_and_once(tmp_path: Path, two: Two) -> None:
    issuer, front, server, *_ = two
    person = Hurried()
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server, person))).ok
    assert person.landed == [400] * 7 + [200, 400]
    [asked] = [asked for asked in front.seen if asked.path == "/token"]
    assert asked.form["code"] != "stolen"
    assert server.tokens() == list(issuer.access)


@pytest.mark.slow
async def test_an_answer_with_a_wrong_state_signs_nobody_in(tmp_path: Path, two: Two) -> None:
    issuer, front, server, *_ = two

    async def ask(url: str) -> None:
        async with httpx2.AsyncClient(timeout=60) as browser:
            address = (await browser.get(url)).headers["location"]
            state = parse_qs(urlsplit(address).query)["state"][0]
            await browser.get(address.replace(state, "x" * len(state)))

    settings = kept_in(tmp_path, srv=McpServerSettings(url=server.url, auth=OAuthSettings()))
    with pytest.raises(SignInFailed, match="nobody signed in within 1 seconds"):
        await sign_in(settings, "srv", show=ask, patience=1)
    assert "/token" not in {asked.path for asked in front.seen}
    assert issuer.access == {}
    assert not (tmp_path / "secrets.sealed").exists()


@pytest.mark.slow
async def test_a_token_is_shown_to_no_other_server(tmp_path: Path, two: Two) -> None:
    """Not to one that took the name, not where the authorization server is another, not where the operator says so."""
    issuer, front, server, other, other_front = two
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server, Person()))).ok
    given = server.tokens()
    with protecting(other) as impostor:
        async with gate_of(config=kept_in(tmp_path)) as gate:
            [failure] = (await gate.attach(at(impostor))).failures
            assert "nobody is signed in" in failure.reason
        assert impostor.front.seen == []
    async with gate_of(config=kept_in(tmp_path)) as gate:
        [failure] = (await gate.attach(at(server, OAuthSettings(issuer=other.url)))).failures
        assert "nobody is signed in" in failure.reason
    # The server changes its mind about who gives tokens; what was given is renewed where it came from, or nowhere.
    server.front.lies[RESOURCE] = (200, {"resource": server.url, "authorization_servers": [f"{other.url}/"]})
    server.front.challenge = f'Bearer resource_metadata="{other.url}/description"'
    issuer.end_access()
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server))).ok
    assert other_front.seen == []
    assert [asked.form["grant_type"] for asked in front.seen if asked.path == "/token"][1:] == ["refresh_token"]
    assert server.tokens()[: len(given)] == given


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://id.example.com/token", "without encryption"),
        ("https://me:word@id.example.com/token", "user name"),
        ("https://169.254.169.254/latest", "private host 169.254.169.254"),
        ("https://localhost/token", "private host localhost"),
        ("https://intranet/token", "private host intranet"),
        ("file:///etc/passwd", "no address"),
        ("javascript:alert(1)", "no address"),
    ],
)
def test_a_public_server_leads_nobody_into_a_private_network(url: str, told: str) -> None:
    with pytest.raises(SignInFailed, match=told):
        Guard("https://mcp.example.com/mcp", None).any(url, "its authorization server")


def test_who_is_in_a_private_network_may_name_others_there_and_so_may_the_operator() -> None:
    Guard("https://mcp.internal/mcp", None).any("https://id.internal/token", "it")
    Guard("https://mcp.example.com/mcp", "https://id.internal").any("https://id.internal/token", "it")
    Guard("https://mcp.example.com/mcp", None).any("https://id.example.com/token", "it")


@pytest.mark.parametrize(
    "address", ["", "https://app.example.com/landed", "https://app.example.com/landed?code=a&state=other"]
)
def test_an_address_that_is_no_answer_is_refused(address: str) -> None:
    with pytest.raises(SignInFailed, match="for another question"):
        read_landing(address, "ours")


async def test_a_request_without_an_end_is_left_and_a_port_that_is_taken_is_told() -> None:
    async with listening(None) as place:
        place.expect("ours")
        port = urlsplit(place.redirect_uri).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /" + b"x" * 100_000)
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()
        with pytest.raises(SignInFailed, match=f"port {port} of this machine cannot be listened on"):
            async with listening(port):
                pass


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"command": ["x"]}, "auth is for a server with a url"),
        ({"url": "http://example.com/mcp"}, "auth needs a URL with https"),
        ({"url": "https://example.com/mcp", "headers": {"Authorization": "x"}}, "a header Authorization already"),
        ({"url": "https://example.com/mcp", "auth": OAuth(redirect_uri="https://a.example/b")}, "needs ask"),
        ({"url": "https://example.com/mcp", "auth": OAuth(client_id="x", client_secret="word")}, "as secret:connector"),
    ],
)
def test_what_cannot_be_signed_in_at_is_refused_at_once(fields: dict[str, Any], told: str) -> None:
    given: Any = {"auth": OAuth(), **fields}
    with pytest.raises(ConfigurationError, match=told) as caught:
        McpServer("srv", **given)
    assert "word" not in str(caught.value)


def test_nobody_reads_a_token_off_what_holds_it() -> None:
    record = SignedIn(
        server="https://example.com/mcp",
        issuer="https://id.example.com",
        resource="r",
        token_endpoint="https://id.example.com/token",
        access_token="very-secret",
        client={"client_id": "x", "client_secret": "also-secret"},
    )
    place = Place(
        server="https://example.com", oauth=OAuth(), headers={"A": "very-secret"}, client_secret="also-secret"
    )
    assert "-secret" not in repr(record) + str(record) + repr(place)
    assert read_signed_in(record.to_text()) == record
    assert [read_signed_in(text) for text in ("", "{}", "[]", '{"form": 1}', '{"form": 2}')] == [None] * 5
