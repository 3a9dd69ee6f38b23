"""An agent of the OpenAI Agents SDK whose tools go through a gate: it pauses for a person, and pays once.

Needs `pip install 'callgate[agents]'`, and nothing from outside: a model on this machine stands in. With a key of
yours, leave `serve` and `model=` out.
"""

from __future__ import annotations

import asyncio
import json

from agents import Agent, OpenAIResponsesModel, Runner, RunState, set_tracing_disabled
from offline_model import openai_answer, serve
from openai import AsyncOpenAI

from callgate import Callgate, Context, tool
from callgate.frameworks.openai_agents import GateTools

paid: list[int] = []


@tool(effects="read_only")
def balance(account: str) -> int:
    """Tell the balance of an account."""
    return {"rent": 700}.get(account, 0)


@tool(name="bank.pay", effects="network_access", risk="high")
async def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount} to {to}"


async def run(gate: Callgate, url: str) -> None:
    """One conversation: the model looks, wants to pay, and a person is asked."""
    tools = GateTools(gate, Context(user="ann", session="chat-17"))
    model = OpenAIResponsesModel("stand-in", openai_client=AsyncOpenAI(base_url=url, api_key="none"))
    agent = Agent(name="clerk", instructions="You pay bills.", tools=tools.functions(), model=model)

    result = await Runner.run(agent, "Pay my rent.")
    state = result.to_state()
    for question in await tools.questions(result):
        print("May it?", " ".join(question.approval.what.split()))
        print("Paid so far:", paid)
        await tools.approve(state, question.item, by="ann")  # or elsewhere, and then: await tools.collect(state)

    kept = json.dumps(state.to_json())  # a state may be kept while people think, and loaded by another process
    result = await Runner.run(agent, await RunState.from_string(agent, kept))
    print("The agent says:", result.final_output)
    result = await Runner.run(agent, await RunState.from_string(agent, kept))
    print("Run again from the same state:", result.final_output)
    print("Paid in all:", paid)


async def main() -> None:
    """Start the stand-in and a gate, and let the agent work."""
    set_tracing_disabled(disabled=True)  # the SDK's traces leave the machine, arguments and outputs included
    with serve(openai_answer) as url:
        async with Callgate.open("memory://") as gate:
            gate.add(balance, pay)
            await run(gate, url)


if __name__ == "__main__":
    asyncio.run(main())
