"""A thread for work that blocks: one thing at a time, and the event loop is never held up for long."""

from __future__ import annotations

import asyncio
import threading

import pytest

from callgate.flows.program.visits import Visits

WAIT = 30


def no_stop() -> None:
    pytest.fail("nobody asked it to stop")


async def test_work_is_done_on_one_thread_and_its_value_or_error_is_told() -> None:
    visits = Visits("visits of a test")

    def fail() -> None:
        message = "no"
        raise ValueError(message)

    where = await visits.do(threading.get_ident, stop=no_stop)
    with pytest.raises(ValueError, match="no"):
        await visits.do(fail, stop=no_stop)
    assert await visits.do(threading.get_ident, stop=no_stop) == where != threading.get_ident()
    assert await visits.do(lambda: None, stop=no_stop) is None
    visits.close()


async def test_the_event_loop_goes_on_while_the_work_takes_long() -> None:
    visits, go = Visits("visits of a test"), threading.Event()
    long = asyncio.ensure_future(visits.do(lambda: go.wait(WAIT), stop=no_stop))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not long.done()
    go.set()
    assert await long is True
    visits.close()


async def test_cancelled_work_is_stopped_and_waited_for_before_anything_else_is_done() -> None:
    visits, go, ended = Visits("visits of a test"), threading.Event(), threading.Event()

    def work() -> None:
        go.wait(WAIT)
        ended.set()
        message = "stopped"
        raise ValueError(message)

    long = asyncio.ensure_future(visits.do(work, stop=go.set))
    await asyncio.sleep(0)
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    assert ended.is_set()
    assert await visits.do(lambda: "next", stop=no_stop) == "next"
    visits.close()


async def test_a_thread_ends_when_it_is_closed() -> None:
    visits = Visits("visits of a test")
    thread = await visits.do(threading.current_thread, stop=no_stop)
    visits.close()
    await asyncio.to_thread(thread.join, WAIT)
    assert not thread.is_alive()
