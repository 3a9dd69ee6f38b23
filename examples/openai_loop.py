"""An agent that pays the rent: OpenAI's model, two tools, and a person who is asked before money leaves.

Run it with `python examples/openai_loop.py`. With OPENAI_API_KEY in the environment it speaks with the provider,
and with the model that MODEL names; without one, with a server on loopback that stands in for it.
"""

from __future__ import annotations

import asyncio
import os
import sys

from offline_model import openai_answer, serve
from openai import AsyncOpenAI

from callgate import Callgate, Context, tool
from callgate.frameworks.openai_loop import OpenAILoop

KEY = "OPENAI_API_KEY"


@tool(effects="read_only")
def balance(account: str) -> int:
    """Tell the balance of an account."""
    return {"rent": 700}.get(account, 0)


@tool(name="bank.pay", effects="network_access", risk="high")
async def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


async def decide(gate: Callgate, pending: list[str]) -> None:
    """Ask the person at the terminal; where there is none, say yes, for this is an example."""
    for approval in await gate.approvals():
        if approval.id in pending:
            print("May it?", approval.what)
            yes = not sys.stdin.isatty() or (await asyncio.to_thread(input, "yes or no: ")) == "yes"
            await (gate.approve(approval.id, by="ann") if yes else gate.reject(approval.id, by="ann", why="not now"))


async def pay_rent(client: AsyncOpenAI) -> None:
    """One conversation, from the user's words to the model's last."""
    async with Callgate.open("memory://") as gate:
        gate.add(balance, pay)
        loop = OpenAILoop(client, gate, model=os.environ.get("MODEL", "gpt-5.5"))
        context = Context(user="ann", session="rent-november")  # one conversation, one session
        result = await loop.run("If the account 'rent' has enough, pay bob his 600.", context)
        while result.stopped == "pending":
            await decide(gate, result.pending)
            result = await loop.resume(result.state or {}, context)
        print(result.stopped, "|", result.text)
        for event in [event async for event in gate.events(types=["tool_call.succeeded"])]:
            print("recorded:", event.type, event.payload and event.payload["tool"])


async def main() -> None:
    """Speak with whom there is."""
    if os.environ.get(KEY):
        async with AsyncOpenAI() as client:
            await pay_rent(client)
        return
    print(f"There is no {KEY}: a server on loopback stands in for the model.")
    with serve(openai_answer) as url:
        async with AsyncOpenAI(base_url=url, api_key="none") as client:
            await pay_rent(client)


if __name__ == "__main__":
    asyncio.run(main())
