"""Process limits: what the kernel holds a process to, this one or another, set lower and never higher.

Whoever started Callgate may hold it to less than a tool would allow, and only an administrator may take that back: so
what is lower already stays. Imported by processes that are to start quickly; knows nothing of what they do.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping


def lower(most: Mapping[int, int], *, pid: int = 0) -> None:
    """Hold a process, and all it will start, to these limits or to those it has, whichever are lower.

    Args:
        most: By the kernel's number of the limit (`resource.RLIMIT_…`).
        pid: Whose; 0 is this one. Another's can be set on Linux, and is left elsewhere.

    Raises:
        ProcessLookupError: The other one has ended.
    """
    if pid and not hasattr(resource, "prlimit"):  # pragma: no cover - not Linux
        return
    for limit, value in most.items():
        held = resource.prlimit(pid, limit) if pid else resource.getrlimit(limit)
        least = min([value, *(each for each in held if each != resource.RLIM_INFINITY)])
        if pid:
            resource.prlimit(pid, limit, (least, least))
        else:
            resource.setrlimit(limit, (least, least))
