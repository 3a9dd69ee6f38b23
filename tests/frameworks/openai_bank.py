"""Agents of the OpenAI Agents SDK before a gate with a till, and a model on loopback that answers by a script.

Started as a program it loads the state of a run from a file, goes on with it on the same store, and prints what the
model said: a second process, which shares nothing with the first but the store and the file.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from agents import Agent, OpenAIResponsesModel, Runner, RunState, set_tracing_disabled
from openai import AsyncOpenAI

from callgate import Callgate, Context, tool
from callgate.frameworks.openai_agents import GateTools
from callgate.testing import memory_gate
from tests.frameworks.stub_openai import OpenAIStub, called, response, said
from tests.frameworks.stub_server import Body, dicts
from tests.frameworks.tills import Till

set_tracing_disabled(disabled=True)
MINE = Context(user="ann", session="chat-1")


def says(words: str) -> Body:
    """The model answers in words."""
    return response(said(words))


def calls(*wanted: tuple[str, str, str]) -> Body:
    """The model calls tools: (id, name, arguments as JSON text) of each."""
    return response(*[called(own, name) | {"arguments": text} for own, name, text in wanted])


def results(stub: OpenAIStub) -> dict[str, str]:
    """What the model read of each call, by its id."""
    items = [item for body in stub.bodies for item in dicts(body["input"])]
    return {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}


class Bank(Till):
    """A till, and a tool that looks into it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.looked: list[str] = []

    def tools(self) -> list[Any]:
        """A tool that reads and one that pays."""

        @tool(effects="read_only")
        async def balance(account: str) -> int:
            """Tell the balance of an account."""
            self.looked.append(account)
            return 700

        return [balance, self.pay]


class House:
    """A gate, a scripted model and the tools between them."""

    def __init__(self, gate: Callgate, stub: OpenAIStub, bank: Bank) -> None:
        self.gate = gate
        self.stub = stub
        self.bank = bank
        self.tools = GateTools(gate, MINE)

    @property
    def told(self) -> dict[str, str]:
        """What the model read of each call, by its id."""
        return results(self.stub)

    def agent(self, tools: list[Any] | None = None, **options: Any) -> Agent[Any]:
        """An agent with these tools; those of the gate when left out."""
        return agent_with(self.tools.functions() if tools is None else tools, url=self.stub.url, **options)


def agent_with(tools: list[Any], *, url: str, name: str = "clerk", **options: Any) -> Agent[Any]:
    """An agent whose model is the scripted one, reached through the real client."""
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    return Agent(name=name, tools=tools, model=OpenAIResponsesModel("stub", openai_client=client), **options)


class Houses:
    """Opens houses, and closes what it opened."""

    def __init__(self, folder: Path) -> None:
        self.bank = Bank(folder)
        self._stack = AsyncExitStack()

    async def open(self, *answers: Body, more: list[Any] | None = None, **options: Any) -> House:
        """A gate with the tools of the bank and more, before a model that answers this."""
        stub = await self._stack.enter_async_context(OpenAIStub(answers))
        gate = await self._stack.enter_async_context(memory_gate(*self.bank.tools(), *(more or []), **options))
        return House(gate, stub, self.bank)

    async def close(self) -> None:
        """Let go of them all."""
        await self._stack.aclose()


async def _go_on(folder: Path) -> str:
    bank = Bank(folder)
    gate = memory_gate(*bank.tools(), store=f"sqlite:///{folder}/gate.db", working_directory=folder)
    async with OpenAIStub([says("The rent is paid.")]) as stub, gate:
        agent = agent_with(GateTools(gate, MINE).functions(), url=stub.url)
        state = await RunState.from_string(agent, (folder / "state.json").read_text())
        result = await Runner.run(agent, state)
        return f"{result.final_output} {len(result.interruptions)} {results(stub)['call_1']}"


if __name__ == "__main__":
    print(asyncio.run(_go_on(Path(sys.argv[1]))))  # noqa: T201 - what this process is for
