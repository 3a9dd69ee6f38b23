"""An agent of Pydantic AI whose tools go through a gate: a payment waits for a person, and is made once.

Run it: python examples/pydantic_ai_agent.py (pip install 'callgate[pydantic-ai]'; no network, a script plays the model)
"""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from callgate import Callgate, Context, tool
from callgate.frameworks.pydantic_ai import GateToolset

paid: list[int] = []


@tool(effects="read_only")
def balance(account: str) -> int:
    """Tell the balance of an account."""
    return {"rent": 1200}[account]


@tool(name="bank.pay", effects="network_access", risk="high")
async def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount} to {to}"


def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Play the model: look at the balance and pay, then say so. Yours would be "anthropic:claude-sonnet-4-5", say."""
    if any(isinstance(message, ModelResponse) for message in messages):
        return ModelResponse(parts=[TextPart("Your rent is paid.")])
    return ModelResponse(
        parts=[
            ToolCallPart("balance", {"account": "rent"}, tool_call_id="call_1"),
            ToolCallPart("bank__pay", {"amount": 950, "to": "bob"}, tool_call_id="call_2"),
        ]
    )


async def main() -> None:
    """Tell the story."""
    async with Callgate.open("memory://") as gate:
        gate.add(balance, pay)
        tools = GateToolset[None](gate, Context(user="ann", session="chat-17"), by="ann")
        agent = Agent(FunctionModel(model), toolsets=[tools], output_type=[str, DeferredToolRequests])

        run = await agent.run("Pay my rent.")
        waiting = run.output.metadata if isinstance(run.output, DeferredToolRequests) else {}
        for question in waiting.values():
            print("The agent wants to call", question["what"])
            print("You are asked because", "; ".join(question["reasons"]))
        print("Paid so far:", paid)

        # Ann thinks; run.all_messages_json() keeps the conversation meanwhile. Then she says yes, but to 900.
        # The metadata says to which question.
        yes = ToolApproved(override_args={"amount": 900, "to": "bob"})
        answers = DeferredToolResults(approvals={"call_2": yes}, metadata=waiting)
        done = await agent.run(message_history=run.all_messages(), deferred_tool_results=answers)
        print("Ann changed the amount:", waiting["call_2"]["arguments"]["amount"], "became", paid[-1])
        parts = [part for message in done.new_messages() for part in message.parts]
        print("The model reads:", next(part.content for part in parts if isinstance(part, ToolReturnPart)))
        print("The agent says:", done.output)

        again = await agent.run(message_history=run.all_messages(), deferred_tool_results=answers)
        print("Resumed once more:", again.output)
        print("Paid in all:", paid)
        [attempt] = await gate.attempts()
        print("Recorded:", attempt.tool, attempt.state.value, "approved by", end=" ")
        print((await gate.approval(attempt.approval_id or "")).decided_by)


if __name__ == "__main__":
    asyncio.run(main())
