"""Sourcing: the face of a gate for sources of tools. Attaching, loading again, letting go, and how each stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from callgate.errors import CallgateError, ConfigurationError
from callgate.events.vocabulary import SOURCE_DETACHED, SOURCE_FAILED, SOURCE_LOADED
from callgate.model.source import Failure, SourceReport
from callgate.runtime.attached import Attached
from callgate.runtime.desk import GateDesk
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.source import Loaded
    from callgate.ports import Source
    from callgate.registry.registry import Registry
    from callgate.runtime.opened import Opened


class Sourcing(Face):
    """The sources of a gate."""

    _registry: Registry

    async def attach(self, source: Source) -> SourceReport:
        """Add every tool of a source; its tools come and go with it.

        What fails is in the report, by name and reason, and harms nothing else.

        Raises:
            ConfigurationError: Nothing of it could be loaded, or a source of that name is attached.
            TypeError: It is no source; several are attached one by one.
        """
        if not callable(getattr(source, "load", None)):
            raise TypeError(_no_source(source))
        opened = self._open()
        name = source.name
        if name in opened.sources:
            raise ConfigurationError(f"a source called {name!r} is attached already; detach it first, or reload it")
        desk = GateDesk(
            opened.parts,
            source=name,
            trace=opened.default_context.trace_id,
            reload=lambda: opened.background(self._reload_quietly(name)),
        )
        # What says which tools there are and what they may do is not for tools to write.
        opened.parts.policy.resources.protect(getattr(source, "files", ()))
        report = SourceReport(source=name, origin=source.origin)
        attached = opened.sources[name] = Attached(source, desk, report)
        try:
            async with attached.turn:
                await _look_again(opened)
                return self._take(opened, attached, loaded=await source.load(desk))
        except BaseException as error:
            del opened.sources[name]
            await attached.close()
            if isinstance(error, Exception):
                raise ConfigurationError(f"{name}: {_told(opened, error)}") from error
            raise

    async def reload(self, name: str) -> SourceReport:
        """Load a source again: new tools come, vanished ones go, calls in flight finish on what they began with.

        If nothing can be loaded, what was there goes on serving, and the report says so.

        Raises:
            ConfigurationError: No such source is attached.
        """
        opened, attached = self._open(), self._attached(name)
        async with attached.turn:
            try:
                await _look_again(opened)
                loaded = await attached.source.load(attached.desk)
            except Exception as error:  # noqa: BLE001 - whatever a source does, what it served goes on
                failure = Failure(name, _told(opened, error))
                attached.report = replace(attached.report, failures=(failure,), stale=True)
                attached.desk.note(SOURCE_FAILED, {"failures": {name: failure.reason}, "stale": True})
                return attached.report
            return self._take(opened, attached, loaded=loaded)

    async def detach(self, name: str) -> None:
        """Let a source go, and its tools with it; calls in flight finish.

        Raises:
            ConfigurationError: No such source is attached.
        """
        attached = self._attached(name)
        async with attached.turn:
            self._open().sources.pop(name, None)
            self._leave_unlisted(name)
            self._registry.replace_source(attached.source.origin, name, tools=())
            attached.desk.note(SOURCE_DETACHED, {})
            await attached.close()

    def sources(self) -> tuple[SourceReport, ...]:
        """How every attached source stands, as they came."""
        return tuple(attached.report for attached in self._open().sources.values())

    def _attached(self, name: str) -> Attached:
        sources = self._open().sources
        if name not in sources:
            known = ", ".join(sources) or "none"
            raise ConfigurationError(f"no source called {name!r} is attached; attached are: {known}")
        return sources[name]

    def _take(self, opened: Opened, attached: Attached, *, loaded: Loaded) -> SourceReport:
        source, before = attached.source, frozenset(self._registry.quarantined)
        tools = opened.acceptance.lay_over(loaded.tools)
        _, refused = self._registry.take_source(
            source.origin, source.name, tools=tools, judged=lambda: self._expect(loaded, held=before)
        )
        self._leave_unlisted(source.name)
        opened.parts.unlisted.update({tool.name: tool for tool in loaded.unlisted})
        names = tuple(dict.fromkeys(tool.name for tool in tools if self._registry.find(tool.name) is tool))
        held = self._registry.quarantined
        attached.report = SourceReport(
            source=source.name,
            origin=source.origin,
            tools=names,
            failures=tuple(_struck(opened, failure) for failure in (*loaded.failures, *refused)),
            quarantined=tuple((name, held[name]) for name in names if name in held),
        )
        _note(attached)
        return attached.report

    def _expect(self, loaded: Loaded, *, held: frozenset[str]) -> None:
        """What is being worked on needs no look unless it is looser; what was switched on, unless it waited before."""
        quarantine = self._registry.quarantine
        on = (tool for tool in loaded.tools if tool.name in loaded.switched_on and tool.name not in held)
        quarantine.expected(on, changed=False)
        quarantine.expected((tool for tool in loaded.tools if tool.name in loaded.developed), changed=True)

    def _leave_unlisted(self, name: str) -> None:
        unlisted = self._open().parts.unlisted
        for tool in [each for each in unlisted.values() if each.source_name == name]:
            del unlisted[tool.name]

    async def _reload_quietly(self, name: str) -> None:
        opened = self._opened
        if opened is not None and not opened.closing and name in opened.sources:
            await self.reload(name)


async def _look_again(opened: Opened) -> None:
    """What people accepted and what other processes trust may have changed since this one last looked.

    Raises:
        ConfigurationError: The file of accepted declarations is wrong.
    """
    opened.acceptance.read()
    await opened.pinning.try_to_keep()


def _note(attached: Attached) -> None:
    report = attached.report
    if getattr(attached.source, "announced", True):
        attached.desk.note(SOURCE_LOADED, {"tools": len(report.tools), "origin": report.origin.value})
    if report.failures:
        failures = {failure.name: failure.reason for failure in report.failures}
        attached.desk.note(SOURCE_FAILED, {"failures": failures, "stale": False})


def _no_source(thing: object) -> str:
    kind = type(thing).__name__
    if isinstance(thing, Iterable):
        return f"attach takes one source, not a {kind}; attach them one by one: for each in …: await gate.attach(each)"
    return f"attach takes a source, such as McpServer or ToolkitSource, not a {kind}; add tools with gate.add"


def _struck(opened: Opened, failure: Failure) -> Failure:
    """A reason may quote what a server wrote."""
    return replace(failure, reason=opened.parts.striker.strike_text(failure.reason))


def _told(opened: Opened, error: Exception) -> str:
    """What a person is told: our own errors speak for themselves, others may quote anything."""
    ours = isinstance(error, CallgateError)
    return opened.parts.striker.strike_text(
        str(error) if ours else f"it could not be loaded ({type(error).__name__}: {error})"
    )
