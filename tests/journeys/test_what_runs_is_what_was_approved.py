"""Whatever is asked, edited, changed by the caller or by the handler: what runs has the digest that was approved."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from callgate import Context, Pending, tool
from callgate.model.canonical import dumps
from callgate.testing import memory_gate

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(TEXT, VALUES, max_size=4)


@given(asked=PAYLOADS, edited=st.none() | PAYLOADS, later=PAYLOADS)
@settings(max_examples=60)
def test_what_runs_has_the_digest_that_was_approved(
    asked: dict[str, Any], edited: dict[str, Any] | None, later: dict[str, Any]
) -> None:
    asyncio.run(_story(asked, edited, later))


async def test_no_function_of_the_tool_author_changes_what_was_approved() -> None:
    ran: list[Any] = []

    def spoil(arguments: dict[str, Any], *_more: Any) -> str:
        arguments["payload"]["amount"] = 999
        arguments["payload"]["list"].append("more")
        return "shown"

    def check(arguments: dict[str, Any], _context: Context) -> None:
        spoil(arguments)

    def targets(arguments: dict[str, Any]) -> list[str]:
        return [spoil(arguments)]

    def broadcast(arguments: dict[str, Any]) -> bool:
        return not spoil(arguments)

    def blast_radius(arguments: dict[str, Any]) -> int:
        return len(spoil(arguments))

    def reads(arguments: dict[str, Any], _output: Any) -> dict[str, str]:
        return {spoil(arguments): "x"}

    @tool(
        effects="network_access",
        risk="high",
        preview=spoil,
        check=check,
        targets=targets,
        broadcast=broadcast,
        blast_radius=blast_radius,
        reads=reads,
    )
    async def send(payload: dict[str, Any]) -> str:
        """Send anything."""
        ran.append(payload)
        return "sent"

    async with memory_gate(send) as gate:
        pending = await gate.call("send", {"payload": {"amount": 1, "list": []}})
        assert isinstance(pending, Pending)
        shown = await gate.approval(pending.approval_id)
        assert '{"amount":1,"list":[]}' in shown.what
        await gate.approve(pending.approval_id, by="ann")
        assert (await gate.resume(pending.approval_id)).ok
    assert ran == [{"amount": 1, "list": []}]


async def _story(asked: dict[str, Any], edited: dict[str, Any] | None, later: dict[str, Any]) -> None:
    ran: list[bytes] = []

    # Neither files nor hosts: any text may stand anywhere in the payload without being taken for one.
    @tool(effects="system_state", risk="high")
    async def send(payload: dict[str, Any]) -> str:
        """Send anything, and spoil it afterwards."""
        ran.append(dumps(payload))
        payload.clear()
        return "sent"

    async with memory_gate(send) as gate:
        arguments = {"payload": asked}
        wanted = dumps(asked if edited is None else edited)
        pending = await gate.call("send", arguments)
        assert isinstance(pending, Pending)
        approval = await gate.approve(
            pending.approval_id, by="ann", arguments=None if edited is None else {"payload": edited}
        )
        # The caller changes his own dictionary; the approval speaks for what was shown.
        snapshot = dumps(asked)
        arguments["payload"].update(later)
        outcome = await gate.resume(pending.approval_id)
        assert outcome.ok, outcome
        assert ran == [wanted]
        used = await gate.approval(approval.id)
        assert used.final_fingerprint == approval.final_fingerprint
        again = await gate.call("send", {"payload": asked})
        if dumps(asked) != snapshot:
            assert isinstance(again, Pending)
        assert ran == [wanted]
