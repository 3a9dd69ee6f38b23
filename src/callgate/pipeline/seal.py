"""Sealed arguments: the exact call, kept for resuming, verifying and replaying, readable only with the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from callgate.errors import StoreError
from callgate.model.canonical import dumps, loads
from callgate.model.context_form import context_from_json, context_to_json
from callgate.model.shapes import as_mapping

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Arguments
    from callgate.pipeline.parts import Parts

_DAY = 86_400.0


class Sealed(NamedTuple):
    """What was sealed."""

    arguments: Arguments
    context: Context
    extra: dict[str, Any]


def seal(parts: Parts, sealed_id: str, arguments: bytes, context: Context, **extra: Any) -> bytes:
    """The blob for the sealed table, of arguments in canonical JSON; it opens only under its own id."""
    body = {"arguments": orjson.Fragment(arguments), "context": context_to_json(context), "extra": extra}
    return parts.keys.seal(dumps(body), bound_to=sealed_id.encode())


async def unseal(parts: Parts, sealed_id: str) -> Sealed | None:
    """What was sealed under this id; None once its retention ended.

    Raises:
        StoreError: The blob was changed or belongs to another id or key.
    """
    blob = await parts.store.read(lambda reader: reader.sealed(sealed_id))
    return None if blob is None else open_blob(parts, sealed_id, blob)


def open_blob(parts: Parts, sealed_id: str, blob: bytes) -> Sealed:
    """What a blob holds.

    Raises:
        StoreError: The blob was changed or belongs to another id or key.
    """
    body = as_mapping(loads(parts.keys.unseal(blob, bound_to=sealed_id.encode())))
    if body is None or set(body) != {"arguments", "context", "extra"}:
        raise StoreError(f"sealed record {sealed_id} has an unknown form")
    return Sealed(body["arguments"], context_from_json(body["context"]), body["extra"])


def keep_until(parts: Parts) -> float | None:
    """When the retention of something sealed now ends."""
    days = parts.settings.retention_days
    return None if days is None else parts.clock.now() + days * _DAY
