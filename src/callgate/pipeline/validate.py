"""Step 2, validate: do the arguments fit the schema? Nobody is asked to approve a call that cannot run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from callgate.errors import InvalidArguments
from callgate.model.canonical import dumps, quick
from callgate.model.context import LONGEST_NAME, writable
from callgate.model.tool import Arguments, Tool
from callgate.pipeline.parameters import advise
from callgate.pipeline.parts import Asked, Parts
from callgate.pipeline.resolve import Resolved
from callgate.pipeline.stopped import refused
from callgate.pipeline.time_limit import check_seconds

_OBJECT = (dict, Mapping)  # mostly the first; a union would be made anew for every call
LONGEST_WAIT = 604_800.0
"""A week; a question that waits longer is collected by `resume`."""


@dataclass(slots=True)
class Valid:
    """A call whose arguments fit: final, with defaults applied."""

    asked: Asked
    tool: Tool
    arguments: Arguments
    text: bytes
    """The arguments in canonical JSON, written once for everything that compares, seals and records them."""


def validate(parts: Parts, resolved: Resolved) -> Valid:
    """The call with its final arguments.

    Raises:
        Stopped: invalid_arguments, with every fault at once.
    """
    asked, tool = resolved.asked, resolved.tool
    given = asked.call.arguments
    if not isinstance(given, _OBJECT):  # pyright: ignore[reportUnnecessaryIsInstance] - models write anything
        fault = f"arguments must be an object, not {type(given).__name__}"
        raise refused(asked, "invalid_arguments", fault, tool=tool, faults=(fault,))
    try:
        arguments = tool.validator(given)
        text = quick(arguments) or dumps(arguments)
    except InvalidArguments as error:
        advice = advise(tool, given)
        raise refused(asked, "invalid_arguments", str(error), tool=tool, faults=error.faults, advice=advice) from None
    except Exception as error:  # noqa: BLE001 - arguments may be objects of anybody's class
        fault = f"the arguments cannot be read ({type(error).__name__})"
        raise refused(asked, "invalid_arguments", fault, tool=tool, faults=(fault,)) from None
    call = asked.call
    if call.timeout is not None or call.key is not None or asked.wait is not None:
        _check_options(asked, tool)
    struck = parts.striker.contains_placeholder(text)
    if struck is not None:
        fault = f"{struck} stands where a secret was struck out; the secret itself is not known to the caller"
        raise refused(asked, "invalid_arguments", fault, tool=tool, faults=(fault,))
    return Valid(asked, tool, arguments, text)


def _check_options(asked: Asked, tool: Tool) -> None:
    if asked.call.timeout is not None:
        _check_timeout(asked, tool)
    if asked.call.key is not None:
        _check_key(asked, tool)
    if asked.wait is not None:
        _check_wait(asked, tool)


def _check_wait(asked: Asked, tool: Tool) -> None:
    wait: Any = asked.wait
    numeric = isinstance(wait, int | float) and not isinstance(wait, bool)
    if not numeric or not 0 <= wait <= LONGEST_WAIT:
        fault = f"wait must be a number of seconds from 0 to {LONGEST_WAIT:g}"
        raise refused(asked, "invalid_arguments", fault, tool=tool, faults=(fault,))


def _check_key(asked: Asked, tool: Tool) -> None:
    key: Any = asked.call.key
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_NAME or not writable(key):
        fault = f"an idempotency key must be text of 1 to {LONGEST_NAME} characters"
        raise refused(asked, "invalid_arguments", fault, tool=tool, faults=(fault,))


def _check_timeout(asked: Asked, tool: Tool) -> None:
    try:
        check_seconds(asked.call.timeout)
    except ValueError as error:
        raise refused(asked, "invalid_arguments", str(error), tool=tool, faults=(str(error),)) from None
