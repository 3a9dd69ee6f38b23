"""A behaviour tree over tools: it falls back, hands results on, waits for a person, and repeats nothing when resumed.

Run it: python examples/tree.py (needs the extra: pip install 'callgate[trees]')
"""

from __future__ import annotations

import asyncio
from typing import Any

from py_trees.composites import Selector, Sequence

from callgate import Callgate, Context, tool

published: list[str] = []


@tool(effects="read_only")
async def search_code(query: str) -> dict[str, Any]:
    """Search the code, which says nothing about tea."""
    return {"results": [] if query == "tea" else [f"# {query}"]}


@tool(effects="read_only")
async def web_fetch(url: str) -> dict[str, Any]:
    """Fetch a page."""
    return {"content": f"what {url} says"}


@tool(effects="network_access", risk="medium")
async def publish(text: str) -> str:
    """Publish a text, which somebody has to allow."""
    published.append(text)
    return f"published {len(text)} characters"


def make_tree(gate: Callgate) -> Sequence:
    """Find something to say, then say it."""
    code = gate.leaf("search_code")  # by its contract it reads `query`, and an empty result is a failure
    page = gate.leaf("web_fetch", arguments={"url": "https://example.com/${bb.query}"})  # writes `fetched_content`
    say = gate.leaf("publish", arguments={"text": "${bb.fetched_content}"})
    return Sequence("tell", memory=True, children=[Selector("find", memory=True, children=[code, page]), say])


async def main() -> None:
    """Tell the story."""
    async with Callgate.open("memory://") as gate:
        gate.add(search_code, web_fetch, publish)
        ann = Context(user="ann", session="news")
        run = await gate.run_tree(make_tree(gate), ann, run="monday", blackboard={"query": "tea"}, wait=0)
        question = await gate.approval(run.waits_for[0])
        print(run.status.name, "- somebody is asked about:", question.tool)

        await gate.approve(question.id, by="bob")
        for _ in range(2):  # the same run again, in this process or another: nothing happens twice
            run = await gate.run_tree(make_tree(gate), ann, run="monday")
            print(run.status.name, published)


if __name__ == "__main__":
    asyncio.run(main())
