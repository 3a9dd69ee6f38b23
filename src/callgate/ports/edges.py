"""What the gate asks of a clock, keys, secrets, people, and of the parts that judge data and amounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from callgate.model.approval import Approval
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.decision import Reason
from callgate.model.levels import Assurance, Origin
from callgate.model.source import Loaded
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

    def token_digest(self, token: bytes) -> str:
        """A keyed digest (hex) under which a credential is kept; the credential itself never is."""
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
    """approve, reject, respond, edit (show what these arguments would do, and ask again), or wait (nobody answered)."""
    text: str = ""
    arguments: Arguments | None = None
    by: str = ""
    """The person who said so; a decision without a name does not count."""


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


class Desk(Protocol):
    """What a gate lends to a source while it is attached. Safe to use from any thread."""

    def changed(self) -> None:
        """Something changed: have the source loaded again soon."""
        ...

    def unavailable(self, connector: str, reason: str) -> None:
        """Nothing behind this connector can be called, until `available` says otherwise."""
        ...

    def available(self, connector: str) -> None:
        """It can be called again."""
        ...

    def secret(self, connector: str, key: str) -> str:
        """A secret, which is struck from everything that leaves from now on.

        Raises:
            SecretNotFound: Naming the pair.
        """
        ...

    def keep_secret(self, connector: str, key: str, *, value: str) -> None:
        """Keep a secret durably, in place of the one that was there, and strike it from now on.

        Raises:
            ConfigurationError: Secrets are not kept by Callgate here, or it is too short to be struck.
            StoreError: It cannot be written.
        """
        ...

    def strike(self, value: str, *, connector: str, key: str) -> None:
        """Strike a value that no store gave from everything that leaves from now on.

        Raises:
            ConfigurationError: It is too short to be struck.
        """
        ...

    def note(self, event: str, payload: dict[str, Any]) -> None:
        """Record something that is no call: a connection lost, a server's own log line."""
        ...


class Source(Protocol):
    """Where tools come from: a toolkit, an MCP server, a registry file, a folder of plugins.

    One that reads them from files names these in `files`: they are put out of reach of every tool. One whose tools all
    have a `prefix` names it: a call of one of them is told why it is not there while nothing of the source is.
    """

    @property
    def name(self) -> str:
        """Unique among the sources of its origin in a gate; the `source_name` of its tools."""
        ...

    @property
    def origin(self) -> Origin:
        """What kind of source it is; the `source` of its tools."""
        ...

    async def load(self, desk: Desk) -> Loaded:
        """Everything it has now. Called again to load anew; calls in flight go on with what they began with.

        Raises:
            ConfigurationError: Nothing could be loaded; what was loaded before goes on serving.
        """
        ...

    async def close(self) -> None:
        """Let go of everything: the source was detached, or the gate closes. Twice is once."""
        ...
