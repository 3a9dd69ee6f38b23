"""Servers that ask for a sign-in: a real authorization server and a real protected server, both on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Generator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from callgate import Callgate, Context, Failed, Refused, Succeeded, Unknown
from callgate.adapters.mcp import OAuth
from callgate.model.levels import Happened, HealthStatus
from callgate.runtime.keeping import keep_secret
from callgate.runtime.signing_in import sign_in
from callgate.settings.values import McpServerSettings, OAuthSettings
from tests.adapters.mcp.authorization import MACHINE_ID, MACHINE_SECRET, Front, Issuer, Protected, issuing, protecting
from tests.adapters.mcp.servers import gate_of, until_available
from tests.adapters.mcp.signing_in import Person, at, kept_in
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def world() -> Generator[tuple[Issuer, Front, Protected]]:
    with issuing() as (issuer, front), protecting(issuer) as server:
        yield issuer, front, server


World = tuple[Issuer, Front, Protected]


def asked_for_tokens(front: Front) -> list[str]:
    return [asked.form.get("grant_type", "") for asked in front.seen if asked.path == "/token"]


async def test_a_person_signs_in_and_the_token_is_for_that_server(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    person = Person()
    async with gate_of(config=kept_in(tmp_path)) as gate:
        report = await gate.attach(at(server, person))
        assert set(report.tools) == {"srv.note", "srv.shown", "srv.hold"}
        assert (await gate.call("srv.note", {"text": "hello"})).unwrap() == {"result": "noted hello"}
    asked = parse_qs(urlsplit(person.asked[0]).query)
    assert (asked["resource"], asked["code_challenge_method"]) == ([server.url], ["S256"])
    assert {token.resource for token in issuer.access.values()} == {server.url}
    assert server.tokens() == list(issuer.access)
    assert server.notes == ["hello"]
    assert asked_for_tokens(front) == ["authorization_code"]


async def test_who_signed_in_once_is_signed_in_for_the_next_gate_too(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    person = Person()
    async with gate_of(config=kept_in(tmp_path)) as gate:
        await gate.attach(at(server, person))
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server))).ok
        assert (await gate.call("srv.note", {"text": "again"})).ok
    assert len(person.asked) == 1
    kept = (tmp_path / "secrets.sealed").read_bytes()
    assert not any(secret.encode() in kept for secret in issuer.everything_secret())
    assert asked_for_tokens(front) == ["authorization_code"]


async def test_where_secrets_are_not_kept_a_sign_in_holds_as_long_as_the_gate(world: World) -> None:
    *_, server = world
    person = Person()
    for _ in range(2):
        async with gate_of() as gate:
            assert (await gate.attach(at(server, person))).ok
    assert len(person.asked) == 2


async def test_a_token_that_ends_is_renewed_before_it_does(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    issuer.told_lifetime = 0
    async with gate_of(config=kept_in(tmp_path)) as gate:
        await gate.attach(at(server, Person()))
        assert (await gate.call("srv.note", {"text": "a"})).ok
    # Also after a restart, and by who gave it: the server is never asked for one.
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server))).ok
        assert (await gate.call("srv.note", {"text": "b"})).ok
    assert asked_for_tokens(front).count("authorization_code") == 1
    assert asked_for_tokens(front).count("refresh_token") > 2
    assert [asked.form["resource"] for asked in front.seen if asked.path == "/token"] == [server.url] * len(
        asked_for_tokens(front)
    )
    assert "/token" not in {asked.path for asked in server.front.seen}
    assert server.notes == ["a", "b"]


async def test_a_token_that_is_no_longer_taken_is_renewed_and_the_call_sent_once_more(
    tmp_path: Path, world: World
) -> None:
    issuer, front, server = world
    async with gate_of(config=kept_in(tmp_path)) as gate:
        await gate.attach(at(server, Person()))
        issuer.end_access()
        calls = [gate.call("srv.note", {"text": str(number)}) for number in range(5)]
        assert all(isinstance(done, Succeeded) for done in await asyncio.gather(*calls))
    assert sorted(server.notes) == ["0", "1", "2", "3", "4"]
    assert asked_for_tokens(front) == ["authorization_code", "refresh_token"]


async def test_a_sign_in_that_is_over_makes_the_server_unavailable_until_somebody_signs_in_again(
    tmp_path: Path, world: World
) -> None:
    issuer, front, server = world
    settings = kept_in(tmp_path, srv=McpServerSettings(url=server.url, auth=OAuthSettings()))
    await sign_in(settings, "srv", show=Person(), patience=30)
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server))).ok
        issuer.end_access()
        issuer.refuses_refresh = True
        failed = await gate.call("srv.note", {"text": "lost"}, Context(idempotency_key="k"))
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.NONE
        assert "its sign-in has ended (invalid_grant); run: callgate tools login srv" in failed.to_human()
        await until_available(gate, available=False)
        assert "callgate tools login srv" in (gate.health("mcp.srv").last_error or "")
        assert isinstance(await gate.call("srv.note", {"text": "refused"}), Refused)
        issuer.refuses_refresh = False
        await sign_in(settings, "srv", show=Person(), patience=30)
        await until_available(gate)
        # Nothing had happened, so that the key is free.
        assert (await gate.call("srv.note", {"text": "lost"}, Context(idempotency_key="k"))).ok
    assert server.notes == ["lost"]
    # What was refused once was not tried again.
    assert asked_for_tokens(front) == ["authorization_code", "refresh_token", "authorization_code"]


async def test_an_authorization_server_that_is_away_for_a_while_ends_no_sign_in(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    async with gate_of(config=kept_in(tmp_path)) as gate:
        await gate.attach(at(server, Person()))
        issuer.end_access()
        front.lies["/token"] = (503, {"error": "temporarily_unavailable"})
        failed = await gate.call("srv.note", {"text": "x"})
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.NONE
        assert "cannot renew the sign-in now (HTTP 503)" in failed.to_human()
        front.lies.clear()
        await until_available(gate)
        assert (await gate.call("srv.note", {"text": "x"})).ok
    assert server.notes == ["x"]


async def test_nobody_is_signed_in_and_nobody_can_be_asked(tmp_path: Path, world: World) -> None:
    *_, server = world
    async with gate_of(config=kept_in(tmp_path)) as gate:
        report = await gate.attach(at(server))
        [failure] = report.failures
        assert "nobody is signed in; run: callgate tools login srv" in failure.reason
        assert gate.health("mcp.srv").status is HealthStatus.UNAVAILABLE
    assert server.front.seen == []


async def test_a_server_that_asks_unexpectedly_says_what_to_write(tmp_path: Path, world: World) -> None:
    *_, server = world
    async with gate_of(config=kept_in(tmp_path)) as gate:
        [failure] = (await gate.attach(at(server, auth=False))).failures
        assert "write auth: {oauth: {}} for it, and run: callgate tools login srv" in failure.reason
    async with gate_of(config=kept_in(tmp_path)) as gate:
        given = at(server, auth=False, headers={"Authorization": "Bearer a-token-of-nobody"})
        [failure] = (await gate.attach(given)).failures
        assert "does not take the header Authorization" in failure.reason


async def test_a_person_who_says_no_is_asked_again_only_by_loading_again(tmp_path: Path, world: World) -> None:
    issuer, _, server = world
    issuer.refuses_people = True
    person = Person()
    async with gate_of(config=kept_in(tmp_path)) as gate:
        [failure] = (await gate.attach(at(server, person))).failures
        assert "the authorization server says no: access_denied" in failure.reason
        await until(lambda: "load it again to be asked once more" in (gate.health("mcp.srv").last_error or ""))
        assert len(person.asked) == 1
        issuer.refuses_people = False
        await gate.reload("srv")
        await until(gate.tools)
        assert len(person.asked) == 2
        assert (await gate.call("srv.note", {"text": "x"})).ok


async def test_a_call_that_takes_long_holds_up_no_other(tmp_path: Path, world: World) -> None:
    *_, server = world
    async with gate_of(config=kept_in(tmp_path)) as gate:
        await gate.attach(at(server, Person()))
        holding = asyncio.ensure_future(gate.call("srv.hold"))
        await until(server.entered.is_set)
        assert (await gate.call("srv.note", {"text": "meanwhile"})).ok
        assert not holding.done()
        server.released.set()
        assert (await holding).ok


async def test_more_rights_are_asked_of_the_operator_and_cost_no_session(tmp_path: Path, world: World) -> None:
    *_, server = world
    async with gate_of(config=kept_in(tmp_path)) as gate:
        await gate.attach(at(server, Person()))
        server.front.demands = "too much"
        # The server had it, and that it did nothing is only its word.
        unknown = await gate.call("srv.note", {"text": "too much"})
        assert isinstance(unknown, Unknown)
        assert "the server wants more rights for this (notes:write)" in unknown.to_human()
        assert (await gate.call("srv.note", {"text": "enough"})).ok
    assert server.notes == ["enough"]


async def test_the_operator_says_which_rights_and_which_client(tmp_path: Path) -> None:
    person = Person()
    with issuing(valid_scopes=["a", "b", "everything"]) as (issuer, front), protecting(issuer, "a") as server:
        async with gate_of(config=kept_in(tmp_path)) as gate:
            assert (await gate.attach(at(server, OAuth(scopes=("a", "b"), ask=person)))).ok
        [client] = issuer.clients.values()
        assert client.scope == "a b"
        registered = len([asked for asked in front.seen if asked.path == "/register"])
        port = client.redirect_uris[0].port if client.redirect_uris else None
        described = OAuth(
            client_id=client.client_id,
            client_secret="secret:idp/secret",
            client_auth="client_secret_post",
            issuer=issuer.url,
            ask=person,
            scopes=("a",),
            redirect_port=port,
        )
        (tmp_path / "secrets.sealed").unlink()
        async with opened_with_secret(tmp_path, client.client_secret or "") as gate:
            assert (await gate.attach(at(server, described))).ok
        assert len([asked for asked in front.seen if asked.path == "/register"]) == registered
        assert [parse_qs(urlsplit(url).query)["scope"] for url in person.asked] == [["a b"], ["a"]]


def opened_with_secret(folder: Path, value: str) -> Callgate:
    settings = kept_in(folder)
    keep_secret(settings, "idp", "secret", value=value)
    return gate_of(config=settings)


async def test_a_client_that_describes_itself_is_not_registered(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    document = "https://client.example.com/callgate.json"
    described = issuer.described()
    front.lies["/.well-known/oauth-authorization-server"] = (
        200,
        {**described, "client_id_metadata_document_supported": True},
    )
    issuer.knows_documents = True
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server, OAuth(client_metadata_url=document, ask=Person())))).ok
    assert {token.client_id for token in issuer.access.values()} == {document}
    assert "/register" not in {asked.path for asked in front.seen}


async def test_a_place_of_ones_own_gets_the_answer(tmp_path: Path, world: World) -> None:
    issuer, _, server = world

    async def ask(url: str) -> str:
        async with httpx2.AsyncClient(timeout=60) as browser:
            return (await browser.get(url)).headers["location"]

    async with gate_of(config=kept_in(tmp_path)) as gate:
        own = OAuth(ask=ask, redirect_uri="https://app.example.com/landed")
        assert (await gate.attach(at(server, own))).ok
    assert server.tokens() == list(issuer.access)


async def test_a_machine_signs_in_by_itself_and_again_when_its_token_ends(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    machine = OAuth(
        grant="client_credentials", client_id=MACHINE_ID, client_secret="secret:idp/secret", issuer=issuer.url
    )
    async with opened_with_secret(tmp_path, MACHINE_SECRET) as gate:
        assert (await gate.attach(at(server, machine))).ok
        issuer.end_access()
        assert (await gate.call("srv.note", {"text": "x"})).ok
    assert asked_for_tokens(front) == ["client_credentials"] * 2
    assert [asked.form["resource"] for asked in front.seen if asked.path == "/token"] == [server.url] * 2
    assert server.tokens() == list(issuer.access)


async def test_a_machine_with_a_wrong_secret_is_told_so(tmp_path: Path, world: World) -> None:
    issuer, _, server = world
    machine = OAuth(
        grant="client_credentials", client_id=MACHINE_ID, client_secret="secret:idp/secret", issuer=issuer.url
    )
    async with opened_with_secret(tmp_path, "another-secret") as gate:
        [failure] = (await gate.attach(at(server, machine))).failures
        assert "gives no token (invalid_client)" in failure.reason
        assert "another-secret" not in failure.reason


def contents(folder: Path) -> bytes:
    """Every byte of every file there."""
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


async def test_no_token_is_in_the_store_the_log_or_any_answer(
    tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    issuer, _, server = world
    caplog.set_level(logging.DEBUG)
    database = tmp_path / "gate.db"
    heard: list[str] = []
    async with Callgate.open(f"sqlite:///{database}", kept_in(tmp_path)) as gate:
        await gate.attach(at(server, Person()))
        for _ in range(2):
            outcome = await gate.call("srv.shown")
            assert outcome.ok
            heard.append(outcome.to_human() + json.dumps(outcome.to_machine()))
            issuer.end_access()
        issuer.refuses_refresh = True
        issuer.end_access()
        failed = await gate.call("srv.note", {"text": "x"})
        heard.append(failed.to_human() + json.dumps(failed.to_machine()))
        heard.append(gate.health("mcp.srv").last_error or "")
        await gate.flush()
        heard += [json.dumps(event.payload) async for event in gate.events()]
    stored = contents(tmp_path)
    assert len(issuer.everything_secret()) >= 5
    assert server.tokens()
    for secret in issuer.everything_secret():
        assert secret not in "".join(heard)
        assert secret not in caplog.text
        assert secret.encode() not in stored
