"""`callgate tokens`: who is let in at the network doors, and who not any more."""

import asyncio
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.model.credential import Credential, CredentialKind
from callgate.serve.api.credentials import CredentialBody, IssuedBody
from tests.doors.running import Cli, start


async def _of(token: str) -> Credential | None:
    async with Callgate.open() as gate:
        return await gate.identify(token)


def _whose(token: str) -> Credential | None:
    """Who a gate on the same store takes this token for."""
    return asyncio.run(_of(token))


def test_an_agent_is_let_in_with_its_limits_and_its_token_is_all_that_is_on_stdout(cli: Cli):
    done = cli(
        "tokens",
        "agent",
        "crawler",
        *("--session", "night", "--many-sessions", "--autonomy", "A1", "--scope", "fs:read", "--scope", "net:outbound"),
        *("--user", "ada", "--attended", "--read-only", "--no-web", "--days", "2", "--by", "op"),
    )
    assert done.code == 0
    token = done.out.strip()
    assert token.startswith("cga_")
    assert token not in done.err
    assert done.err.endswith("is let in. The token is printed on stdout, once, and kept nowhere.\n")
    found = _whose(token)
    assert found is not None
    assert (found.kind, found.name, found.session, found.user) == (CredentialKind.AGENT, "crawler", "night", "ada")
    assert found.autonomy is not None
    assert found.autonomy.label == "A1"
    assert found.scopes == {"fs:read", "net:outbound"}
    assert (found.many_sessions, found.attended, found.read_only, found.no_web) == (True, True, True, True)
    assert found.expires_at is not None
    assert (found.expires_at - found.created_at) == pytest.approx(2 * 86_400, abs=5)
    assert found.created_by == "op"


def test_a_person_is_let_in_with_their_rights(cli: Cli):
    made = cli("tokens", "person", "ada", "--may", "decide", "--json").body
    assert (made["kind"], made["rights"], made["password"]) == ("person", ["decide"], False)
    found = _whose(made["token"])
    assert found is not None
    assert found.kind is CredentialKind.PERSON
    everything = cli("tokens", "person", "bob", "--json").body
    assert everything["rights"] == ["administer", "decide", "read"]


@pytest.mark.parametrize("kind", ["agent", "person"])
def test_a_credential_reads_as_it_does_over_http(cli: Cli, kind: str):
    made = cli("tokens", kind, "ada", "--json").body
    assert set(made) == set(IssuedBody.model_fields)
    (listed,) = cli("tokens", "list", "--json").body
    assert set(listed) == set(CredentialBody.model_fields)
    assert listed == {name: value for name, value in made.items() if name != "token"}


def test_the_list_has_everybody_and_no_token(cli: Cli):
    assert cli("tokens", "list").code == 2
    token = cli("tokens", "agent", "crawler").out.strip()
    cli("tokens", "person", "ada")
    plain, listed = cli("tokens", "list"), cli("tokens", "list", "--json")
    assert "agent crawler" in plain.out
    assert "person ada" in plain.out
    assert [each["name"] for each in listed.body] == ["crawler", "ada"]
    for done in (plain, listed):
        assert token not in done.out
        # What is secret of it has underscores of its own.
        assert token.split("_", 2)[2] not in done.out
        assert "digest" not in done.out


@pytest.mark.parametrize("way", ["id", "end", "name"])
def test_a_credential_is_ended_by_its_id_the_end_of_it_or_its_name(cli: Cli, way: str):
    made = cli("tokens", "agent", "crawler", "--json").body
    named = {"id": made["id"], "end": made["id"][-8:], "name": "crawler"}[way]
    done = cli("tokens", "revoke", named, "--by", "op", "--json")
    assert (done.code, done.body["revoked_at"] is None) == (0, False)
    assert _whose(made["token"]) is None
    assert cli("tokens", "list", "--json").body[0]["revoked_at"] is not None


def test_a_name_that_several_have_is_not_guessed_at(cli: Cli):
    first, second = (cli("tokens", "agent", "crawler", "--json").body for _ in range(2))
    done = cli("tokens", "revoke", "crawler")
    assert done.code == 2
    assert "several credentials are called crawler" in done.err
    assert cli("tokens", "revoke", "nobody").code == 2
    assert _whose(first["token"]) is not None
    assert _whose(second["token"]) is not None


def test_one_name_is_never_an_agents_and_a_persons(cli: Cli):
    cli("tokens", "agent", "crawler")
    done = cli("tokens", "person", "CRAWLER")
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["agent", "x", "--role", "no_such"],
        ["agent", "x", "--autonomy", "A9"],
        ["agent", "x", "--days", "0"],
        ["person", "x", "--may", "everything"],
        ["agent", "\u200b"],
    ],
    ids=["role", "autonomy", "days", "right", "name"],
)
def test_what_cannot_be_let_in_is_a_usage_error(cli: Cli, words: list[str]):
    done = cli("tokens", *words)
    assert (done.code, done.out) == (2, "")


def test_a_person_gets_a_password_and_a_link_and_an_agent_neither(cli: Cli):
    cli("tokens", "person", "ada")
    cli("tokens", "agent", "crawler")
    set_one = start("tokens", "password", "ada", cwd=cli.folder, text="correct horse battery\n")
    assert set_one.code == 0
    assert "correct" not in set_one.out + set_one.err
    assert cli("tokens", "list", "--json").body[0]["password"] is True
    assert start("tokens", "password", "crawler", cwd=cli.folder, text="correct horse battery\n").code == 2
    assert start("tokens", "password", "ada", cwd=cli.folder, text="short\n").code == 2
    assert cli("tokens", "link", "ada").code == 0
    assert cli("tokens", "link", "crawler").code == 2


async def _enter(code: str) -> tuple[str, str | None]:
    async with Callgate.open() as gate:
        return gate.own_name, await gate.enter_by_link(code)


@pytest.mark.parametrize(
    ("serve", "address"),
    [
        ("", "http://NAME.localhost:8700"),
        ("serve: {port: 9123}", "http://NAME.localhost:9123"),
        ('serve: {address: "::1"}', "http://NAME.localhost:8700"),
        ('serve: {address: "192.0.2.7"}', "http://192.0.2.7:8700"),
        ('serve: {url: "http://127.0.0.1:8700"}', "http://127.0.0.1:8700"),
        ('serve: {url: "https://gate.example.org/"}', "https://gate.example.org"),
        ('serve: {port: 0, url: "https://gate.example.org"}', "https://gate.example.org"),
        ("serve: {port: 0}", ""),
    ],
    ids=["default", "port", "ipv6", "another-address", "own-address", "url", "url-any-port", "any-port"],
)
def test_a_link_is_the_whole_address_and_lets_in(cli: Cli, serve: str, address: str):
    cli("tokens", "person", "ada")
    Path("callgate.yaml").write_text(f"version: 1\n{serve}\n")
    done = cli("tokens", "link", "ada")
    assert done.code == 0
    where, _, code = done.out.removesuffix("\n").partition("/enter?code=")
    name, entered = asyncio.run(_enter(code))
    assert where == address.replace("NAME", name)
    assert ("callgate serve" in done.err) is (not address)
    assert ("started with another --port" in done.err) is (bool(address) and "url" not in serve)
    assert entered


def test_a_link_to_a_server_that_was_started_with_a_port_has_that_port(cli: Cli):
    cli("tokens", "person", "ada")
    for serve in ("", "serve: {port: 0}"):
        Path("callgate.yaml").write_text(f"version: 1\n{serve}\n")
        done = cli("tokens", "link", "ada", "--port", "9019")
        assert (done.code, done.err) == (0, "")
        assert ".localhost:9019/enter?code=" in done.out


async def _visits(name: str) -> tuple[str, str, str]:
    """Two visits that this person began, and a link that they have not used."""
    async with Callgate.open() as gate:
        (person,) = [each for each in await gate.credentials() if each.name == name]
        cookies = [await gate.enter_by_link(await gate.sign_in_link(person.id)) for _ in range(2)]
        assert all(cookies)
        return str(cookies[0]), str(cookies[1]), await gate.sign_in_link(person.id)


async def _let_in(cookies: tuple[str, str], link: str) -> list[bool]:
    async with Callgate.open() as gate:
        visits = [await gate.visit(cookie) is not None for cookie in cookies]
        return [*visits, await gate.enter_by_link(link) is not None]


def test_signing_somebody_out_ends_their_visits_and_links_and_nobody_elses(cli: Cli):
    token = cli("tokens", "person", "ann").out.strip()
    cli("tokens", "person", "eve")
    *cookies, link = asyncio.run(_visits("ann"))
    *others, other = asyncio.run(_visits("eve"))
    done = cli("tokens", "sign-out", "ann", "--by", "operator")
    assert (done.code, done.out) == (0, "2 visits are over; ann can sign in again.\n")
    assert asyncio.run(_let_in((cookies[0], cookies[1]), link)) == [False, False, False]
    assert asyncio.run(_let_in((others[0], others[1]), other)) == [True, True, True]
    assert _whose(token) is not None
    asyncio.run(_visits("ann"))
    assert cli("tokens", "sign-out", "ann", "--json").body["visits_ended"] == 2
    (told, _) = cli("audit", "list", "--all", "--type", "person.signed_out", "--json").body["events"]
    assert told["payload"]["by"] == "operator"
    assert cli("tokens", "sign-out", "nobody").code == 2
