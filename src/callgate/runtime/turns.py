"""Turns: the face of a gate that speaks with models. A provider's response goes in, its results come out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.errors import ApprovalNotFound, Conflict, MalformedResponse, NotFound
from callgate.flows.batch import Unreadable
from callgate.formats.names import wire_names
from callgate.model.approval import Approval, ApprovalState
from callgate.model.call import Call
from callgate.model.canonical import NotCanonical, loads
from callgate.model.context import Context
from callgate.model.decision import Decision
from callgate.model.levels import Caller, Category
from callgate.model.outcome import ErrorInfo, Outcome, Pending, Refused
from callgate.pipeline.deciding import part_of, reread
from callgate.pipeline.explain import unreadable
from callgate.pipeline.question import question_about
from callgate.runtime.call_key import call_key
from callgate.runtime.offering import arguments_meant
from callgate.runtime.plans import Plans
from callgate.runtime.toolbox import Toolbox
from callgate.runtime.turn import Answered, Asker, Turn, format_of, turn_from_json

if TYPE_CHECKING:
    from callgate.model.requested import Requested
    from callgate.pipeline.parts import Parts

_NOT_YET = frozenset({"in_flight", "store_unavailable"})
_SAME_ID = "its id was given to another call of the same response already; give every call its own"


class _Desk:
    """Collects what people decided for the turns of one gate."""

    def __init__(self, parts: Callable[[], Parts], resume: Callable[[str], Awaitable[Outcome]]) -> None:
        self._parts = parts
        self._resume = resume

    def monotonic(self) -> float:
        return self._parts().clock.monotonic()

    async def decided(self, question: Pending, asker: Asker, /) -> Outcome | None:
        approval_id = question.approval_id
        try:
            approval = await reread(self._parts(), approval_id)
            if (approval.principal, approval.session) != asker:
                return _void(question, f"Unknown approval: {approval_id}")
            if approval.state is ApprovalState.PENDING:
                return None
            if question.key is None and approval.tool != question.tool:
                # A skill that only reads keeps nothing by which it could go on; the decision waits for it.
                again = f"{approval.tool}, a call inside {question.tool}, was decided; call {question.tool} again"
                return _void(question, again)
            if approval.is_plan:
                approval = await part_of(self._parts(), approval_id, question.key)
            outcome = await self._resume(approval.id)
        except (Conflict, NotFound) as error:
            return _void(question, str(error))
        not_yet = isinstance(outcome, Refused) and outcome.error is not None and outcome.error.code in _NOT_YET
        return None if not_yet else outcome


class Turns(Plans, Toolbox):
    """Handling what models answer."""

    async def handle(self, response: Any, context: Context | None = None, *, reads_once: bool = False) -> Turn:
        """Make the calls a model's response asks for.

        Args:
            response: What a provider answered: Anthropic's message, OpenAI's response or chat completion, an AI message
                of LangChain; the SDK's object or plain JSON, told apart by shape. Without calls the turn is empty.
            context: Who asks; the gate's own when left out. The provider's id of a call is the key of its effect within
                the session, so that the same response handled twice has its effects once.
            reads_once: Whether ids are the keys of reads as well, so that handling it again reads nothing anew.

        Returns:
            The turn, with a result for every call, in order. A call that cannot be read has its own error result.

        Raises:
            MalformedResponse: No provider's response, or a call has no id to be answered under; nothing was run.
        """
        ground = context or self._open().default_context
        form = format_of(response)
        wanted = form.calls(response)
        items = self._items(wanted, ground, reads_once=reads_once)
        outcomes: dict[int, Outcome] = {}
        for programmatic in (False, True):
            places = [at for at, call in enumerate(wanted) if call.programmatic is programmatic]
            under = replace(ground, caller=Caller.CHAIN) if programmatic else ground
            made = await self.batch([items[at] for at in places], under)
            outcomes |= dict(zip(places, made, strict=True))
        answered = [Answered(call.id, outcomes[at], call.echo) for at, call in enumerate(wanted)]
        return Turn(form, answered, asker=Asker(ground.principal, ground.session), desk=self._desk())

    async def handle_call(
        self, call: Requested, context: Context | None = None, *, reads_once: bool = False
    ) -> Outcome:
        """Make one call a model asks for: `handle` for frameworks that read responses themselves.

        Args:
            call: The id, the name and the arguments that the provider gave it; `requested(…)` reads them with care.
            context: As in `handle`.
            reads_once: As in `handle`.
        """
        ground = context or self._open().default_context
        items = self._items([call], ground, reads_once=reads_once)
        [outcome] = await self.batch(items, replace(ground, caller=Caller.CHAIN) if call.programmatic else ground)
        return outcome

    async def question(self, call: Requested, context: Context | None = None) -> Approval | None:
        """The question that stands about a model's call, where one does. Asks, runs and records nothing.

        It waits for a person (`state` is pending), or somebody has decided and the call was not made since.
        """
        opened = self._open()
        ground = context or opened.default_context
        [item] = self._items([call], ground)
        return None if isinstance(item, Unreadable) else await question_about(opened.parts, item, ground)

    async def explain_call(self, call: Requested, context: Context | None = None) -> Decision:
        """What would be decided about a model's call, before `handle_call` makes it. Does and records nothing.

        A call that the ledger has an answer for is allowed, because nothing will happen.
        """
        parts, ground = self._open().parts, context or self._open().default_context
        [item] = self._items([call], ground)
        if isinstance(item, Call):
            under = replace(ground, caller=Caller.CHAIN) if call.programmatic else ground
            return await self.explain(item.tool, item.arguments, replace(under, idempotency_key=item.key))
        return unreadable(parts, ground, item.fault)

    def load_turn(self, data: str | bytes | Mapping[str, Any], context: Context | None = None) -> Turn:
        """A turn that was kept with `to_json()`, in this process or another.

        Args:
            data: What `to_json()` gave, as values or as text.
            context: Who asks for it; where given, it must be who asked for the calls.

        Raises:
            MalformedResponse: It is no turn.
            ApprovalNotFound: It is somebody else's.
        """
        self._open()
        try:
            body = loads(data) if isinstance(data, str | bytes) else data
        except NotCanonical as error:
            raise MalformedResponse(f"the turn cannot be read: {error}") from None
        turn = turn_from_json(body, desk=self._desk())
        if context is not None and (context.principal, context.session) != turn.asker:
            raise ApprovalNotFound("this turn is somebody else's")
        return turn

    async def wait_for(self, turn: Turn, timeout: float | None = None) -> Turn:
        """Wait for people to decide about a turn's calls, and make those they allowed: `turn.wait()` for blocking code.

        Args:
            turn: Whose results are filled in as decisions come.
            timeout: Seconds at most; what is undecided then stays pending.
        """
        return await turn.wait(timeout)

    def _desk(self) -> _Desk:
        return _Desk(lambda: self._open().parts, self.resume)

    def _items(self, wanted: list[Requested], ground: Context, *, reads_once: bool = False) -> list[Call | Unreadable]:
        names = self._names(ground) if wanted else {}
        seen: set[str] = set()
        items: list[Call | Unreadable] = []
        for call in wanted:
            named = call._replace(name=names.get(call.name, call.name))
            twice = Unreadable(named.name, _SAME_ID, id=call.id)
            items.append(twice if call.id in seen else self._item(named, ground, reads_once=reads_once))
            seen.add(call.id)
        return items

    def _item(self, call: Requested, ground: Context, *, reads_once: bool) -> Call | Unreadable:
        """The call with its tool's own name and words, and the key it has."""
        name = call.name
        if call.fault is not None:
            return Unreadable(name, call.fault, id=call.id)
        tool = self._registry.find(name)
        if tool is None:
            return Call(name, call.arguments, id=call.id)
        try:
            arguments = arguments_meant(tool, call.arguments)
        except NotCanonical as error:
            return Unreadable(name, str(error), id=call.id)
        key = call_key(call.id, ground) if reads_once or not tool.read_only else None
        return Call(name, arguments, id=call.id, key=key)

    def _names(self, ground: Context) -> dict[str, str]:
        """Which tool each name that travels stands for: those of the pool, then the others, to be refused by reason."""
        others = wire_names(tool.name for tool in self._registry.list_tools())
        pool = self.pool(ground).wire_names
        return {wire: name for name, wire in others.items()} | {wire: name for name, wire in pool.items()}


def _void(question: Pending, message: str) -> Refused:
    """The end of a call whose question is gone, or somebody else's."""
    info = ErrorInfo(code="approval_void", message=message, category=Category.PERMISSION, tool=question.tool)
    return Refused(tool=question.tool, call_id=question.call_id, trace_id=question.trace_id, error=info)
