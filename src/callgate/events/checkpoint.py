"""Checkpoints: all heads of a store, signed. Makes and reads them; checking a signature is `signature`'s.

A checkpoint names the heads that moved since the checkpoint before it, and that checkpoint's own digest. The
checkpoints so form a chain of their own, and each stands for all heads, however many streams a store has seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

from callgate.events.vocabulary import CHECKPOINT, KINDS
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.event import GENESIS, Draft
from callgate.model.ids import uuid7
from callgate.ports import Checkpoint, Head, Keys, Reader, Transaction

CHAIN = "@checkpoints"
"""The name under which a checkpoint cites the one before it among its heads; no stream is called so."""

_META = "audit.checkpointed"
_PREFIX = b"callgate checkpoint 1\n"


class Reached(NamedTuple):
    """How far a store's checkpoints have come."""

    number: int
    """Of the last checkpoint, from 0; -1 before the first."""
    digest: str
    heads: dict[str, int]
    """The last signed event of every stream."""
    told_in: str | None = None
    """The stream whose next event is the one about that checkpoint."""


def make_checkpoint(tx: Transaction, keys: Keys, *, stream: str, now: float, record: bool = True) -> Checkpoint | None:
    """Sign every head that moved since the last checkpoint; None if none did.

    Args:
        tx: The unit of work it is made in.
        keys: Whose signature it gets.
        stream: Who makes it.
        now: The time it will name.
        record: Whether an event tells of it. Without, it is the last thing that happens, and covers everything; with,
            it is made only if there is more to sign than the event about the last one.
    """
    reached = last_reached(tx)
    moved = {name: head for name, head in tx.heads().items() if reached.heads.get(name) != head.sequence}
    if not moved or (record and _only_told(moved, reached)):
        return None
    cited = moved | {CHAIN: Head(reached.number, reached.digest)}
    unsigned = Checkpoint(id=uuid7(), time=now, stream=stream, heads=cited, key_id=keys.key_id, signature=b"")
    checkpoint = replace(unsigned, signature=keys.sign(signed_bytes(unsigned)))
    tx.put_checkpoint(checkpoint)
    _remember(tx, _after(reached, checkpoint), told_in=stream if record else None)
    if record:
        tx.append(_told(checkpoint))
    return checkpoint


def number_of(checkpoint: Checkpoint) -> int:
    """Its place in the chain of checkpoints, from 0."""
    before = checkpoint.heads.get(CHAIN)
    return 0 if before is None else before.sequence + 1


def digest_of(checkpoint: Checkpoint) -> str:
    """What the next checkpoint and the anchor cite it by."""
    return sha256(signed_bytes(checkpoint)).hexdigest()


def stream_heads(checkpoint: Checkpoint) -> dict[str, Head]:
    """The heads of streams among its heads."""
    return {name: head for name, head in checkpoint.heads.items() if name != CHAIN}


def signed_bytes(checkpoint: Checkpoint) -> bytes:
    """What the signature is made over."""
    body = to_json(checkpoint)
    del body["signature"]
    return _PREFIX + dumps(body)


def to_json(checkpoint: Checkpoint) -> dict[str, Any]:
    """For files and doors."""
    return {
        "id": checkpoint.id,
        "time": checkpoint.time,
        "stream": checkpoint.stream,
        "heads": {name: [head.sequence, head.hash] for name, head in checkpoint.heads.items()},
        "key_id": checkpoint.key_id,
        "signature": checkpoint.signature.hex(),
    }


def from_json(body: dict[str, Any]) -> Checkpoint:
    """Read back what `to_json` wrote.

    Raises:
        ValueError: It did not write this.
    """
    try:
        heads = {str(name): Head(int(head[0]), str(head[1])) for name, head in body["heads"].items()}
        return Checkpoint(
            id=str(body["id"]),
            time=float(body["time"]),
            stream=str(body["stream"]),
            heads=heads,
            key_id=str(body["key_id"]),
            signature=bytes.fromhex(body["signature"]),
        )
    except (TypeError, KeyError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(f"not a checkpoint: {type(error).__name__}") from error


def last_reached(reader: Reader) -> Reached:
    """How far the checkpoints have come, from the store's note of it or else from the checkpoints themselves."""
    noted = reader.meta(_META)
    if noted is not None:
        try:
            body = loads(noted)
            return Reached(int(body["number"]), str(body["digest"]), dict(body["heads"]), body.get("told_in"))
        except (NotCanonical, KeyError, TypeError, ValueError):
            pass
    return reached_by(reader.checkpoints())


def reached_by(checkpoints: Iterable[Checkpoint]) -> Reached:
    """How far these checkpoints come, taken in order."""
    reached = Reached(-1, GENESIS, {})
    for checkpoint in checkpoints:
        reached = _after(reached, checkpoint)
    return reached


def _after(reached: Reached, checkpoint: Checkpoint) -> Reached:
    heads = {name: head.sequence for name, head in stream_heads(checkpoint).items()}
    return Reached(number_of(checkpoint), digest_of(checkpoint), reached.heads | heads)


def _remember(tx: Transaction, reached: Reached, *, told_in: str | None) -> None:
    # Only saves reading all checkpoints at each new one. Wrong, it leaves heads unsigned, which verifying shows.
    tx.put_meta(_META, dumps(reached._replace(told_in=told_in)._asdict()).decode())


def _only_told(moved: dict[str, Head], reached: Reached) -> bool:
    """Whether nothing is new but the event about the last checkpoint, which would go on for ever."""
    return all(name == reached.told_in and head.sequence == reached.heads[name] + 1 for name, head in moved.items())


def _told(checkpoint: Checkpoint) -> Draft:
    payload = {
        "checkpoint": checkpoint.id,
        "number": number_of(checkpoint),
        "digest": digest_of(checkpoint),
        "streams": len(checkpoint.heads) - 1,
    }
    severity = KINDS[CHECKPOINT].severity
    return Draft(type=CHECKPOINT, time=checkpoint.time, trace=checkpoint.stream, severity=severity, payload=payload)
