"""Trying: the face of a gate with which people try tools. A person never calls: an agent of theirs does.

It has a name of its own, asks about everything that does not only read, and whoever it acts for cannot answer it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from callgate.errors import EntryRefused
from callgate.model.context import Context
from callgate.model.credential import Credential, Right
from callgate.model.levels import Autonomy
from callgate.model.person import agent_of
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome
    from callgate.runtime.calls import Calls

_SESSION = "console"


class Trying(Face):
    """Trying tools before agents use them."""

    async def try_call(
        self, person: Credential, tool: str, arguments: Mapping[str, Any], *, role: str | None = None
    ) -> Outcome:
        """Call a tool as the agent of a person who administers this gate; at autonomy A1, so that effects are asked.

        Args:
            person: Who tries.
            tool: Its name.
            arguments: What it is called with.
            role: The role it is called in; `default` when left out.

        Raises:
            EntryRefused: They do not administer it.
        """
        return await cast("Calls", self).call(tool, arguments, self.try_context(person, role=role))

    async def try_resume(self, person: Credential, approval_id: str) -> Outcome:
        """Make the call that somebody else has decided about.

        Raises:
            EntryRefused: They do not administer it.
            ApprovalNotFound: It is none of theirs.
        """
        return await cast("Calls", self).collect(approval_id, lambda role: self.try_context(person, role=role))

    def try_context(self, person: Credential, *, role: str | None = None) -> Context:
        """What a person's tries are made under.

        Raises:
            EntryRefused: They do not administer this gate: who tries a tool lets it run.
        """
        if not person.may(Right.ADMINISTER):
            raise EntryRefused("trying a tool lets it run, which takes the right to administer")
        return Context(
            principal=agent_of(person.name),
            user=person.name,
            session=_SESSION,
            role=role or Context().role,
            autonomy=Autonomy.A1,
            credential=person.id,
        )
