"""A console in front of a real gate, and Chromium to look at it with."""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from callgate import Callgate, Context, Pending, tool
from callgate.serve.addresses import Addresses
from callgate.serve.server import serving
from callgate.settings.values import ServeSettings
from tests.needed import missing

expect.set_options(timeout=30_000)
SCREENSHOTS = Path(__file__).parent / "screenshots"
AXE = Path(sys.prefix) / "npm-console" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = {"desk": 1280, "phone": 390}
AGENT = Context(principal="crawler", user="grace", session="research")


class _Local(httpx2.AsyncHTTPTransport):
    """Finds every name on this machine, as browsers find those below localhost; the system's resolver may not."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        there = request.url.copy_with(host="127.0.0.1")
        sent = httpx2.Request(
            request.method, there, headers=request.headers, stream=request.stream, extensions=request.extensions
        )
        return await super().handle_async_request(sent)


def client_of(url: str, **more: Any) -> httpx2.AsyncClient:
    """A client of a console, under the console's name; it follows no redirects."""
    return httpx2.AsyncClient(base_url=url, transport=_Local(), timeout=60, **more)


@dataclass
class Console:
    """A gate, its console, and what its tools have done."""

    gate: Callgate
    addresses: Addresses
    paid: list[tuple[int, str]]
    """The witness: every payment that was made."""
    post: str = "cannot_tell"
    """What the post says when it is asked whether a letter was sent."""

    @property
    def url(self) -> str:
        """Where people are sent."""
        return self.addresses.console

    def client(self, **more: Any) -> httpx2.AsyncClient:
        """A client that shows nothing."""
        return client_of(self.url, **more)

    async def ask(self, amount: int = 5, to: str = "bob", context: Context = AGENT, **more: Any) -> str:
        """Let the agent ask for a payment; the id of its question."""
        outcome = await self.gate.call("pay", {"amount": amount, "to": to} | more, context)
        assert isinstance(outcome, Pending)
        return outcome.approval_id

    async def link(self, name: str = "ada", **choices: Any) -> str:
        """A link that lets a person in, once."""
        known = [each for each in await self.gate.credentials() if each.name == name]
        person = known[-1] if known else (await self.gate.admit_person(name, by="operator", **choices))[0]
        return f"{self.url}/enter?code={await self.gate.sign_in_link(person.id)}"

    @contextlib.asynccontextmanager
    async def signed_in(self, name: str = "ada", **choices: Any) -> AsyncGenerator[httpx2.AsyncClient]:
        """A client with the cookie of a visit; it follows no redirects."""
        async with self.client(headers={"Accept": "text/html"}) as client:
            answer = await client.get(await self.link(name, **choices))
            assert answer.status_code == 303
            yield client

    async def stamp(self, client: httpx2.AsyncClient) -> str:
        """What forms of this client's visit carry."""
        visit = await self.gate.visit(client.cookies["callgate_visit"])
        assert visit is not None
        return visit.stamp


@contextlib.asynccontextmanager
async def console_of(gate: Callgate) -> AsyncGenerator[Console]:
    """Serve a gate with a tool that reads, and one that pays and asks first."""
    paid: list[tuple[int, str]] = []

    @tool(effects="read_only")
    def word_count(text: str) -> int:
        """Count the words in a text."""
        return len(text.split())

    def balance(arguments: dict[str, Any], _context: object) -> str:
        return f"--- balance\n+++ balance\n@@ -1 +1 @@\n-100\n+{100 - arguments['amount']}\n"

    @tool(effects="system_state", risk="high", preview=balance)
    def pay(amount: int, to: str, note: str = "") -> str:
        """Pay somebody."""
        paid.append((amount, to))
        return f"paid {amount} to {to}"

    def sent_already(_arguments: dict[str, Any], _key: str) -> str:
        return found[0].post

    @tool(effects="network_access", risk="low", egress=False, timeout=0.1, verify=sent_already)
    async def send_letter(to: str) -> str:
        """Send a letter; the post never answers."""
        await asyncio.Event().wait()
        return f"sent to {to}"

    found: list[Console] = []
    async with gate:
        gate.add(word_count, pay, send_letter)
        async with serving(gate, ServeSettings(port=0)) as where:
            found.append(Console(gate, where, paid))
            yield found[0]


@pytest.fixture
async def console():
    async with console_of(Callgate.open("memory://")) as found:
        yield found


@dataclass
class Desk:
    """A browser at the console; whatever its pages complain of is kept."""

    browser: Browser
    console: Console
    complaints: list[str] = field(default_factory=list[str])
    contexts: list[BrowserContext] = field(default_factory=list[BrowserContext])

    async def sit(self, name: str = "ada", *, width: int = 1280, scheme: Any = "light", **choices: Any) -> Page:
        """Sign in with a link, in a browser of this person's own; the page is live."""
        page = await self.blank(width=width, scheme=scheme)
        await page.goto(await self.console.link(name, **choices))
        await self.live(page)
        return page

    async def blank(self, *, width: int = 1280, scheme: Any = "light") -> Page:
        """A browser that nobody has signed in with."""
        phone = width <= WIDTHS["phone"]
        context = await self.browser.new_context(
            viewport={"width": width, "height": 844 if phone else 800},
            color_scheme=scheme,
            is_mobile=phone,
            has_touch=phone,
        )
        context.set_default_timeout(30_000)
        self.contexts.append(context)
        page = await context.new_page()
        page.on("console", lambda message: self._hear(message.type, message.text))
        page.on("pageerror", lambda error: self._hear("error", str(error)))
        return page

    async def live(self, page: Page) -> None:
        """Wait until the page hears what happens."""
        await page.wait_for_selector("body[data-listening]")

    async def lead(self, page: Page, to: str) -> None:
        """Go to a page by the menu, as one does: on a phone it is opened first."""
        opener = page.get_by_role("button", name="Menu")
        if await opener.is_visible():
            await opener.click()
        await page.get_by_role("navigation", name="Main").get_by_role("link", name=to).click()
        await self.live(page)

    async def keep(self, page: Page, name: str, *, always: bool = False) -> None:
        """Keep what it looks like: always, or where somebody wants to see all of it."""
        if always or os.environ.get("CALLGATE_SCREENSHOTS"):
            SCREENSHOTS.mkdir(exist_ok=True)
            await page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    async def faults(self, page: Page) -> list[str]:
        """What axe finds that is serious, and where."""
        if not AXE.exists():
            missing("axe-core is not installed; run make setup where npm can be reached")
        await page.evaluate(AXE.read_text(encoding="utf-8"))
        found = await page.evaluate("async () => (await axe.run()).violations")
        serious = [each for each in found if each["impact"] in {"serious", "critical"}]
        return [f"{each['id']}: {node['html']}" for each in serious for node in each["nodes"]]

    def _hear(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(text)


@pytest.fixture
async def desk(console: Console):
    program = shutil.which("chromium")
    if program is None:
        missing("Chromium is not installed; on Debian and Ubuntu: apt-get install chromium")
    # Chromium's own sandbox does not start for root, which containers are.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=flags)
        found = Desk(browser, console)
        yield found
        for context in found.contexts:
            await context.close()
        await browser.close()
    assert found.complaints == []
