"""Calls at the console: the list with its filters, and one call's story."""

import pytest
from playwright.async_api import expect

from callgate import Context
from tests.doors.console.conftest import AGENT, Console, Desk


async def test_filters_stand_in_the_address_and_pages_follow_each_other(console: Console):
    for _ in range(60):
        await console.gate.call("word_count", {"text": "a b"}, AGENT)
    await console.gate.call("pay", {"amount": 1, "to": "bob"}, Context(principal="other"))
    async with console.signed_in() as client:
        everything = (await client.get("/calls")).text
        assert everything.count('href="/calls/0') == 50
        assert "/calls?page=2" in everything
        second = (await client.get("/calls?page=2")).text
        assert second.count('href="/calls/0') == 11
        only = (await client.get("/calls?tool=pay&status=pending&principal=other")).text
        assert only.count('href="/calls/0') == 1
        none = (await client.get("/calls?tool=pay&status=failed")).text
        assert "No call fits" in none
        counted = (await client.get("/calls?tool=word_count")).text
        assert "/calls?tool=word_count&amp;page=2" in counted
        for odd in ("0", "-1", "x", "9" * 30, "²"):
            assert (await client.get("/calls", params={"page": odd})).status_code == 200


async def test_a_story_tells_every_step_with_its_reasons_though_it_ran_under_a_later_call(console: Console):
    which = await console.ask(30, "bob")
    asked = (await console.gate.approval(which)).call_id
    await console.gate.approve(which, by="ada")
    ran = await console.gate.call("pay", {"amount": 30, "to": "bob"}, AGENT)
    async with console.signed_in() as client:
        for call in (asked, ran.call_id):
            text = (await client.get(f"/calls/{call}")).text
            places = [
                text.index(words)
                for words in (
                    "A person has to decide first",
                    "high risk at autonomy A2 is confirm",
                    "A person said yes",
                    "The approval was used up",
                    "the tool was started",
                    "It ended well",
                )
            ]
            assert places == sorted(places)
        assert (await client.get("/calls/nothing")).status_code == 404


async def test_an_empty_list_teaches_and_a_refusal_tells_why(console: Console):
    async with console.signed_in() as client:
        assert "callgate tokens agent" in (await client.get("/calls")).text
        refused = await console.gate.call("word_count", {"text": 1}, AGENT)
        text = (await client.get(f"/calls/{refused.call_id}")).text
    assert "It was refused before anything happened" in text
    assert "text" in text


@pytest.mark.slow
async def test_a_call_appears_and_its_story_grows_while_one_looks(desk: Desk):
    console, page = desk.console, await desk.sit()
    await page.goto(f"{console.url}/calls")
    await desk.live(page)
    which = await console.ask(9, "bob")
    await page.get_by_role("link", name="pay", exact=True).click()
    await desk.live(page)
    await expect(page.get_by_text("A person has to decide first")).to_be_visible()
    await console.gate.approve(which, by="grace")
    await console.gate.resume(which)
    await expect(page.get_by_text("It ended well")).to_be_visible()
    assert console.paid == [(9, "bob")]
    await desk.keep(page, "story-desk")


async def test_what_an_agent_did_before_has_only_its_own_calls_from_before_the_question(console: Console):
    await console.gate.call("word_count", {"text": "a"}, AGENT)
    await console.gate.call("word_count", {"text": "b"}, Context(principal="other", session=AGENT.session))
    which = await console.ask()
    await console.gate.call("send_letter", {"to": "bob"}, AGENT)
    async with console.signed_in() as client:
        text = (await client.get(f"/approvals/{which}")).text
    before = text[text.index("What it did before") :]
    assert before.count("/calls/") == 1
    assert "word_count" in before
    assert "send_letter" not in before


@pytest.mark.slow
async def test_however_much_an_agent_does_afterwards_what_it_did_before_stays_to_be_seen(console: Console):
    first = await console.gate.call("word_count", {"text": "a"}, AGENT)
    which = await console.ask()
    for number in range(2100):
        await console.gate.call("word_count", {"text": str(number)}, AGENT)
    async with console.signed_in() as client:
        text = (await client.get(f"/approvals/{which}")).text
    before = text[text.index("What it did before") :]
    assert before.count("/calls/") == 1
    assert f"/calls/{first.call_id}" in before
