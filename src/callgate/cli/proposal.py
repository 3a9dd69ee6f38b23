"""Commands we propose: ready to be copied, and never folded."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from callgate.cli.place import Place
from callgate.cli.screen import Cell
from callgate.errors import Conflict, NotFound
from callgate.model.approval import Approval
from callgate.model.layer import ConfirmBy
from callgate.model.person import same_person
from callgate.model.visible import one_line
from callgate.runtime.gate import Callgate
from callgate.runtime.terminal import system_user

Proposals = list[tuple[str, str | Cell]]
"""What can be done, and the command that does it."""


def proposed(place: Place, *words: str, tools: bool = False) -> Cell:
    """A command for the same place; with `tools`, one that needs the tools of its modules."""
    return Cell(place.command(*words, tools=tools), whole=True)


async def questions(gate: Callgate, ids: Iterable[str]) -> dict[str, Approval]:
    """The questions of these ids as they stand; one that cannot be read is left out, and told where it is decided."""
    found: dict[str, Approval] = {}
    for each in ids:
        with suppress(Conflict, NotFound):
            found[each] = await gate.approval(each)
    return found


def approving(place: Place, approval: Approval, *, title: str) -> Proposals:
    """The command that says yes; where whoever sits here may not, it asks for the name of somebody who may."""
    barred = [name for name in _barred(approval) if same_person(system_user(), name)]
    words = ["approvals", "approve", approval.id, *(["--digest", approval.digest] if approval.edited else [])]
    if not barred:
        return [(title, proposed(place, *words))]
    return [
        (title, proposed(place, *words, "--by", "NAME")),
        ("NAME", f"somebody other than {one_line(barred[0])}, who may not"),
    ]


def _barred(approval: Approval) -> list[str]:
    """Whose yes does not count: the agent's, that of who said it already, and the user's where another has to."""
    user = [approval.user] if approval.by is ConfirmBy.OTHER and approval.user is not None else []
    return [approval.principal, *user, *(vote.by for vote in approval.votes)]
