"""Every door with the same words: a call, and a person's decision, each as that door has it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import httpx2
from mcp import Client

from callgate import Callgate, Context, Pending
from callgate.model.outcome import Outcome
from tests.doors.running import Cli

PERSON = "ada"


class Ended(NamedTuple):
    """How a call ended, whichever door it was made through."""

    status: str
    code: str | None = None
    value: Any = None
    approval_id: str = ""
    deduped: bool = False


class Door(Protocol):
    """A way to the gate."""

    async def call(self, tool: str, arguments: Mapping[str, Any], *, key: str) -> Ended:
        """Make a call."""
        ...

    async def approve(self, approval_id: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Say yes, perhaps to other arguments."""
        ...

    async def reject(self, approval_id: str, why: str) -> None:
        """Say no."""
        ...

    async def respond(self, approval_id: str, text: str) -> None:
        """Answer instead."""
        ...

    async def resolve(self, key: str, *, happened: bool) -> None:
        """Say of an unknown outcome whether it happened."""
        ...


def _ended(outcome: Outcome) -> Ended:
    code = None if outcome.error is None else outcome.error.code
    approval = outcome.approval_id if isinstance(outcome, Pending) else ""
    value = outcome.output if outcome.ok else None
    return Ended(outcome.status, code, value, approval, outcome.deduped)


class PythonDoor:
    """In process."""

    def __init__(self, gate: Callgate) -> None:
        self._gate = gate

    async def call(self, tool: str, arguments: Mapping[str, Any], *, key: str) -> Ended:
        return _ended(await self._gate.call(tool, arguments, Context(idempotency_key=key)))

    async def approve(self, approval_id: str, arguments: Mapping[str, Any] | None = None) -> None:
        await self._gate.approve(approval_id, by=PERSON, arguments=None if arguments is None else dict(arguments))

    async def reject(self, approval_id: str, why: str) -> None:
        await self._gate.reject(approval_id, by=PERSON, why=why)

    async def respond(self, approval_id: str, text: str) -> None:
        await self._gate.respond(approval_id, by=PERSON, text=text)

    async def resolve(self, key: str, *, happened: bool) -> None:
        await self._gate.resolve(key, Context(), happened=happened, by=PERSON)


class CliDoor:
    """The command line, each command as a process of its own would run it."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli

    async def call(self, tool: str, arguments: Mapping[str, Any], *, key: str) -> Ended:
        body = await self.run("call", tool, json.dumps(arguments), "--key", key)
        facts: dict[str, Any] = body["metadata"]
        error: dict[str, Any] = facts.get("error") or {}
        value = body["output"] if body["status"] == "success" else None
        return Ended(
            facts["outcome"], error.get("code"), value, facts.get("approval_id", ""), facts.get("deduped", False)
        )

    async def approve(self, approval_id: str, arguments: Mapping[str, Any] | None = None) -> None:
        edit = () if arguments is None else ("--edit", json.dumps(arguments))
        await self.run("approvals", "approve", approval_id, "--by", PERSON, *edit)

    async def reject(self, approval_id: str, why: str) -> None:
        await self.run("approvals", "reject", approval_id, "--by", PERSON, "--why", why)

    async def respond(self, approval_id: str, text: str) -> None:
        await self.run("approvals", "respond", approval_id, "--by", PERSON, "--text", text)

    async def resolve(self, key: str, *, happened: bool) -> None:
        await self.run("outcomes", "resolve", key, "--happened" if happened else "--absent", "--by", PERSON)

    async def run(self, *words: str) -> Any:
        """The document that a command prints."""
        # The command line has a loop of its own.
        done = await asyncio.to_thread(self._cli, *words, "--json")
        return done.body


class HttpDoor:
    """The HTTP API: an agent's client for calls, a person's for decisions."""

    def __init__(self, agent: httpx2.AsyncClient, person: httpx2.AsyncClient) -> None:
        self._agent = agent
        self._person = person

    async def call(self, tool: str, arguments: Mapping[str, Any], *, key: str) -> Ended:
        body = {"tool": tool, "arguments": arguments}
        answer = (await self._agent.post("/api/v1/calls", json=body, headers={"Idempotency-Key": key})).json()
        told: dict[str, Any] = answer.get("outcome", answer)
        error: dict[str, Any] = told.get("error") or {}
        value = told.get("value") if told["status"] == "succeeded" else None
        return Ended(told["status"], error.get("code"), value, told.get("approval_id", ""), told["deduped"])

    async def approve(self, approval_id: str, arguments: Mapping[str, Any] | None = None) -> None:
        await self._say(approval_id, "approve", {} if arguments is None else {"arguments": arguments})

    async def reject(self, approval_id: str, why: str) -> None:
        await self._say(approval_id, "reject", {"why": why})

    async def respond(self, approval_id: str, text: str) -> None:
        await self._say(approval_id, "respond", {"text": text})

    async def resolve(self, key: str, *, happened: bool) -> None:
        listed = (await self._person.get("/api/v1/outcomes")).raise_for_status().json()
        (row,) = [each for each in listed["items"] if each["key"] == key]
        body = {"happened": happened, "note": "looked"}
        (await self._person.post(f"/api/v1/outcomes/{row['call_id']}/resolve", json=body)).raise_for_status()

    async def _say(self, approval_id: str, what: str, body: dict[str, Any]) -> None:
        (await self._person.post(f"/api/v1/approvals/{approval_id}/{what}", json=body)).raise_for_status()


class McpDoor(HttpDoor):
    """MCP for the agent; a person decides over HTTP, for MCP has no door for people."""

    def __init__(self, client: Client, person: httpx2.AsyncClient) -> None:
        super().__init__(person, person)
        self._client = client

    async def call(self, tool: str, arguments: Mapping[str, Any], *, key: str) -> Ended:
        meta = {"callgate/context": {"idempotency_key": key}, "callgate/wait": 0}
        answer = await self._client.call_tool(tool, dict(arguments), meta=meta)  # pyright: ignore[reportArgumentType]
        told: dict[str, Any] = (answer.meta or {})["callgate/outcome"]
        structured: dict[str, Any] = answer.structured_content or {}
        approval, deduped = told.get("approval_id", ""), told.get("deduped", False)
        return Ended(told["status"], told.get("code"), structured.get("result"), approval, deduped)
