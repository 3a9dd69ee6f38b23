"""Preview: run a tool's `preview` under a read-only permit: no secrets, no egress, time-limited, local tools only."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.errors import ToolError
from callgate.model.levels import FOREIGN
from callgate.model.shapes import as_mapping
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.pipeline.parts import running

if TYPE_CHECKING:
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts

_SECONDS = 10.0


@dataclass(slots=True)
class Shown:
    """What a preview gave; `supported` is False for tools that have none."""

    preview: Preview | None
    supported: bool


async def preview(parts: Parts, authorized: Authorized) -> Shown:
    """What the call would do. A preview that fails says so and hides nothing."""
    tool = authorized.tool
    if tool.hooks.preview is None or tool.source in FOREIGN:
        return Shown(None, supported=False)
    context = ToolContext(
        context=authorized.asked.context,
        tool=tool.name,
        call_id=authorized.asked.call_id,
        working_directory=authorized.asked.context.working_directory or parts.working_directory,
    )
    token = running.set(context)
    try:
        raw = await asyncio.wait_for(_run(parts, authorized, context), _SECONDS)
    except Exception as error:  # noqa: BLE001 - the question is asked all the same, with this said
        text = str(error) if isinstance(error, ToolError | ValueError | OSError) else type(error).__name__
        return Shown(Preview(text=parts.striker.strike_text(f"the preview failed: {text}")), supported=True)
    finally:
        context.end()
        running.reset(token)
    return Shown(_as_preview(parts, raw), supported=raw is not None)


async def _run(parts: Parts, authorized: Authorized, context: ToolContext) -> Any:
    hook = authorized.tool.hooks.preview
    assert hook is not None  # noqa: S101 - asked by the caller
    arguments = dict(authorized.arguments)
    if inspect.iscoroutinefunction(hook):
        return await hook(arguments, context)
    lane = parts.threads.lane(f"preview:{authorized.tool.connector}")
    if not await lane.take(_SECONDS):
        message = "every preview thread is busy"
        raise TimeoutError(message)
    future = lane.run(lambda: hook(arguments, context))
    future.add_done_callback(lambda _done: lane.give())
    result = await asyncio.shield(future)
    return await result if inspect.isawaitable(result) else result


def _as_preview(parts: Parts, raw: Any) -> Preview | None:
    if raw is None:
        return None
    struck = parts.striker.strike(raw) if not isinstance(raw, Preview) else raw
    if isinstance(struck, Preview):
        return Preview(
            text=parts.striker.strike_text(struck.text),
            details=parts.striker.strike(struck.details),
            state=struck.state,
        )
    if isinstance(struck, str):
        return Preview(text=struck, details=struck)
    state: Any = (as_mapping(struck) or {}).get("state")
    return Preview(text=str(struck), details=struck, state=state if isinstance(state, str) else None)
