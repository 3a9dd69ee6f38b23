"""How long a call may take, who says so, and what is told when it took longer."""

import asyncio
import logging
import threading
from contextlib import suppress
from typing import Any

import pytest

from callgate import tool
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.testing import HandClock, memory_gate

TINY = 0.02
FULL = Context(autonomy=Autonomy.A4)


@tool(effects="read_only")
async def hangs() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


@tool(effects="read_only", timeout=TINY)
async def impatient() -> str:
    """Never ends, and says for how long it may try."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.requirement("TMO-01")
@pytest.mark.parametrize(
    ("name", "settings", "timeout"),
    [
        pytest.param("hangs", Settings(timeout=60, user_timeouts={"ada": 60.0}), TINY, id="call"),
        pytest.param("hangs", Settings(tool_timeouts={"hangs": 60.0}, user_timeouts={"ada": TINY}), None, id="user"),
        pytest.param("hangs", Settings(timeout=60, tool_timeouts={"hangs": TINY}), None, id="tool"),
        pytest.param("impatient", Settings(timeout=60, user_timeouts={"bob": 60.0}), None, id="declared"),
        pytest.param("hangs", Settings(timeout=TINY), None, id="instance"),
    ],
)
async def test_the_first_that_says_anything_decides(name: str, settings: Settings, timeout: float | None):
    ada = Context(user="ada")
    async with asyncio.timeout(30), memory_gate(hangs, impatient, config=settings) as gate:
        assert gate.time_limit(name, ada, timeout=timeout) == TINY
        outcome = await gate.call(name, {}, ada, timeout=timeout)
    assert outcome.error is not None
    assert outcome.error.details == {"timed_out": True, "timeout": TINY}


@pytest.mark.requirement("TMO-01")
async def test_where_nobody_says_anything_it_is_30_seconds():
    async with memory_gate(hangs) as gate:
        assert gate.time_limit("hangs") == 30


async def test_a_tool_that_is_not_there_yet_has_the_limit_that_is_set_for_its_name():
    settings = Settings(timeout=60, tool_timeouts={"later": 7.0}, user_timeouts={"ada": 9.0})
    async with memory_gate(config=settings) as gate:
        assert (gate.time_limit("later"), gate.time_limit("never")) == (7, 60)
        assert gate.time_limit("later", Context(user="ada")) == 9


@pytest.mark.requirement("TMO-02")
async def test_the_instances_limit_applies_only_to_tools_without_their_own():
    @tool(effects="read_only", timeout=60)
    async def patient() -> str:
        """Takes more than the instance's limit, and may."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.call_later(3 * TINY, ended.set)
        await ended.wait()
        return "done"

    async with memory_gate(patient, hangs, config=Settings(timeout=TINY)) as gate:
        assert (await gate.call("patient")).unwrap() == "done"
        assert (await gate.call("hangs")).status == "failed"


@pytest.mark.requirement("TMO-03")
async def test_a_timeout_names_tool_and_seconds_is_marked_has_its_category_and_gives_advice():
    async with memory_gate(impatient) as gate:
        error = (await gate.call("impatient")).error
    assert error is not None
    assert error.message == "impatient timed out: timeout after 0.02 seconds"
    assert (error.code, error.category.value, error.tool) == ("timed_out", "timeout_error", "impatient")
    assert error.details == {"timed_out": True, "timeout": TINY}
    assert error.suggestion


@pytest.mark.requirement("TMO-04")
async def test_within_the_limit_the_result_is_the_normal_one_and_another_exception_is_itself():
    @tool(effects="read_only", timeout=TINY)
    async def quick(text: str) -> str:
        """Say it."""
        if not text:
            raise FileNotFoundError("no such note")
        return text

    async with memory_gate(quick) as gate:
        assert (await gate.call("quick", {"text": "a"})).unwrap() == "a"
        error = (await gate.call("quick", {"text": ""})).error
    assert error is not None
    assert (error.message, error.category.value) == ("no such note", "resource_error")
    assert "timed_out" not in error.to_json()


@pytest.mark.requirement("TMO-05")
async def test_a_synchronous_handler_is_bounded_too_and_the_loop_goes_on_meanwhile():
    entered, released = threading.Event(), threading.Event()

    @tool(effects="read_only", timeout=0.5)  # time enough for a thread to start, on a busy machine too
    def stuck() -> str:
        """Hold its thread until it is let go."""
        entered.set()
        released.wait(30)
        return "late"

    @tool(effects="read_only")
    def answers() -> bool:
        """End when the event loop has answered, which it cannot if this blocks it."""
        answered = threading.Event()
        loop.call_soon_threadsafe(answered.set)
        return answered.wait(30)

    loop = asyncio.get_running_loop()
    async with memory_gate(stuck, answers) as gate:
        outcome = await gate.call("stuck")
        assert entered.is_set()
        assert (await gate.call("answers")).unwrap() is True
        released.set()
    assert outcome.error is not None
    assert outcome.error.details == {"timed_out": True, "timeout": 0.5}


@pytest.mark.requirement("TMO-07")
@pytest.mark.parametrize(("effects", "status"), [("read_only", "failed"), ("system_state", "unknown")])
async def test_a_timeout_of_the_handlers_own_is_its_failure_and_not_ours(effects: str, status: str):
    @tool(effects=effects, risk="low", timeout=TINY)
    async def gives_up() -> str:
        """Give up by itself."""
        raise TimeoutError("the other side took too long")

    heard: list[Any] = []
    async with memory_gate(gives_up) as gate:
        for pattern in ("tool.timeout", "tool.call.timeout", "tool_call.timed_out"):
            gate.on(pattern, heard.append)
        outcome = await gate.call("gives_up", {}, FULL)
        await gate.flush()
    assert heard == []
    assert outcome.status == status
    assert outcome.error is not None
    assert outcome.error.message == "the other side took too long"
    assert outcome.error.category.value == "timeout_error"
    assert "timed_out" not in outcome.error.to_json()


@pytest.mark.requirement("TMO-06")
async def test_a_calls_own_limit_may_be_larger_and_the_contexts_caps_all():
    capped = Context(timeout=TINY)
    async with asyncio.timeout(30), memory_gate(hangs, impatient, config=Settings(user_timeouts={"ada": 50.0})) as gate:
        assert gate.time_limit("impatient", timeout=60) == 60
        assert gate.time_limit("impatient", capped, timeout=60) == TINY
        assert gate.time_limit("hangs", Context(timeout=40, user="ada")) == 40
        assert gate.time_limit("impatient", Context(timeout=40)) == TINY
        for timeout in (None, 60.0):
            outcome = await gate.call("hangs", {}, capped, timeout=timeout)
            assert outcome.error is not None
            assert outcome.error.details["timeout"] == TINY


@pytest.mark.requirement("TMO-08")
@pytest.mark.parametrize("timeout", [0, -1, -0.0, float("nan"), float("inf"), True, "5", 10**400])
async def test_a_limit_that_is_none_is_refused_as_input_before_anybody_is_asked(timeout: Any):
    @tool(effects="system_state", risk="high")
    async def send() -> str:
        """Send it."""
        raise AssertionError

    async with memory_gate(send) as gate:
        outcomes = [
            await gate.call("send", {}, timeout=timeout),
            *await gate.batch([Call("send", {}, timeout=timeout)]),
        ]
        assert await gate.approvals() == []
        with pytest.raises(ValueError, match="above 0"):
            gate.time_limit("send", timeout=timeout)
    for outcome in outcomes:
        assert outcome.error is not None
        assert (outcome.error.code, outcome.error.category.value) == ("invalid_arguments", "user_input_error")
        assert "timeout must be a number of seconds above 0" in outcome.error.message


@pytest.mark.requirement("TMO-08")
@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_context_without_time_cannot_be_made(timeout: float):
    with pytest.raises(ValueError, match="timeout"):
        Context(timeout=timeout)


async def test_trying_again_takes_from_the_same_limit():
    clock = HandClock()
    tries: list[float] = []

    @tool(effects="read_only", timeout=3600)
    async def flaky() -> str:
        """Use up nearly all the time, then hang."""
        tries.append(clock.monotonic())
        if len(tries) == 1:
            clock.turn(3599.8)
            raise ConnectionError("reset by peer")
        await asyncio.Event().wait()
        return ""

    async with asyncio.timeout(30), memory_gate(flaky, clock=clock) as gate:
        outcome = await gate.call("flaky")
    assert len(tries) == 2
    assert outcome.error is not None
    assert outcome.error.details == {"timed_out": True, "timeout": 3600}


async def test_a_timed_out_effect_is_unknown_and_says_that_it_timed_out():
    @tool(effects="system_state", timeout=TINY, risk="low")
    async def send() -> str:
        """Never ends."""
        await asyncio.Event().wait()
        return ""

    async with memory_gate(send) as gate:
        outcome = await gate.call("send", {}, FULL)
    assert outcome.status == "unknown"
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.category.value) == ("outcome_unknown", "timeout_error")
    assert outcome.error.details == {"timed_out": True, "timeout": TINY}


async def test_an_effect_that_gave_up_by_itself_is_told_in_words():
    @tool(effects="system_state", risk="low")
    async def send() -> str:
        """Waits for a server that does not answer."""
        raise TimeoutError

    async with memory_gate(send) as gate:
        assert (await gate.call("send", {}, FULL)).status == "unknown"
        [row] = await gate.unknown_outcomes()
    assert (row.cause, row.told_cause) == ("handler_timeout", "it gave up by itself, while it waited for something")


async def test_calls_of_several_loops_each_keep_their_own_limit():
    """One gate, used from loops in threads of their own, one after the other and at once, while its own loop waits."""
    async with asyncio.timeout(30), memory_gate(hangs) as gate:

        def elsewhere() -> str:
            outcome = asyncio.run(gate.call("hangs", {}, FULL, timeout=TINY))
            assert outcome.error is not None
            return outcome.error.code

        waiting = asyncio.ensure_future(gate.call("hangs", {}, FULL, timeout=10 * TINY))
        assert await asyncio.to_thread(elsewhere) == "timed_out"
        told = await asyncio.gather(*(asyncio.to_thread(elsewhere) for _ in range(4)))
        assert told == ["timed_out"] * 4
        ended = await waiting
        assert ended.error is not None
        assert ended.error.code == "timed_out"


async def test_a_read_that_ignores_its_cancellation_holds_its_first_callers_and_no_other():
    over, noticed = asyncio.Event(), asyncio.Event()

    class Noticing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "stubborn goes on after its limit" in record.getMessage():
                noticed.set()

    @tool(effects="read_only", timeout=TINY)
    async def stubborn() -> str:
        """Wait on, whatever it is told."""
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()
        return "at last"

    log, handler = logging.getLogger("callgate"), Noticing()
    log.addHandler(handler)
    try:
        async with asyncio.timeout(30), memory_gate(stubborn) as gate:
            first = [asyncio.ensure_future(gate.call("stubborn")) for _ in range(2)]
            await noticed.wait()
            second = await gate.call("stubborn")
            assert not any(caller.done() for caller in first)
            over.set()
            each = (*await asyncio.gather(*first), second)
    finally:
        log.removeHandler(handler)
    assert [outcome.error and outcome.error.code for outcome in each] == ["timed_out"] * 3
