"""The gate for code that is not on its loop: from any thread and any loop, and never a wait without an end."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import traceback
from typing import Any

import pytest

from callgate import Callgate, Pending, tool
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy
from callgate.runtime.anywhere import Anywhere
from callgate.settings.values import Settings
from callgate.sync import Bridge
from tests.journeys.gates import gate_of

FREE = Settings(autonomy=Autonomy.A4)


@tool(effects="read_only")
async def echo(text: str) -> str:
    """Say it again."""
    return text


@tool(effects="system_state", risk="high")
async def ask_first() -> str:
    """Do what a person has to allow."""
    return "done"


@pytest.mark.usefixtures("on_each_store")
async def test_a_gate_is_called_from_threads_and_from_other_loops():
    async with gate_of(echo, config=FREE) as gate:
        anywhere = gate.anywhere()
        assert (await anywhere.call("echo", {"text": "here"})).unwrap() == "here"
        outcome = await asyncio.to_thread(anywhere.call_blocking, "echo", {"text": "thread"})
        assert outcome.unwrap() == "thread"

        async def elsewhere() -> Any:
            return (await anywhere.call("echo", {"text": "loop"})).unwrap()

        assert await asyncio.to_thread(lambda: asyncio.run(elsewhere())) == "loop"
    with pytest.raises(ConfigurationError, match="the gate is not open"):
        await anywhere.call("echo", {"text": "late"})


async def test_whatever_a_gate_does_can_be_done_from_another_loop_also_with_a_gate_for_blocking_code():
    with Callgate.open_sync("memory://") as gate:
        gate.add(ask_first)
        anywhere: Anywhere[Callgate] = gate.anywhere()
        asked = await anywhere.call("ask_first", {})
        assert isinstance(asked, Pending)
        await anywhere.wait(lambda inner: inner.approve(asked.approval_id, by="ann"))
        assert (await anywhere.wait(lambda inner: inner.resume(asked.approval_id))).unwrap() == "done"


@pytest.mark.usefixtures("on_each_store")
async def test_blocking_where_the_loop_itself_would_stand_still_is_refused_at_once():
    async with gate_of(echo, config=FREE) as gate:
        with pytest.raises(RuntimeError, match="would stop the loop"):
            gate.anywhere().call_blocking("echo", {"text": "x"})


@pytest.mark.usefixtures("on_each_store")
async def test_letting_go_on_another_loop_ends_the_call_at_the_gate():
    entered, ended = threading.Event(), threading.Event()

    @tool(effects="network_access", risk="low")
    async def hang() -> str:
        """Wait."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async def elsewhere(anywhere: Any) -> None:
        running = asyncio.ensure_future(anywhere.call("hang", {}))
        assert await asyncio.to_thread(entered.wait, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    async with gate_of(hang, config=FREE) as gate:
        await asyncio.to_thread(lambda: asyncio.run(elsewhere(gate.anywhere())))
        assert await asyncio.to_thread(ended.wait, 10)


async def test_a_loop_that_waits_for_whoever_waits_for_it_is_told_and_nothing_begins_later():
    began: list[str] = []

    async def work() -> None:
        began.append("work")

    bridge = Bridge(asyncio.get_running_loop(), patience=0.05)
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            bridge.run(work)
        except RuntimeError as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(10)
    assert "the gate's loop does not run" in str(failed[0])
    await asyncio.sleep(0)  # lets what was handed over come to its turn
    await asyncio.sleep(0)  # and end
    assert began == []


def test_ctrl_c_while_blocking_lets_the_work_go():
    main, ended = threading.main_thread().ident, threading.Event()
    assert main is not None

    def waits() -> bool:
        return any(each.name == "result" for each in traceback.extract_stack(sys._current_frames()[main]))  # pyright: ignore[reportPrivateUsage]

    async def work() -> None:
        try:
            async with asyncio.timeout(20):
                while not waits():  # noqa: ASYNC110 - nobody tells of it
                    await asyncio.sleep(0.005)  # between two looks
            signal.pthread_kill(main, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            ended.set()

    loop = asyncio.new_event_loop()
    running = threading.Thread(target=loop.run_forever, daemon=True)
    running.start()
    with pytest.raises(KeyboardInterrupt):
        Bridge(loop).run(work)
    assert ended.wait(10)
    loop.call_soon_threadsafe(loop.stop)
    running.join(10)
    loop.close()


def test_a_closed_loop_takes_nothing_more():
    loop = asyncio.new_event_loop()
    bridge = Bridge(loop)
    loop.close()

    async def work() -> None:
        """Nothing."""

    with pytest.raises(RuntimeError, match="the gate is closed"):
        bridge.run(work)
    with pytest.raises(RuntimeError, match="the gate is closed"):
        asyncio.run(bridge.wait(work))
