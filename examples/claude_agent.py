"""Claude Code with a gate before all its tools: the gate's own, and Bash, Read and the rest that Claude Code brings.

Needs `pip install 'callgate[claude]'`, which brings Claude Code itself, and nothing from outside: the model is a script
on this machine. With a key of yours, leave `scripted_anthropic` and `env=` out.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage
from scripted_anthropic import environment, says, scripted_anthropic, uses

from callgate import Callgate, Context, tool
from callgate.frameworks.claude_agent import ClaudeGate, host_tools
from callgate.model.event import Event

paid: list[int] = []


@tool(name="bank.pay", effects="network_access", risk="high")
async def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount} to {to}"


class Person:
    """Stands for somebody at the inbox: allows what has to do with the rent, and nothing else."""

    def __init__(self, gate: Callgate) -> None:
        self._gate = gate
        self._work: set[asyncio.Task[None]] = set()

    def hear(self, event: Event) -> None:
        """A question was put."""
        task = asyncio.ensure_future(self._answer(dict(event.payload or {})))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _answer(self, question: dict[str, object]) -> None:
        what = " ".join(str(question["what"]).split())
        if "rent" in what:
            print("ann allows:", what)
            await self._gate.approve(str(question["approval_id"]), by="ann")
        else:
            print("ann rejects:", what)
            await self._gate.reject(str(question["approval_id"]), by="ann", why="that is not for you")


async def talk(folder: Path, environment: dict[str, str]) -> None:
    """One conversation in this folder; the gate stands before every tool of it."""
    async with Callgate.open("memory://", working_directory=folder) as gate:
        gate.add(pay, *host_tools())
        gate.on("gate.required", Person(gate).hear)
        claude = ClaudeGate(gate, Context(user="ann", session="chat-17"))
        options = claude.options(ClaudeAgentOptions(cwd=folder, setting_sources=[], env=environment))
        async with ClaudeSDKClient(options) as client:
            await client.query("Pay my rent and note it.")
            messages = [message async for message in client.receive_response()]
        print("claude says:", *[message.result for message in messages if isinstance(message, ResultMessage)])


def main() -> None:
    """Let Claude Code pay the rent, and try a few things that it may not."""
    script = (
        uses(("toolu_1", "mcp__gate__bank__pay", {"amount": 600, "to": "rent"})),
        uses(("toolu_2", "Bash", {"command": "echo paid >> rent.txt", "description": "note it"})),
        uses(("toolu_3", "Bash", {"command": "rm -rf notes", "description": "tidy up"})),
        uses(("toolu_4", "Read", {"file_path": "/etc/hosts"})),
        says("The rent is paid and noted."),
    )
    with tempfile.TemporaryDirectory() as place, scripted_anthropic(*script) as model:
        home, folder = Path(place, "home"), Path(place, "work")
        home.mkdir()
        folder.mkdir()
        asyncio.run(talk(folder, environment(model.url, home)))
        for tool_use_id, told in model.results().items():
            print(tool_use_id, "->", told.split(":")[0] if told.startswith("Not run") else told)
        print("paid:", paid, "noted:", (folder / "rent.txt").read_text().split())


if __name__ == "__main__":
    main()
