"""Parts: what the steps of a call work with. Put together by the runtime; the steps know only these."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.decision import Reason
from callgate.model.tool import Arguments, Tool
from callgate.model.tool_context import ToolContext
from callgate.pipeline.deadlines import Deadlines
from callgate.pipeline.reading_order import ReadingOrder
from callgate.pipeline.spool import Spool
from callgate.pipeline.threads import Threads
from callgate.pipeline.told import Told
from callgate.policy.policy import Policy
from callgate.ports import Asker, Clock, Keys, Labels, Limits, Store, Transaction
from callgate.registry.health import HealthBoard
from callgate.registry.registry import Registry
from callgate.secrets.handout import SecretsDoor
from callgate.secrets.strike import Striker
from callgate.settings.values import Settings

running: contextvars.ContextVar[ToolContext | None] = contextvars.ContextVar("callgate_running", default=None)
"""The handler this code runs in, so that what it starts ends with it."""


class NoLabels:
    """Nothing is known about the data: no reason to tighten. The place the labels part will take."""

    def reasons(self, _tool: Tool, _arguments: Arguments, _context: Context, /) -> tuple[Reason, ...]:
        """None."""
        return ()

    def returned(self, _tool: Tool, _output: Any, _context: Context, /) -> None:
        """Nothing to follow."""


class NoLimits:
    """No limits are configured. The place the limits part will take."""

    def reserve(self, _tx: Transaction, _tool: Tool, _call: Call, _context: Context, /) -> Reason | None:
        """Nothing to reserve."""
        return None


Sources = tuple[tuple[str, str | bytes], ...]
"""What a call read or wrote: path and content."""


class Watch(Protocol):
    """Told what a successful call read or wrote; runs inside a transaction, so it asks nobody."""

    def __call__(
        self,
        tx: Transaction,
        tool: Tool,
        sources: Sources,
        context: Context,
        /,
        *,
        project: str,
        at: float,
        in_order: bool,
    ) -> bool:
        """Record what follows from it; whether that was done.

        `at` is when the call ended. Notes of calls may come in another order: unless `in_order` says that those of
        the calls before are there, nothing is done that would change what is noted.
        """
        ...


@dataclass(slots=True, kw_only=True)
class Parts:
    """Everything the steps need; one per gate."""

    settings: Settings
    registry: Registry
    policy: Policy
    store: Store
    keys: Keys
    clock: Clock
    striker: Striker
    secrets: SecretsDoor
    health: HealthBoard
    threads: Threads
    deadlines: Deadlines
    spool: Spool
    background: Callable[[Coroutine[Any, Any, Any]], None]
    """Start work nobody waits for; the gate waits for it when it closes."""
    labels: Labels = field(default_factory=NoLabels)
    limits: Limits = field(default_factory=NoLimits)
    asker: Asker | None = None
    working_directory: str = "."
    lasting: bool = True
    """Whether its store outlives the process."""
    watches: tuple[Watch, ...] = ()
    reading_order: ReadingOrder = field(default_factory=ReadingOrder)
    told: Told = field(default_factory=Told)
    quarantined: Callable[[str], str | None] = lambda _name: None
    missing: Callable[[str], str | None] = lambda _name: None
    """Why a tool of that name is not there, where its source is known and could not be reached."""
    unlisted: dict[str, Tool] = field(default_factory=dict[str, "Tool"])
    """What can be called and is in no pool, by name."""
    progress: Callable[[ToolContext, float | None, str], None] = lambda _context, _fraction, _note: None
    """Records how far a running handler is."""
    looked_for_owners: float = float("-inf")
    """When owners that died were last looked for; monotonic."""
    late: set[object] = field(default_factory=set[object])
    """Handlers that outlived their limit and still run."""
    stubborn: set[str] = field(default_factory=set[str])
    """Reads, by name, that went on after they were cancelled: they get tasks of their own."""
    accounts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Which account each connector acts as, by its configuration."""

    def directory_of(self, context: Context) -> str:
        """Where a call of this context works."""
        return context.working_directory or self.working_directory


@dataclass(slots=True)
class Asked:
    """A call on its way in: who asks for what, and the id it has from now on."""

    call: Call
    context: Context
    call_id: str
    key: str | None
    """The caller's key, of the call or else of its context."""
    wait: float | None
    judged: bool = False
    """The host runs it; the gate only decides and records."""
    again: bool = False
    """The host may have asked about this very use before: what was said then is said again, and not waited for."""
