"""Time, trouble and health: processes that are killed, threads that run out, tries that help, circuits that open."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, Failed, NoEffect, Refused, Succeeded, Unknown, tool
from callgate.model.levels import Autonomy, Happened, HealthStatus
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import HandClock, ScriptedApprover, memory_gate
from tests.journeys import isolated_tools
from tests.waiting import until

FREE = Settings(autonomy=Autonomy.A4)


def code(outcome: Any) -> str:
    assert outcome.error is not None
    return outcome.error.code


async def test_an_isolated_handler_runs_in_a_process_of_its_own() -> None:
    async with memory_gate(isolated_tools.whoami, isolated_tools.fail) as gate:
        outcome = await gate.call("whoami", {"text": "x"})
        assert isinstance(outcome, Succeeded)
        assert outcome.output["text"] == "x"
        assert outcome.output["pid"] != os.getpid()
        failed = await gate.call("fail", {"text": "x"})
        assert isinstance(failed, Failed)
        assert failed.error is not None
        assert (failed.error.message, failed.error.category.value) == ("bad x", "user_input_error")


async def test_an_isolated_handler_is_killed_at_its_limit(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with memory_gate(isolated_tools.write_and_hang, config=FREE, working_directory=tmp_path) as gate:
        outcome = await gate.call("write_and_hang", {"path": str(trace)}, timeout=3)
        assert isinstance(outcome, Unknown)
        assert outcome.error is not None
        assert outcome.error.details == {"timed_out": True, "timeout": 3}
        with pytest.raises(ProcessLookupError):
            os.kill(int(trace.read_text()), 0)


async def test_an_isolated_handler_that_dies_is_unknown() -> None:
    async with memory_gate(isolated_tools.die, config=FREE) as gate:
        outcome = await gate.call("die", {"text": "x"})
        assert isinstance(outcome, Unknown)
        assert outcome.error is not None
        assert "died without an answer" in outcome.error.message


async def test_an_isolated_handler_gets_secrets_and_tells_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_SECRET_BANK_TOKEN", "another-s3cret-token")
    roles = parse_settings("roles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}", file="x")
    async with memory_gate(isolated_tools.sign, config=roles, ask=ScriptedApprover("approve")) as gate:
        outcome = await gate.call("sign", {})
        assert outcome.output == "signed with [secret:bank/token]"
        notes = [event.payload async for event in gate.events(types=["tool_call.progress"])]
        assert notes == [{"fraction": 0.5, "note": "halfway", "tool": "sign"}]


async def test_an_isolated_handler_knows_for_whom_it_runs_and_how_long() -> None:
    async with memory_gate(isolated_tools.identity) as gate:
        outcome = await gate.call("identity", {}, Context(principal="bot7", session="s9"))
        assert outcome.output == {"principal": "bot7", "session": "s9", "limited": True}


async def test_threads_that_run_out_refuse_before_anything_is_claimed() -> None:
    release = threading.Event()
    entered: list[int] = []

    @tool(effects="network_access", risk="medium", connector="slow", concurrency_safe=True)
    def hang(number: int) -> str:
        """Occupy a thread."""
        entered.append(number)
        release.wait(10)
        return "done"

    @tool(effects="read_only", connector="quick")
    def quick(text: str) -> str:
        """Another connector."""
        return text

    few = Settings(autonomy=Autonomy.A4, threads_per_connector=2)
    async with memory_gate(hang, quick, config=few) as gate:
        busy = [await gate.call("hang", {"number": number}, timeout=0.02) for number in (1, 2)]
        assert all(isinstance(outcome, Unknown) for outcome in busy)
        refused = await gate.call("hang", {"number": 3}, Context(idempotency_key="k"), timeout=0.02)
        assert isinstance(refused, Refused)
        assert code(refused) == "tool_unavailable"
        assert await gate.outcome("k") is None
        assert (await gate.call("quick", {"text": "x"})).ok
        release.set()
    assert entered == [1, 2]


async def test_processes_that_run_out_refuse_before_anything_is_claimed(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    one = Settings(autonomy=Autonomy.A4, threads_per_connector=1)
    tools = (isolated_tools.write_and_hang, isolated_tools.whoami)
    async with memory_gate(*tools, config=one, working_directory=tmp_path) as gate:
        busy = asyncio.ensure_future(gate.call("write_and_hang", {"path": str(first)}, timeout=60))
        await until(first.exists)
        refused = await gate.call("write_and_hang", {"path": str(second)}, Context(idempotency_key="k"), timeout=0.02)
        assert isinstance(refused, Refused)
        assert refused.error is not None
        assert refused.error.message == ("write_and_hang is unavailable: all 1 processes of write_and_hang are busy")
        assert await gate.outcome("k") is None
        assert (await gate.call("whoami", {"text": "x"})).ok
        busy.cancel()
        await asyncio.wait({busy})
        # The place of a process that was ended is free again.
        again = asyncio.ensure_future(gate.call("write_and_hang", {"path": str(second)}, timeout=60))
        await until(second.exists)
        again.cancel()
        await asyncio.wait({again})


async def test_a_read_is_tried_again_and_an_effect_is_not() -> None:
    tries = {"read": 0, "write": 0}

    @tool(effects="read_only")
    async def read() -> str:
        """Succeed at the third try."""
        tries["read"] += 1
        if tries["read"] < 3:
            raise ConnectionResetError
        return "read"

    @tool(effects="network_access", risk="medium")
    async def write() -> str:
        """Fail once."""
        tries["write"] += 1
        raise ConnectionResetError

    async with memory_gate(read, write, config=FREE) as gate:
        assert (await gate.call("read", {})).ok
        assert isinstance(await gate.call("write", {}), Unknown)
        closing = [event.payload async for event in gate.events(types=["tool_call.succeeded"])]
        assert closing[0] is not None
        assert closing[0]["tries"] == 3
    assert tries == {"read": 3, "write": 1}


async def test_a_circuit_opens_on_consecutive_errors_and_closes_after_a_probe() -> None:
    world = {"up": False, "calls": 0}

    @tool(effects="network_access", risk="medium", connector="bank", idempotent=False)
    async def ask(number: int) -> str:
        """Ask the bank."""
        world["calls"] += 1
        if not world["up"]:
            raise ConnectionRefusedError
        return "yes"

    clock = HandClock()
    async with memory_gate(ask, config=FREE, clock=clock) as gate:
        for number in range(5):
            assert isinstance(await gate.call("ask", {"number": number}), Unknown)
        refused = await gate.call("ask", {"number": 9})
        assert code(refused) == "tool_unavailable"
        assert world["calls"] == 5
        assert gate.pool().names == ()
        world["up"] = True
        clock.turn(3600)
        assert (await gate.call("ask", {"number": 10})).ok
        assert gate.health("bank").status is HealthStatus.HEALTHY
        told = [event.payload["status"] async for event in gate.events(types=["health.changed"]) if event.payload]
        assert told == ["degraded", "unavailable", "healthy"]


async def test_a_call_that_is_not_made_takes_nobodys_probe() -> None:
    world = {"up": False, "calls": 0}

    @tool(effects=["read_only", "network_access"], scopes=["net:outbound"], connector="shop")
    async def fetch(number: int) -> str:
        """Fetch something."""
        world["calls"] += 1
        if not world["up"]:
            raise ConnectionAbortedError
        return "there"

    roles = """
    roles:
      clerk: {allow: [fetch], scopes: ['net:outbound']}
      guest: {allow: [], scopes: []}
    """
    clock, clerk, guest = HandClock(), Context(role="clerk"), Context(role="guest")
    async with memory_gate(fetch, config=parse_settings(roles, file="x"), clock=clock) as gate:
        while gate.health("shop").status is not HealthStatus.UNAVAILABLE:
            await gate.call("fetch", {"number": 1}, clerk)
        world["up"] = True
        clock.turn(3600)
        before = world["calls"]
        for _ in range(3):
            assert code(await gate.call("fetch", {"number": 1}, guest)) in {"scope_violation", "policy_denied"}
        assert code(await gate.call("fetch", {"number": "one"}, clerk)) == "invalid_arguments"
        assert world["calls"] == before
        assert (await gate.call("fetch", {"number": 1}, clerk)).ok
        assert gate.health("shop").status is HealthStatus.HEALTHY


async def test_a_connector_that_fails_while_a_person_thinks_uses_up_no_approval() -> None:
    world, paid = {"up": False}, list[int]()

    @tool(effects="network_access", risk="high", connector="bank")
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    @tool(effects=["read_only", "network_access"], connector="bank")
    async def balance() -> str:
        """Ask the bank."""
        if not world["up"]:
            raise ConnectionAbortedError
        return "enough"

    clock = HandClock()
    async with memory_gate(pay, balance, clock=clock) as gate:
        asked: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("gate.required", asked.put_nowait)
        waiting = asyncio.ensure_future(gate.call("pay", {"amount": 5}, wait=60))
        await asyncio.wait_for(asked.get(), 10)
        while gate.health("bank").status is not HealthStatus.UNAVAILABLE:
            await gate.call("balance", {})
        (question,) = await gate.approvals()
        await gate.approve(question.id, by="ann")
        assert code(await asyncio.wait_for(waiting, 10)) == "tool_unavailable"
        assert paid == []
        world["up"] = True
        clock.turn(60)
        assert (await gate.resume(question.id)).ok
    assert paid == [5]


async def test_a_probe_for_which_there_is_no_thread_is_given_back() -> None:
    world, release = {"up": False}, threading.Event()

    @tool(effects="network_access", risk="medium", connector="bank", concurrency_safe=True)
    def ask(hangs: bool) -> str:
        """Ask the bank."""
        if hangs:
            release.wait(10)
        if not world["up"]:
            raise ConnectionRefusedError
        return "yes"

    clock = HandClock()
    one = Settings(autonomy=Autonomy.A4, threads_per_connector=1)
    async with memory_gate(ask, config=one, clock=clock) as gate:
        for session in "abcd":
            await gate.call("ask", {"hangs": False}, Context(session=session))
        assert isinstance(await gate.call("ask", {"hangs": True}, timeout=0.02), Unknown)
        assert gate.health("bank").status is HealthStatus.UNAVAILABLE
        world["up"] = True
        clock.turn(3600)
        refused = await gate.call("ask", {"hangs": False}, Context(session="e"), timeout=0.02)
        assert refused.error is not None
        assert refused.error.message == "ask is unavailable: all 1 threads of bank are busy"
        release.set()
        assert (await gate.call("ask", {"hangs": False}, Context(session="e"))).ok


class HttpError(Exception):
    """As the clients of the field raise them: with the answer's status."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


@pytest.mark.parametrize(("status", "opens"), [(404, False), (503, True)])
async def test_only_what_speaks_of_the_other_side_opens_its_circuit(status: int, opens: bool) -> None:
    @tool(effects="network_access", risk="medium", connector="wiki")
    async def page(number: int) -> str:
        """Fetch a page."""
        raise HttpError(status)

    async with memory_gate(page, config=FREE) as gate:
        for number in range(6):
            await gate.call("page", {"number": number})
        refused = await gate.call("page", {"number": 9})
        assert (code(refused) == "tool_unavailable") is opens


async def test_what_one_of_many_places_does_opens_no_circuit() -> None:
    @tool(effects="network_access", risk="medium", capabilities=["any_host"])
    async def fetch(number: int) -> str:
        """Fetch whatever page is wanted."""
        if number == 1:
            await asyncio.Event().wait()
        if number == 2:
            raise ConnectionRefusedError
        if number < 10:
            raise HttpError(503)
        return "a page"

    async with memory_gate(fetch, config=FREE) as gate:
        for number in range(10):
            assert not (await gate.call("fetch", {"number": number}, timeout=0.05)).ok
        assert (await gate.call("fetch", {"number": 10})).ok
        assert [event async for event in gate.events(types=["health.changed"])] == []


async def test_a_last_try_that_did_nothing_takes_nothing_back_of_one_before_it() -> None:
    tries: list[Exception] = [HttpError(503), NoEffect("refused at the door")]

    @tool(effects="network_access", risk="medium", idempotent=True)
    async def put() -> None:
        """Put it there."""
        raise tries.pop(0)

    async with memory_gate(put, config=FREE) as gate:
        failed = await gate.call("put", {}, Context(idempotency_key="k"))
        assert isinstance(failed, Failed)
        assert failed.happened is Happened.POSSIBLE
    assert not tries


async def test_a_gate_never_runs_what_its_host_runs() -> None:
    ran: list[str] = []

    @tool(effects="local_exec", risk="low", name="host.bash", source="host")
    async def bash(command: str) -> str:
        """The host's shell."""
        ran.append(command)
        return "ran"

    async with memory_gate(bash, config=FREE) as gate:
        assert code(await gate.call("host.bash", {"command": "ls"})) == "tool_unavailable"
    assert ran == []


async def test_a_check_that_hangs_is_a_no_and_does_not_hold_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.pipeline.hooks.SECONDS", 0.05)
    entered, turned, release = threading.Event(), threading.Event(), threading.Event()
    heard: list[bool] = []

    def check(arguments: dict[str, Any], context: Context) -> None:
        entered.set()
        heard.append(turned.wait(10))
        release.wait(10)

    @tool(effects="read_only", check=check)
    async def read(path: str) -> str:
        """Read a note."""
        return "text"

    async with memory_gate(read) as gate:
        call = asyncio.create_task(gate.call("read", {"path": "a"}))
        await until(entered.is_set)
        turned.set()
        assert code(await call) == "policy_denied"
        release.set()
        await until(lambda: bool(heard))
    assert heard == [True]


async def test_a_handler_that_outlives_its_gate_is_not_taken_for_dead(tmp_path: Path) -> None:
    release = threading.Event()
    attempts: list[str] = []

    @tool(effects="modifies_files", risk="medium", idempotent=True)
    def save(text: str) -> str:
        """Save slowly."""
        attempts.append(text)
        release.wait(10)
        return "saved"

    url, key = f"sqlite:///{tmp_path / 'gate.db'}", Context(idempotency_key="k")
    async with memory_gate(save, config=FREE, store=url) as gate:
        assert isinstance(await gate.call("save", {"text": "x"}, key, timeout=0.05), Unknown)
    async with memory_gate(save, config=FREE, store=url) as gate:
        again = await gate.call("save", {"text": "x"}, key, timeout=0.05)
        assert code(again) == "in_flight"
    release.set()
    assert attempts == ["x"]


async def test_middleware_nests_around_the_whole_call() -> None:
    order: list[str] = []

    @tool(effects="read_only")
    async def double(number: int) -> int:
        """Double a number."""
        order.append("handler")
        return number * 2

    def layer(name: str) -> Any:
        async def around(call: Any, context: Context, proceed: Any) -> Any:
            order.append(f"{name} in")
            outcome = await proceed(call, context)
            order.append(f"{name} out")
            return outcome

        return around

    async with memory_gate(double, around=[layer("outer"), layer("inner")]) as gate:
        assert (await gate.call("double", {"number": 2})).output == 4
    assert order == ["outer in", "inner in", "handler", "inner out", "outer out"]
