"""deep_research: the tool around the researcher. Saves the report into the vault, through the gate."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.ids import uuid7
from callgate.model.outcome import Succeeded
from callgate.model.shapes import as_mapping
from callgate.model.tool_context import ToolContext
from callgate.tools.agents.answers import Answers, question
from callgate.tools.agents.citations import only_fetched
from callgate.tools.agents.model import MISSING
from callgate.tools.agents.research import EXTENTS, Depth, Research, Researcher
from callgate.tools.agents.worker import Budget, OutOfBudget, Worker, hire
from callgate.tools.services import Services

TOOLS = ("web_search", "web_fetch", "vault_write")
"""What research can reach; nothing else."""

_MOST_SOURCES = 20
_FOLDER = "research"
_RESULT = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "research_id": {"type": "string"},
        "status": {"enum": ["completed", "incomplete", "failed"]},
        "query": {"type": "string"},
        "depth": {"enum": ["quick", "standard", "thorough"]},
        "sources_count": {"type": "integer"},
        "report": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "summary": {"type": "string"}, "body": {"type": "string"}},
            "required": ["title", "summary", "body"],
            "additionalProperties": False,
        },
        "sources": {"type": "array", "maxItems": _MOST_SOURCES, "items": {"type": "object"}},
        "key_findings": {"type": "array", "maxItems": 15, "items": {"type": "string"}},
        "vault_path": {"type": "string"},
        "message": {"type": "string"},
        "from_cache": {"type": "boolean"},
    },
    "required": [
        "success",
        "research_id",
        "status",
        "query",
        "depth",
        "sources_count",
        "report",
        "sources",
        "key_findings",
        "message",
    ],
    "additionalProperties": False,
}


def would_research(arguments: dict[str, Any], _context: Any) -> str:
    """What a preview says."""
    extent = EXTENTS[arguments.get("depth", "standard")]
    lines = [f"Have an agent of its own research: {arguments['query']}"]
    lines.append(f"It makes up to {extent.queries} searches and reads up to {extent.pages} pages.")
    if arguments.get("save_to_vault", True):
        lines.append(f"It writes its report into {arguments.get('output_folder') or _FOLDER}/ of the vault.")
    return "\n".join(lines)


def make_deep_research(services: Services) -> Any:
    """The tool."""
    answers = Answers()

    @tool(
        effects=["calls_llm", "network_access"],
        risk="medium",
        scopes=["net:outbound"],
        egress=True,
        untrusted_output=True,
        concurrency_safe=True,
        marks_effect=True,  # by itself it only asks; what it calls marks its own
        timeout=1800,
        output_schema=_RESULT,
        unavailable=None if services.model is not None else MISSING,
        preview=would_research,
        examples=[{"query": "When was the Eiffel tower finished?", "depth": "quick", "save_to_vault": False}],
    )
    async def deep_research(
        query: Annotated[str, Field(min_length=3, max_length=4000)],
        *,
        ctx: ToolContext,
        depth: Depth = "standard",
        save_to_vault: bool = True,
        output_folder: Annotated[str, Field(max_length=150)] | None = None,
    ) -> dict[str, Any]:
        """Research a question on the web and write a report in which every reference was really read.

        It plans queries, searches, reads pages, notes what they say with quotes, and writes from these alone. Takes
        minutes. Everything it fetches and writes is a call of its own, judged like yours.

        Args:
            query: The question.
            ctx: Of the call.
            depth: How many queries and pages: quick 2 and 4, standard 4 and 10, thorough 8 and 20.
            save_to_vault: Also write the report as a note of the vault.
            output_folder: The folder of that note; `research` when left out.
        """
        asked = question(ctx.context, query=query, depth=depth, save=save_to_vault, folder=output_folder)
        known = answers.find(asked)
        if known is not None:
            return known | {"from_cache": True}
        extent = EXTENTS[depth]
        budget = Budget(
            requests=extent.pages * 3 + 10, calls=extent.queries + extent.pages + 1, tokens=extent.pages * 40_000
        )
        async with await hire(services, ctx, name="research", tools=TOOLS, budget=budget) as worker:
            research = await Researcher(worker, extent, progress=ctx.progress).work(query)
            result = _result(research, depth)
            if save_to_vault and research.report is not None:
                await _save(worker, result, folder=output_folder or _FOLDER)
        if result["success"] and ("vault_path" in result) == save_to_vault:
            answers.keep(asked, result)
        ctx.progress(1.0, result["status"])
        return result

    return deep_research


def _result(research: Research, depth: Depth) -> dict[str, Any]:
    report = research.report
    status = "completed" if research.completed else "failed" if report is None else "incomplete"
    trouble = f" Trouble on the way: {'; '.join(research.trouble[:10])}." if research.trouble else ""
    return {
        "success": research.completed,
        "research_id": uuid7(),
        "status": status,
        "query": research.query,
        "depth": depth,
        "sources_count": len(research.sources),
        "report": {
            "title": "" if report is None else report.title,
            "summary": "" if report is None else report.summary,
            "body": "" if report is None else report.body,
        },
        "sources": [source.to_json() for source in research.sources[:_MOST_SOURCES]],
        "key_findings": [] if report is None else report.key_findings,
        "message": f"Research {status}, from {len(research.sources)} sources.{trouble}",
    }


async def _save(worker: Worker, result: dict[str, Any], *, folder: str) -> None:
    """Write the note; where that is not allowed or fails, the report is there all the same, and the message says so."""
    title = result["report"]["title"]
    path = f"{folder.strip('/')}/{_slug(title)}-{result['research_id'][-6:]}.md"
    try:
        outcome = await worker.call("vault_write", {"path": path, "title": title, "body": as_note(result)})
    except OutOfBudget as error:
        result["message"] += f" The report was not saved: {error}."
        return
    if isinstance(outcome, Succeeded):
        result["vault_path"] = str((as_mapping(outcome.value) or {}).get("path", path))
    else:
        result["message"] += f" The report was not saved: {outcome.to_human()}"


def as_note(result: dict[str, Any]) -> str:
    """The report as Markdown, with its sources."""
    report = result["report"]
    findings = "\n".join(f"- {finding}" for finding in result["key_findings"])
    sources = "\n".join(f"{source['number']}. {_linked(source)}" for source in result["sources"])
    parts = [f"# {report['title']}", report["summary"], report["body"]]
    if findings:
        parts.append(f"## Key findings\n\n{findings}")
    parts.append(f"## Sources\n\n{sources}")
    return "\n\n".join(parts) + "\n"


def _linked(source: dict[str, Any]) -> str:
    title = re.sub(r"[()|\s]+", " ", only_fetched(str(source["title"])))[:200]
    return f"[{title}](<{source['url']}>)"


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or "report"
