"""Stopping: SIGTERM and SIGHUP cancel what a command does, so that it ends in order; the next one ends the process."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Terminated(KeyboardInterrupt):
    """A command was ended by SIGTERM."""


class HungUp(KeyboardInterrupt):
    """A command was ended because its terminal was closed."""


_STOPS: dict[int, type[KeyboardInterrupt]] = {signal.SIGTERM: Terminated, signal.SIGHUP: HungUp}


async def until_stopped(work: Awaitable[T]) -> T:
    """Do it; a signal cancels it, and what came of it is waited for. Ctrl-C is left to whoever runs the loop.

    Raises:
        Terminated: SIGTERM came, and it is over.
        HungUp: SIGHUP came, and it is over.
    """
    task = asyncio.ensure_future(work)
    came: list[int] = []
    # The loop lets go of them when it is closed: until then a signal that comes too late changes nothing.
    handled = ending_signals()
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        came.append(number)
        for each in handled:
            loop.remove_signal_handler(each)
        task.cancel()

    for number in handled:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if came:
            raise _STOPS[came[0]] from None
        raise


def ending_signals() -> list[int]:
    """Those that end us: `nohup` has said of one that it does not. Only the main thread is told of any."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in _STOPS if signal.getsignal(number) is not signal.SIG_IGN]
