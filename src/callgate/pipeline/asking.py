"""Asking: a question is put to whoever sits there, and their answer taken. Knows no call: a question says all of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from callgate.approvals.answer import fault_of
from callgate.errors import Conflict, NotFound, Refusal
from callgate.pipeline.deciding import answer_question, edited_question
from callgate.ports import Answer

if TYPE_CHECKING:
    from callgate.model.approval import Approval
    from callgate.model.levels import Assurance
    from callgate.model.tool import Arguments
    from callgate.pipeline.parts import Parts
    from callgate.ports import Asker

_log = logging.getLogger("callgate")


async def ask_now(parts: Parts, approval: Approval) -> bool:
    """Put the question to whoever sits there; True when it was answered."""
    asker = parts.asker
    assert asker is not None  # noqa: S101 - asked by the caller
    talk = _Talk(parts, approval)
    while True:
        answer = await _heard(parts, asker, talk.shown)
        if answer.kind == "wait":
            return False
        try:
            if await talk.take(answer, assurance=asker.assurance):
                return True
        except (Conflict, NotFound, Refusal) as error:
            # An answer that does not count leaves the question open for somebody whose does, or for a better one.
            if not asker.tell(str(error)) or not isinstance(error, Refusal):
                return False


async def _heard(parts: Parts, asker: Asker, shown: Approval) -> Answer:
    """What somebody says to the question. Whoever asks may break, or bring what is no answer: the question stays."""
    try:
        answer = await asker.ask(shown)
        fault = fault_of(answer)
    except Exception as error:  # noqa: BLE001 - as said above
        answer, fault = Answer("wait"), f"{type(error).__name__}: {error}"
    if fault is not None:
        _log.warning("the question could not be put to anybody: %s", parts.striker.strike_text(fault))
    return answer if fault is None else Answer("wait")


class _Talk:
    """A question as it is put to somebody, with the edit that it shows by now."""

    def __init__(self, parts: Parts, approval: Approval) -> None:
        self._parts = parts
        self._edit: Arguments | None = None
        self.shown = approval

    async def take(self, answer: Answer, *, assurance: Assurance) -> bool:
        """Decide by this answer; False where there is something else to be seen first."""
        if answer.kind == "edit":
            edit = answer.arguments or {}
            self.shown, self._edit = await edited_question(self._parts, self.shown.id, edit), edit
            return False
        if answer.kind == "approve" and answer.arguments is None and self._edit is not None:
            now = await edited_question(self._parts, self.shown.id, self._edit)
            if now.digest != self.shown.digest:
                self.shown = now
                return False
            answer = answer._replace(arguments=self._edit)
        await answer_question(self._parts, self.shown, answer, assurance=assurance)
        return True
