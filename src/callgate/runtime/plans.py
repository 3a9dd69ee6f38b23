"""Plans: the face of a gate that makes several calls, at once or as they were planned and decided before."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from callgate.errors import ConfigurationError
from callgate.flows.batch import Malformed, Unreadable, as_call, call_ids, given_id, run_batch
from callgate.flows.plan import Plan
from callgate.flows.waves import footprint, in_waves, wave_of
from callgate.model.call import Call
from callgate.model.ids import uuid7
from callgate.model.levels import Verdict
from callgate.model.shapes import as_mapping
from callgate.model.step_key import numbered_key
from callgate.pipeline.explain import Looked, look, stopped_by, unreadable
from callgate.pipeline.planning import CannotWork, PlannedCall, ask_plan
from callgate.runtime.calls import Calls
from callgate.runtime.entering import as_asked, enter, refuse_malformed, without_secrets
from callgate.runtime.opened import at_once
from callgate.runtime.planned import run_plan

if TYPE_CHECKING:
    from callgate.model.approval import Approval
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.pipeline.parts import Parts


class Plans(Calls):
    """Making several calls."""

    @overload
    async def batch(
        self,
        calls: Sequence[Any] | Plan,
        context: Context | None = None,
        *,
        include_call_ids: Literal[False] = False,
        concurrency: int | None = None,
    ) -> list[Outcome]: ...
    @overload
    async def batch(
        self,
        calls: Sequence[Any] | Plan,
        context: Context | None = None,
        *,
        include_call_ids: Literal[True],
        concurrency: int | None = None,
    ) -> list[tuple[str, Outcome]]: ...
    async def batch(
        self,
        calls: Sequence[Any] | Plan,
        context: Context | None = None,
        *,
        include_call_ids: bool = False,
        concurrency: int | None = None,
    ) -> list[Outcome] | list[tuple[str, Outcome]]:
        """Make several calls; outcomes in the order of the calls, one failure never another's.

        They are made in waves, by what their tools declare: what may overlap does, what is not concurrency-safe never
        overlaps with its like, and a write and a read that may be about the same thing keep their order.

        Args:
            calls: Calls, or objects with name and arguments as models write them; or a plan, which is run as it was
                decided. A plan that a person was asked about runs in its order or not at all: while nobody decided,
                every call of it is Pending, and what follows a call that could not be made is refused.
            context: Who asks and under which limits; the gate's own when left out. A plan brings its own.
            include_call_ids: Give (id, outcome) pairs.
            concurrency: How many calls run at once; the configuration's `batch_concurrency` when left out.

        Raises:
            ConfigurationError: `calls` is no list, `concurrency` no number, or a plan is given another context.
        """
        opened = self._open()
        if isinstance(calls, Plan):
            asked_by = None if context is None else without_secrets(opened.parts, context)
            if asked_by is not None and replace(asked_by, idempotency_key=None) != calls.context:
                raise ConfigurationError("a plan is run under the context it was made for; leave the context out")
            made = await run_plan(opened, calls, at_once=at_once(opened, concurrency))
            return list(zip(call_ids(calls.calls), made, strict=True)) if include_call_ids else made
        _need_list(calls, "batch")
        ground = without_secrets(opened.parts, context or opened.default_context)
        if ground.idempotency_key is not None:
            # One key names one call; a batch's calls carry their own.
            ground = replace(ground, idempotency_key=None)
        find = opened.parts.registry.snapshot.find
        pairs = await run_batch(
            calls,
            make=lambda call: enter(opened, call, ground),
            malformed=partial(refuse_malformed, opened.parts, ground),
            find=lambda name: footprint(find(name)),
            at_once=at_once(opened, concurrency),
        )
        return pairs if include_call_ids else [outcome for _, outcome in pairs]

    async def plan(self, calls: Sequence[Any], context: Context | None = None, *, ask: bool = False) -> Plan:
        """Decide about several calls before any of them is made. Nothing is run, and without `ask` nothing is recorded.

        Args:
            calls: As for `batch`. A call without a key gets one: derived from the context's key where that has one.
            context: Who asks and under which limits; the gate's own when left out.
            ask: Where calls need a person, ask one question about all of them: the person sees every call in order, and
                decides them all or none. Nobody is asked about a list with a call in it that would be refused, also by
                its preview, where it needs a person and no call before it may change what that shows.

        Returns:
            The plan; `gate.batch(plan)` runs it.

        Raises:
            ConfigurationError: `calls` is no list.
            LimitExceeded: The list is too long to be read, or too many questions of the session wait.
        """
        opened = self._open()
        _need_list(calls, "plan")
        ground = without_secrets(opened.parts, context or opened.default_context)
        if not opened.looked_at_policy:
            opened.look_at_policy()
        draft = _Draft(opened.parts, ground, calls, ask=ask)
        await draft.look()
        asked = await ask_plan(opened.parts, draft.planned()) if ask and draft.verdict is Verdict.CONFIRM else None
        if isinstance(asked, CannotWork):
            draft.refuse(asked)
            return draft.plan(None)
        return draft.plan(asked)


def _need_list(calls: Any, asked: str) -> None:
    """Say so where the list is missing: its elements would be refused for what they are not.

    Raises:
        ConfigurationError: Naming what was given.
    """
    given: object = calls
    if not isinstance(given, Sequence) or isinstance(given, str | bytes | Call):
        hint = "; put the one call into a list" if isinstance(given, Mapping | Call) else ""
        raise ConfigurationError(f"{asked} takes a list of calls, and not {type(calls).__name__}{hint}")


class _Draft:
    """A plan on its way."""

    def __init__(self, parts: Parts, context: Context, items: Sequence[Any], *, ask: bool) -> None:
        self._parts = parts
        self._key = context.idempotency_key
        self._context = replace(context, idempotency_key=None)
        self._find = parts.registry.snapshot.find
        self._given = [_read(item) for item in items]
        made = None if parts.settings.require_keys else f"plan:{uuid7()}"
        self._calls = [self._keyed(call, place, made, ask=ask) for place, call in enumerate(self._given)]
        tools = [None if isinstance(call, Unreadable) else self._find(call.tool) for call in self._calls]
        self._definitions = tuple(None if tool is None else tool.definition_hash for tool in tools)
        self._waves = in_waves(footprint(tool) for tool in tools)
        self._looked: list[Looked] = []

    def _keyed(self, call: Call | Unreadable, place: int, made: str | None, *, ask: bool) -> Call | Unreadable:
        if isinstance(call, Unreadable) or call.key is not None:
            return call
        if self._key is not None:
            return call._replace(key=numbered_key("plan", self._key, place=place))
        tool = self._find(call.tool)
        if made is None or tool is None or (tool.read_only and not ask):
            # A read that nobody is asked about needs no row in the ledger.
            return call
        return call._replace(key=f"{made}:{place}")

    async def look(self) -> None:
        """Find out what would be decided about each, as if those before it had been made."""
        repeats: set[str] = set()
        for call in self._calls:
            if isinstance(call, Unreadable):
                self._looked.append(Looked(unreadable(self._parts, self._context, call.fault)))
                continue
            found = await look(self._parts, as_asked(call, self._context, None), repeats=repeats)
            self._looked.append(found)
            if found.authorized is not None and not found.authorized.tool.read_only:
                repeats.add(found.authorized.fingerprint)

    @property
    def verdict(self) -> Verdict:
        """The strictest."""
        return max((looked.told.verdict for looked in self._looked), default=Verdict.ALLOW)

    def refuse(self, found: CannotWork) -> None:
        """Take down what previews found: these calls would be refused."""
        for place, why in found.why.items():
            told = stopped_by(self._looked[place].told, str(why), code=why.code)
            self._looked[place] = Looked(told)

    def planned(self) -> list[PlannedCall]:
        """The calls as they are asked about; none of them would be refused."""
        number = wave_of(self._waves)
        return [
            PlannedCall(looked.authorized, looked.decision, number[place], self._is_own(place))
            for place, looked in enumerate(self._looked)
            if looked.authorized is not None
        ]

    def _is_own(self, place: int) -> bool:
        given = self._given[place]
        return self._key is not None or (isinstance(given, Call) and given.key is not None)

    def plan(self, asked: Approval | None) -> Plan:
        """What came of it; a question that stood before brings the keys that it was asked with."""
        calls = tuple(self._calls)
        if asked is not None:
            listed = zip(calls, asked.calls, strict=True)
            calls = tuple(call._replace(key=known.key) if isinstance(call, Call) else call for call, known in listed)
        return Plan(
            calls=calls,
            decisions=tuple(looked.told for looked in self._looked),
            waves=self._waves,
            context=self._context,
            approval_id=None if asked is None else asked.id,
            definitions=self._definitions,
        )


def _read(item: Any) -> Call | Unreadable:
    """The element as a call of the plan's own: what its giver changes later changes nothing that was decided."""
    try:
        call = as_call(item)
    except Malformed as error:
        body = as_mapping(item)
        name: Any = getattr(item, "tool", None) if body is None else body.get("name")
        return Unreadable(name if isinstance(name, str) else "", str(error), id=given_id(item))
    try:
        return call._replace(arguments=copy.deepcopy(dict(call.arguments)))
    except Exception as error:  # noqa: BLE001 - arguments may be objects of anybody's class
        return Unreadable(call.tool, f"the arguments cannot be read ({type(error).__name__})", id=call.id)
