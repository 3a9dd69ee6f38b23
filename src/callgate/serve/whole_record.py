"""The whole record, read for somebody: whether it holds, and packed. For one of them at a time, by whichever door."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from callgate.runtime.gate import Callgate

_AT_ONCE = 256 * 1024


class WholeRecord:
    """The record of a gate, as doors give it away.

    Args:
        gate: Whose record it is.
    """

    def __init__(self, gate: Callgate) -> None:
        self._gate = gate
        self.turn = asyncio.Semaphore(1)
        """Held by whoever reads all of it: however many ask, the store does it for one of them at a time."""

    async def packed(self, **chosen: Any) -> StreamingResponse:
        """The record, or the part that is chosen, as a package to keep; nothing of it stays behind here."""
        with tempfile.TemporaryDirectory(prefix="callgate-evidence-") as folder:
            made = Path(folder) / "evidence.zip"
            async with self.turn:
                await self._gate.export_evidence(made, **chosen)
            # It has no name any more when it is sent: whoever leaves in the middle leaves nothing behind.
            handle = made.open("rb")
        size = os.fstat(handle.fileno()).st_size
        headers = {"Content-Disposition": 'attachment; filename="callgate-evidence.zip"', "Content-Length": str(size)}
        return _Package(handle, headers)


class _Package(StreamingResponse):
    """A file that is let go when it was sent, or cannot be: whoever leaves early has not asked for its first part."""

    def __init__(self, handle: BinaryIO, headers: dict[str, str]) -> None:
        super().__init__(_sent(handle), media_type="application/zip", headers=headers)
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: PLR0917 - as ASGI has it
        with self._handle:
            await super().__call__(scope, receive, send)


def _sent(handle: BinaryIO) -> Iterator[bytes]:
    while part := handle.read(_AT_ONCE):
        yield part
