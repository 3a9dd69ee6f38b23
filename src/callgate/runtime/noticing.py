"""Noticing: the face of a gate for what agents leave for themselves, handed to whoever runs their turns."""

from __future__ import annotations

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.notice import INJECT_AT, Notice, Waiting
from callgate.runtime.opened import Face
from callgate.tools.notices.notices import Notices


class Noticing(Face):
    """The notices of a gate."""

    async def notices(self, context: Context | None = None, *, at: str | None = None) -> tuple[Notice, ...]:
        """The notices that wait for an agent, oldest first; each is handed out once, in whichever process asks first.

        Args:
            context: Who goes on; the gate's own when left out. Those of its session, and lasting ones of other sessions
                of that agent and user that are not at work any more.
            at: Only those that are to be handed in there: `immediate`, `turn_start` or `after_tool`. All when left out.

        Raises:
            ConfigurationError: `at` is none of these.
            StoreError: The store cannot be used; they wait on.
        """
        opened = self._open()
        if at is not None and at not in INJECT_AT.values():
            raise ConfigurationError(f"at must be one of {', '.join(INJECT_AT.values())}, not {at!r}")
        notices = Notices(opened.parts.store, opened.parts.clock)
        return await notices.collect(context or opened.default_context, at=at)

    async def waiting_notices(
        self, *, principal: str | None = None, user: str | None = None, session: str | None = None
    ) -> tuple[Waiting, ...]:
        """What agents left for themselves and nobody has collected, oldest first, for a person to look at.

        It goes on waiting. What is given narrows it to those of that agent, user and session.

        Raises:
            StoreError: The store cannot be used.
        """
        opened = self._open()

        def is_meant(each: Waiting) -> bool:
            of_agent = principal in (None, each.principal) and user in (None, each.user)
            return of_agent and session in (None, each.notice.session)

        return tuple(filter(is_meant, await Notices(opened.parts.store, opened.parts.clock).look()))
