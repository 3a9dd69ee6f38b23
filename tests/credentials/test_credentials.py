"""Who is let in at network doors: tokens, passwords, links and visits, and what a request may make of a credential."""

from dataclasses import replace
from typing import Any

import pytest

from callgate import Callgate, tool
from callgate.credentials import register
from callgate.credentials.form import to_document
from callgate.errors import ConfigurationError, CredentialNotFound
from callgate.model.credential import CredentialKind, Right
from callgate.model.levels import Autonomy
from callgate.testing import HandClock
from tests.journeys.gates import parts_of


@pytest.fixture
async def gate():
    async with Callgate.open("memory://", clock=HandClock()) as opened:
        yield opened


def _clock(gate: Callgate) -> HandClock:
    clock = parts_of(gate).clock
    assert isinstance(clock, HandClock)
    return clock


async def test_a_token_is_known_again_and_is_kept_nowhere(gate: Callgate):
    credential, token = await gate.admit_agent("crawler", by="ada")
    assert (await gate.identify(token)) == credential
    assert token not in str(await gate.credentials())
    async for event in gate.events():
        assert token not in str(event)


@pytest.mark.parametrize("wrong", ["", "cga", "x" * 5000, "cga_" + "0" * 32 + "_" + "a" * 43, "cga_\udc80"])
async def test_what_is_no_token_lets_nobody_in(gate: Callgate, wrong: str):
    await gate.admit_agent("crawler", by="ada")
    assert await gate.identify(wrong) is None


async def test_another_end_of_a_token_lets_nobody_in(gate: Callgate):
    _, token = await gate.admit_agent("crawler", by="ada")
    assert await gate.identify(token[:-1] + ("a" if token[-1] != "a" else "b")) is None


async def test_an_ended_credential_opens_nothing_and_its_visits_are_over(gate: Callgate):
    person, token = await gate.admit_person("ada", by="local")
    cookie = await gate.enter_by_link(await gate.sign_in_link(person.id))
    assert cookie is not None
    assert await gate.visit(cookie) is not None
    await gate.revoke_credential(person.id, by="local")
    assert await gate.identify(token) is None
    assert await gate.visit(cookie) is None


async def test_a_credential_opens_nothing_after_its_end(gate: Callgate):
    clock = _clock(gate)
    _, token = await gate.admit_agent("crawler", by="ada", expires_at=clock.now() + 60)
    clock.turn(59)
    assert await gate.identify(token) is not None
    clock.turn(1)
    assert await gate.identify(token) is None


async def test_nobody_is_an_agent_and_a_person(gate: Callgate):
    await gate.admit_agent("ada", by="local")
    with pytest.raises(ConfigurationError, match="nobody is both"):
        await gate.admit_person("ADA ", by="local")


async def test_an_unknown_credential_cannot_be_ended(gate: Callgate):
    with pytest.raises(CredentialNotFound, match="nothing-of-the-kind"):
        await gate.revoke_credential("nothing-of-the-kind", by="ada")


async def test_a_credential_edited_in_the_store_lets_nobody_in(gate: Callgate):
    credential, token = await gate.admit_agent("crawler", by="ada", role="default")
    store = parts_of(gate).store
    forged = to_document(replace(credential, autonomy=Autonomy.A4))
    await store.write(lambda tx: tx.put_document(register.AREA, credential.id, forged))
    assert await gate.identify(token) is None


async def test_an_agents_credential_made_a_persons_in_the_store_decides_nothing(gate: Callgate):
    credential, token = await gate.admit_agent("crawler", by="ada")
    store = parts_of(gate).store
    forged = to_document(replace(credential, kind=CredentialKind.PERSON, rights=frozenset(Right)))
    await store.write(lambda tx: tx.put_document(register.AREA, credential.id, forged))
    assert await gate.identify(token) is None


async def test_a_link_lets_somebody_in_once_and_not_late(gate: Callgate):
    person, _ = await gate.admit_person("ada", by="local")
    code = await gate.sign_in_link(person.id)
    assert await gate.enter_by_link(code) is not None
    assert await gate.enter_by_link(code) is None
    late = await gate.sign_in_link(person.id)
    _clock(gate).turn(601)
    assert await gate.enter_by_link(late) is None


async def test_a_visit_ends_after_half_a_day_and_when_its_person_leaves(gate: Callgate):
    person, _ = await gate.admit_person("ada", by="local")
    first = await gate.enter_by_link(await gate.sign_in_link(person.id))
    assert first is not None
    await gate.leave(first)
    assert await gate.visit(first) is None
    second = await gate.enter_by_link(await gate.sign_in_link(person.id))
    assert second is not None
    _clock(gate).turn(12 * 3600)
    assert await gate.visit(second) is None


async def _kept(gate: Callgate, area: str) -> int:
    return len(await parts_of(gate).store.read(lambda reader: list(reader.documents(area))))


async def test_links_and_visits_that_are_over_are_forgotten(gate: Callgate):
    person, _ = await gate.admit_person("ada", by="local")
    for _ in range(3):
        await gate.sign_in_link(person.id)
    await gate.enter_by_link(await gate.sign_in_link(person.id))
    assert (await _kept(gate, "callgate.links"), await _kept(gate, "callgate.visits")) == (3, 1)
    _clock(gate).turn(13 * 3600)
    code = await gate.sign_in_link(person.id)
    assert await _kept(gate, "callgate.links") == 1
    await gate.enter_by_link(code)
    assert await _kept(gate, "callgate.visits") == 1


@pytest.mark.parametrize("until", ["tomorrow", None, {"a": 1}, "\ud800", -1])
async def test_what_was_edited_in_the_store_keeps_nobody_out(gate: Callgate, until: object):
    person, _ = await gate.admit_person("ada", by="local")
    body = {"credential": person.id, "until": until, "mac": "x"}
    for area in ("callgate.links", "callgate.visits"):
        await parts_of(gate).store.write(lambda tx, area=area: tx.put_document(area, "edited", body))
    assert await gate.enter_by_link(await gate.sign_in_link(person.id)) is not None


async def test_a_visit_copied_in_the_store_is_nobodys(gate: Callgate):
    person, _ = await gate.admit_person("ada", by="local")
    cookie = await gate.enter_by_link(await gate.sign_in_link(person.id))
    assert cookie is not None
    found = await gate.visit(cookie)
    assert found is not None
    parts = parts_of(gate)
    body = await parts.store.read(lambda reader: reader.document("callgate.visits", found.id))
    assert body is not None
    other = parts.keys.token_digest(b"callgate.visits\0mine")
    await parts.store.write(lambda tx: tx.put_document("callgate.visits", other, body))
    assert await gate.visit("mine") is None


async def test_a_password_lets_its_person_in_and_no_other_does(gate: Callgate):
    person, _ = await gate.admit_person("ada", by="local")
    await gate.set_password(person.id, "correct horse battery")
    assert await gate.enter_by_password("Ada", "correct horse battery") is not None
    assert await gate.enter_by_password("ada", "correct horse batter") is None
    assert await gate.enter_by_password("bob", "correct horse battery") is None
    assert "correct horse" not in str(await gate.credentials())


async def test_agents_have_no_password_and_people_no_short_one(gate: Callgate):
    agent, _ = await gate.admit_agent("crawler", by="ada")
    person, _ = await gate.admit_person("ada", by="local")
    with pytest.raises(ConfigurationError, match="only people"):
        await gate.set_password(agent.id, "correct horse battery")
    with pytest.raises(ConfigurationError, match="12 to 1024"):
        await gate.set_password(person.id, "short")
    with pytest.raises(ConfigurationError, match="for a person"):
        await gate.sign_in_link(agent.id)


async def test_who_tried_to_come_in_and_was_not_let_in_is_recorded(gate: Callgate):
    await gate.enter_by_link("made up")
    types = [event.type async for event in gate.events(types=["entry.*"])]
    assert types == ["entry.refused"]


async def test_wrong_links_are_recorded_once_in_a_while_with_how_many_there_were(gate: Callgate):
    for seconds in (0, 0, 10, 291, 0, 301):
        _clock(gate).turn(seconds)
        assert await gate.enter_by_link("made up") is None
    found = [(event.payload or {}).get("unrecorded") async for event in gate.events(types=["entry.refused"])]
    assert found == [None, 2, 1]


@pytest.mark.parametrize(
    ("limits", "wish"),
    [
        ({"autonomy": Autonomy.A1}, {"autonomy": "A2"}),
        ({"scopes": frozenset({"fs:read"})}, {"scopes": ["fs:read", "fs:write"]}),
        ({}, {"role": "admin"}),
        ({}, {"principal": "somebody"}),
        ({}, {"user": "ada"}),
        ({}, {"session": "another"}),
        ({}, {"intent": "whatever I say"}),
        ({"read_only": True}, {"read_only": False}),
        ({"no_web": True}, {"no_web": False}),
    ],
    ids=["autonomy", "scopes", "role", "principal", "user", "session", "intent", "read-only", "web"],
)
async def test_a_request_is_never_more_than_its_credential(
    gate: Callgate, limits: dict[str, Any], wish: dict[str, Any]
):
    credential, _ = await gate.admit_agent("crawler", by="ada", **limits)
    with pytest.raises(ValueError, match=r".+"):
        gate.narrowed(credential, **wish)


async def test_a_request_may_be_less_than_its_credential(gate: Callgate):
    scopes = frozenset({"fs:read", "intent:assert"})
    credential, _ = await gate.admit_agent("crawler", by="ada", many_sessions=True, scopes=scopes)
    context = gate.narrowed(
        credential, session="s1", intent="tidy up", autonomy="A0", scopes=["fs:read"], read_only=True
    )
    assert (context.session, context.intent) == ("default/s1", "tidy up")
    assert context.principal == "crawler"
    assert context.read_only


async def test_an_autonomy_above_the_usual_one_changes_nothing(gate: Callgate):
    @tool(effects="system_state", risk="high")
    def push() -> None:
        """Push."""

    gate.add(push)
    credential, _ = await gate.admit_agent("crawler", by="ada")
    usual, wished = gate.narrowed(credential), gate.narrowed(credential, autonomy="A4")
    assert (await gate.explain("push", {}, wished)).verdict is (await gate.explain("push", {}, usual)).verdict


async def test_an_agent_gets_a_role_that_exists(gate: Callgate):
    with pytest.raises(ConfigurationError, match="there is no role boss; the roles are default"):
        await gate.admit_agent("crawler", by="ada", role="boss")
