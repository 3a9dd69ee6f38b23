"""Sources read: asking a tool that declares `reads` what a successful call read or wrote. Outside every transaction."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from callgate.model.shapes import as_mapping, own_copy
from callgate.pipeline.hooks import run_hook

if TYPE_CHECKING:
    from callgate.model.outcome import Succeeded
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit

_log = logging.getLogger("callgate")
_MOST = 100


async def sources_read(parts: Parts, permit: Permit, outcome: Succeeded) -> tuple[tuple[str, str | bytes], ...]:
    """(path, content) of each source; none when the tool does not say, or fails to."""
    hook = permit.tool.hooks.reads
    assert hook is not None  # noqa: S101 - asked by the caller
    try:
        found = await run_hook(parts, permit.tool, hook, own_copy(permit.arguments), outcome.value)
    except Exception as error:  # noqa: BLE001 - a call that ended well is not undone by what watches it
        _log.warning("reads() of %s failed with %s; nothing is noted", permit.tool.name, type(error).__name__)
        return ()
    pairs = [(str(path), content) for path, content in (as_mapping(found) or {}).items()]
    return tuple((path, content) for path, content in pairs if isinstance(content, str | bytes))[:_MOST]
