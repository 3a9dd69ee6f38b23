"""What people do at the console, in a real browser: whole stories, on a desk and on a phone."""

import asyncio

import pytest
from playwright.async_api import Route, expect

from tests.doors.console.conftest import AGENT, WIDTHS, Desk

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("where", sorted(WIDTHS))
async def test_a_call_arrives_is_read_edited_approved_and_runs_once(desk: Desk, where: str):
    console, page = desk.console, await desk.sit(width=WIDTHS[where])
    assert "code=" not in page.url
    await expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    await desk.keep(page, f"inbox-empty-{where}")

    which = await console.ask(50, "bob", note="for tea")
    await page.get_by_role("link", name="pay", exact=True).click()
    await expect(page.get_by_role("heading", name="Why you are asked")).to_be_visible()
    await expect(page.get_by_text("high risk at autonomy A2")).to_be_visible()
    await expect(page.get_by_text("+50")).to_be_visible()
    await desk.keep(page, f"approval-{where}")

    await page.get_by_text("Edit, then approve").click()
    field = page.get_by_label("All arguments, as JSON")
    await field.fill('{"amount": 20, "to": "bob"}')
    await page.get_by_role("button", name="Show what it would do").click()
    await expect(page.get_by_text("+80")).to_be_visible()
    await desk.keep(page, f"edit-{where}")
    assert console.paid == []
    await page.get_by_role("button", name="Approve as edited").click()
    await expect(page.get_by_text("Approved by ada")).to_be_visible()
    assert console.paid == []

    first = await console.gate.call("pay", {"amount": 50, "to": "bob", "note": "for tea"}, AGENT)
    again = await console.gate.resume(which)
    assert (first.status, again.status) == ("succeeded", "succeeded")
    assert console.paid == [(20, "bob")]
    await expect(page.get_by_text("It was let through once")).to_be_visible()


async def test_a_person_rejects_with_a_reason_and_answers_another(desk: Desk):
    console, page = desk.console, await desk.sit()
    await console.ask(1, "first")
    await console.ask(2, "second")
    await page.get_by_role("link", name="pay", exact=True).first.click()
    await page.get_by_text("Reject", exact=True).first.click()
    await page.get_by_label("Why not?").fill("we do not pay first")
    await page.get_by_role("button", name="Reject").click()
    await expect(page.get_by_text("we do not pay first")).to_be_visible()
    await page.get_by_role("link", name="Next question").click()
    await page.get_by_text("Answer instead").click()
    await page.get_by_label("What the model is told").fill("ask me on Monday")
    await page.get_by_role("button", name="Send the answer").click()
    await expect(page.get_by_text("Answered by ada")).to_be_visible()
    told = await console.gate.call("pay", {"amount": 2, "to": "second"}, AGENT)
    assert told.error is not None
    assert (told.error.code, told.error.message) == ("approval_answered", "ask me on Monday")
    assert console.paid == []


async def test_what_somebody_else_decides_is_seen_without_asking(desk: Desk):
    console, page = desk.console, await desk.sit()
    which = await console.ask()
    await page.get_by_role("link", name="pay", exact=True).click()
    await desk.live(page)
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await console.gate.reject(which, by="grace", why="no")
    await expect(page.get_by_text("Rejected by grace")).to_be_visible()
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)


async def test_what_happens_before_the_stream_is_open_is_not_missed(desk: Desk):
    console, page = desk.console, await desk.sit()
    opened = asyncio.Event()

    async def hold(route: Route) -> None:
        await opened.wait()
        await route.continue_()

    await page.route("**/live?*", hold)
    await page.goto(console.url)
    await expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    await console.ask()
    opened.set()
    await expect(page.get_by_role("link", name="pay", exact=True)).to_be_visible()


async def test_keys_lead_through_a_question(desk: Desk):
    console, page = desk.console, await desk.sit()
    await console.ask()
    await expect(page.get_by_role("link", name="pay", exact=True)).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Your answer")).to_be_visible()
    await page.keyboard.press("n")
    await page.keyboard.type("no")
    await expect(page.get_by_label("Why not?")).to_have_value("no")
    await page.keyboard.press("Escape")
    await page.locator("main").focus()
    await page.keyboard.press("y")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Approved by ada")).to_be_visible()
    await desk.live(page)
    for letter, path in (("o", "/coverage"), ("e", "/evidence"), ("a", "/")):
        await page.locator("main").focus()
        await page.keyboard.press("g")
        await page.keyboard.press(letter)
        await page.wait_for_url(f"{console.url}{path}")
        await desk.live(page)


async def test_a_link_and_a_password_lead_in_and_signing_out_leads_out(desk: Desk):
    console, page = desk.console, await desk.sit()
    (person,) = await console.gate.credentials()
    await console.gate.set_password(person.id, "correct horse battery")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in to Callgate")).to_be_visible()
    await page.get_by_label("Name").fill("ada")
    await page.get_by_label("Password").fill("correct horse battery")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
