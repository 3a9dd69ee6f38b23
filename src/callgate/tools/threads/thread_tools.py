"""thread_push, thread_read, thread_seek and thread_list: the threads of the user that the agent acts for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.tools.documents import lent, whose
from callgate.tools.schemas import fields
from callgate.tools.threads.threads import Threads

_TEXT: dict[str, Any] = {"format": "text"}
ThreadId = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=_TEXT)]
ProjectId = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=_TEXT)]
Content = Annotated[str, Field(min_length=1, max_length=100_000, json_schema_extra=_TEXT)]
Query = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra=_TEXT)]
_SHOWN = 2000

_STRING: dict[str, Any] = {"type": "string"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_PROJECT: dict[str, Any] = {"type": ["string", "null"]}


def _list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_THREAD = {"thread_id": _STRING, "project_id": _PROJECT, "name": _STRING, "status": {"enum": ["active", "archived"]}}
_ENTRY = {
    "entry_id": _STRING,
    "sequence_id": _COUNT,
    "entry_type": {"enum": ["thought", "decision", "research", "insight"]},
    "content": _STRING,
    "author": _STRING,
    "timestamp": _STRING,
}
_PUSHED = fields({"status": {"const": "ok"}, "thread_id": _STRING, "entry_id": _STRING, "sequence_id": _COUNT})
_READ = fields({**_THREAD, "entries": _list_of(fields(_ENTRY)), "entry_count": _COUNT})
_HIT = {"thread_id": _STRING, "project_id": _PROJECT, **_ENTRY, "score": {"type": "number"}}
_FOUND = fields({"query": _STRING, "results": _list_of(fields(_HIT)), "total": _COUNT})
_ROW = {**_THREAD, "created_at": _STRING, "updated_at": _STRING}
_LISTED = fields({"threads": _list_of(fields(_ROW)), "total": _COUNT})


def _would_push(arguments: dict[str, Any], _ctx: ToolContext) -> Preview:
    content = arguments["content"]
    cut = f"\n… {len(content) - _SHOWN} more characters" if len(content) > _SHOWN else ""
    kind, thread = arguments["entry_type"], arguments["thread_id"]
    return Preview(text=f"a new entry ({kind}) at the end of the thread {thread!r}:\n{content[:_SHOWN]}{cut}")


class ThreadTools:
    """The tools, over one service; None where there is no gate."""

    def __init__(self, threads: Threads | None) -> None:
        self._threads = threads

    @tool(
        effects="system_state",
        scopes=[],
        risk="low",
        destructive=False,
        # Under its key it pushes once, however often it is called.
        idempotent=True,
        concurrency_safe=True,
        marks_effect=True,
        timeout=10,
        preview=_would_push,
        output_schema=_PUSHED,
        examples=[
            {"thread_id": "parser", "content": "The grammar is ambiguous where a list is empty."},
            {"thread_id": "parser", "content": "We use a hand-written parser.", "entry_type": "decision"},
        ],
    )
    async def thread_push(  # noqa: D417 - what the gate gives is not for the model
        self,
        thread_id: ThreadId,
        content: Content,
        *,
        entry_type: Literal["thought", "decision", "research", "insight"] = "thought",
        project_id: ProjectId | None = None,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Put a thought, decision, finding or insight at the end of a thread; a new thread_id begins a thread.

        Args:
            thread_id: Which thread, by a name of your own.
            content: What to keep.
            entry_type: What kind of entry it is.
            project_id: The project that a new thread belongs to.
        """
        threads, asker = lent(self._threads, ctx.tool), ctx.context
        once = () if ctx.key is None else (asker.principal, asker.session, ctx.key)
        async with ctx.effect():
            pushed = await threads.push(
                whose(asker),
                thread_id,
                content,
                entry_type=entry_type,
                project_id=project_id,
                author=asker.principal,
                once=once,
            )
        return {"status": "ok", **pushed._asdict()}

    # What agents note they may have read anywhere: whoever reads it later reads strangers' words.
    @tool(
        effects="read_only",
        scopes=[],
        untrusted_output=True,
        timeout=10,
        output_schema=_READ,
        examples=[{"thread_id": "parser"}],
    )
    async def thread_read(  # noqa: D417 - as above
        self, thread_id: ThreadId, *, limit: Annotated[int, Field(ge=1, le=50)] = 10, ctx: ToolContext
    ) -> dict[str, Any]:
        """Read the newest entries of a thread, in the order they were pushed.

        Args:
            thread_id: Which thread.
            limit: How many entries at most.
        """
        thread, entries = await lent(self._threads, ctx.tool).read(whose(ctx.context), thread_id, limit=limit)
        told = [{name: entry[name] for name in _ENTRY} for entry in entries]
        return {**{name: thread[name] for name in _THREAD}, "entries": told, "entry_count": thread["entries"]}

    @tool(
        effects="read_only",
        scopes=[],
        untrusted_output=True,
        timeout=15,
        output_schema=_FOUND,
        examples=[{"query": "ambiguous grammar"}, {"query": "parser", "limit": 3}],
    )
    async def thread_seek(  # noqa: D417 - as above
        self,
        query: Query,
        *,
        limit: Annotated[int, Field(ge=1, le=20)] = 5,
        project_id: ProjectId | None = None,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Find entries of all your threads by words, the best first.

        Args:
            query: Words that the entry has.
            limit: How many entries at most.
            project_id: Only threads of this project.
        """
        threads = lent(self._threads, ctx.tool)
        found, total = await threads.seek(whose(ctx.context), query, limit=limit, project_id=project_id)
        return {"query": query, "results": [{name: each[name] for name in _HIT} for each in found], "total": total}

    # Names are words of agents as well.
    @tool(
        effects="read_only",
        scopes=[],
        untrusted_output=True,
        timeout=10,
        output_schema=_LISTED,
        examples=[{}, {"status": "all"}],
    )
    async def thread_list(  # noqa: D417 - as above
        self,
        *,
        status: Literal["active", "archived", "all"] = "active",
        project_id: ProjectId | None = None,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
        offset: Annotated[int, Field(ge=0)] = 0,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """List your threads, the one pushed to last first.

        Args:
            status: Only threads that are active, or archived, or all of them.
            project_id: Only threads of this project.
            limit: How many threads at most.
            offset: How many to leave out at the beginning.
        """
        found, total = await lent(self._threads, ctx.tool).list_threads(
            whose(ctx.context),
            status=None if status == "all" else status,
            project_id=project_id,
            limit=limit,
            offset=offset,
        )
        return {"threads": [{name: each[name] for name in _ROW} for each in found], "total": total}
