"""NodeStatus: where a node of a tree stands, by the numbers that former trees used. Knows no library."""

from __future__ import annotations

import enum


class NodeStatus(enum.IntEnum):
    """Where a node stands."""

    FRESH = 0
    """Not begun, or reset."""
    RUNNING = 1
    SUCCESS = 2
    FAILURE = 3
