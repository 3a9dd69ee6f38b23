"""What a person sees of a call: the exact payload, with everything that could hide in it made visible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.model.canonical import dumps
from callgate.model.visible import one_line, visible


def payload(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call as one line per argument, in canonical JSON with hidden characters visible."""
    lines = [f"  {one_line(name)}: {visible(dumps(value).decode())}" for name, value in sorted(arguments.items())]
    return "\n".join([one_line(tool), *lines])
