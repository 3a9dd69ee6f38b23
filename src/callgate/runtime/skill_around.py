"""The skill that a call was made in: its own call, as it was asked, to be made again under its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.model.attempt import AttemptKey
from callgate.model.call import Call
from callgate.pipeline.seal import unseal
from callgate.skills.context import LAYER

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt
    from callgate.model.context import Context
    from callgate.pipeline.parts import Parts


async def skill_around(parts: Parts, context: Context) -> tuple[Call, Context] | None:
    """The call of the outermost skill around a call with this context, and who asked for it; None outside of skills.

    Nor where its row or its sealed arguments are gone: then only the inner call can be made.
    """
    found: tuple[Call, Context] | None = None
    while (row := await _row_around(parts, context)) is not None and row.sealed_id is not None:
        sealed = await unseal(parts, row.sealed_id)
        if sealed is None:
            break
        context = sealed.context
        found = Call(row.tool, sealed.extra.get("asked", sealed.arguments), key=row.key.key), context
    return found


async def _row_around(parts: Parts, context: Context) -> Attempt | None:
    layer = context.layers[-1].name if context.layers else ""
    chain = context.chain_id
    if chain is None or not layer.startswith(LAYER):
        return None
    key = AttemptKey(context.principal, context.session, chain)
    row = await parts.store.read(lambda reader: reader.attempt(key))
    return row if row is not None and row.tool == layer.removeprefix(LAYER) else None
