"""Reading answers apart: in a process of its own, with what is wrong told as what it is: an answer that is no use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from callgate.tools.apart import MOST_SECONDS, NotRead, work_apart
from callgate.tools.outbound.troubles import AnswerUnfit

T = TypeVar("T")


async def read_apart(reader: Callable[[str], T], text: str, *, seconds: int = MOST_SECONDS) -> T:
    """What a reader makes of a text.

    Raises:
        AnswerUnfit: The reader says so, or did not come to an end.
    """
    try:
        return await work_apart(reader, text, seconds=seconds)
    except NotRead as error:
        why = error.why or "the page cannot be read: it is too large, too deep, or takes its reader too long"
        raise AnswerUnfit(why) from None
