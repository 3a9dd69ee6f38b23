"""Claude Code itself, which the SDK brings along, talking with a scripted model, and a gate before its tools."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from claude_agent_sdk import CanUseToolShadowedWarning, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from callgate import Callgate, Context, NoEffect, ToolContext, tool
from callgate.frameworks.claude_agent import ClaudeGate, host_tools
from callgate.model.event import Event
from callgate.settings.load import parse_settings
from callgate.testing import memory_gate
from examples.scripted_anthropic import Blocks, environment, scripted_anthropic

RULES = parse_settings(
    """
global:
  rules:
    - {match: bank.pay, when: "args.amount > 1000", verdict: deny, why: "more than the bank has"}
    - {match: host.bash, when: "args.command.contains('sudo')", verdict: deny, why: "nobody is root here"}
""",
    file="callgate.yaml",
)
Answer = Callable[[Callgate, str], Any]
"""Decides one question: the gate, and the id of the approval."""


def approve(**arguments: Any) -> Answer:
    """Say yes, perhaps to other arguments."""
    return lambda gate, question: gate.approve(question, by="ann", arguments=arguments or None)


def reject(why: str) -> Answer:
    """Say no."""
    return lambda gate, question: gate.reject(question, by="ann", why=why)


def respond(text: str) -> Answer:
    """Answer in place of the tool."""
    return lambda gate, question: gate.respond(question, by="ann", text=text)


class Talk(NamedTuple):
    """What came of one conversation."""

    said: str
    results: dict[str, str]
    """What the model read of each tool use."""
    requests: list[dict[str, Any]]
    events: list[Event]

    def ends(self, name: str) -> list[str]:
        """How the calls of a tool went on, in order."""
        told = [event for event in self.events if (event.payload or {}).get("tool") == name]
        return [event.type.removeprefix("tool_call.") for event in told if event.type.startswith("tool_call.")]


def bank(folder: Path) -> list[Any]:
    """Tools with a witness outside: what was paid stands in a file."""

    @tool(effects="read_only")
    async def balance(account: str) -> int:
        """Tell the balance of an account."""
        return 700

    @tool(name="bank.pay", effects="system_state", risk="high")
    async def pay(amount: int, to: str = "bob") -> str:
        """Pay somebody."""
        with (folder / "paid.txt").open("a") as file:
            file.write(f"{amount}:{to}\n")
        return f"paid {amount} to {to}"

    @tool(effects="system_state", risk="low")
    async def lose(ctx: ToolContext) -> str:
        """Lose the connection after sending."""
        async with ctx.effect():
            raise ConnectionResetError

    @tool(effects="system_state", risk="low")
    async def miss() -> str:
        """Fail before anything happened."""
        raise NoEffect("the queue is full")

    return [balance, pay, lose, miss]


def lines(file: Path) -> list[str]:
    """What a file has, line by line; nothing where there is none."""
    return file.read_text().split() if file.exists() else []


class People:
    """Decide questions as they come: what is asked about says how."""

    def __init__(self, gate: Callgate, answers: Mapping[str, Answer]) -> None:
        self._gate = gate
        self._answers = answers
        self._tasks: set[asyncio.Task[Any]] = set()

    def hear(self, event: Event) -> None:
        """A question was put."""
        body = event.payload or {}
        for words, answer in self._answers.items():
            if words in str(body["what"]):
                task = asyncio.ensure_future(answer(self._gate, str(body["approval_id"])))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)


def converse(
    folder: Path,
    *script: Blocks,
    answers: Mapping[str, Answer] | None = None,
    store: str = "memory://",
    wait: float = 60.0,
    before: Callable[[Callgate], Any] | None = None,
    **options: Any,
) -> Talk:
    """One conversation of Claude Code with this script, in this folder, from beginning to end.

    Args:
        folder: Where it works; its home is beside it.
        script: What the model answers.
        answers: How people decide, by words of what they are asked.
        store: Of the gate.
        wait: Seconds that calls wait for people.
        before: Done with the open gate first.
        options: Further options of the SDK.
    """
    return asyncio.run(_converse(folder, script, answers or {}, store=store, wait=wait, before=before, options=options))


async def _converse(
    folder: Path,
    script: tuple[Blocks, ...],
    answers: Mapping[str, Answer],
    *,
    store: str,
    wait: float,
    before: Callable[[Callgate], Any] | None,
    options: dict[str, Any],
) -> Talk:
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    gate = memory_gate(*bank(folder), *host_tools(), store=store, config=RULES, working_directory=folder)
    with scripted_anthropic(*script) as model:
        given = environment(model.url, home) | options.pop("env", {})
        options.setdefault("setting_sources", [])
        base = ClaudeAgentOptions(cwd=folder, env=given, **options)
        async with gate:
            if before is not None:
                await before(gate)
            gate.on("gate.required", People(gate, answers).hear)
            claude = ClaudeGate(gate, Context(user="ann", session="chat-1", working_directory=str(folder)), wait=wait)
            said = await _talk(claude.options(base))
            events = [event async for event in gate.events()]
    return Talk(said, model.results(), model.requests, events)


async def _talk(options: ClaudeAgentOptions) -> str:
    """What the model says in the end."""
    said = ""
    with warnings.catch_warnings():
        # The SDK does not know that the hook makes the host ask in every mode.
        warnings.simplefilter("ignore", CanUseToolShadowedWarning)
        client = ClaudeSDKClient(options)
        await client.connect()
    try:
        await client.query("Go.")
        async for message in client.receive_response():
            said = (message.result or "") if isinstance(message, ResultMessage) else said
    finally:
        await client.disconnect()
    return said


async def approve_all(gate: Callgate) -> None:
    """Say yes to everything that waits."""
    for question in await gate.approvals():
        await gate.approve(question.id, by="ann")
