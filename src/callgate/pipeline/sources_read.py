"""Sources read: asking a tool that declares `reads` what a successful call read or wrote. Outside every transaction."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from callgate.model.artifact import ARTIFACT
from callgate.model.shapes import as_mapping, copy_of, own_copy
from callgate.pipeline.hooks import run_hook

if TYPE_CHECKING:
    from callgate.model.outcome import Succeeded
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit

_log = logging.getLogger("callgate")
_MOST = 10_000
"""As many as a store keeps."""
_WITH_ARTIFACT = 3


async def sources_read(parts: Parts, permit: Permit, outcome: Succeeded) -> tuple[tuple[str, str | bytes], ...]:
    """(path, content) of each source; none when the tool does not say, or fails to."""
    hook = permit.tool.hooks.reads
    assert hook is not None  # noqa: S101 - asked by the caller
    try:
        found = await run_hook(parts, permit.tool, hook, own_copy(permit.arguments), *_returned(hook, outcome))
    except Exception as error:  # noqa: BLE001 - a call that ended well is not undone by what watches it
        _log.warning("reads() of %s failed with %s; nothing is noted", permit.tool.name, type(error).__name__)
        return ()
    pairs = [(str(path), content) for path, content in (as_mapping(found) or {}).items()]
    return tuple((path, content) for path, content in pairs if isinstance(content, str | bytes))[:_MOST]


def _returned(hook: Callable[..., Any], outcome: Succeeded) -> tuple[Any, ...]:
    """The output, and for a function that takes it, what the handler returned beside it."""
    if len(inspect.signature(hook).parameters) < _WITH_ARTIFACT:
        return (copy_of(outcome.value),)
    return copy_of(outcome.value), outcome.metadata.get(ARTIFACT)
