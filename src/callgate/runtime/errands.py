"""Errands: the face of a gate for askers who do not wait. A call is begun under an id, and asked about later."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from callgate.errors import LimitExceeded
from callgate.model.ids import uuid7
from callgate.pipeline.pipeline import run
from callgate.runtime.entering import as_asked, enter
from callgate.runtime.errand_book import Errand
from callgate.runtime.opened import Face
from callgate.runtime.outcome_form import outcome_to_json

if TYPE_CHECKING:
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome

_log = logging.getLogger("callgate")


class Errands(Face):
    """Calls whose askers come back for them."""

    def begin(self, call: Call, context: Context, *, wait: float | None = None) -> Errand:
        """Begin a call and do not wait for it. Its id is the call's own, from here to the audit.

        Raises:
            LimitExceeded: Too many such calls run already.
        """
        opened = self._open()
        book = opened.errands
        if book.is_full(context.principal):
            raise LimitExceeded("too many calls were begun and have not ended; wait for some of them")
        errand = Errand(uuid7(), call.tool, context)
        book.running[errand.id] = errand

        async def core(inner: Call, inner_context: Context) -> Outcome:
            asked = as_asked(inner, inner_context, wait)
            asked.call_id = errand.id
            return await run(opened.parts, asked)

        async def make() -> None:
            try:
                outcome = await enter(opened, call, context, core=core)
                errand.size = len(json.dumps(outcome_to_json(outcome)))
                errand.outcome = outcome
            except Exception as error:  # noqa: BLE001 - nobody waits for it: what became of it is in the record
                _log.warning("the call %s ended without an outcome: %s", errand.id, type(error).__name__)
            finally:
                book.end(errand)

        opened.background(make())
        return errand

    def errand(self, call_id: str) -> Errand | None:
        """A call that was begun in this process; None if it never was, or is not kept any more."""
        return self._open().errands.find(call_id)
