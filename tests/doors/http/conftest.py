"""A served gate for tests of the network doors: a real server on a free loopback port."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from callgate import Callgate, tool
from callgate.model.approval import Approval
from callgate.serve.server import serving
from callgate.settings.values import ServeSettings

_SECONDS = 20.0


@dataclass
class Served:
    """A gate and its doors."""

    gate: Callgate
    url: str
    paid: list[int]
    """The witness: every payment that was made."""
    console: str = ""
    """Where people are sent."""

    @staticmethod
    def open(settings: ServeSettings | None = None) -> contextlib.AbstractAsyncContextManager["Served"]:
        """A gate of its own, for tests that need it in some place or with some settings."""
        return served_gate(Callgate.open("memory://"), settings)

    async def agent(self, name: str = "crawler", **limits: Any) -> httpx2.AsyncClient:
        """A client that shows an agent's token."""
        _, token = await self.gate.admit_agent(name, by="operator", **limits)
        return self._client(token)

    async def person(self, name: str = "ada", **choices: Any) -> httpx2.AsyncClient:
        """A client that shows a person's token."""
        _, token = await self.gate.admit_person(name, by="operator", **choices)
        return self._client(token)

    def nobody(self) -> httpx2.AsyncClient:
        """A client that shows nothing."""
        return self._client(None)

    async def question(self, principal: str = "crawler") -> Approval:
        """The first question of this agent that waits, as soon as there is one."""
        async with asyncio.timeout(_SECONDS):
            async for _ in self.gate.events(types=["gate.required"], follow=True):
                found = [each for each in await self.gate.approvals() if each.principal == principal]
                if found:
                    return found[0]
        pytest.fail("nothing was asked")

    async def recorded(self, event: str) -> None:
        """Wait until an event of this type is in the record."""
        async with asyncio.timeout(_SECONDS):
            async for _ in self.gate.events(types=[event], follow=True):
                return

    async def until(
        self, ask: Callable[[], Awaitable[httpx2.Response]], met: Callable[[httpx2.Response], bool]
    ) -> dict[str, Any]:
        """Ask until the answer is as it should be; what it is then."""
        async with asyncio.timeout(_SECONDS):
            answer = await ask()
            while not met(answer):
                answer = await ask()
        return answer.json()

    def _client(self, token: str | None) -> httpx2.AsyncClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, trust_env=False, timeout=60)


def _as_known(arguments: dict[str, Any], _key: str) -> str:
    return arguments["known"]


@contextlib.asynccontextmanager
async def served_gate(gate: Callgate, settings: ServeSettings | None = None) -> AsyncGenerator[Served]:
    """Serve a gate with a tool that reads, one that pays and asks first, and one whose end is not known."""
    paid: list[int] = []

    @tool(effects="read_only")
    def word_count(text: str) -> int:
        """Count the words in a text."""
        return len(text.split())

    @tool(effects="system_state", risk="high")
    def pay(amount: int) -> str:
        """Pay somebody."""
        paid.append(amount)
        return f"paid {amount}"

    @tool(effects="network_access", risk="low", verify=_as_known)
    def ship(known: str) -> str:
        """Ship something; the line breaks, and what became of it nobody knows."""
        raise ConnectionError(known)

    async with gate:
        gate.add(word_count, pay, ship)
        async with serving(gate, settings or ServeSettings(port=0)) as where:
            yield Served(gate, where.url, paid, console=where.console)


@pytest.fixture
async def served():
    async with served_gate(Callgate.open("memory://")) as found:
        yield found
