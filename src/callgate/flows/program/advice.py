"""Advice: what a name that a program used and nobody knows probably meant. Names no tool its asker may not call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from callgate.flows.program.functions import Functions
from callgate.registry.near import near

_UNKNOWN = re.compile(r"Name `(\w+)` used when not defined|NameError: name '(\w+)' is not defined")
_MOST = 3


def advised(message: str, *, functions: Functions, direct: Functions) -> str:
    """The message, and a line for each unknown name that something can be said about.

    Args:
        message: Why the program cannot go on.
        functions: What it may call.
        direct: What its asker may call, though perhaps not from a program.
    """
    unknown = dict.fromkeys(name for found in _UNKNOWN.findall(message) for name in found if name)
    lines = (line for name in list(unknown)[:_MOST] for line in _about(name, functions=functions, direct=direct))
    return "\n".join([message, *lines])


def _about(name: str, *, functions: Functions, direct: Functions) -> Iterator[str]:
    tool = direct.find(name)
    if tool is not None and functions.find(name) is None:
        yield (
            f"{tool.name} is a tool that programs may not call: declare it with "
            'allowed_callers={"direct", "chain"}, or call it outside of the program'
        )
        return
    # A dot is written as two underscores here, so that what is before it is looked for as well.
    meant = near(name, functions.names) or sorted(each for each in functions.names if each.startswith(f"{name}__"))
    if meant:
        yield f"Did you mean {' or '.join(meant[:_MOST])}?"
