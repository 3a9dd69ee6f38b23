"""What the tests record: a clock turned by hand, keys of their own, and calls as the pipeline writes them."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from callgate.events import vocabulary
from callgate.model.event import Draft, Event
from callgate.model.ids import uuid7
from callgate.model.levels import Severity
from callgate.ports import Store, Transaction


@dataclass
class HandClock:
    """Time that moves when it is told to."""

    seconds: float = 1_760_000_000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def turn(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class HouseKeys:
    """Keys made for one test."""

    secret: bytes = b"one root key for the tests of it"
    private: Ed25519PrivateKey = field(init=False)

    def __post_init__(self) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(self.secret).digest())

    @property
    def key_id(self) -> str:
        return hashlib.sha256(self.public_key).hexdigest()[:16]

    @property
    def public_key(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def public_keys(self) -> dict[str, bytes]:
        return {self.key_id: self.public_key}

    def sign(self, data: bytes) -> bytes:
        return self.private.sign(data)

    def fingerprint(self, data: bytes) -> str:
        return hmac.digest(self.secret, b"fingerprint" + data, "sha256").hex()

    def mac(self, data: bytes) -> str:
        return hmac.digest(self.secret, b"mac" + data, "sha256").hex()

    def token_digest(self, token: bytes) -> str:
        return self.mac(token)

    def seal(self, data: bytes, *, bound_to: bytes) -> bytes:
        raise NotImplementedError

    def unseal(self, blob: bytes, *, bound_to: bytes) -> bytes:
        raise NotImplementedError


@dataclass
class Story:
    """Drafts of one call, in the words of the pipeline."""

    tool: str = "mail.send"
    call: str = field(default_factory=uuid7)
    trace: str = field(default_factory=uuid7)
    time: float = 1_760_000_000.0
    key: str | None = None
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def draft(self, kind: str, **payload: Any) -> Draft:
        known = vocabulary.KINDS.get(kind)
        severity = known.severity if known else Severity.INFO
        body = {"tool": self.tool, "tool_id": "id-of-" + self.tool} | payload
        return Draft(type=kind, time=self.time, trace=self.trace, call=self.call, severity=severity, payload=body)

    def attempted(self, **more: Any) -> Draft:
        payload: dict[str, Any] = {
            "source": "function",
            "arguments": {"to": "ada@example.org"},
            "role": "assistant",
            "principal": "agent",
            "user": "ada",
            "session": "s1",
            "key": self.key,
            "caller": "direct",
            "chain_id": None,
            "chain_index": 0,
            "decision": {"verdict": "allow", "risk": "medium", "autonomy": "A3", "reasons": []},
            "fingerprint": "f" * 64,
        }
        return self.draft(vocabulary.ATTEMPTED, **(payload | self.extra | more))

    def succeeded(self, output: Any = "sent") -> Draft:
        return self.draft(vocabulary.SUCCEEDED, output=output, duration_ms=12.5)

    def failed(self, message: str = "no such mailbox") -> Draft:
        error = {"code": "handler_failed", "message": message, "category": "runtime_error"}
        return self.draft(vocabulary.FAILED, error=error, duration_ms=3.0, effect="none")

    def timed_out(self, seconds: float = 2.5) -> Draft:
        return self.draft(vocabulary.TIMED_OUT, error=_too_long(seconds), duration_ms=2500.0, timeout=seconds)

    def unknown(self, cause: str = "timeout", seconds: float = 2.5) -> Draft:
        return self.draft(
            vocabulary.UNKNOWN, error=_too_long(seconds), duration_ms=2500.0, cause=cause, timeout=seconds
        )

    def refused(self, code: str = "policy_denied") -> Draft:
        return self.draft(
            vocabulary.REFUSED,
            code=code,
            message="not for you",
            reasons=[{"step": "role", "text": "not for you"}],
            role="assistant",
            principal="agent",
            session="s1",
        )


def _too_long(seconds: float) -> dict[str, Any]:
    return {"code": "timed_out", "message": f"timed out after {seconds}s (timeout)", "category": "timeout_error"}


async def record(store: Store, *drafts: Draft) -> list[Event]:
    """Append the drafts in one unit; the events they became."""

    def unit(tx: Transaction) -> int:
        before = max((event.position for event in tx.events()), default=0)
        for draft in drafts:
            tx.append(draft)
        return before

    before = await store.write(unit)
    return await store.read(lambda reader: reader.events(after=before))


async def record_many(store: Store, count: int, *, story: Callable[[int], Story] = lambda _: Story()) -> None:
    """So many calls that succeeded, each in a unit of its own."""
    for index in range(count):
        told = story(index)

        def unit(tx: Transaction, told: Story = told) -> None:
            tx.append(told.attempted())
            tx.append(told.succeeded())

        await store.write(unit)
