"""The other side of `processes`: what runs in the child. Knows nothing of gates, stores or permits.

The child leads a session of its own, so that whatever it starts can be ended with it, and it does not outlive its
parent: an attempt whose owner is gone must not take effect any more. So it enters the function only when its parent
says so, and from before that on the kernel kills it with its parent, whatever it does then: it may be stopped, or in C.
It also holds what the parent is known to be alive by. Where it could not be killed, the parent is not taken for gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import inspect
import os
import pickle
import signal
import socket
import struct
import threading
import time
from multiprocessing.connection import wait
from multiprocessing.reduction import DupFd
from typing import Any, get_type_hints

from callgate.errors import SecretNotFound
from callgate.model.context_form import context_from_json
from callgate.model.tool_context import ToolContext
from callgate.pipeline.recorded import written_state

LENGTH = struct.Struct("!Q")
"""How long a message is; stands before it."""
_CAN_TIE = hasattr(fcntl, "F_SETSIG")


class KeptOpen:
    """Handles that a child has open from its first moment to its last; a program that it starts has none of them.

    Args:
        parent: Ends when the parent does, and nothing is ever written to it.
        handles: Others.
    """

    def __init__(self, parent: int, *handles: int) -> None:
        self.parent = parent
        self._handles = handles

    def __reduce__(self) -> tuple[Any, ...]:
        return _kept, tuple(map(DupFd, (self.parent, *self._handles)))


def _kept(*handles: Any) -> KeptOpen:
    numbers = tuple(handle.detach() for handle in handles)
    for number in numbers:
        os.set_inheritable(number, False)  # noqa: FBT003 - its only way
    return KeptOpen(*numbers)


class Line:
    """The child's end of the conversation; threads of the handler may share it."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._sending = threading.Lock()
        self._asking = threading.Lock()

    def send(self, message: tuple[str, Any]) -> None:
        """Tell the parent something."""
        body = pickle.dumps(message)
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


def child_main(end: socket.socket, work: bytes, kept: KeptOpen) -> None:
    """Run the function and send its answer."""
    os.setsid()  # a group of its own, under its own number: what it starts ends with it
    threading.Thread(target=_end_with, args=(kept.parent,), daemon=True).start()
    line = Line(end)
    line.send(answer(line, work, parent=kept.parent))
    end.close()


def answer(line: Line, work: bytes, *, parent: int) -> tuple[str, Any]:
    """What the function returned or raised, or of what kind it was where it cannot be sent."""
    try:
        value = _run(line, work, parent=parent)
    except BaseException as error:  # noqa: BLE001 - everything is an answer
        return "raised", _sendable(error)
    try:
        # Packed by itself: that it returned is told also where what it returned cannot be read.
        return "returned", pickle.dumps(value)
    except Exception as error:  # noqa: BLE001 - what it returned may be an object of anybody's class
        return "unsent", type(error).__name__


def _end_with(parent: int) -> None:  # pragma: no cover - ends who measures
    """Where the kernel does not: while the function is looked for, and on systems where it cannot be told to."""
    wait([parent])
    os.killpg(os.getpid(), signal.SIGKILL)


def _run(line: Line, work: bytes, *, parent: int) -> Any:
    function, arguments, facts = pickle.loads(work)  # noqa: S301 - our own parent wrote it
    os.chdir(facts["working_directory"])
    given = dict.fromkeys(_context_parameters(function), _context(line, facts))
    _enter(line, parent)
    result = function(**arguments, **given)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


def _enter(line: Line, parent: int) -> None:
    """Return when the parent is there and says so, and when it is seen to that this process ends with it.

    Raises:
        EOFError: The parent is gone.
    """
    line.ask("enter", None)
    if _CAN_TIE:  # pragma: no branch - not everywhere
        with contextlib.suppress(OSError):
            _tie(parent)
    if wait([parent], 0):  # pragma: no cover - between its answer and this
        raise EOFError


def _tie(parent: int) -> None:
    """Have the kernel kill this group when something happens there, which can only be the parent's end."""
    fcntl.fcntl(parent, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(parent, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(parent, fcntl.F_SETFL, fcntl.fcntl(parent, fcntl.F_GETFL) | os.O_ASYNC)


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
        is_as_shown=lambda state: line.ask("shown", written_state(state)),
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
