"""Unknown outcomes at the console: asking the tool, and saying what was found."""

import asyncio

import pytest
from playwright.async_api import expect

from callgate import Call, Unknown, tool
from tests.doors.console.conftest import AGENT, Console, Desk


async def _lost(console: Console) -> Unknown:
    outcome = await console.gate.call("send_letter", {"to": "bob"}, AGENT)
    assert isinstance(outcome, Unknown)
    return outcome


async def test_what_nobody_knows_is_listed_and_a_person_says_what_they_found(console: Console):
    async with console.signed_in() as client:
        assert "Everything is known" in (await client.get("/outcomes")).text
        lost = await _lost(console)
        assert lost.call_id in (await client.get("/outcomes")).text
        form = {"stamp": await console.stamp(client), "answer": "happened", "note": "asked Bob", "output": '"sent"'}
        wrong = await client.post(f"/outcomes/{lost.call_id}", data=form | {"output": "{"})
        assert (wrong.status_code, "no JSON" in wrong.text) == (409, True)
        nothing = await client.post(f"/outcomes/{lost.call_id}", data=form | {"answer": "perhaps"})
        assert nothing.status_code == 409
        answer = await client.post(f"/outcomes/{lost.call_id}", data=form)
        assert answer.headers["location"] == f"/calls/{lost.call_id}"
        story = (await client.get(f"/calls/{lost.call_id}")).text
        assert "Somebody found out whether it happened" in story
        assert "asked Bob" in story
        assert (await client.get(f"/outcomes/{lost.call_id}")).status_code == 303
        assert (await client.post(f"/outcomes/{lost.call_id}", data=form)).status_code == 404
    assert lost.key is not None
    known = await console.gate.outcome(lost.key, AGENT)
    assert known is not None
    assert known.unwrap() == "sent"


async def test_a_tool_that_its_host_never_reported_says_so(console: Console):
    @tool(name="host.edit", effects="modifies_files", risk="low", source="host", timeout=0.05)
    def edit(path: str) -> str:
        """Change a file; the host does it."""
        raise AssertionError(path)

    console.gate.add(edit)
    judged = await console.gate.judge(Call("host.edit", {"path": "a"}), AGENT)
    assert judged.allowed
    async with asyncio.timeout(30):
        async for _ in console.gate.events(types=["tool_call.unknown"], follow=True):
            break
    async with console.signed_in() as client:
        for path in ("/outcomes", f"/outcomes/{judged.id}", f"/calls/{judged.id}"):
            assert "host" in (text := (await client.get(path)).text), path
            assert "never reported how it ended" in text, path
        assert "callgate connect claude-code" in (await client.get(f"/outcomes/{judged.id}")).text
        lost = await _lost(console)
        assert "It took longer than it may" in (await client.get(f"/outcomes/{lost.call_id}")).text


async def test_the_tool_is_asked_first_and_may_not_know(console: Console):
    lost = await _lost(console)
    async with console.signed_in() as client:
        form = {"stamp": await console.stamp(client), "answer": "verify"}
        answer = await client.post(f"/outcomes/{lost.call_id}", data=form)
        assert "The tool cannot tell" in answer.text
        console.post = "happened"
        answer = await client.post(f"/outcomes/{lost.call_id}", data=form)
        assert answer.status_code == 303
    assert await console.gate.unknown_outcomes() == []


async def test_who_may_only_read_resolves_nothing(console: Console):
    lost = await _lost(console)
    async with console.signed_in(rights=["read"]) as client:
        assert "takes the right to decide" in (await client.get(f"/outcomes/{lost.call_id}")).text
        form = {"stamp": await console.stamp(client), "answer": "absent"}
        assert (await client.post(f"/outcomes/{lost.call_id}", data=form)).status_code == 403
    assert len(await console.gate.unknown_outcomes()) == 1


@pytest.mark.slow
async def test_a_person_resolves_an_unknown_in_the_browser(desk: Desk):
    console, page = desk.console, await desk.sit()
    await page.goto(f"{console.url}/outcomes")
    await desk.live(page)
    await _lost(console)
    await page.get_by_role("link", name="send_letter").click()
    await expect(page.get_by_role("heading", name="Did send_letter happen?")).to_be_visible()
    await desk.keep(page, "outcome-desk")
    await page.get_by_role("button", name="Ask it").click()
    await expect(page.get_by_text("The tool cannot tell")).to_be_visible()
    await page.get_by_label("How did you find out?").fill("the post has no such letter")
    await page.get_by_role("button", name="It did not happen").click()
    await expect(page.get_by_text("the post has no such letter")).to_be_visible()
    assert await console.gate.unknown_outcomes() == []
