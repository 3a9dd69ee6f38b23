"""SkillContext: what the function of a skill has of the gate: its own tools, under its own key, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Coroutine, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from callgate.errors import ToolExecutionError
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.layer import Layer
from callgate.model.levels import Caller, Effect, Happened
from callgate.model.outcome import Failed, Outcome, Refused
from callgate.model.step_key import step_key
from callgate.model.tool_context import ToolContext
from callgate.pipeline.parts import running

LAYER = "skill:"
"""Begins the name of the layer that every call inside a skill is under."""


class Gateway(Protocol):
    """The way to a gate."""

    def of_run(self, context: Context, key: str | None) -> RunGateway:
        """The way for the calls of one run of a skill, under its key."""
        ...


class RunGateway(Protocol):
    """The way to a gate for the calls of one run, from any thread and any loop.

    What an earlier run under the same key went past is told again.
    """

    async def call(self, call: Call, context: Context, *, wait: float | None) -> Outcome:
        """Make a call, awaited on whatever loop this is."""
        ...

    def call_blocking(self, call: Call, context: Context, *, wait: float | None) -> Outcome:
        """Make a call, blocking this thread."""
        ...


class SkillContext:
    """Handed to the function of a skill. Every call it makes is an ordinary call of the gate, narrowed to its tools.

    The key of a call inside derives from the skill's own key and from the call's number, so that a skill that is run
    again under its key finds what it did, and does none of it twice. For that it must ask for the same in the same
    order; calls whose order may change are told apart by `step`.
    """

    def __init__(
        self, tool_context: ToolContext, gateway: Gateway, *, skill: str, tools: tuple[str, ...], read_only: bool
    ) -> None:
        self._inner = tool_context
        self._gateway = gateway.of_run(tool_context.context, tool_context.key)
        self._numbers = itertools.count()
        self._strayed: str | None = None
        self.skill = skill
        """Its name."""
        self.tools = tools
        """The tools it can reach."""
        ground = tool_context.context
        self.context = replace(
            ground,
            caller=Caller.CHAIN,
            chain_id=tool_context.key or tool_context.call_id,
            chain_index=0,
            idempotency_key=None,
            read_only=ground.read_only or read_only,
            layers=(*ground.layers, Layer(name=f"{LAYER}{skill}", allow=tools)),
        )
        """Who asks, as the calls inside say it: the skill's asker, narrowed."""

    @property
    def key(self) -> str | None:
        """The key the skill runs under; None where it only reads and nobody gave one."""
        return self._inner.key

    @property
    def deadline(self) -> float | None:
        """`time.monotonic()` at which the skill's limit is reached."""
        return self._inner.deadline

    def progress(self, fraction: float | None = None, note: str = "") -> None:
        """Say how far the work is."""
        self._inner.progress(fraction, note)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        step: str | None = None,
        wait: float | None = None,
        timeout: float | None = None,
        distinct: bool = False,
    ) -> Coroutine[Any, Any, Outcome]:
        """Call one of the skill's tools; to be awaited.

        Args:
            tool: Its name. Any other than those declared is refused.
            arguments: What it is called with.
            step: A name for this call, where calls may come in another order when the skill is run again.
            wait: Seconds to wait for a person where one has to decide; at once Pending when left out.
            timeout: Seconds it may take.
            distinct: A new effect on purpose, although an equal call has an unknown outcome.

        Returns:
            The outcome; `unwrap()` gives the output or raises. Let out of the skill, what is pending inside makes
            it pending, and what is unknown inside makes it unknown.

        Raises:
            ToolExecutionError: The skill was run again under its key, and asked for something else than before.
        """
        # The number is taken now and not when it is awaited: that is the order the author wrote.
        made = self._made(tool, arguments, step=step, timeout=timeout, distinct=distinct)
        return self._awaited(*made, wait=wait)

    def call_blocking(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        step: str | None = None,
        wait: float | None = None,
        timeout: float | None = None,
        distinct: bool = False,
    ) -> Outcome:
        """As `call`, for skills that are plain functions.

        Raises:
            ToolExecutionError: As `call`.
            RuntimeError: On the gate's own loop, which this would stop.
        """
        call, context = self._made(tool, arguments, step=step, timeout=timeout, distinct=distinct)
        with self._inside():
            return self._seen(self._gateway.call_blocking(call, context, wait=wait))

    async def _awaited(self, call: Call, context: Context, *, wait: float | None) -> Outcome:
        with self._inside():
            return self._seen(await self._gateway.call(call, context, wait=wait))

    def _made(
        self, tool: str, arguments: Mapping[str, Any] | None, *, step: str | None, timeout: float | None, distinct: bool
    ) -> tuple[Call, Context]:
        if self._strayed is not None:
            raise ToolExecutionError(self._strayed)
        number = next(self._numbers)
        place = ("step", step) if step is not None else ("number", number)
        key = None if self.key is None else step_key("skill", self.key, *place)
        call = Call(tool, {} if arguments is None else arguments, key=key, timeout=timeout, distinct=distinct)
        return call, replace(self.context, chain_index=number)

    @contextmanager
    def _inside(self) -> Generator[None]:
        """Calls belong to the skill also where a thread was started without its context."""
        token = running.set(self._inner)
        try:
            yield
        finally:
            running.reset(token)

    def _seen(self, outcome: Outcome) -> Outcome:
        if outcome.error is not None and outcome.error.code == "idempotency_conflict" and self.key is not None:
            self._strayed = (
                f"{self.skill} was run again under key {self.key} and asks for something else than before "
                f"({outcome.tool}); name calls that may come in another order with step=, or use a new key"
            )
            raise ToolExecutionError(self._strayed, info=outcome.error)
        if _left_something(outcome):
            # What runs now, the gate sees by itself; what an earlier run of the skill did was only told again.
            self._inner.took_effect()
        return outcome


def _left_something(outcome: Outcome) -> bool:
    """Whether an earlier run left something behind, or may have."""
    if isinstance(outcome, Refused):
        return outcome.error is not None and outcome.error.code == "outcome_unknown"
    if isinstance(outcome, Failed) and outcome.happened is Happened.NONE:
        return False
    return outcome.deduped and Effect.READ_ONLY.value not in outcome.side_effects
