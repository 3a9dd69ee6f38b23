"""The intent: what is recorded of a call before it runs. What calls of one tool and asker say alike is kept written.

So an event costs what it alone says: its arguments, and where it has them its key and fingerprint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from callgate.events.recordable import read_back
from callgate.events.row_digest import ROW_BEFORE
from callgate.events.vocabulary import ATTEMPTED
from callgate.model.canonical import dumps
from callgate.model.event import Draft
from callgate.pipeline.recorded import MOST_BYTES, struck, who
from callgate.pipeline.told import Alike

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.decision import Decision
    from callgate.model.event import Written
    from callgate.model.tool import Tool
    from callgate.pipeline.gate import Passed
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit


def attempted(parts: Parts, passed: Passed, permit: Permit) -> Draft:
    """Who runs what, why it is allowed, and under which key."""
    asked = permit.asked
    # Nobody changes arguments but a person who is asked.
    plain = passed.approval is None and len(passed.authorized.text) <= MOST_BYTES
    return Draft(
        type=ATTEMPTED,
        time=parts.clock.now(),
        trace=asked.context.trace_id,
        call=asked.call_id,
        payload=_written(parts, passed, permit) if plain else _payload(parts, passed, permit),
        redact=parts.striker,
    )


def again(draft: Draft, before: str) -> Draft:
    """The intent of a call whose key has a row already: with the digest of that row, as it was found."""
    said = draft.payload if isinstance(draft.payload, dict) else read_back(draft.payload[0])
    return replace(draft, payload={**said, ROW_BEFORE: before})


def _payload(parts: Parts, passed: Passed, permit: Permit) -> dict[str, Any]:
    """The same as a value: of arguments that are large, or that a person was asked about."""
    payload = {**_alike(permit.decision, permit.tool, permit.asked.context), "arguments": struck(parts, passed.text)}
    if permit.key is not None:
        payload["key"] = permit.key
    if passed.approval is not None:
        payload["approval_id"] = passed.approval.id
    if passed.authorized.fingerprint:
        payload["fingerprint"] = passed.runs.fingerprint
        if passed.final is not None:
            payload["asked_fingerprint"] = passed.authorized.fingerprint
    return payload


def _written(parts: Parts, passed: Passed, permit: Permit) -> Written:
    authorized, decision, tool, context = passed.authorized, permit.decision, permit.tool, permit.asked.context
    if context.chain_id is None:
        by = context.caller._value_
        asker = (id(decision), tool.id, context.principal, context.session, context.role, by, context.user)
        alike = parts.told.find(asker) or parts.told.keep(asker, _in_order(decision, tool, context))
    else:
        alike = _in_order(decision, tool, context)  # Each call of a flow has its own number, which nothing is kept for.
    whole, before, after, _ = alike
    own = b'{"arguments":' + authorized.text
    if permit.key is None and not authorized.fingerprint:
        return own + whole, own, whole
    # There is nothing to strike in a key: one that holds a secret is refused where the key is claimed.
    marks = b',"fingerprint":"' + authorized.fingerprint.encode() + b'"' if authorized.fingerprint else b""
    if permit.key is not None:
        marks += b',"key":' + orjson.dumps(permit.key)
    return own + before + marks + after, own, whole


def _in_order(decision: Decision, tool: Tool, context: Context) -> Alike:
    body = _alike(decision, tool, context)
    before = b"," + dumps({name: value for name, value in body.items() if name < "fingerprint"})[1:-1]
    after = b"," + dumps({name: value for name, value in body.items() if name > "key"})[1:]
    return Alike(before + after, before, after, decision)


def _alike(decision: Decision, tool: Tool, context: Context) -> dict[str, Any]:
    return {
        "tool": tool.name,
        "tool_id": tool.id,
        "source": tool.source._value_,
        "decision": decision.written,
        **who(context),
    }
