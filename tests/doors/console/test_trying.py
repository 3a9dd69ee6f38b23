"""Trying to come in: a password is not guessed by trying, however it is tried, and trying costs nobody else."""

import asyncio
import threading
from collections import Counter

import httpx2
import pytest

from callgate import Callgate
from callgate.credentials import passwords
from callgate.serve.console.limits import Tries
from callgate.serve.server import serving
from callgate.settings.values import ServeSettings
from tests.doors.console.conftest import Console, client_of

_RIGHT = "correct horse battery"


@pytest.fixture
async def guarded(console: Console) -> Console:
    """A console whose ada has a password."""
    person, _ = await console.gate.admit_person("ada", by="operator")
    await console.gate.set_password(person.id, _RIGHT)
    return console


async def _sign_in(client: httpx2.AsyncClient, name: str, password: str, **headers: str) -> httpx2.Response:
    form = {"name": name, "password": password, "next": "/"}
    return await client.post("/sign-in", data=form, headers=headers)


async def _refused(gate: Callgate, how: str) -> list[int]:
    """The witness: what was recorded of those who were not let in; for each, how many more were not recorded."""
    found = [event.payload or {} async for event in gate.events(types=["entry.refused"])]
    return [each.get("unrecorded", 0) for each in found if each["how"] == how]


@pytest.mark.slow
async def test_a_wrong_password_lets_nobody_in_and_cannot_be_tried_for_long(guarded: Console):
    async with guarded.client() as client:
        for _ in range(10):
            answer = await _sign_in(client, "ada", "wrong")
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers
        answer = await _sign_in(client, "ada", _RIGHT)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 300


@pytest.mark.slow
async def test_many_tries_at_once_are_as_many_tries(guarded: Console, monkeypatch: pytest.MonkeyPatch):
    now, most, lock, real = 0, 0, threading.Lock(), passwords.password_fits

    def watched(password: str, kept: str) -> bool:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        try:
            return real(password, kept)
        finally:
            with lock:
                now -= 1

    monkeypatch.setattr(passwords, "password_fits", watched)
    async with guarded.client() as client:
        answers = await asyncio.gather(*(_sign_in(client, "ada", f"wrong {number}") for number in range(30)))
    assert Counter(answer.status_code for answer in answers) == {403: 10, 429: 20}
    assert len(await _refused(guarded.gate, "password")) == 10
    assert most <= 2


@pytest.mark.slow
async def test_nobody_says_by_themselves_which_address_they_are_counted_under(guarded: Console):
    async with guarded.client() as client:
        said = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(12)]
        answers = [await _sign_in(client, f"name {n}", "wrong", **each) for n, each in enumerate(said)]
    assert [answer.status_code for answer in answers] == [403] * 10 + [429] * 2


@pytest.mark.slow
async def test_a_proxy_that_the_operator_named_says_it():
    settings = ServeSettings(port=0, url="https://gate.example")
    async with Callgate.open("memory://") as gate, serving(gate, settings) as where:
        (local,) = [each for each in where.hosts if each.startswith("127.0.0.1")]
        async with client_of(f"http://{local}", headers={"Host": "gate.example"}) as client:
            for number in range(12):
                one = {"X-Forwarded-For": f"203.0.113.{number}"}
                assert (await _sign_in(client, f"name {number}", "wrong", **one)).status_code == 403


@pytest.mark.slow
async def test_who_comes_in_is_not_counted_against_those_who_share_the_address(guarded: Console):
    for _ in range(11):
        async with guarded.client() as client:
            assert (await _sign_in(client, "ada", _RIGHT)).status_code == 303


async def test_wrong_links_are_recorded_once_in_a_while_and_keep_nobody_out(console: Console):
    link = await console.link()
    async with console.client() as client:
        for number in range(50):
            answer = await client.get(f"/enter?code=x{number}")
            assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
        assert await _refused(console.gate, "link") == [0]
        assert (await client.get(link)).status_code == 303


def test_tries_are_counted_by_whose_they_are_and_forgotten_in_time():
    now = [0.0]
    tries = Tries(tries=2, window=10, now=lambda: now[0])
    assert tries.take("ada", "here") == 0
    now[0] = 4
    assert tries.take("ada", "here") == 0
    assert tries.take("ada") == 6
    assert tries.take("eve", "here") == 6
    assert tries.take("eve", "there") == 0
    tries.came_in("ada", "here")
    assert tries.take("ada", "here") == 0
    assert tries.take("here") == 6
    now[0] = 10
    assert tries.take("here") == 0


def test_a_name_that_is_tried_stays_counted_whatever_else_is_tried():
    tries = Tries(tries=2, now=lambda: 0.0)
    tries.take("ada")
    for number in range(9_999):
        tries.take(f"name {number}")
    tries.take("ada")
    for number in range(9_999):
        tries.take(f"another {number}")
    assert tries.take("ada") > 0
    assert tries.take("name 9998") == 0
