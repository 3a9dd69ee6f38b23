"""Observe mode for everything that one process serves: decided and recorded, and run all the same, for a while."""

from __future__ import annotations

import time

from callgate.cli.moments import moment
from callgate.runtime.terminal import system_user
from callgate.settings.values import Observe

_LONGEST = 7 * 86_400.0


def observing() -> Observe:
    """From now on for 7 days, switched on by whoever sits here."""
    now = time.time()
    return Observe(source="*", since=now, until=now + _LONGEST, by=system_user())


def observed(mode: Observe) -> str:
    """What whoever starts it has to know."""
    return (
        f"OBSERVE MODE until {moment(mode.until)}: calls that a person would have been asked about run unasked. "
        "What is denied stays denied. Then look with: callgate policy replay --since 1h"
    )
