"""Results in the seeds' form, `{output, error, duration_ms}`: an error there is a failure here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from callgate.errors import ToolExecutionError

_KEYS = frozenset({"output", "error", "duration_ms"})


def unpack(result: Any) -> Any:
    """The output of a result, or the value itself when it is no result.

    Raises:
        ToolExecutionError: The result has an error; with its text.
    """
    if isinstance(result, Mapping):
        given = cast("Mapping[str, Any]", result)
        if not {"output", "error"} <= given.keys() <= _KEYS:
            return given
        output, error = given["output"], given["error"]
    elif hasattr(result, "output") and hasattr(result, "error"):
        output, error = result.output, result.error
    else:
        return result
    if error is not None and error != "":
        raise ToolExecutionError(str(error))
    return output
