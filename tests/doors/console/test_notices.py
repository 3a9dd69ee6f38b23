"""Notifications of new questions: for who switched them on, without what the call was made with."""

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from callgate import Call, Context
from tests.doors.console.conftest import AGENT, Console, Desk

_WITNESS = """
window.shown = [];
const Real = window.Notification;
window.Notification = class extends Real {
  constructor(title, options) {
    super(title, options);
    this.addEventListener("show", () => window.shown.push(this));
  }
};
"""
"""Keeps every notification that the browser says it has shown."""
_SECRET = "hunter2 of the bank"


async def _desk(desk: Desk, *, granted: bool = True, name: str = "ada") -> Page:
    page = await desk.blank()
    context = page.context
    await context.add_init_script(_WITNESS)
    if granted:
        await context.grant_permissions(["notifications"], origin=desk.console.url)
    await page.goto(await desk.console.link(name))
    await desk.live(page)
    return page


async def _shown(page: Page, number: int) -> list[dict[str, str]]:
    await page.wait_for_function("number => window.shown.length >= number", arg=number)
    told = "window.shown.map(({title, body, tag}) => ({title, body, tag}))"
    found: list[dict[str, str]] = await page.evaluate(told)
    return found


async def _switch_on(page: Page) -> None:
    await page.get_by_role("button", name="Notify me of questions").click()
    await expect(page.get_by_role("button", name="Stop notifying me")).to_be_visible()
    await page.wait_for_selector("body[data-tells]")


@pytest.mark.slow
async def test_a_question_that_arrives_is_shown_without_its_arguments_and_leads_to_itself(desk: Desk):
    console, page = desk.console, await _desk(desk)
    await _switch_on(page)
    assert [each["title"] for each in await _shown(page, 1)] == ["Callgate tells you here"]
    await desk.keep(page, "notices-desk")
    which = await console.ask(4200, "bob", note=_SECRET)
    _, told = await _shown(page, 2)
    assert told == {
        "title": "pay: a person has to decide",
        "body": "high risk, asked by crawler for grace",
        "tag": which,
    }
    assert "4200" not in str(told)
    assert _SECRET not in str(told)
    await page.evaluate("window.shown[1].dispatchEvent(new Event('click'))")
    await page.wait_for_url(f"**/approvals/{which}")
    await expect(page.get_by_role("heading", name="Why you are asked")).to_be_visible()


@pytest.mark.slow
async def test_the_choice_stays_in_the_browser_and_one_page_of_it_tells_also_when_nobody_looks(desk: Desk):
    console, page = desk.console, await _desk(desk)
    await _switch_on(page)
    other = await page.context.new_page()
    await other.goto(f"{console.url}/calls")
    await expect(other.get_by_role("button", name="Stop notifying me")).to_be_visible()
    await other.bring_to_front()
    which = await console.ask()
    assert [each["tag"] for each in await _shown(page, 2)] == ["callgate", which]
    await expect(other.locator("[data-count=approvals]")).to_have_text("1")
    assert await other.evaluate("window.shown.length") == 0
    await page.close()
    await other.wait_for_selector("body[data-tells]")
    second = await console.ask(6)
    assert [each["tag"] for each in await _shown(other, 1)] == [second]


@pytest.mark.slow
async def test_nothing_is_shown_before_it_is_switched_on_nor_after_it_is_switched_off(desk: Desk):
    console, page = desk.console, await _desk(desk)
    await console.ask(1)
    await expect(page.locator("[data-count=approvals]")).to_have_text("1")
    await _switch_on(page)
    await page.get_by_role("button", name="Stop notifying me").click()
    await expect(page.get_by_role("button", name="Notify me of questions")).to_be_visible()
    await console.ask(2)
    await expect(page.locator("[data-count=approvals]")).to_have_text("2")
    assert [each["tag"] for each in await _shown(page, 1)] == ["callgate"]
    await page.reload()
    await expect(page.get_by_role("button", name="Notify me of questions")).to_be_visible()


@pytest.mark.slow
async def test_a_browser_that_does_not_permit_it_is_asked_on_the_click_alone_and_says_so(desk: Desk):
    page = await _desk(desk, granted=False)
    assert await page.evaluate("window.shown.length") == 0
    await page.get_by_role("button", name="Notify me of questions").click()
    await expect(page.get_by_text("does not let the console notify you")).to_be_visible()
    assert await page.evaluate("window.shown.length") == 0


@pytest.mark.slow
async def test_many_questions_at_once_are_one_notification(desk: Desk):
    console, page = desk.console, await _desk(desk)
    await _switch_on(page)
    asked = asyncio.Event()

    async def hold(route: Route) -> None:
        await asked.wait()
        await route.continue_()

    await page.route("**/asked?*", hold)
    for amount in range(5):
        await console.ask(amount)
    asked.set()
    _, told = await _shown(page, 2)
    assert (told["title"], told["tag"]) == ("5 calls: a person has to decide", "callgate")
    await expect(page.locator("[data-count=approvals]")).to_have_text("5")
    await console.ask(7)
    assert (await _shown(page, 3))[-1]["title"] == "pay: a person has to decide"


async def test_what_is_told_of_a_question_is_for_who_may_see_it_and_only_while_it_waits(console: Console):
    first = await console.ask(1, note=_SECRET)
    plan = await console.gate.plan(
        [Call("pay", {"amount": 1, "to": "a"}), Call("pay", {"amount": 2, "to": "b"})], AGENT, ask=True
    )
    async with console.signed_in(rights=["decide"]) as client:
        told = (await client.get("/asked")).json()["asked"]
        assert [each["id"] for each in told] == [first, plan.approval_id]
        assert told[1]["title"] == "2 calls: a person has to decide"
        assert _SECRET not in str(told)
        newest = (await console.gate.newest_events(1))[-1].position
        assert (await client.get("/asked", params={"after": newest})).json() == {"asked": []}
        await console.gate.reject(first, by="grace", why="no")
        assert [each["id"] for each in (await client.get("/asked", params={"after": "x"})).json()["asked"]] == [
            plan.approval_id
        ]
    async with console.signed_in("eve", rights=["administer"]) as nobody:
        assert (await nobody.get("/asked")).status_code == 403


async def test_names_of_others_are_shown_whole_or_cut_and_never_hide_anything(console: Console):
    who = Context(principal="p\u202e" + "x" * 300, user="u\nv", session="s")
    await console.ask(context=who)
    async with console.signed_in() as client:
        (told,) = (await client.get("/asked")).json()["asked"]
    assert "\u202e" not in told["text"]
    assert "<U+202E>" in told["text"]
    assert "\n" not in told["text"]
    assert len(told["text"]) < 250
