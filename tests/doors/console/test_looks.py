"""Every page at every size, in light and dark: nothing serious for axe, nothing wider than the screen."""

import pytest

from callgate import tool
from tests.doors.console.conftest import AGENT, WIDTHS, Console, Desk

pytestmark = pytest.mark.slow
_HOSTILE = "<script>window.bad=1</script><img src=x onerror='window.bad=1'>\u202egnp\u200b https://xn--pple-43d.com"


async def _fill(console: Console) -> dict[str, str]:
    """Something on every page; the addresses of all of them."""
    for _ in range(4):
        await console.gate.call("word_count", {"text": "a b"}, AGENT)
    decided = await console.ask(3, "grace")
    await console.gate.approve(decided, by="eve")
    ran = await console.gate.resume(decided)
    waits = await console.ask(40, _HOSTILE, note=f"first\nsecond\n\n\n\n\n\n\n{_HOSTILE}" + " " * 200 + "the end")
    lost = await console.gate.call("send_letter", {"to": "bob"}, AGENT)

    @tool(name="pay", effects="system_state", risk="low")
    def pay(amount: int, to: str, note: str = "") -> str:
        """Pay somebody, without asking too often."""
        return "paid"

    console.gate.add(pay, update=True)
    return {
        "approvals": "/",
        "approval": f"/approvals/{waits}",
        "decided": f"/approvals/{decided}",
        "calls": "/calls",
        "call": f"/calls/{ran.call_id}",
        "outcomes": "/outcomes",
        "outcome": f"/outcomes/{lost.call_id}",
        "tools": "/tools",
        "tool": "/tools/send_letter",
        "review": "/review",
        "reviewed": "/review/pay",
        "policy": "/policy?tool=pay&arguments=%7B%22amount%22%3A1%2C%22to%22%3A%22b%22%7D",
        "replay": "/policy/replay?span=24h",
        "coverage": "/coverage",
        "health": "/health",
        "evidence": "/evidence",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", sorted(WIDTHS))
async def test_every_page_is_accessible_and_fits_its_screen(desk: Desk, where: str, scheme: str):
    addresses = await _fill(desk.console)
    page = await desk.sit(width=WIDTHS[where], scheme=scheme)
    found: dict[str, list[str]] = {}
    for name, address in addresses.items():
        await page.goto(desk.console.url + address)
        await desk.live(page)
        if name == "health":
            await page.wait_for_selector("[data-drawn] canvas")
        await desk.keep(page, f"{name}-{where}-{scheme}")
        found[name] = await desk.faults(page)
        wide = await page.evaluate("document.documentElement.scrollWidth")
        found[name] += [] if wide <= WIDTHS[where] else [f"it is {wide} pixels wide"]
        assert await page.evaluate("window.bad") is None
    nobody = await desk.blank(width=WIDTHS[where], scheme=scheme)
    await nobody.goto(desk.console.url + "/")
    await desk.keep(nobody, f"sign-in-{where}-{scheme}")
    found["sign-in"] = await desk.faults(nobody)
    assert {name: faults for name, faults in found.items() if faults} == {}


async def test_the_menu_of_a_phone_opens_and_leads(desk: Desk):
    page = await desk.sit(width=WIDTHS["phone"])
    assert not await page.get_by_role("link", name="Calls").is_visible()
    await page.get_by_role("button", name="Menu").click()
    await desk.keep(page, "menu-phone")
    assert await desk.faults(page) == []
    await page.get_by_role("link", name="Calls").click()
    assert page.url.endswith("/calls")
