"""The text of a chain, bound to its key before anything of it runs: the keys of its calls are places in it.

A call that waits or was refused has left no row in the ledger. Were only the rows compared, another text could move an
effect into such a place, where it would be made a second time.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from callgate.errors import StoreError
from callgate.flows.chain.faults import ChainRefused, Diagnostic
from callgate.model.step_key import step_key

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction


async def bind_text(parts: Parts, source: str, context: Context) -> None:
    """Bind a text to the key of its chain, or find that it is bound.

    Raises:
        ChainRefused: The key belongs to another text; or the store cannot tell.
    """
    try:
        bound = await _bound(parts, source, context)
    except StoreError as error:
        raise _refused("store_unavailable", f"the store is unavailable, so nothing was done: {error}") from error
    if not bound:
        message = f"key {context.idempotency_key} was used for another chain; use a new key for a new text"
        raise _refused("idempotency_conflict", message)


async def _bound(parts: Parts, source: str, context: Context) -> bool:
    name = step_key("chain text", context.principal, context.session, context.idempotency_key or "")
    digest = hashlib.sha256(source.encode()).digest()

    def kept(reader: Reader) -> bool | None:
        """Whether the key has this text; None if it has none."""
        blob = reader.sealed(name)
        return None if blob is None else hmac.compare_digest(parts.keys.unseal(blob, bound_to=name.encode()), digest)

    def unit(tx: Transaction) -> bool:
        found = kept(tx)
        if found is None:
            # For as long as the rows of its calls, which are kept without an end.
            tx.put_sealed(name, parts.keys.seal(digest, bound_to=name.encode()), keep_until=None)
        return found is not False

    found = await parts.store.peek(kept)
    return await parts.store.write(unit) if found is None else found


def _refused(code: str, message: str) -> ChainRefused:
    return ChainRefused(Diagnostic(1, 1, message), code=code, message=message)
