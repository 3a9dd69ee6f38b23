"""A graph of LangGraph whose tools go through a gate: a payment interrupts it, and is made once however it is resumed.

Run it: python examples/langgraph_agent.py (pip install 'callgate[langgraph]'; no network, a script plays the model)
"""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition
from langgraph.types import Command

from callgate import Callgate, Context, tool
from callgate.frameworks.langgraph import GateToolNode

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


def graph(gate: Callgate, context: Context) -> Any:
    """A model and the tools of a gate, in turns."""
    calls = [
        {"type": "tool_call", "id": "call_1", "name": "balance", "args": {"account": "rent"}},
        {"type": "tool_call", "id": "call_2", "name": "bank__pay", "args": {"amount": 900, "to": "bob"}},
    ]
    said = [AIMessage("", tool_calls=calls), AIMessage("Your rent is paid."), AIMessage("It was paid before.")]
    # Yours would be a model of a provider, with .bind_tools(gate.pool(context).to_openai_chat())
    model = GenericFakeChatModel(messages=iter(said))

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("agent", agent)
    built.add_node("tools", GateToolNode(gate, context, by="ann"))
    built.add_edge(START, "agent")
    built.add_conditional_edges("agent", tools_condition)
    built.add_edge("tools", "agent")
    return built.compile(checkpointer=InMemorySaver())


async def main() -> None:
    """Tell the story."""
    async with Callgate.open("memory://") as gate:
        gate.add(balance, pay)
        flow = graph(gate, Context(user="ann"))
        thread = {"configurable": {"thread_id": "chat-17"}}

        state = await flow.ainvoke({"messages": [("user", "Pay my rent.")]}, thread)
        [interrupt] = state["__interrupt__"]
        question = interrupt.value
        print("The graph wants to call", question["what"])
        print("You are asked because", "; ".join(question["reasons"]))

        state = await flow.ainvoke(Command(resume="Is it done?"), thread)
        [interrupt] = state["__interrupt__"]
        print("Still the same question:", interrupt.value["approval_id"] == question["approval_id"])
        print("Paid so far:", paid)

        answer = {"approval_id": question["approval_id"], "decision": "approve"}
        state = await flow.ainvoke(Command(resume=answer), thread)
        for message in state["messages"]:
            if isinstance(message, ToolMessage):
                print(message.name, "->", message.content)
        print("The agent says:", state["messages"][-1].content)

        [before] = [past async for past in flow.aget_state_history(thread) if past.next == ("tools",)]
        state = await flow.ainvoke(None, before.config)
        print("Replayed from before the payment:", state["messages"][-1].content)
        print("Paid in all:", paid)


if __name__ == "__main__":
    asyncio.run(main())
