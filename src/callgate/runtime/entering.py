"""Entering: every way into the pipeline, through the middleware. Knows no flow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.ids import uuid7
from callgate.model.shapes import as_mapping
from callgate.pipeline.parts import Asked, Parts
from callgate.pipeline.pipeline import run
from callgate.pipeline.record import record
from callgate.pipeline.stopped import refused
from callgate.runtime.opened import Around, Opened, Proceed
from callgate.runtime.under_way import UnderWay

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome


async def enter(
    opened: Opened, call: Call, context: Context, *, wait: float | None = None, core: Proceed | None = None
) -> Outcome:
    """Every way in: through the middleware, counted, and at the first call with a look at the policy."""
    if not isinstance(call.tool, str):  # pyright: ignore[reportUnnecessaryIsInstance] - models write anything
        call = call._replace(tool=f"<{type(call.tool).__name__}>")
    if not opened.looked_at_policy:
        opened.look_at_policy()
    context = without_secrets(opened.parts, context)
    with UnderWay(opened):
        if core is None and not opened.around:
            return await run(opened.parts, as_asked(call, context, wait))
        proceed = core or _run(opened, wait)
        for layer in reversed(opened.around):
            proceed = _wrapped(layer, proceed)
        return await proceed(call, context)


def without_secrets(parts: Parts, context: Context) -> Context:
    """The context with a trace that may be told: rows and envelopes of events keep it as it is.

    Raises:
        ConfigurationError: It is no context.
    """
    if not isinstance(context, Context):  # pyright: ignore[reportUnnecessaryIsInstance] - callers write anything
        raise ConfigurationError(f"who asks is said with a Context, not with {type(context).__name__}")
    trace = context.trace_id
    told = parts.striker.strike_trace(trace)
    return context if told is trace else replace(context, trace_id=told)


def _run(opened: Opened, wait: float | None) -> Proceed:
    async def core(call: Call, context: Context) -> Outcome:
        return await run(opened.parts, as_asked(call, context, wait))

    return core


def _wrapped(layer: Around, inner: Proceed) -> Proceed:
    async def proceed(call: Call, context: Context) -> Outcome:
        return await layer(call, context, inner)

    return proceed


def as_asked(call: Call, context: Context, wait: float | None) -> Asked:
    """The call on its way in, with an id of its own."""
    key = call.key if call.key is not None else context.idempotency_key
    return Asked(call, context, uuid7(), key, wait)


async def refuse_malformed(parts: Parts, context: Context, item: Any, message: str) -> Outcome:
    """Refuse an element that is no call, and record it."""
    body = as_mapping(item)
    name: Any = getattr(item, "tool", None) if body is None else body.get("name")
    asked = as_asked(Call(name if isinstance(name, str) else "", {}), context, None)
    return await record(parts, asked, refused(asked, "invalid_arguments", message, faults=(message,)))
