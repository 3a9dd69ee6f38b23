"""The tools that the examples of seed 001 name, small and real: a folder of notes, threads, and a search that hangs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from callgate import tool

VAULT = Path("vault")


def _seen(arguments: dict[str, Any], output: Any) -> dict[str, str]:
    return {arguments["path"]: output["content"]}


@tool(effects="read_only", scopes=["fs:read"], category="vault", reads=_seen, timeout=10)
async def vault_read(path: str, project_id: str = "default") -> dict[str, str]:
    """Read a note."""
    text = await asyncio.to_thread((VAULT / path).read_text, encoding="utf-8")
    return {"content": text, "project_id": project_id}


@tool(effects="read_only", scopes=["fs:read"], category="vault")
async def vault_list(folder: str = "") -> dict[str, list[str]]:
    """List the notes."""
    return {"notes": sorted(each.name for each in (VAULT / folder).rglob("*.md"))}


@tool(effects="read_only", category="thread")
async def thread_list() -> dict[str, list[str]]:
    """List the threads."""
    return {"threads": []}


@tool(effects=["read_only", "network_access"], category="web")
async def web_search(query: str) -> dict[str, Any]:
    """Search for ever."""
    await asyncio.Event().wait()
    return {"query": query, "results": []}
