"""notify_self: a notice that an agent leaves for itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.notice import INJECT_AT
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.tools.documents import lent
from callgate.tools.notices.notices import Left, Notices
from callgate.tools.schemas import fields

_TEXT: dict[str, Any] = {"format": "text"}
Message = Annotated[str, Field(min_length=1, max_length=10_000, json_schema_extra=_TEXT)]
Priority = Literal["low", "normal", "high", "critical"]
Kind = Literal["discovery", "warning", "checkpoint", "reminder", "context"]
When = Literal["immediate", "next_turn", "after_tool"]

_OUTPUT = fields(
    {
        "status": {"const": "ok"},
        "event_id": {"type": "string"},
        "category": {"type": "string"},
        "priority": {"type": "string"},
        "deliver_at": {"type": "string"},
        "inject_at": {"enum": list(INJECT_AT.values())},
        "persist_cross_session": {"type": "boolean"},
        "persistence_id": {"type": ["string", "null"]},
        "message": {"type": "string"},
    }
)


def _would_notify(arguments: dict[str, Any], _ctx: ToolContext) -> Preview:
    lasting = "a later session" if arguments["persist_cross_session"] else "this session"
    about = f"{arguments['priority']} {arguments['category']}"
    return Preview(
        text=f"a notice ({about}) to itself, for {lasting}, {arguments['deliver_at']}: {arguments['message']}"
    )


class NoticeTools:
    """The tool, over one service; None where there is no gate."""

    def __init__(self, notices: Notices | None) -> None:
        self._notices = notices

    @tool(
        effects="system_state",
        scopes=[],
        risk="low",
        destructive=False,
        concurrency_safe=True,
        marks_effect=True,
        timeout=5,
        preview=_would_notify,
        output_schema=_OUTPUT,
        examples=[
            {"message": "The tests need a database; start it first.", "category": "discovery"},
            {"message": "Ask for the figures of March.", "category": "reminder", "persist_cross_session": True},
        ],
    )
    async def notify_self(  # noqa: D417 - what the gate gives is not for the model
        self,
        message: Message,
        *,
        priority: Priority = "normal",
        category: Kind = "context",
        deliver_at: When = "next_turn",
        persist_cross_session: bool = False,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Leave a notice for yourself: it is given to you once, when you go on.

        Args:
            message: What you want to be told.
            priority: How much it matters.
            category: What it is about.
            deliver_at: When it is to be given to you.
            persist_cross_session: Whether it is given to you in a later session, if this one ends before.
        """
        notices = lent(self._notices, ctx.tool)
        left = Left(
            message=message,
            priority=priority,
            category=category,
            deliver_at=deliver_at,
            persist=persist_cross_session,
        )
        async with ctx.effect():
            notice = await notices.leave(ctx.context, left, call=ctx.call_id)
        return {
            "status": "ok",
            "event_id": notice.event_id,
            "category": category,
            "priority": priority,
            "deliver_at": deliver_at,
            "inject_at": notice.inject_at,
            "persist_cross_session": persist_cross_session,
            "persistence_id": notice.persistence_id,
            "message": notice.message,
        }
