"""Signing in at the console: a link that works once, a password, and what the cookie is."""

import pytest

from callgate import Callgate
from callgate.serve.server import serving
from callgate.settings.values import ServeSettings
from tests.doors.console.conftest import AGENT, Console, client_of


async def test_a_link_lets_in_once_and_leaves_no_code_in_the_address(console: Console):
    link = await console.link()
    async with console.client() as client:
        first = await client.get(link)
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/" in cookie
        assert "Secure" not in cookie
        assert (await client.get(console.url + "/")).status_code == 200
    async with console.client() as other:
        again = await other.get(link)
        assert again.status_code == 403
        assert "used already" in again.text
        assert "set-cookie" not in again.headers


async def test_who_has_not_signed_in_is_sent_to_the_form_and_back_to_the_page_they_wanted(console: Console):
    (person, _) = await console.gate.admit_person("ada", by="operator")
    await console.gate.set_password(person.id, "correct horse battery")
    async with console.client() as client:
        sent = await client.get("/calls?tool=pay")
        assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in?next=/calls%3Ftool%3Dpay")
        form = {"name": "Ada", "password": "correct horse battery", "next": "/calls?tool=pay"}
        entered = await client.post("/sign-in", data=form)
        assert (entered.status_code, entered.headers["location"]) == (303, "/calls?tool=pay")
        assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1", ""]
)
async def test_nobody_is_sent_elsewhere_after_signing_in(console: Console, elsewhere: str):
    (person, _) = await console.gate.admit_person("ada", by="operator")
    await console.gate.set_password(person.id, "correct horse battery")
    async with console.client() as client:
        form = {"name": "ada", "password": "correct horse battery", "next": elsewhere}
        assert (await client.post("/sign-in", data=form)).headers["location"] == "/"


async def test_signing_out_ends_the_visit_in_the_store_too(console: Console):
    async with console.signed_in() as client:
        cookie, stamp = client.cookies["callgate_visit"], await console.stamp(client)
        answer = await client.post("/sign-out", data={"stamp": stamp})
        assert answer.headers["location"] == "/sign-in"
    async with console.client(cookies={"callgate_visit": cookie}) as client:
        assert (await client.get("/")).status_code == 303


async def test_a_revoked_person_is_out_at_once(console: Console):
    async with console.signed_in() as client:
        assert (await client.get("/")).status_code == 200
        (person,) = [each for each in await console.gate.credentials() if each.name == "ada"]
        await console.gate.revoke_credential(person.id, by="operator")
        assert (await client.get("/")).headers["location"] == "/sign-in"


async def test_an_agents_token_is_no_cookie_and_a_persons_neither(console: Console):
    _, agents = await console.gate.admit_agent("crawler", by="operator")
    _, persons = await console.gate.admit_person("eve", by="operator")
    which = await console.ask()
    asked = await console.gate.approval(which)
    async with console.signed_in() as ada:
        # Everything that decides, but for the cookie.
        yes = {"answer": "approve", "seen": asked.digest, "stamp": await console.stamp(ada)}
        for token in (agents, persons, "x", ""):
            async with console.client(cookies={"callgate_visit": token}) as client:
                assert (await client.get("/")).headers["location"] == "/sign-in"
                answer = await client.post(f"/approvals/{which}", data=yes)
                assert answer.headers["location"] == "/sign-in"
        assert await console.gate.approval(which) == asked
        assert (await console.gate.resume(which, AGENT)).status == "pending"
        assert console.paid == []
        await ada.post(f"/approvals/{which}", data=yes)
    assert (await console.gate.resume(which, AGENT)).ok
    assert console.paid == [(5, "bob")]


async def test_over_tls_the_cookie_travels_no_other_way():
    settings = ServeSettings(port=0, url="https://gate.example")
    async with Callgate.open("memory://") as gate, serving(gate, settings) as where:
        assert (where.url, where.console) == ("https://gate.example", "https://gate.example")
        person, _ = await gate.admit_person("ada", by="operator")
        code = await gate.sign_in_link(person.id)
        (local,) = [each for each in where.hosts if each.startswith("127.0.0.1")]
        async with client_of(f"http://{local}", headers={"Host": "gate.example"}) as client:
            answer = await client.get(f"/enter?code={code}")
    assert "Secure" in answer.headers["set-cookie"]


async def test_every_page_says_what_a_browser_may_do_with_it(console: Console):
    async with console.signed_in() as client:
        for path in ("/", "/sign-in", "/nothing"):
            answer = await client.get(path)
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "unsafe" not in policy
            assert answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["cache-control"] == "no-store"
            assert "<script>" not in answer.text
            assert "style=" not in answer.text
            assert " onclick" not in answer.text
