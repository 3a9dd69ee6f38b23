"""An executor of the JSON convention under a leaf: `execute(name, arguments, user_id, timeout=…)`; its text is read."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from callgate.flows.trees.answer import Answer, answer_of_json
from callgate.flows.trees.calling import LeafCall, Started


class ConventionCalls:
    """Starts the calls of leaves through such an executor. What it answers is decoded, never taken as it comes."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor

    def start(self, call: LeafCall, /) -> Started:
        """Start one.

        Raises:
            RuntimeError: What it gives has to be awaited, and no loop runs here.
            Exception: Whatever the executor raises at once.
        """
        started = Started()
        result = self._executor.execute(call.tool, dict(call.arguments), call.user, timeout=call.timeout)
        if not inspect.isawaitable(result):
            started.end(answer_of_json(result))
            return started
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            if inspect.iscoroutine(result):
                result.close()
            raise
        task = loop.create_task(_bring_to_end(result, started))
        started.stoppable(task.cancel)
        return started


async def _bring_to_end(result: Any, started: Started) -> None:
    try:
        answer = answer_of_json(await result)
    except asyncio.CancelledError:
        started.end(Answer(error="the call was cancelled"))
        raise
    except Exception as error:  # noqa: BLE001 - a leaf fails, whatever it was
        answer = Answer(error=str(error) or type(error).__name__)
    started.end(answer)
