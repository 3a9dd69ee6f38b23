"""A bank whose payments are lines of a file, and agents of the OpenAI Agents SDK that use it. Runs alone as well.

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
from examples.scripted_openai import Items, ScriptedOpenAI, says, scripted_openai

set_tracing_disabled(disabled=True)
MINE = Context(user="ann", session="chat-1")


class Bank:
    """Tools with a witness outside: what was paid stands in a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "paid.txt"
        self.looked: list[str] = []

    @property
    def paid(self) -> list[str]:
        """The payments that were made, one by one."""
        return self._file.read_text().split() if self._file.exists() else []

    def tools(self) -> list[Any]:
        """A tool that reads and one that pays."""

        @tool(effects="read_only")
        async def balance(account: str) -> int:
            """Tell the balance of an account."""
            self.looked.append(account)
            return 700

        @tool(name="bank.pay", effects="system_state", risk="high")
        async def pay(amount: int, to: str = "bob") -> str:
            """Pay somebody."""
            with self._file.open("a") as file:
                file.write(f"{amount}:{to}\n")
            return f"paid {amount} to {to}"

        return [balance, pay]


class House:
    """A gate, a scripted model and the tools between them."""

    def __init__(self, gate: Callgate, script: ScriptedOpenAI, bank: Bank) -> None:
        self.gate = gate
        self.script = script
        self.bank = bank
        self.tools = GateTools(gate, MINE)

    def agent(self, tools: list[Any] | None = None, **options: Any) -> Agent[Any]:
        """An agent with these tools; those of the gate when left out."""
        return agent_with(self.tools.functions() if tools is None else tools, url=self.script.url, **options)


def agent_with(tools: list[Any], *, url: str, name: str = "clerk", **options: Any) -> Agent[Any]:
    """An agent whose model is the scripted one, reached through the real client."""
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    return Agent(name=name, tools=tools, model=OpenAIResponsesModel("scripted", openai_client=client), **options)


class Houses:
    """Opens houses, and closes what it opened."""

    def __init__(self, folder: Path) -> None:
        self.bank = Bank(folder)
        self._stack = AsyncExitStack()

    async def open(self, *answers: Items, more: list[Any] | None = None, **options: Any) -> House:
        """A gate with the tools of the bank and more, before a model that answers this."""
        script = self._stack.enter_context(scripted_openai(*answers))
        gate = await self._stack.enter_async_context(memory_gate(*self.bank.tools(), *(more or []), **options))
        return House(gate, script, self.bank)

    async def close(self) -> None:
        """Let go of them all."""
        await self._stack.aclose()


async def _go_on(folder: Path) -> str:
    bank = Bank(folder)
    with scripted_openai(says("The rent is paid.")) as script:
        gate = memory_gate(*bank.tools(), store=f"sqlite:///{folder}/gate.db", working_directory=folder)
        async with gate:
            agent = agent_with(GateTools(gate, MINE).functions(), url=script.url)
            state = await RunState.from_string(agent, (folder / "state.json").read_text())
            result = await Runner.run(agent, state)
            return f"{result.final_output} {len(result.interruptions)} {script.results()['call_1']}"


if __name__ == "__main__":
    print(asyncio.run(_go_on(Path(sys.argv[1]))))  # noqa: T201 - what this process is for
