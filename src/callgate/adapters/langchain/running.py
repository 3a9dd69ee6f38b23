"""Running a LangChain tool as its author meant it, and nothing of the run it is called from with it."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from callgate.errors import ToolExecutionError
from callgate.model.artifact import WithArtifact
from callgate.model.tool import Arguments, Handler
from callgate.model.tool_context import ToolContext

Hold = Callable[[Arguments, Mapping[str, Any]], None]
"""(the judged arguments, what is injected) -> raises where they would be others."""

_CALL = "tool_call"


def is_async(tool: Any) -> bool:
    """Whether it has a coroutine of its own. The others run on the threads of their connector, not on LangChain's."""
    from langchain_core.tools import BaseTool, StructuredTool, Tool  # noqa: PLC0415 - loaded with the first tool

    kind = cast("Any", type(tool))
    if kind.ainvoke in {StructuredTool.ainvoke, Tool.ainvoke}:
        return tool.coroutine is not None
    plain = cast("Any", BaseTool)
    return kind.ainvoke is not plain.ainvoke or kind._arun is not plain._arun  # noqa: SLF001 - a tool's own way to run


def code_of(tool: Any) -> Any:
    """What runs, for the digest: the function behind the tool, else the method of its class."""
    written = getattr(tool, "coroutine", None) or getattr(tool, "func", None)
    return written or (tool._arun if is_async(tool) else tool._run)  # noqa: SLF001 - as above


def call_id(context: ToolContext) -> str:
    """The id of the call, as a LangChain tool gets it."""
    return context.key or context.call_id


def make_handler(
    tool: Any, inject: Mapping[str, Callable[[ToolContext], Any]], *, hides: bool, hold: Hold | None
) -> Handler:
    """The handler of a LangChain tool: a coroutine function exactly if the tool has a coroutine of its own.

    Args:
        tool: The tool.
        inject: Arguments that it gets from here and not from a model.
        hides: Whether it has arguments that are hidden from models; the id of the call may be one.
        hold: Sees that arguments stay what they are with what is injected.
    """
    run = _unending(tool)
    # Only as a message does an answer say that it is an error, or bring its artifact; a plain answer keeps its type.
    as_message = hides or _answers_in_messages(tool)

    def given(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
        more = {name: give(context) for name, give in inject.items()}
        if hold is not None:
            _held(tool, partial(hold, arguments, more))
        full = arguments | more
        # Arguments that look like a call would be taken for one, and what is inside them would be run unchecked.
        if not as_message and full.get("type") != _CALL:
            return full
        return {"type": _CALL, "name": tool.name, "id": call_id(context), "args": full}

    async def awaited(arguments: Arguments, context: ToolContext) -> Any:
        with _alone(arguments):
            return read_answer(await run.ainvoke(given(arguments, context), config={}))

    def plain(arguments: Arguments, context: ToolContext) -> Any:
        with _alone(arguments):
            return read_answer(tool.invoke(given(arguments, context), config={}))

    return awaited if is_async(tool) else plain


def _held(tool: Any, hold: Callable[[], None]) -> None:
    from pydantic import ValidationError  # noqa: PLC0415 - loaded with the first tool

    try:
        hold()
    except ValidationError:
        # LangChain is told the same, and the tool may have words of its own for it.
        if not tool.handle_validation_error:
            raise


def _unending(tool: Any) -> Any:
    """The tool, or its like whose coroutine cannot end the program: LangChain runs it as a task, out of which it would.

    A class of an author's own may keep what it remembers in its object, and is run as it is.
    """
    from langchain_core.tools import StructuredTool, Tool  # noqa: PLC0415 - loaded with the first tool

    if type(tool) not in {StructuredTool, Tool} or tool.coroutine is None:
        return tool
    coroutine: Callable[..., Any] = tool.coroutine

    @functools.wraps(coroutine)
    async def held(*args: Any, **kwargs: Any) -> Any:
        try:
            return await coroutine(*args, **kwargs)
        except (Exception, asyncio.CancelledError):
            raise
        except BaseException as error:
            message = f"the tool raised {type(error).__name__}"
            raise RuntimeError(message) from error

    return tool.model_copy(update={"coroutine": held})


def read_answer(answer: Any) -> Any:
    """What a tool answered: a message's content and artifact, or the plain value.

    Raises:
        ToolExecutionError: The message says that it is an error, or there is no one answer.
    """
    from langchain_core.messages import ToolMessage  # noqa: PLC0415 - loaded with the first tool

    from callgate.adapters.outputs import to_json_value  # noqa: PLC0415 - as above, with pydantic

    if inspect.isgenerator(answer) or inspect.isasyncgen(answer):
        # It may have no end.
        raise ToolExecutionError("the tool yields; a tool returns one value")
    if not isinstance(answer, ToolMessage):
        return to_json_value(answer)
    content: Any = answer.content  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if answer.status == "error":
        raise ToolExecutionError(content if isinstance(content, str) else str(answer.text))
    artifact: Any = answer.artifact
    return content if artifact is None else WithArtifact(content, to_json_value(artifact))


def _answers_in_messages(tool: Any) -> bool:
    handles = tool.handle_tool_error or tool.handle_validation_error
    return bool(handles) or tool.response_format == "content_and_artifact"


@contextmanager
def _alone(arguments: Arguments) -> Generator[None]:
    """Without callbacks, tags, metadata and configuration of the run around it; its errors in our words."""
    from langchain_core.runnables.config import var_child_runnable_config  # noqa: PLC0415 - as above
    from langchain_core.tools import ToolException  # noqa: PLC0415 - as above
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    from callgate.adapters.pydantic_faults import explain  # noqa: PLC0415 - as above

    token = var_child_runnable_config.set(None)
    try:
        yield
    except ToolException as error:
        # LangChain's way to tell a model what went wrong.
        raise ToolExecutionError(str(error)) from error
    except ValidationError as error:
        raise explain(error, arguments) from error
    finally:
        var_child_runnable_config.reset(token)
