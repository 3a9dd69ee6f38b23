"""Every form of the console, sent by a page of others with the cookie and the stamp of the visit: nothing is done.

A new form is a new case. The witness is the record: whatever is done here is recorded.
"""

import httpx2
import pytest
from starlette.routing import Route

from callgate.model.approval import ApprovalState
from callgate.serve.console.app import routes
from tests.doors.console.conftest import AGENT, Console

_PASSWORD = "correct horse battery"
_FORMS = [each.path for each in routes() if isinstance(each, Route) and "POST" in (each.methods or ())]
_FOREIGN = {
    "a page of another site": ({"Origin": "https://evil.example"}, 403),
    "a page of no site": ({"Origin": "null"}, 403),
    "a page of another port": ({"Origin": "http://127.0.0.1:1"}, 403),
    "a page that does not say of which": ({"Sec-Fetch-Site": "cross-site"}, 403),
    "another name": ({"Host": "evil.example"}, 421),
}


async def _filled(console: Console, client: httpx2.AsyncClient, path: str) -> tuple[str, dict[str, str]]:
    """The address of a form, and something for it that would be taken of its own page."""
    gate, stamp = console.gate, await console.stamp(client)
    which = await console.ask()
    lost = await gate.call("send_letter", {"to": "bob"}, AGENT)
    names = {"id": which, "call": lost.call_id, "name": "pay"}
    seen, definition = (await gate.approval(which)).digest, gate.difference("pay").definition_hash
    forms = {
        "/approvals/{id}": {"answer": "approve", "seen": seen},
        "/outcomes/{call}": {"answer": "happened", "note": "I looked"},
        "/tools/{name}": {"answer": "try", "json": '{"amount": 1, "to": "bob"}', "role": "default"},
        "/tools/{name}/distrust": {"why": "it lies"},
        "/tries/{id}": {},
        "/review/accept": {"proposal": "x"},
        "/review/{name}": {"definition": definition},
        "/evidence": {},
        "/evidence/export": {"span": "all"},
        "/sign-in": {"name": "grace", "password": _PASSWORD, "next": "/"},
        "/sign-out": {},
    }
    return path.format(**names), forms[path] | {"stamp": stamp}


@pytest.mark.parametrize("path", _FORMS)
async def test_a_form_that_is_not_of_our_own_page_does_nothing(console: Console, path: str):
    grace, _ = await console.gate.admit_person("grace", by="operator")
    await console.gate.set_password(grace.id, _PASSWORD)
    async with console.signed_in() as client:
        address, form = await _filled(console, client, path)
        cookie = client.cookies["callgate_visit"]
        (before,) = await console.gate.newest_events(1)
        for how, (headers, status) in _FOREIGN.items():
            answer = await client.post(address, data=form, headers=headers)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), how
            assert "set-cookie" not in answer.headers, how
        (after,) = await console.gate.newest_events(1)
    assert after.position == before.position
    assert await console.gate.visit(cookie) is not None
    assert {each.state for each in await console.gate.approvals()} == {ApprovalState.PENDING}
    assert console.paid == []


_QUIET = {"/evidence", "/evidence/export", "/tries/{id}", "/review/accept", "/review/{name}"}
"""What records nothing, or has nothing to do here."""


@pytest.mark.parametrize("path", [each for each in _FORMS if each not in _QUIET])
async def test_the_same_form_of_our_own_page_is_recorded(console: Console, path: str):
    """So that the test above can fail."""
    grace, _ = await console.gate.admit_person("grace", by="operator")
    await console.gate.set_password(grace.id, _PASSWORD)
    async with console.signed_in() as client:
        address, form = await _filled(console, client, path)
        (before,) = await console.gate.newest_events(1)
        answer = await client.post(address, data=form, headers={"Origin": console.url})
        (after,) = await console.gate.newest_events(1)
    assert answer.status_code in {200, 303}
    assert after.position > before.position
