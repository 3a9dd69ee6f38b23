"""What the gate asks of a clock, keys, secrets, people, and of the parts that judge data and amounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from callgate.model.approval import Approval
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.decision import Reason
from callgate.model.levels import Assurance
from callgate.model.tool import Arguments, Tool
from callgate.ports.store import Transaction


class Clock(Protocol):
    """Wall and monotonic time, so that tests can turn it by hand."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class Keys(Protocol):
    """Subkeys of the root key, one per use. The root key itself is never handed out."""

    @property
    def key_id(self) -> str:
        """Names the root key without telling anything about it."""
        ...

    @property
    def public_key(self) -> bytes:
        """The Ed25519 key that checkpoints are verified with."""
        ...

    def fingerprint(self, data: bytes) -> str:
        """A keyed digest (hex) for comparing arguments without keeping them."""
        ...

    def mac(self, data: bytes) -> str:
        """A keyed digest (hex) that only this gate can make; for approvals and snapshots."""
        ...

    def seal(self, data: bytes, *, bound_to: bytes) -> bytes:
        """Encrypt; opens only with the same `bound_to`."""
        ...

    def unseal(self, blob: bytes, *, bound_to: bytes) -> bytes:
        """Decrypt.

        Raises:
            StoreError: The blob was changed, moved, or sealed with another key.
        """
        ...

    def sign(self, data: bytes) -> bytes:
        """An Ed25519 signature."""
        ...


class SecretsStore(Protocol):
    """Where secrets come from. No listing, no dump."""

    def get_secret(self, connector: str, key: str) -> str:
        """The value.

        Raises:
            SecretNotFound: Naming the pair.
        """
        ...


class Answer(NamedTuple):
    """What a person said to a question."""

    kind: str
    """approve, reject, respond, or wait (nobody answered)."""
    text: str = ""
    arguments: Arguments | None = None
    by: str = ""


class Asker(Protocol):
    """Puts a question to a person at once: the terminal, a scripted approver in tests."""

    @property
    def assurance(self) -> Assurance:
        """How certain it is who answers here."""
        ...

    async def ask(self, approval: Approval) -> Answer:
        """Ask and wait for the answer."""
        ...

    def tell(self, message: str) -> bool | None:
        """Say why the answer did not count; the question stays open. True asks to be asked once more."""
        ...


class Labels(Protocol):
    """What is known about the data of a session (taint, private data). Built in a later part."""

    def reasons(self, tool: Tool, arguments: Arguments, context: Context, /) -> Sequence[Reason]:
        """Reasons that tighten this call."""
        ...

    def returned(self, tool: Tool, output: Any, context: Context, /) -> None:
        """The tool's output reached this session."""
        ...


class Limits(Protocol):
    """Calls, concurrency and amounts per window. Built in a later part."""

    def reserve(self, tx: Transaction, tool: Tool, call: Call, context: Context, /) -> Reason | None:
        """Reserve inside the claim; a reason when a limit is used up."""
        ...
