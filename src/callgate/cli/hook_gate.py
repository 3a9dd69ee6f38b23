"""The gate of a hook: opened for one question where the host's conversation belongs, and closed again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.cli.opening import Need, Tools, gate_of
from callgate.cli.streams import stdout_kept
from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.runtime.terminal import system_user
from callgate.serve.hooks.answering import Answers, prepare

if TYPE_CHECKING:
    from callgate.cli.place import Place
    from callgate.serve.hooks.moment import Host, Moment, Reply

_LEAST = 0.1
_MARGIN = 2.0
"""Seconds to write down what was decided, once nobody is waited for any more."""


def ask(place: Place, moment: Moment, *, host: Host, limits: Mapping[str, Any], until: float) -> Reply:
    """What the gate says, by then (as `time.monotonic` counts).

    Raises:
        ConfigurationError: The configuration is wrong, or the host works where nobody can.
        StoreError: The store cannot be used.
        TimeoutError: It took too long.
    """
    _go_to(limits["root"] or moment.root)
    context = Context(
        principal=host.name,
        user=system_user(),
        session=f"{host.name}/{moment.session}",
        role=limits["role"],
        autonomy=limits["autonomy"],
    )

    async def work() -> Reply:
        async with gate_of(place, need=Need.MAKE, tools=Tools.NONE) as gate:
            prepare(gate, Path.cwd())
            answers = Answers(gate, host, context=context, show=place.show)
            left = until - time.monotonic()
            async with asyncio.timeout(max(_LEAST, left)):
                return await answers.answer(moment, wait=max(0.0, left - _MARGIN))

    with stdout_kept():
        return asyncio.run(work())


def _go_to(root: str | None) -> None:
    """Work where the conversation belongs, wherever the host wandered since."""
    if root is None:
        return
    try:
        os.chdir(root)
    except OSError as error:
        raise ConfigurationError(f"the folder of the conversation cannot be entered: {root}") from error
