"""The loop that commands which serve run on: a faster one where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_serving(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`."""
    try:
        import uvloop  # noqa: PLC0415 - only where something is served; not on every system
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
