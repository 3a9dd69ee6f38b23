"""The console's own name: nobody else's port gets its cookie, and under another name it does nothing."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.async_api import expect

from callgate import Callgate
from callgate.errors import ConfigurationError
from callgate.model.approval import ApprovalState
from callgate.serve.server import serving
from callgate.serve.sockets import listen
from callgate.settings.values import ServeSettings
from tests.doors.console.conftest import Console, Desk, client_of

_COOKIE = "callgate_visit"


@dataclass
class _Thief:
    """Somebody else's server on this machine: what a browser showed it."""

    port: int = 0
    asked: list[str] = field(default_factory=list[str])
    cookies: list[str] = field(default_factory=list[str])

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        self.asked.append(lines[0])
        self.cookies += [line.partition(":")[2].strip() for line in lines if line.lower().startswith("cookie:")]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async def decide(self, console: Console, which: str) -> None:
        """Do with the cookie what its owner could, without a browser."""
        for shown in self.cookies:
            async with console.client(headers={"Cookie": shown, "Accept": "text/html"}) as client:
                page = (await client.get(f"/approvals/{which}")).text
                found = dict(re.findall(r'name="(stamp|seen)" value="([^"]+)"', page))
                await client.post(f"/approvals/{which}", data=found | {"answer": "approve"})


@contextlib.asynccontextmanager
async def _thief() -> AsyncGenerator[_Thief]:
    found = _Thief()
    server = await asyncio.start_server(found.take, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    async with server:
        yield found


@pytest.mark.slow
async def test_a_server_on_another_port_gets_no_cookie_and_decides_nothing(desk: Desk):
    console = desk.console
    which = await console.ask()
    async with _thief() as thief:
        page = await (await desk.sit()).context.new_page()
        for host in ("127.0.0.1", "localhost", "evil.localhost"):
            await page.goto(f"http://{host}:{thief.port}/dev-server")
        await thief.decide(console, which)
        assert len([line for line in thief.asked if "/dev-server" in line]) == 3
        assert [each for each in thief.cookies if _COOKIE in each] == []
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING


@pytest.mark.slow
async def test_a_cookie_that_is_shown_would_decide_so_that_the_thief_can(desk: Desk):
    """The other way round: whoever gets the cookie decides, so that the test above can fail."""
    console = desk.console
    which = await console.ask()
    async with _thief() as thief:
        page = await (await desk.sit()).context.new_page()
        await page.goto(f"http://{urlsplit(console.url).hostname}:{thief.port}/")
        await thief.decide(console, which)
    assert (await console.gate.approval(which)).state is ApprovalState.APPROVED


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_under_another_name_of_this_machine_nobody_comes_in(console: Console, host: str):
    port = urlsplit(console.url).port
    which = await console.ask()
    link = (await console.link()).replace(console.url, f"http://{host}:{port}")
    async with console.signed_in() as visitor:
        cookie, stamp = visitor.cookies[_COOKIE], await console.stamp(visitor)
    seen = (await console.gate.approval(which)).digest
    headers = {"Host": f"{host}:{port}", "Accept": "text/html", "Cookie": f"{_COOKIE}={cookie}"}
    async with console.client(headers=headers) as client:
        entered = await client.get(urlsplit(link).path + "?" + urlsplit(link).query)
        form = {"stamp": stamp, "answer": "approve", "seen": seen}
        posted = await client.post(f"/approvals/{which}", data=form)
        looked = await client.get("/calls?tool=pay&status=failed")
        program = await client.get("/calls", headers={"Accept": "*/*"})
        style = await client.get("/static/console.css")
        absent = await client.get("/api/v1/nowhere", headers={"Accept": "*/*"})
    for answer in (entered, posted, looked, program):
        assert (answer.status_code, "set-cookie" in answer.headers) == (421, False)
    assert f'href="{console.url}/calls?tool=pay&amp;status=failed"' in looked.text
    assert (program.json()["code"], console.url in program.json()["detail"]) == ("console_elsewhere", True)
    assert style.status_code == 200
    assert (absent.status_code, absent.json()["code"]) == (404, "no_such_address")
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING
    async with console.client() as client:
        assert (await client.get(link.replace(f"http://{host}:{port}", console.url))).status_code == 303


@pytest.mark.slow
async def test_the_page_under_another_name_leads_to_the_console(desk: Desk):
    page = await desk.blank()
    link = await desk.console.link()
    await page.goto(link.replace(desk.console.url, desk.console.addresses.url))
    await desk.keep(page, "elsewhere")
    assert await desk.faults(page) == []
    await page.get_by_role("link", name="Open http://callgate-").click()
    await expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
    assert page.url == f"{desk.console.url}/"
    assert [each for each in desk.complaints if "421" not in each] == []
    desk.complaints.clear()


async def test_links_for_people_have_the_consoles_name_and_agents_keep_their_address(console: Console):
    assert re.fullmatch(r"http://callgate-[0-9a-f]{12}\.localhost:\d+", console.url)
    assert console.addresses.url == f"http://127.0.0.1:{urlsplit(console.url).port}"
    _, token = await console.gate.admit_agent("crawler", by="operator")
    for url in (console.addresses.url, console.addresses.url.replace("127.0.0.1", "localhost")):
        async with client_of(url, headers={"Authorization": f"Bearer {token}"}) as agent:
            made = await agent.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a b"}})
        assert made.json()["value"] == 2


async def test_two_gates_of_one_machine_have_two_names_and_one_has_the_same_again(tmp_path: object):
    names: list[str] = []
    for file in ("one", "two", "one"):
        async with Callgate.open(f"sqlite:///{tmp_path}/{file}.db") as gate:
            names.append(gate.own_name)
    assert names[0] == names[2] != names[1]


@pytest.mark.parametrize(
    ("settings", "console"),
    [
        (ServeSettings(port=0, url="http://localhost:8700"), "http://localhost:8700"),
        (ServeSettings(port=0, url="https://gate.example/"), "https://gate.example"),
        (ServeSettings(port=0, address="127.0.0.2"), "http://127.0.0.2:PORT"),
        (ServeSettings(port=0, address="0.0.0.0"), "http://NAME.localhost:PORT"),
        (ServeSettings(port=0, address="::1"), "http://NAME.localhost:PORT"),
        (ServeSettings(port=0, address="::"), "http://NAME.localhost:PORT"),
    ],
    ids=["url", "proxy", "another address", "everywhere", "IPv6", "everywhere of both kinds"],
)
async def test_the_operator_says_by_which_name_people_come(settings: ServeSettings, console: str):
    async with Callgate.open("memory://") as gate, serving(gate, settings) as where:
        port = next(each.rpartition(":")[2] for each in where.hosts if each.startswith("127.0.0.1:"))
        assert where.console == console.replace("NAME", gate.own_name).replace("PORT", port)
        person, _ = await gate.admit_person("ada", by="operator")
        code = await gate.sign_in_link(person.id)
        reached = settings.address if settings.address == "127.0.0.2" else "127.0.0.1"
        async with httpx2.AsyncClient(base_url=f"http://{reached}:{port}", trust_env=False, timeout=60) as client:
            host = {"Host": urlsplit(where.console).netloc}
            assert (await client.get(f"/enter?code={code}", headers=host)).status_code == 303


def _steal(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind((address, port))


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
async def test_nobody_else_can_have_the_port_at_either_address_of_this_machine(address: str):
    """Browsers look for names below localhost at ::1 first."""
    async with Callgate.open("memory://") as gate, serving(gate, ServeSettings(port=0, address=address)) as where:
        port = int(next(each.rpartition(":")[2] for each in where.hosts if each.startswith("127.0.0.1:")))
        for local in ("127.0.0.1", "::1"):
            with pytest.raises(OSError, match="in use"):
                _steal(local, port)
            host = f"[{local}]" if ":" in local else local
            async with httpx2.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False, timeout=60) as client:
                assert (await client.get("/healthz")).json() == {"status": "alive"}


@pytest.mark.parametrize(("ours", "theirs"), [("127.0.0.1", "::1"), ("0.0.0.0", "::1"), ("::1", "127.0.0.1")])
def test_where_somebody_has_the_port_at_the_other_address_nothing_is_served(ours: str, theirs: str):
    with socket.socket(socket.AF_INET6 if ":" in theirs else socket.AF_INET) as thief:
        thief.bind((theirs, 0))
        thief.listen()
        port = thief.getsockname()[1]
        with pytest.raises(ConfigurationError, match=re.escape(theirs)):
            listen(ours, port)
    for each in listen(ours, port):
        each.close()
