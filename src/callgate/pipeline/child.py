"""The other side of `processes`: what runs in the child. Knows nothing of gates, stores or permits."""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
import time
from multiprocessing.connection import Connection
from typing import Any, get_type_hints

from callgate.errors import SecretNotFound
from callgate.model.context_form import context_from_json
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
    function, arguments, facts = pickle.loads(work)  # noqa: S301 - our own parent wrote it
    os.chdir(facts["working_directory"])
    result = function(**arguments, **dict.fromkeys(_context_parameters(function), _context(pipe, facts)))
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


def _context(pipe: Connection, facts: dict[str, Any]) -> ToolContext:
    seconds = facts["seconds"]
    return ToolContext(
        context=context_from_json(facts["context"]),
        tool=facts["tool"],
        call_id=facts["call_id"],
        key=facts["key"],
        working_directory=facts["working_directory"],
        deadline=None if seconds is None else time.monotonic() + seconds,
        secret_source=lambda connector, secret: _ask(pipe, "secret", (connector, secret)),
        progress_sink=lambda _context, fraction, note: pipe.send(("progress", (fraction, note))),
        on_mark=lambda: _ask(pipe, "effect", None),
    )


def _context_parameters(function: Any) -> list[str]:
    """The parameters that want the ToolContext, by their hints as they are meant."""
    return [name for name, hint in get_type_hints(function).items() if hint is ToolContext]


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
