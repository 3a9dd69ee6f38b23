"""Looking: a call through steps 1 to 3 for whoever only wants to know. Nothing is asked, run or recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.pipeline.authorize import authorize
from callgate.pipeline.resolve import resolve
from callgate.pipeline.validate import validate

if TYPE_CHECKING:
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Asked, Parts


async def authorized_looking(parts: Parts, asked: Asked) -> Authorized:
    """The call as it would come to the ledger. It takes no turn at a connector that is being probed.

    Raises:
        Stopped: As the steps.
    """
    return await authorize(parts, validate(parts, resolve(parts, asked)))
