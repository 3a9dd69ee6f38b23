"""Arguments that several tools on archives take, and how long they may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from callgate.model.tool_context import ToolContext

SECONDS = 120
ArchiveName = Annotated[str, Field(min_length=1, max_length=4096)]
MemberName = Annotated[str, Field(min_length=1, max_length=1024, json_schema_extra={"format": "member"})]
"""A name inside an archive: nothing on this machine."""
MemberPattern = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "member-pattern"})]


def watching(ctx: ToolContext) -> Callable[[], None]:
    """What stops a call that was given up, or has taken its time, between two pieces of its work."""

    def watch() -> None:
        if ctx.closed or ctx.remaining(time.monotonic()) == 0:
            raise TimeoutError("the archive took too long")

    return watch
