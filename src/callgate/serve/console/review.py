"""Review: tools that wait until somebody has looked at them, what changed, and what they should be declared as."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from callgate.errors import ConfigurationError
from callgate.model.credential import Right
from callgate.model.levels import Assurance
from callgate.runtime.gate import Callgate
from callgate.runtime.trusting import Difference, Proposal, ProposalGroup
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import Visitor, gate_of, sent, visiting

_MOST_LINES = 2000
_TEXTS = ("description", "input_schema", "output_schema", "claims", "examples")
_ABOUT = {
    ProposalGroup.READ: "They only read, by their names.",
    ProposalGroup.WRITE: "They add something, and destroy nothing that anybody can tell.",
    ProposalGroup.DESTRUCTIVE: "They may destroy or replace something, or nobody can tell what they do.",
    ProposalGroup.SUSPECT: "Their texts hide something, or speak to the model. Look at each of them.",
}


async def review(request: Request) -> Response:
    """What waits, and what is proposed."""
    return await _page(request, await visiting(request, Right.READ))


async def show(request: Request) -> Response:
    """One tool beside what was trusted under its name."""
    visitor = await visiting(request, Right.READ)
    return await _one(request, visitor, gate_of(request).difference(request.path_params["name"]))


async def trust(request: Request) -> Response:
    """Trust exactly the definition that was looked at."""
    found = await sent(request, Right.ADMINISTER)
    gate, name = gate_of(request), request.path_params["name"]
    try:
        await gate.trust(
            name, by=found.visitor.name, definition_hash=found.text("definition"), assurance=Assurance.SIGNED_IN
        )
    except ConfigurationError as error:
        return await _one(request, found.visitor, gate.difference(name), wrong=str(error), status=409)
    return RedirectResponse(f"/review/{name}", status_code=303)


async def accept(request: Request) -> Response:
    """Put what was proposed for these definitions in force."""
    found = await sent(request, Right.ADMINISTER)
    gate = gate_of(request)
    chosen = set(found.form.getlist("proposal"))
    among = [each for each in gate.proposals() if _mark(each) in chosen]
    if not among or len(among) != len(chosen):
        wrong = "choose some of what is proposed; what changed since you looked is not among it any more"
        return await _page(request, found.visitor, wrong=wrong, status=409)
    try:
        await gate.accept(among, by=found.visitor.name, assurance=Assurance.SIGNED_IN)
    except ConfigurationError as error:
        return await _page(request, found.visitor, wrong=str(error), status=409)
    return RedirectResponse("/review", status_code=303)


async def _page(request: Request, visitor: Visitor, *, status: int = 200, wrong: str = "") -> Response:
    gate = gate_of(request)
    return await page_for(
        request,
        visitor,
        "review.html",
        status=status,
        section="review",
        waiting=gate.quarantined(),
        groups=list(_groups(gate)),
        mark=_mark,
        wrong=wrong,
    )


async def _one(
    request: Request, visitor: Visitor, found: Difference, *, status: int = 200, wrong: str = ""
) -> Response:
    return await page_for(
        request,
        visitor,
        "reviewed.html",
        status=status,
        section="review",
        found=found,
        texts=list(_changed(found)),
        wrong=wrong,
    )


def _groups(gate: Callgate) -> Iterator[tuple[str, str, list[Proposal]]]:
    order = list(ProposalGroup)
    listed = sorted(gate.proposals(), key=lambda each: (order.index(each.group), each.tool))
    for group, among in groupby(listed, key=lambda each: each.group):
        yield group.value, _ABOUT[group], list(among)


def _mark(proposal: Proposal) -> str:
    return f"{proposal.definition_hash} {proposal.tool}"


def _changed(found: Difference) -> Iterator[tuple[str, str]]:
    """The texts that changed, line by line: what a person has to read."""
    for name in _TEXTS:
        old = [] if found.old is None else _lines(found.old.get(name))
        new = _lines(found.new.get(name))
        if old != new:
            yield name, "\n".join(_difference(old, new))


def _difference(old: list[str], new: list[str]) -> Iterator[str]:
    if max(len(old), len(new)) > _MOST_LINES:
        # Comparing takes the square of it, and whoever writes a schema could make that long.
        yield from ("--- trusted", "+++ now", *(f"-{line}" for line in old), *(f"+{line}" for line in new))
        return
    yield from difflib.unified_diff(old, new, "trusted", "now", lineterm="", n=len(new))


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split("\n")
    return [] if not value else json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).split("\n")
