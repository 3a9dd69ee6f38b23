"""Failures that were seen in other systems of this kind, one test each: here they do not happen."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Refused, Succeeded, ToolContext, Unknown, tool
from callgate.errors import ApprovalConflict, ConfigurationError
from callgate.model.levels import Autonomy
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)


def code(outcome: Any) -> str:
    assert outcome.error is not None
    return outcome.error.code


def till() -> tuple[list[dict[str, Any]], Any]:
    paid: list[dict[str, Any]] = []

    @tool(effects="network_access", risk="high")
    async def pay(amount: int, notes: list[str] | None = None) -> str:
        """Pay somebody."""
        paid.append({"amount": amount, "notes": notes})
        return "paid"

    return paid, pay


async def test_arguments_changed_between_approval_and_run_do_not_run() -> None:
    """What runs has the digest that was approved, also when the caller changes its own dictionary meanwhile."""
    paid, pay = till()
    async with memory_gate(pay) as gate:
        arguments: dict[str, Any] = {"amount": 5, "notes": ["rent"]}
        pending = await gate.call("pay", arguments)
        assert isinstance(pending, Pending)
        await gate.approve(pending.approval_id, by="ann")
        arguments["amount"] = 5000
        arguments["notes"].append("bribe")
        assert isinstance(await gate.call("pay", arguments), Pending)
        assert (await gate.resume(pending.approval_id)).ok
    assert paid == [{"amount": 5, "notes": ["rent"]}]


_SHOP = """
import os
from callgate import tool

@tool(effects="network_access", risk="high")
async def pay(amount: int) -> str:
    '''Pay somebody.'''
    with open(os.environ["SHOP_LOG"], "a") as log:
        log.write("paid\\n")
    return "paid"
"""

_RACER = """
import asyncio, json, sys
from callgate import Callgate
import shop

async def main():
    async with Callgate.open(sys.argv[1]) as gate:
        gate.add(shop)
        print("ready", flush=True)
        sys.stdin.readline()
        outcome = await gate.resume(sys.argv[2])
        print(json.dumps([outcome.status, outcome.deduped]))

asyncio.run(main())
"""


async def test_one_approval_cannot_be_used_twice_also_not_by_two_processes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, log = f"sqlite:///{tmp_path / 'gate.db'}", tmp_path / "paid.txt"
    (tmp_path / "shop.py").write_text(_SHOP)
    (tmp_path / "racer.py").write_text(_RACER)
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType] - pytest leaves it untyped
    monkeypatch.setenv("SHOP_LOG", str(log))
    async with Callgate.open(store) as gate:
        gate.add(importlib.import_module("shop"))
        pending = await gate.call("pay", {"amount": 5})
        assert isinstance(pending, Pending)
        await gate.approve(pending.approval_id, by="ann")
    command = [sys.executable, str(tmp_path / "racer.py"), store, pending.approval_id]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    answers = [json.loads(racer.communicate(timeout=30)[0]) for racer in _started(racers)]
    assert log.read_text() == "paid\n"
    assert sorted(answers) == [["succeeded", False], ["succeeded", True], ["succeeded", True]]


def _started(racers: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    """Let all of them go before anybody is waited for."""
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return racers


async def test_a_rejection_never_runs() -> None:
    paid, pay = till()
    async with memory_gate(pay) as gate:
        pending = await gate.call("pay", {"amount": 5})
        assert isinstance(pending, Pending)
        waiting = asyncio.create_task(gate.call("pay", {"amount": 5}, wait=10))
        await gate.reject(pending.approval_id, by="ann", why="no")
        assert code(await asyncio.wait_for(waiting, 5)) == "approval_rejected"
        assert code(await gate.resume(pending.approval_id)) == "approval_rejected"
        with pytest.raises(ApprovalConflict):
            await gate.approve(pending.approval_id, by="bob")
    assert paid == []


async def test_a_sync_tool_reported_as_timed_out_does_not_land_unseen() -> None:
    release = threading.Event()
    landed: list[str] = []

    @tool(effects="modifies_files", risk="medium")
    def save(text: str) -> str:
        """Save slowly."""
        release.wait(10)
        landed.append(text)
        return "saved"

    async with memory_gate(save, config=FREE) as gate:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        outcome = await gate.call("save", {"text": "x"}, Context(idempotency_key="k"), timeout=0.02)
        assert isinstance(outcome, Unknown)
        assert code(await gate.call("save", {"text": "x"})) == "outcome_unknown"
        release.set()
        late = await asyncio.wait_for(heard.get(), 5)
        assert late.payload["state"] == "succeeded"
        recorded = await gate.outcome("k")
        assert isinstance(recorded, Succeeded)
    assert landed == ["x"]


async def test_a_read_that_ends_late_says_how_though_it_has_no_row() -> None:
    release = threading.Event()

    @tool(effects="read_only")
    def look() -> str:
        """Look slowly."""
        release.wait(10)
        return "seen"

    async with memory_gate(look, config=FREE) as gate:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        assert code(await gate.call("look", {}, timeout=0.02)) == "timed_out"
        release.set()
        late = await asyncio.wait_for(heard.get(), 5)
        assert (late.payload["state"], "row_digest" in late.payload) == ("succeeded", False)
        [entry] = await gate.calls()
        assert entry["status"] == "succeeded"
        assert (await gate.verify_audit()).problems == ()


async def test_a_cancelled_effect_has_its_record() -> None:
    entered = asyncio.Event()

    @tool(effects="network_access", risk="medium")
    async def send(text: str) -> str:
        """Send and hang."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    async with memory_gate(send, config=FREE) as gate:
        call = asyncio.create_task(gate.call("send", {"text": "x"}, Context(idempotency_key="k")))
        await asyncio.wait_for(entered.wait(), 5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert isinstance(await gate.outcome("k"), Unknown)
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.unknown"]


async def test_a_retry_after_an_unknown_under_a_new_key_is_refused() -> None:
    sent: list[str] = []

    @tool(effects="network_access", risk="medium")
    async def send(text: str) -> str:
        """Send; the answer is lost."""
        sent.append(text)
        raise ConnectionResetError

    async with memory_gate(send, config=FREE) as gate:
        first = await gate.call("send", {"text": "x"}, Context(idempotency_key="a"))
        assert isinstance(first, Unknown)
        second = await gate.call("send", {"text": "x"}, Context(idempotency_key="b"))
        assert code(second) == "outcome_unknown"
        assert "key a" in second.error.message  # pyright: ignore[reportOptionalMemberAccess]
    assert sent == ["x"]


async def test_nobody_is_asked_about_a_call_that_cannot_run() -> None:
    _, pay = till()
    async with memory_gate(pay) as gate:
        refused = await gate.call("pay", {"amount": "five", "nots": []})
        assert isinstance(refused, Refused)
        assert code(refused) == "invalid_arguments"
        assert refused.error is not None
        assert len(refused.error.faults) == 2
        assert await gate.approvals(states=None) == []


async def test_an_agent_cannot_approve_itself() -> None:
    paid, pay = till()
    async with memory_gate(pay) as gate:
        context = Context(principal="robot", user="ann")
        pending = await gate.call("pay", {"amount": 5}, context)
        assert isinstance(pending, Pending)
        with pytest.raises(ApprovalConflict, match="an agent never decides"):
            await gate.approve(pending.approval_id, by="robot")
        with pytest.raises(ConfigurationError, match="takes a person"):
            await gate.grant("pay", by="robot", principal="robot")
    assert paid == []


def test_allowing_a_group_that_does_not_exist_is_an_error_and_not_everything() -> None:
    with pytest.raises(ConfigurationError, match="typo"):
        parse_settings("roles: {helper: {scopes: ['*'], allow: ['group:typo']}}", file="callgate.yaml")


async def test_a_role_that_does_not_exist_admits_nothing() -> None:
    _, pay = till()
    settings = parse_settings("roles: {helper: {scopes: ['*'], allow: ['group:all']}}", file="callgate.yaml")
    async with memory_gate(pay, config=settings) as gate:
        refused = await gate.call("pay", {"amount": 5}, Context(role="boss"))
        assert code(refused) == "policy_denied"
        assert "helper" in refused.error.message  # pyright: ignore[reportOptionalMemberAccess]
        assert len(gate.pool(Context(role="boss"))) == 0
        default = await gate.call("pay", {"amount": 5})
        assert code(default) == "policy_denied"


async def test_a_late_handler_gets_no_secret_and_starts_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its limit a handler that still runs has nothing left: no secrets, no start of its effect."""
    monkeypatch.setenv("CALLGATE_SECRET_MAIL_TOKEN", "hunter2hunter2")
    release = threading.Event()
    told: list[str] = []

    @tool(effects="network_access", risk="medium", marks_effect=True)
    def send(text: str, ctx: ToolContext) -> str:
        """Send late."""
        told.append(ctx.get_secret("mail", "token"))
        release.wait(10)
        for attempt in (lambda: ctx.get_secret("mail", "token"), lambda: ctx.effect_sync().__enter__()):
            try:
                attempt()
            except Exception as error:  # noqa: BLE001 - which one is the point
                told.append(type(error).__name__)
        return "hunter2hunter2 sent"

    async with memory_gate(send, config=FREE) as gate:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        outcome = await gate.call("send", {"text": "x"}, timeout=0.1)
        assert not outcome.ok
        release.set()
        late = await asyncio.wait_for(heard.get(), 5)
        assert "hunter2" not in json.dumps(late.payload)
    assert told == ["hunter2hunter2", "SecretsClosed", "SecretsClosed"]


@tool(effects="read_only")
async def look() -> str:
    """Look around."""
    return "seen"


async def test_a_late_handler_on_a_thread_makes_no_call_through_the_gate() -> None:
    release, loop = threading.Event(), asyncio.get_running_loop()
    nested: list[Any] = []

    def call() -> Any:
        return asyncio.run_coroutine_threadsafe(gate.call("look", {}), loop).result(10)

    @tool(effects="modifies_files", risk="medium")
    def save(text: str) -> str:
        """Save slowly, looking before and after."""
        nested.append(call())
        release.wait(10)
        nested.append(call())
        return "saved"

    async with memory_gate(save, look, config=FREE) as gate:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        assert isinstance(await gate.call("save", {"text": "x"}, timeout=0.5), Unknown)
        release.set()
        await asyncio.wait_for(heard.get(), 10)
        early, late = nested
        assert early.ok
        assert code(late) == "policy_denied"
        assert late.error.message == "the call of save it belongs to has ended"


async def test_a_late_handler_that_ignores_its_cancellation_makes_no_call_through_the_gate() -> None:
    nested: asyncio.Queue[Any] = asyncio.Queue()

    @tool(effects="modifies_files", risk="medium")
    async def save(text: str) -> str:
        """Go on after having been cancelled."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await released.wait()
            nested.put_nowait(await gate.call("look", {}))
        return "saved"

    released = asyncio.Event()
    async with memory_gate(save, look, config=FREE) as gate:
        assert isinstance(await gate.call("save", {"text": "x"}, timeout=0.05), Unknown)
        released.set()
        late = await asyncio.wait_for(nested.get(), 10)
        assert code(late) == "policy_denied"
        assert late.error.message == "the call of save it belongs to has ended"
