"""The other side of `processes`: what runs in the child. Knows nothing of gates, stores or permits.

The child leads a session of its own, so that whatever it starts can be ended with it, and it does not outlive its
parent: an attempt whose owner is gone must not take effect any more.
"""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import os
import pickle
import signal
import socket
import struct
import threading
import time
from typing import Any, get_type_hints

from callgate.errors import SecretNotFound
from callgate.model.context_form import context_from_json
from callgate.model.tool_context import ToolContext

LENGTH = struct.Struct("!Q")
"""How long a message is; stands before it."""


class Line:
    """The child's end of the conversation; threads of the handler may share it."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._sending = threading.Lock()
        self._asking = threading.Lock()

    def send(self, message: tuple[str, Any]) -> None:
        """Tell the parent something."""
        self.send_bytes(pickle.dumps(message))

    def send_bytes(self, body: bytes) -> None:
        """As `send`, for what is pickled already."""
        with self._sending:
            self._end.sendall(LENGTH.pack(len(body)))
            self._end.sendall(body)

    def ask(self, kind: str, body: Any) -> Any:
        """Ask the parent for something and wait for it.

        Raises:
            SecretNotFound: It has no answer.
        """
        with self._asking:
            self.send((kind, body))
            (length,) = LENGTH.unpack(self._read(LENGTH.size))
            status, value = pickle.loads(self._read(length))  # noqa: S301 - our own parent wrote it
        if status != "ok":
            raise SecretNotFound(value)
        return value

    def _read(self, length: int) -> bytes:
        body = bytearray()
        while len(body) < length:
            chunk = self._end.recv(length - len(body))
            if not chunk:
                raise EOFError
            body += chunk
        return bytes(body)


def child_main(end: socket.socket, work: bytes) -> None:
    """Run the function and send its answer."""
    threading.Thread(target=_end_with_parent, args=(_lead_a_session(),), daemon=True).start()
    line = Line(end)
    try:
        answer = pickle.dumps(("returned", _run(line, work)))
    except BaseException as error:  # noqa: BLE001 - everything is an answer
        answer = pickle.dumps(("raised", _sendable(error)))
    line.send_bytes(answer)
    end.close()


def _lead_a_session() -> bool:
    """Whether this process now has a group of its own, under its own number; not every platform has groups."""
    if not hasattr(os, "setsid"):  # pragma: no cover - Windows
        return False
    os.setsid()
    return True


def _end_with_parent(leads: bool) -> None:  # noqa: FBT001 - a thread's target # pragma: no cover - ends who measures
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - this is a child
    parent.join()
    if leads:
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _run(line: Line, work: bytes) -> Any:
    function, arguments, facts = pickle.loads(work)  # noqa: S301 - our own parent wrote it
    os.chdir(facts["working_directory"])
    result = function(**arguments, **dict.fromkeys(_context_parameters(function), _context(line, facts)))
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


def _context(line: Line, facts: dict[str, Any]) -> ToolContext:
    seconds = facts["seconds"]
    return ToolContext(
        context=context_from_json(facts["context"]),
        tool=facts["tool"],
        call_id=facts["call_id"],
        key=facts["key"],
        working_directory=facts["working_directory"],
        deadline=None if seconds is None else time.monotonic() + seconds,
        secret_source=lambda connector, secret: line.ask("secret", (connector, secret)),
        progress_sink=lambda _context, fraction, note: line.send(("progress", (fraction, note))),
        on_mark=lambda: line.ask("effect", None),
    )


def _context_parameters(function: Any) -> list[str]:
    """The parameters that want the ToolContext, by their hints as they are meant."""
    return [name for name, hint in get_type_hints(function).items() if hint is ToolContext]


async def _awaited(result: Any) -> Any:
    return await result


def _sendable(error: BaseException) -> Any:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - a round trip of our own bytes
    except Exception:  # noqa: BLE001 - exceptions with odd constructors do not travel
        return f"{type(error).__name__}: {error}"
    return error
