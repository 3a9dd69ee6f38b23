"""Preview: ask a tool what it would do. Without secrets, with a time limit, and of local tools only.

It is the author's promise that a preview changes nothing and sends nothing; what it is given can do neither by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.errors import InvalidArguments, Refusal, ToolError, ToolUnavailableError
from callgate.model.levels import FOREIGN
from callgate.model.shapes import as_mapping, own_copy
from callgate.model.tool import Preview
from callgate.pipeline.hooks import hook_limit, only_looking, run_hook
from callgate.pipeline.recorded import written_state

if TYPE_CHECKING:
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts

_CANNOT_WORK = (InvalidArguments, ToolUnavailableError)
"""Raised on purpose by a preview; whatever else goes wrong in one is its own trouble, and a person is asked."""


@dataclass(slots=True)
class Shown:
    """What a preview gave; `supported` is False for tools that have none. Its `state` is not struck yet."""

    preview: Preview | None
    supported: bool
    cannot_work: Refusal | None = None
    """Why the call cannot work, where the tool knows it already: nobody is asked about that."""


async def preview(parts: Parts, authorized: Authorized) -> Shown:
    """What the call would do. A preview that fails says so and hides nothing."""
    tool = authorized.tool
    if tool.hooks.preview is None or tool.source in FOREIGN:
        return Shown(None, supported=False)
    seconds = hook_limit(authorized.asked.context)
    try:
        with only_looking(parts, authorized.asked, tool) as context:
            raw = await run_hook(
                parts, tool, tool.hooks.preview, own_copy(authorized.arguments), context, seconds=seconds
            )
    except Exception as error:  # noqa: BLE001 - the question is asked all the same, with this said
        text = str(error) if isinstance(error, ToolError | ValueError | OSError) else type(error).__name__
        why = parts.striker.strike_text(text)
        # A kind of its own may want more than words.
        cannot_work = next((kind(why) for kind in _CANNOT_WORK if isinstance(error, kind)), None)
        return Shown(Preview(text=f"the preview failed: {why}"), supported=True, cannot_work=cannot_work)
    return Shown(_as_preview(parts, raw), supported=raw is not None)


def state_digest(parts: Parts, shown: Preview | None) -> str | None:
    """What an approval binds of the state a preview was worked out from; the state itself may be anything."""
    return None if shown is None or shown.state is None else fingerprint_of_state(parts, shown.state)


def fingerprint_of_state(parts: Parts, state: Any) -> str:
    """The same of a state that a handler meets."""
    return parts.keys.fingerprint(b"state\0" + repr(written_state(state)).encode("utf-8", "backslashreplace"))


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
    said: Any = (as_mapping(struck) or {}).get("text")
    return Preview(
        text=str(struck if said is None else said), details=struck, state=(as_mapping(raw) or {}).get("state")
    )
