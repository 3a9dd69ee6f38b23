"""Claims: what a plugin declares about its own tools, and how much of it counts. Pure.

A plugin is foreign: without the operator's word its claims make its tools stricter, and never callable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.model.levels import Risk
from callgate.model.tool import TIGHTENING

_NEUTRAL = frozenset(
    {
        "name",
        "description",
        "connector",
        "category",
        "tags",
        "capabilities",
        "timeout",
        "examples",
        "input_schema",
        "output_schema",
        "check_output",
        "max_argument_bytes",
        "source",
        "source_name",
        "unavailable",
    }
)
"""What lets nothing through by itself."""
_NOT_ITS_OWN = frozenset({"id", "config_ref"})
"""What identifies a tool in the gate, and is the gate's to give."""


def counting(fields: Mapping[str, Any], *, accepted: bool) -> dict[str, Any]:
    """The fields of a declaration that count.

    Args:
        fields: Everything that manifest and code say.
        accepted: Whether the operator accepted what this plugin declares.
    """
    own = {key: value for key, value in fields.items() if key not in _NOT_ITS_OWN}
    if accepted:
        return own
    kept = {key: value for key, value in own.items() if key in _NEUTRAL}
    kept |= {key: True for key in TIGHTENING if own.get(key) is True}
    if str(own.get("risk")).lower() == Risk.CRITICAL.label:
        # With a risk of its own a tool would no longer count as destructive by itself.
        kept |= {"risk": Risk.CRITICAL, "destructive": True}
    return kept
