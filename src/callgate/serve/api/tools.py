"""Tools over HTTP: to an agent those it may call, to people all of them and why some cannot be called."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from callgate.errors import ToolNotFoundError
from callgate.model.credential import Credential, CredentialKind, Right
from callgate.model.tool import Tool
from callgate.runtime.gate import Callgate
from callgate.serve.api.paging import Cursor, Limit, ListPlace, Page, listed, page
from callgate.serve.api.tool_forms import ToolBody, WholeToolBody, tool_body, whole_tool_body
from callgate.serve.entrants import Anyone, Gate
from callgate.serve.who import need_right
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["tools"], route_class=StrictRoute)
_Word = Annotated[str | None, Query(min_length=1, max_length=512)]


@router.get("/tools", responses={200: {"model": Page[WholeToolBody] | Page[ToolBody]}})
async def tools(
    gate: Gate,
    shown: Anyone,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
    search: Annotated[
        str | None, Query(min_length=1, max_length=512, description="What fits these words best, on one page.")
    ] = None,
    category: _Word = None,
    source: _Word = None,
) -> Json:
    """Tools by name: an agent's own pool, the same list that judges its calls; to people every one of them."""
    fitting = [
        tool
        for tool in _seen(gate, shown, search)
        if category in {None, tool.category} and source in {None, tool.source.value, tool.source_name}
    ]
    if search is not None:
        return listed([_body(gate, shown, tool) for tool in fitting[:limit]], None)

    async def read(_size: int) -> list[Tool]:
        return fitting

    found, further = await page(
        read, place=lambda tool: ListPlace(0.0, tool.name), limit=limit, cursor=cursor, newest_first=False
    )
    return listed([_body(gate, shown, tool) for tool in found], further)


@router.get("/tools/{name}", responses={200: {"model": WholeToolBody | ToolBody}})
async def one_tool(name: str, gate: Gate, shown: Anyone) -> Json:
    """One tool: its arguments, and what it declares."""
    if shown.kind is CredentialKind.AGENT:
        pool = gate.pool(shown.context())
        if name not in pool.names:
            raise ToolNotFoundError(f"Unknown tool: {name}")
        return Json(tool_body(pool.get(name)))
    need_right(shown, Right.READ)
    return Json(_body(gate, shown, gate.tool(name)))


def _seen(gate: Callgate, shown: Credential, words: str | None) -> list[Tool]:
    if shown.kind is CredentialKind.AGENT:
        context = shown.context()
        return list(gate.pool(context)) if words is None else gate.search(words, limit=500, context=context)
    need_right(shown, Right.READ)
    return list(gate.tools()) if words is None else gate.search_all(words, limit=500)


def _body(gate: Callgate, shown: Credential, tool: Tool) -> dict[str, Any]:
    if shown.kind is CredentialKind.AGENT:
        return tool_body(tool)
    held = gate.difference(tool.name).reason
    return whole_tool_body(tool, held=held, health=gate.health(tool.connector or tool.name))
