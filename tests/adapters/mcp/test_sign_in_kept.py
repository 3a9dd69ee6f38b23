"""A sign-in that is kept: shared by processes, renewed by one of them, ended by a person, and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path

import pytest

from callgate import Failed
from callgate.adapters.mcp import OAuth
from callgate.adapters.mcp.oauth.keeper import Keeper
from callgate.adapters.mcp.oauth.record import SignedIn
from callgate.errors import SignInNeeded, StoreError
from callgate.model.levels import Happened
from callgate.runtime.signing_in import sign_in, sign_out
from callgate.settings.values import McpServerSettings, OAuthSettings, Settings
from tests.adapters.mcp.authorization import Front, Issuer, Protected, issuing, protecting
from tests.adapters.mcp.servers import gate_of, until_available
from tests.adapters.mcp.signing_in import Person, at, kept_in
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def world() -> Generator[tuple[Issuer, Front, Protected]]:
    with issuing() as (issuer, front), protecting(issuer) as server:
        yield issuer, front, server


World = tuple[Issuer, Front, Protected]


async def signed_in(folder: Path, server: Protected) -> Settings:
    settings = kept_in(folder, srv=McpServerSettings(url=server.url, auth=OAuthSettings()))
    await sign_in(settings, "srv", show=Person(), patience=60)
    return settings


def renewals(front: Front) -> int:
    return len([asked for asked in front.seen if asked.form.get("grant_type") == "refresh_token"])


async def test_two_gates_share_a_sign_in_and_one_of_them_renews_it(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    await signed_in(tmp_path, server)
    async with gate_of(config=kept_in(tmp_path)) as one, gate_of(config=kept_in(tmp_path)) as other:
        for gate in (one, other):
            assert (await gate.attach(at(server))).ok
        issuer.end_access()
        for gate in (one, other):
            assert (await gate.call("srv.note", {"text": "x"})).ok
    assert renewals(front) == 1
    assert server.notes == ["x", "x"]


async def test_a_gate_hears_of_a_person_who_signed_out(tmp_path: Path, world: World) -> None:
    _, front, server = world
    settings = await signed_in(tmp_path, server)
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server))).ok
        assert (await sign_out(settings, "srv")).revoked
        failed = await gate.call("srv.note", {"text": "x"})
        assert isinstance(failed, Failed)
        assert "somebody signed out; run: callgate tools login srv" in failed.to_human()
    assert renewals(front) == 0
    assert server.notes == []


async def test_what_cannot_be_renewed_ends_with_its_token(tmp_path: Path, world: World) -> None:
    issuer, _, server = world
    issuer.renewable = False
    await signed_in(tmp_path, server)
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server))).ok
        issuer.end_access()
        failed = await gate.call("srv.note", {"text": "x"})
        assert "its sign-in has ended, and cannot be renewed" in failed.to_human()


async def test_a_token_that_was_renewed_and_is_not_taken_is_not_renewed_for_ever(tmp_path: Path, world: World) -> None:
    issuer, front, server = world
    await signed_in(tmp_path, server)
    async with gate_of(config=kept_in(tmp_path)) as gate:
        assert (await gate.attach(at(server))).ok
        issuer.end_access()
        for token in issuer.refreshing.values():
            token.resource = "https://somewhere.example.com/mcp"
        failed = await gate.call("srv.note", {"text": "x"})
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.NONE
        assert "does not take a sign-in that was renewed a moment ago" in failed.to_human()
        await until_available(gate, available=False)
    assert renewals(front) == 1


async def test_a_person_may_take_longer_than_an_opening_gate_waits(tmp_path: Path, world: World) -> None:
    *_, server = world
    person, ready = Person(), asyncio.Event()

    async def ask(url: str) -> None:
        await ready.wait()
        await person(url)

    async with gate_of(config=kept_in(tmp_path)) as gate:
        source = at(server, ask, startup=0.5)
        [failure] = (await gate.attach(source)).failures
        assert "nobody is signed in; somebody is asked to sign in" in failure.reason
        ready.set()
        await until(gate.tools)
        assert (await gate.call("srv.note", {"text": "x"})).ok


async def test_a_gate_that_closes_waits_for_nobody_to_sign_in(tmp_path: Path, world: World) -> None:
    *_, server = world
    asked: list[str] = []

    async def ask(url: str) -> None:
        asked.append(url)
        await asyncio.Event().wait()

    async with asyncio.timeout(60):
        async with gate_of(config=kept_in(tmp_path)) as gate:
            await gate.attach(at(server, ask, startup=0.5))
            await until(lambda: asked)
    assert server.tokens() == []


class Drawer:
    """Implements what a keeper asks for, with texts that come one after the other."""

    def __init__(self, *texts: str, full: bool = False) -> None:
        self._texts = list(texts)
        self._full = full
        self.struck: list[str] = []

    def read(self) -> str | None:
        return self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]

    def write(self, text: str) -> None:
        if self._full:
            raise StoreError("the disk is full")
        self._texts = [text]

    def strike(self, value: str, key: str) -> None:
        self.struck.append(key)

    def secret(self, reference: str) -> str:
        return reference


def record(issuer: Issuer, server: Protected, token: str) -> SignedIn:
    return SignedIn(
        server=server.url,
        issuer=issuer.url,
        resource=server.url,
        token_endpoint=f"{issuer.url}/token",
        client={"client_id": "nobody", "token_endpoint_auth_method": "none"},
        access_token=token,
        refresh_token="refresh-that-was-used",
    )


def keeper_of(server: Protected, drawer: Drawer) -> Keeper:
    return Keeper("srv", server.url, oauth=OAuth(), drawer=drawer, headers=dict)


async def test_who_renewed_it_in_the_same_moment_renewed_it_for_all(world: World) -> None:
    issuer, front, server = world
    old, new = record(issuer, server, "access-old"), record(issuer, server, "access-new")
    keeper = keeper_of(server, Drawer(old.to_text(), old.to_text(), new.to_text()))
    keeper.load()
    assert await keeper.token() == "access-old"
    assert await keeper.renewed("access-old") == "access-new"
    assert [asked.path for asked in front.seen] == ["/token"]
    assert await keeper.renewed("access-old") == "access-new"
    assert len(front.seen) == 1


async def test_what_was_refused_is_not_tried_again(world: World) -> None:
    issuer, front, server = world
    drawer = Drawer(record(issuer, server, "access-old").to_text())
    keeper = keeper_of(server, drawer)
    keeper.load()
    for _ in range(2):
        assert await keeper.renewed("access-old") is None
    assert len(front.seen) == 1
    with pytest.raises(SignInNeeded, match=r"its sign-in has ended \(invalid_client\); run: callgate tools login srv"):
        keeper.load()
    assert set(drawer.struck) == {"access_token", "refresh_token"}


async def test_a_disk_that_is_full_costs_no_token(world: World, caplog: pytest.LogCaptureFixture) -> None:
    issuer, _, server = world
    old, new = record(issuer, server, "access-old"), record(issuer, server, "access-new")
    keeper = keeper_of(server, Drawer(old.to_text(), new.to_text(), full=True))
    keeper.load()
    assert await keeper.renewed("access-old") == "access-new"
    assert "the sign-in at the MCP server srv could not be kept: the disk is full" in caplog.text
