"""A process that answers one query and can do nothing else: it opens no file, writes none, and has little memory.

The engines refuse all of it by themselves. This is the second wall, for the day on which one of them does not.
"""

from __future__ import annotations

import contextlib
import resource

from callgate.tools.process_limits import lower

MEMORY = 2 * 1024**3
"""Bytes of address space; the engines have much less of their own."""
PROCESSOR_SECONDS = 60


def confine() -> None:  # pragma: no cover - who measures could not write down what was measured
    """Give up, for good, what a query needs not. What is to be imported is imported before."""
    limits = {
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_CPU: PROCESSOR_SECONDS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    for kind, most in limits.items():
        # A platform may not know one of them.
        with contextlib.suppress(ValueError, OSError):
            lower({kind: most})
