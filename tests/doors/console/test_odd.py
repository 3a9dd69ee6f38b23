"""Whatever is sent to the console, it is refused or told, and nothing breaks."""

import itertools

import pytest

from tests.doors.console.conftest import Console

pytestmark = pytest.mark.slow
_ODD = ("", "\x00", "\xed\xa0\x80", "x" * 5000, "../../etc", "%00", "\u202e", "[]", "1e400", "null")
_NAMES = (
    "tool",
    "arguments",
    "role",
    "autonomy",
    "principal",
    "q",
    "page",
    "span",
    "after",
    "status",
    "trace",
    "next",
    "code",
)
_PAGES = ("/policy", "/coverage", "/asked", "/calls", "/tools", "/health", "/health/figures", "/sign-in", "/enter")
_FORMS = ("/tools/pay", "/tools/word_count", "/evidence", "/evidence/export", "/review/pay", "/review/accept")
_PLACES = ("approvals", "calls", "outcomes", "tools", "review", "tries", "static", "enter")
_SEGMENTS = ("%00", "%ED%A0%80", "..%2f..%2fetc", "x" * 3000, "%E2%80%AE")


async def test_odd_questions_are_answered(console: Console):
    async with console.signed_in() as client:
        for odd, name, path in itertools.product(_ODD, _NAMES, _PAGES):
            answer = await client.get(path, params={"tool": "pay"} | {name: odd})
            assert answer.status_code < 500, (path, name, odd[:20])


async def test_odd_forms_are_answered_and_nothing_is_done(console: Console):
    which = await console.ask()
    async with console.signed_in() as client:
        stamp = await console.stamp(client)
        forms = (*_FORMS, f"/approvals/{which}", f"/tries/{which}", f"/outcomes/{which}")
        for odd, path in itertools.product(_ODD, forms):
            form = {
                "stamp": stamp,
                "arguments": odd,
                "role": odd,
                "json": odd,
                "span": odd,
                "trace": odd,
                "proposal": odd,
            }
            for answer in ("edit", "try", "explain", "respond", odd) if "approvals" not in path else ("edit", odd):
                told = await client.post(path, data=form | {"answer": answer, "text": odd})
                assert told.status_code < 500, (path, answer, odd[:20])
    assert console.paid == []


async def test_odd_addresses_and_bodies_are_answered(console: Console):
    async with console.signed_in() as client:
        stamp = await console.stamp(client)
        for place, segment in itertools.product(_PLACES, _SEGMENTS):
            assert (await client.get(f"/{place}/{segment}")).status_code < 500, (place, segment)
            assert (await client.post(f"/{place}/{segment}", data={"stamp": stamp})).status_code < 500, (place, segment)
        assert (await client.post("/sign-out", files={"file": ("x", b"x")})).status_code in {400, 403}
        as_json = {"Content-Type": "application/json"}
        assert (await client.post("/sign-out", content=b"{}", headers=as_json)).status_code == 403
        assert (await client.put("/calls")).status_code == 405
        absent = await client.get("/nothing", headers={"Accept": "application/json"})
        assert (absent.status_code, absent.json()["code"]) == (404, "no_such_address")


async def test_a_wrong_method_at_the_api_is_told_as_that(console: Console):
    async with console.client() as client:
        assert (await client.get("/api/v1/nothing")).headers["content-type"] == "application/problem+json"
        assert (await client.delete("/healthz")).status_code == 405
