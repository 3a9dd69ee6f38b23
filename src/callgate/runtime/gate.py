"""Callgate: the one gate between a model and everything it can do. Opening it puts the parts together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from callgate.errors import ConfigurationError, StoreError
from callgate.model.context import Context
from callgate.pipeline.owners import bury, fall_silent, recover
from callgate.pipeline.shield import finish
from callgate.policy.own_files import STORE_FOLDER
from callgate.registry.health import HealthBoard
from callgate.registry.registry import Changes, Registry
from callgate.runtime.administration import Administration
from callgate.runtime.asker import asker_of
from callgate.runtime.assemble import Choices, assemble
from callgate.runtime.builtin import add_builtin
from callgate.runtime.chains import Chains
from callgate.runtime.clock import SystemClock
from callgate.runtime.configured_sources import attach_configured
from callgate.runtime.decisions import Decisions
from callgate.runtime.doorkeeping import Doorkeeping
from callgate.runtime.entrance import Entrance
from callgate.runtime.errands import Errands
from callgate.runtime.following import Following
from callgate.runtime.hosting import Hosting
from callgate.runtime.module_tools import ModuleTools
from callgate.runtime.modules import load_configured, placed
from callgate.runtime.noticing import Noticing
from callgate.runtime.observing import Observing
from callgate.runtime.opened import Around, Opened
from callgate.runtime.overseeing import Overseeing
from callgate.runtime.plugging import Plugging
from callgate.runtime.plugin_source import attach_plugins, attach_shipped
from callgate.runtime.programs import Programs
from callgate.runtime.record import Record
from callgate.runtime.relaying import Relaying
from callgate.runtime.replaying import Replaying
from callgate.runtime.skill_shelf import GateWay, SkillShelf
from callgate.runtime.skilled import Skilled
from callgate.runtime.telling import told
from callgate.runtime.tool_events import registration_drafts
from callgate.runtime.trees import Trees
from callgate.runtime.trusting import Trusting
from callgate.runtime.trying import Trying
from callgate.runtime.unknowns import Unknowns
from callgate.tools.notices.notices import Notices
from callgate.tools.services import Services

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.ports import Asker, Clock, Transaction
    from callgate.runtime.blocking import BlockingCallgate
    from callgate.settings.values import Settings

_log = logging.getLogger("callgate")
_LOOK_EVERY = 1.0
_DROP_EVERY = 3600.0


class Callgate(
    Programs,
    Hosting,
    Chains,
    Skilled,
    Trees,
    Decisions,
    Unknowns,
    Noticing,
    Plugging,
    Trusting,
    Record,
    Replaying,
    Doorkeeping,
    Entrance,
    Trying,
    Overseeing,
    Errands,
    Observing,
    Following,
    Relaying,
    Administration,
):
    """A gate. Make it with `Callgate.open(...)` and enter it: `async with Callgate.open() as gate:`."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._health = HealthBoard(choices.clock)
        self._registry = Registry(self._health)
        self._shelf = SkillShelf(self._registry, GateWay(self._open))
        self._module_tools = ModuleTools()
        self._opened: Opened | None = None
        self._unlisten: tuple[Callable[[], None], ...] = ()

    @classmethod
    def open(
        cls,
        store: str | None = None,
        config: str | Path | Settings | None = None,
        *,
        ask: str | Asker | None = None,
        around: Sequence[Around] = (),
        context: Context | None = None,
        working_directory: str | Path | None = None,
        clock: Clock | None = None,
        builtin_tools: str | Iterable[str] = (),
    ) -> Callgate:
        """The unopened gate.

        Args:
            store: `sqlite:///file.db`, `memory://`; else the configuration's, else `./.callgate/callgate.db`.
            config: A file (missing is an error), settings, or None for `./callgate.yaml` if it is there. The modules it
                names are imported when the gate opens, from what is installed or from the folder of the file.
            ask: `"terminal"` to be asked in the terminal, or an `Asker`.
            around: Middleware around every call, the first outermost.
            context: Who asks where a call does not say.
            working_directory: Where relative paths resolve; the current one when left out.
            clock: For tests.
            builtin_tools: Built-in tools to have beside those the configuration enables: categories, names, `all`,
                or `read_only`; one or several.

        Raises:
            ConfigurationError: Something given here cannot be.
        """
        choices = Choices(
            store=store,
            config=config,
            ask=asker_of(ask),
            around=tuple(around),
            context=Context() if context is None else context,
            working_directory=str(Path(working_directory or ".").resolve()),
            clock=clock or SystemClock(),
            builtin_tools=(builtin_tools,) if isinstance(builtin_tools, str) else tuple(builtin_tools),
        )
        return cls(choices)

    @classmethod
    def look(cls, store: str | None = None, config: str | Path | Settings | None = None) -> Callgate:
        """The unopened gate, as of `open`, for who only looks at what is recorded: it leaves no trace.

        No stream is begun, nothing is signed and nothing anchored, unless something has to be recorded after all. It
        has no tools and attaches no source. A store that is not there is a `StoreError` when it opens.

        Raises:
            ConfigurationError: Something given here cannot be.
        """
        here = str(Path.cwd())
        return cls(
            Choices(
                store=store,
                config=config,
                ask=None,
                around=(),
                context=Context(),
                working_directory=here,
                clock=SystemClock(),
                looking=True,
            )
        )

    @classmethod
    def open_sync(cls, *args: Any, **kwargs: Any) -> BlockingCallgate:
        """The same gate for blocking code: `with Callgate.open_sync() as gate: gate.call(...)`."""
        from callgate.runtime.blocking import BlockingCallgate  # noqa: PLC0415 - it wraps this class

        return BlockingCallgate(lambda: cls.open(*args, **kwargs))

    async def __aenter__(self) -> Self:
        if self._opened is not None:
            raise ConfigurationError("the gate is open already")
        opened = await assemble(self._choices, self._registry, self._health)
        self._opened = opened
        opened.parts.background = opened.background
        try:
            if self._choices.looking:
                await self._look(opened)
                return self
            await opened.pinning.open()
            await opened.auditor.start()
            self._add_configured(opened)
            beside = Path(self._choices.working_directory)
            await attach_configured(self, opened.parts.settings, working_directory=beside)
            await attach_plugins(self, opened.parts.settings, beside)
            await attach_shipped(
                self, opened.parts.settings, named=self._choices.builtin_tools, working_directory=beside
            )
            self._shelf.settle()
            self._start(opened)
            await self._announce_new(opened)
            await recover(opened.parts)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Finish what runs, write what waits, and let go. Twice is once; who comes second waits for the first's end."""
        opened = self._opened
        if opened is None:
            return
        if opened.closing:
            await opened.until_closed()
            return
        opened.closing = True
        for unlisten in self._unlisten:
            unlisten()
        try:
            # Whoever is cancelled meanwhile is told afterwards: a store that is left open is held by nobody's hand.
            _, cancelled = await finish(opened.close())
        finally:
            self._opened = None
            opened.closed.set_result(None)
        if cancelled:
            raise asyncio.CancelledError

    async def _look(self, opened: Opened) -> None:
        """What a look needs: that calls of processes that died are told as unknown. In a copy nobody can tell."""
        self._shelf.settle()
        if not opened.auditor.is_copy:
            await recover(opened.parts)
            await fall_silent(opened.parts)

    def _add_configured(self, opened: Opened) -> None:
        settings, folder = opened.parts.settings, Path(self._choices.working_directory)
        opened.acceptance.read()
        add_builtin(self, settings, self._choices.builtin_tools, self._lend(opened))
        self._lay_over_present()
        for at, module in enumerate(load_configured(settings, working_directory=folder)):
            with placed(settings, f"modules[{at}]"):
                self._module_tools.add(module, self)

    def _lend(self, opened: Opened) -> Services:
        """What built-in tools get of this gate. Their indexes last where its store does, among Callgate's own files."""
        folder = Path(self._choices.working_directory)
        return Services(
            working_directory=folder,
            indexes=folder / STORE_FOLDER / "indexes" if opened.lasting else None,
            store=opened.parts.store,
            clock=opened.parts.clock,
            way=self,
            model=opened.parts.settings.model,
            tell=told,
        )

    def _start(self, opened: Opened) -> None:
        # Skills follow last: what they change is announced after what they follow.
        self._unlisten = tuple(map(self._registry.on_change, (self._announce, self._shelf.followed)))
        opened.loop(self._look_around(opened))
        places = opened.parts.settings.approvals.notify
        if places:
            from callgate.runtime.notifying import Notifier  # noqa: PLC0415 - only where somebody is to be told

            Notifier(opened, places).start()

    async def _announce_new(self, opened: Opened) -> None:
        """At the start: record the tools this store has not seen, or not so. Looking must not fill the log."""
        parts, trace = opened.parts, opened.default_context.trace_id
        tools = {f"tool:{tool.name}": tool for tool in self._registry.list_tools()}
        known = await parts.store.read(lambda reader: {name: reader.meta(name) for name in tools})
        new = {name: tool for name, tool in tools.items() if known[name] != tool.definition_hash}
        held = {tool.name: self._registry.quarantined[tool.name] for tool in new.values() if self._is_held(tool)}
        changes = Changes(added=tuple(new.values()), quarantined=held)
        drafts = registration_drafts(changes, now=parts.clock.now(), trace=trace)
        self._remember(tools.values())

        def unit(tx: Transaction) -> None:
            for name, tool in new.items():
                tx.put_meta(name, tool.definition_hash)
            for draft in drafts:
                tx.append(draft)

        if new:
            await parts.store.write(unit)
        await opened.pinning.keep()

    def _announce(self, changes: Changes) -> None:
        opened = self._opened
        if opened is None:
            return
        parts = opened.parts
        self._remember((*changes.added, *(new for _, new in changes.changed)))
        opened.pinning.keep_soon()
        for draft in registration_drafts(changes, now=parts.clock.now(), trace=opened.default_context.trace_id):
            parts.store.behind(draft)

    def _remember(self, tools: Iterable[Tool]) -> None:
        """Trust these as they are now. A skill that lacks a tool is the worst only for now, and no more than that."""
        self._registry.quarantine.remember(tool for tool in tools if self._shelf.is_whole(tool.name))

    async def _look_around(self, opened: Opened) -> None:
        """Now and then: the dead and the silent are given up, the record is signed, what was kept too long goes."""
        parts, dropped_at = opened.parts, -_DROP_EVERY
        while True:
            try:
                await bury(parts)
                await fall_silent(parts)
                await opened.auditor.now_and_then()
                if parts.clock.monotonic() - dropped_at >= _DROP_EVERY:
                    dropped_at, now = parts.clock.monotonic(), parts.clock.now()
                    await parts.store.write(lambda tx, now=now: tx.drop_sealed(before=now))
                    await Notices(parts.store, parts.clock).sweep()
                await opened.pinning.refresh()
                await opened.pinning.keep()
            except StoreError as error:
                _log.warning("%s", error)
            await asyncio.sleep(_LOOK_EVERY)
