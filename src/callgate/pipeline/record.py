"""Recording a call that did not run: refused, deduped, previewed, pending. Before the answer leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.errors import StoreError
from callgate.events.vocabulary import DEDUPED
from callgate.model.event import Draft
from callgate.model.outcome import Refused
from callgate.model.visible import cut as shorten
from callgate.pipeline.recorded import cut, json_form, struck_output, who
from callgate.pipeline.stopped import Stopped, refused

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome
    from callgate.pipeline.parts import Asked, Parts

_LONGEST_NAME = 256


async def record(parts: Parts, asked: Asked, ended: Stopped | StoreError) -> Outcome:
    """Write down how the call ended, and hand out the outcome.

    A refusal stands although it cannot be written: nothing happened, and saying no needs no record to be safe.
    """
    stop = ended if isinstance(ended, Stopped) else unavailable(asked, ended)
    if stop.recorded:
        return stop.outcome
    hot = stop.event == DEDUPED
    try:
        if hot:
            parts.store.behind(_of_replay(parts, asked, stop))
        else:
            _strike(parts, stop)
            draft = _draft(parts, asked, stop)
            await parts.store.write(lambda tx: tx.append(draft))
    except StoreError as error:
        return stop.outcome if isinstance(stop.outcome, Refused) else unavailable(asked, error).outcome
    return stop.outcome


def unavailable(asked: Asked, error: StoreError) -> Stopped:
    """The refusal of a call that the store cannot answer for."""
    return refused(asked, "store_unavailable", f"the store is unavailable, so nothing was done: {error}")


def _strike(parts: Parts, stop: Stopped) -> None:
    """Reasons may repeat what the caller wrote, and what he wrote may be a secret that was handed out."""
    error, strike = stop.outcome.error, parts.striker.strike_text
    if error is None:
        return
    faults = tuple(strike(fault) for fault in error.faults)
    words = {"message": error.message, "tool": error.tool or "", "suggestion": error.suggestion}
    struck = {name: text if text is None else strike(text) for name, text in words.items()}
    stop.outcome.error = replace(error, faults=faults, **struck)
    stop.outcome.tool = strike(stop.outcome.tool)


def _shown(parts: Parts, arguments: Any) -> Any:
    try:
        return cut(struck_output(parts, arguments)[1])
    except Exception as error:  # noqa: BLE001 - arguments may be objects of anybody's class
        return f"<cannot be read: {type(error).__name__}>"


def _of_replay(parts: Parts, asked: Asked, stop: Stopped) -> Draft:
    """What is told of an answer from the ledger: the rest stands in the events of the call it answers with.

    There is nothing to strike in it but the user's name: a key, a principal or a session that holds a secret is
    refused where the ledger is asked, and roles are those of the configuration.
    """
    context = asked.context
    return Draft(
        type=stop.event,
        time=parts.clock.now(),
        trace=context.trace_id,
        call=asked.call_id,
        severity=stop.severity,
        payload=stop.payload,
        redact=None if context.user is None else parts.striker,
    )


def _draft(parts: Parts, asked: Asked, stop: Stopped) -> Draft:
    context = asked.context
    payload: dict[str, Any] = {
        **stop.payload,
        "tool": shorten(str(json_form(asked.call.tool)), _LONGEST_NAME),
        "arguments": _shown(parts, asked.call.arguments),
        **who(context),
    }
    if asked.key is not None:
        payload["key"] = asked.key
    return Draft(
        type=stop.event,
        time=parts.clock.now(),
        trace=context.trace_id,
        call=asked.call_id,
        severity=stop.severity,
        payload=payload,
        redact=parts.striker,
    )
