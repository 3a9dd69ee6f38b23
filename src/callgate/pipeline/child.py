"""The other side of `processes`: what runs in the child. Knows nothing of gates, stores or permits."""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
from multiprocessing.connection import Connection
from typing import Any

from callgate.errors import SecretNotFound
from callgate.model.context import Context
from callgate.model.tool_context import ToolContext


def child_main(pipe: Connection, work: bytes) -> None:
    """Run the function and send its answer."""
    try:
        answer = ("returned", _run(pipe, work))
        pickle.dumps(answer)
    except BaseException as error:  # noqa: BLE001 - everything is an answer
        answer = ("raised", _sendable(error))
    pipe.send(answer)
    pipe.close()


def _run(pipe: Connection, work: bytes) -> Any:
    function, arguments, directory, key, call_id, name = pickle.loads(work)  # noqa: S301 - our own parent wrote it
    os.chdir(directory)
    context = ToolContext(context=Context(), tool=name, call_id=call_id, key=key, working_directory=directory)
    context.secret_source = lambda connector, secret: _ask(pipe, "secret", (connector, secret))
    context.progress_sink = lambda _context, fraction, note: pipe.send(("progress", (fraction, note)))
    context.on_mark = lambda: _ask(pipe, "effect", None)
    wanted = [
        p.name for p in inspect.signature(function).parameters.values() if p.annotation in {ToolContext, "ToolContext"}
    ]
    result = function(**arguments, **dict.fromkeys(wanted, context))
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(result: Any) -> Any:
    return await result


def _ask(pipe: Connection, kind: str, body: Any) -> Any:
    pipe.send((kind, body))
    status, value = pipe.recv()
    if status != "ok":
        raise SecretNotFound(value)
    return value


def _sendable(error: BaseException) -> Any:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - a round trip of our own bytes
    except Exception:  # noqa: BLE001 - exceptions with odd constructors do not travel
        return f"{type(error).__name__}: {error}"
    return error
