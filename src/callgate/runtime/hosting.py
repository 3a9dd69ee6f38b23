"""Hosting: the face of a gate for hosts that run their own tools. Each question of theirs may come in a new process.

What has to outlast a process is in the store: a tool use finds its judgement by the key that its id gives it, and the
user's own words are kept sealed for the session they were said in.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError, OutcomeNotFound, StoreError
from callgate.model.attempt import AttemptKey, AttemptState
from callgate.model.call import Call
from callgate.model.canonical import dumps
from callgate.pipeline import judge as judging
from callgate.pipeline.question import question_about
from callgate.runtime.call_key import call_key
from callgate.runtime.calls import Calls
from callgate.runtime.host_searches import SEARCH, SEARCHED, advised, with_searched

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.grounds import Grounds
    from callgate.model.outcome import Outcome
    from callgate.pipeline.judge import Judgement
    from callgate.ports import Reader, Transaction

AREA = "callgate.hosts"
MOST_WORDS = 8000
"""So many characters of what the user said are kept, the latest."""
_KEPT = 7 * 86_400.0
_LOOKED_AT = 1000


class Hosting(Calls):
    """Judging the tools of a host, in one process, and hearing of their end in another."""

    async def judge(
        self, call: Call, context: Context | None = None, *, wait: float | None = None, again: bool = False
    ) -> Judgement:
        """Decide about a tool that its host runs itself, and write the intent; settle it with `report`.

        A tool that the gate can run is refused: it is called, so that nobody only says that it ran. A search is judged
        by the files out of reach that it would read, also as a person edited it. With `again`, the key is of one
        use that its host may ask about more than once: a yes that no person gave is said again while it runs.

        Raises:
            ConfigurationError: `call` is no `Call`.
        """
        ground = context or self._open().default_context
        return await self._judge(await self._searched(call, ground), ground, wait=wait, again=again)

    async def _judge(self, call: Call, ground: Context, *, wait: float | None, again: bool) -> Judgement:
        judgement = await super().judge(call, ground, wait=wait, again=again)
        if judgement.edited is None:
            # A folder may hold many files: they are looked at on a thread, and not while everybody waits.
            return judgement if call.tool != SEARCH else await asyncio.to_thread(self._advised, judgement, call, ground)
        reads = (await self._searched(Call(call.tool, judgement.edited), ground)).arguments.get(SEARCHED)
        if not reads:
            return judgement
        error = f"not run: as a person edited it, it would read what no tool may touch: {', '.join(reads)}"
        outcome = await self.report(judgement.id, ok=False, error=error)
        return replace(judgement, allowed=False, outcome=outcome, edited=None)

    async def judge_use(self, call: Call, context: Context, *, wait: float | None = None) -> Judgement:
        """Decide about a tool use of a host; its id (`call.id`) is what its end is reported under.

        The same call again, under a new id, is the same question and has the same answer. What the user said in this
        session is its intent. Equal calls of a host that gives no ids are told apart by their order: the next begins
        when the last was reported.
        """
        parts = self._open().parts
        call = await self._searched(call, context)
        use = call.id or await self._by_order(call, context)
        standing = await question_about(parts, call._replace(key=None), context, judged=True)
        key = call_key(use, context)
        if standing is not None and standing.key != key:
            key, now = standing.key, parts.clock.now()
            body = {"key": key, "at": now}
            await parts.store.write(lambda tx: tx.put_document(AREA, _place("use", context, use), body))
        words = context.intent or await self.words(context)
        again = call.id is not None and key == call_key(use, context)  # two hooks of a host may ask about one use
        return await self._judge(call._replace(key=key), replace(context, intent=words), wait=wait, again=again)

    async def _searched(self, call: Call, context: Context) -> Call:
        if not isinstance(call, Call):  # pyright: ignore[reportUnnecessaryIsInstance] - who passes a name is told
            raise ConfigurationError(f"judge takes a Call, as in Call(tool, arguments), and not {type(call).__name__}")
        return call if call.tool != SEARCH else await asyncio.to_thread(self.as_searched, call, context)

    def as_searched(self, call: Call, context: Context) -> Call:
        """A tool use as it has to be judged: a search with those files out of every tool's reach that it would read."""
        try:
            grounds = self._grounds_of(call, context)
        except PermissionError:
            # Where it works is not what it was: the judgement of any path says so, and it may have named none.
            return call._replace(arguments={**call.arguments, SEARCHED: ["."]})
        return call if grounds is None else with_searched(call, grounds)

    def _advised(self, judgement: Judgement, call: Call, context: Context) -> Judgement:
        if judgement.allowed:
            return judgement
        with contextlib.suppress(PermissionError):
            if (grounds := self._grounds_of(call, context)) is not None:
                return replace(judgement, outcome=advised(judgement.outcome, call, grounds))
        return judgement

    def _grounds_of(self, call: Call, context: Context) -> Grounds | None:
        """Where a search may go; nothing of other calls, nor of one that is not declared, which is refused anyway.

        Raises:
            PermissionError: The context's working directory is not what it was.
        """
        if call.tool != SEARCH:
            return None
        parts = self._open().parts
        tool = parts.unlisted.get(SEARCH) or parts.registry.snapshot.find(SEARCH)
        return None if tool is None else parts.policy.grounds(tool, context)

    async def report_use(
        self, call: Call, context: Context, *, ok: bool, output: Any = None, error: str | None = None
    ) -> Outcome:
        """Say what became of a tool use that was allowed; of the call, its id counts, and all of it where it has none.

        Raises:
            OutcomeNotFound: None of that id was.
            OutcomeConflict: It was settled otherwise already.
        """
        parts = self._open().parts
        use = call.id or await self._by_order(call, context)

        def found(reader: Reader) -> str | None:
            kept = reader.document(AREA, _place("use", context, use)) or {}
            key = str(kept.get("key") or call_key(use, context))
            row = reader.attempt(AttemptKey(context.principal, context.session, key))
            return None if row is None else row.call_id

        judged = await parts.store.read(found)
        if judged is None:
            raise OutcomeNotFound(f"no tool use of this session that was allowed has the id {use}")
        return await judging.report(parts, judged, ok=ok, output=output, error=error)

    async def _by_order(self, call: Call, context: Context) -> str:
        """The id of that one of equal tool uses that runs, or that comes next."""
        digest = hashlib.sha256(dumps([call.tool, call.arguments])).hexdigest()

        def found(reader: Reader) -> str:
            for number in count():
                use = f"{digest}.{number}"
                row = reader.attempt(AttemptKey(context.principal, context.session, call_key(use, context)))
                if row is None or row.state is AttemptState.STARTED:
                    return use
            raise AssertionError

        return await self._open().parts.store.read(found)

    async def note_words(self, text: str, context: Context) -> None:
        """Keep what the user said, as the intent of what is called in this session from now on."""
        parts, place = self._open().parts, _place("words", context)
        before = await self.words(context)
        words = text if before is None else f"{before}\n{text}"
        sealed = parts.keys.seal(words[-MOST_WORDS:].encode(errors="replace"), bound_to=place.encode())
        now = parts.clock.now()
        body = {"sealed": base64.b64encode(sealed).decode(), "at": now}

        def unit(tx: Transaction) -> None:
            for old in tx.documents(AREA, limit=_LOOKED_AT):
                if float(old.body.get("at", 0)) < now - _KEPT:
                    tx.drop_document(AREA, old.key)
            tx.put_document(AREA, place, body)

        await parts.store.write(unit)

    async def words(self, context: Context) -> str | None:
        """What the user said in this session, the latest last; None if nothing is known, or somebody changed it."""
        parts, place = self._open().parts, _place("words", context)
        body = await parts.store.read(lambda reader: reader.document(AREA, place))
        if body is None:
            return None
        try:
            return parts.keys.unseal(base64.b64decode(str(body.get("sealed"))), bound_to=place.encode()).decode()
        except (StoreError, ValueError):
            return None


def _place(what: str, context: Context, *more: str) -> str:
    """Where something of a session is kept; a host's ids may be anything."""
    digest = hashlib.sha256(dumps([context.principal, context.session, *more])).hexdigest()
    return f"{what}/{digest}"
