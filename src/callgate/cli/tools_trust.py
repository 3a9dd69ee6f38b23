"""The commands of `callgate tools` with which a person looks after foreign tools: diff, trust, distrust, review."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from callgate.cli.away import sources_away, tell_away
from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.opening import Need, Tools, run, stdin_is_terminal
from callgate.cli.person import by_option, person
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Screen
from callgate.cli.trouble import wrong
from callgate.cli.trust_text import (
    SHORT,
    difference_document,
    proposal_document,
    show_difference,
    show_group,
    show_groups,
)
from callgate.model.levels import Assurance
from callgate.runtime.gate import Callgate
from callgate.runtime.trusting import Difference, Proposal, ProposalGroup

_GROUPS = [group.value for group in ProposalGroup]


@click.command("diff")
@click.argument("name")
@place_options
@json_option
@click.pass_obj
def diff(place: Place, /, *, name: str, as_json: bool) -> None:
    """Show a tool beside what was trusted under its name."""

    async def work(gate: Callgate) -> Difference:
        return gate.difference(name)

    found = run(place, work, need=Need.IF_THERE, tools=Tools.LOADED)
    if as_json:
        print_document(difference_document(found))
        return
    screen = Screen(sys.stdout)
    show_difference(screen, found)
    screen.say()
    if found.reason is None:
        screen.say("it is what was trusted, and does not wait", style="green")
    else:
        screen.say(f"to trust exactly this: {_trusting(place, found)}")


@click.command("trust")
@click.argument("name")
@click.option(
    "--definition", metavar="HASH", help=f"What you looked at: the first {SHORT} characters of its hash, or all."
)
@by_option
@place_options
@json_option
@click.pass_obj
def trust(place: Place, /, *, name: str, definition: str | None, by: str | None, as_json: bool) -> None:
    """Let a quarantined tool go, after looking at exactly this definition of it.

    At a terminal the difference is shown, and you are asked; elsewhere --definition says what was looked at.
    """
    who = person(by)

    async def work(gate: Callgate) -> tuple[Difference, bool]:
        found = gate.difference(name)
        if found.reason is None:
            wrong(f"{name} is not quarantined, so there is nothing to trust")
        _looked_at(place, found, definition=definition)
        trusted = await gate.trust(name, by=who, definition_hash=found.definition_hash, assurance=Assurance.LOCAL)
        return trusted, gate.tool(name).declared

    found, declared = run(place, work, need=Need.EXISTING, tools=Tools.LOADED)
    if as_json:
        print_document(difference_document(found) | {"quarantined": None, "trusted_by": who, "declared": declared})
        return
    Screen(sys.stdout).say(f"trusted: {name}, by {who}", style="green")
    if not declared:
        again = place.command("tools", "review", found.source, tools=True)
        told = "nobody may call it yet: what was accepted is for the definition it had, if anything was; review it"
        Screen(sys.stderr).say(f"{told}: {again}", style="yellow")


@click.command("distrust")
@click.argument("name")
@click.option("--why", required=True, help="The reason; recorded, and told to whoever calls it.")
@by_option
@place_options
@json_option
@click.pass_obj
def distrust(place: Place, /, *, name: str, why: str, by: str | None, as_json: bool) -> None:
    """Hold a tool by hand, whatever it declares, until somebody trusts it."""
    who = person(by)

    async def work(gate: Callgate) -> Difference:
        return await gate.distrust(name, by=who, why=why, assurance=Assurance.LOCAL)

    found = run(place, work, need=Need.MAKE, tools=Tools.LOADED)
    if as_json:
        print_document(difference_document(found))
    else:
        Screen(sys.stdout).say(f"quarantined: {found.reason}", style="yellow")


@click.command("review")
@click.argument("source", required=False)
@click.option("--accept", type=click.Choice(_GROUPS), multiple=True, help="Accept this group as proposed. Repeatable.")
@click.option("--all", "everything", is_flag=True, help="Also what somebody accepted already.")
@by_option
@place_options
@json_option
@click.pass_obj
def review(place: Place, /, **options: Any) -> ExitCode:
    """Propose what the tools of foreign sources (or of SOURCE) should declare, for you to accept by group.

    What you accept goes into callgate.tools.yaml, beside the configuration, for exactly the definitions you see.
    """
    who, asking = person(options["by"]), _may_ask(options)

    async def work(gate: Callgate) -> tuple[Sequence[Proposal], Sequence[Proposal], str, Mapping[str, str]]:
        proposals = gate.proposals(options["source"], everything=options["everything"])
        chosen = _ask(proposals) if asking else [item for item in proposals if item.group.value in options["accept"]]
        file = await gate.accept(chosen, by=who, assurance=Assurance.LOCAL) if chosen else ""
        return proposals, chosen, str(file), sources_away(gate)

    proposals, accepted, file, away = run(place, work, need=Need.IF_THERE, tools=Tools.LOADED)
    if options["as_json"]:
        names = [proposal.tool for proposal in accepted]
        body = [proposal_document(proposal) for proposal in proposals]
        unreachable = {"unreachable": dict(away)} if away else {}
        print_document({"proposals": body, "accepted": names, "file": file or None, **unreachable})
    elif accepted:
        _say_accepted(accepted, of=len(proposals), file=file)
    else:
        if not asking:
            show_groups(Screen(sys.stdout), proposals)
        if proposals or not away:
            _say_proposed(place, proposals)
    return tell_away(away, quiet=options["as_json"])


def _may_ask(options: dict[str, Any]) -> bool:
    return not options["accept"] and not options["as_json"] and stdin_is_terminal()


def _looked_at(place: Place, found: Difference, *, definition: str | None) -> None:
    """Make sure that somebody looked at this definition, and no other.

    Raises:
        ConfigurationError: Nobody did.
    """
    if definition is not None:
        if len(definition) < SHORT or not found.definition_hash.startswith(definition.lower()):
            look = place.command("tools", "diff", found.name, tools=True)
            wrong(f"{found.name} is not the definition {definition} any more; look at it again: {look}")
        return
    if not stdin_is_terminal():
        wrong(f"say what you looked at: {_trusting(place, found)}")
    show_difference(Screen(sys.stderr), found)
    if not click.confirm("Trust exactly this?", default=False, err=True):
        wrong(f"{found.name} goes on waiting")


def _ask(proposals: Iterable[Proposal]) -> list[Proposal]:
    chosen: list[Proposal] = []
    listed, screen = list(proposals), Screen(sys.stderr)
    for group in ProposalGroup:
        among = [proposal for proposal in listed if proposal.group is group]
        if among:
            show_group(screen, among)
            if click.confirm(f"Accept these {len(among)} as proposed?", default=False, err=True):
                chosen += among
            screen.say()
    return chosen


def _say_accepted(accepted: Sequence[Proposal], *, of: int, file: str) -> None:
    counted = "1 tool" if len(accepted) == 1 else f"{len(accepted)} tools"
    Screen(sys.stdout).say(f"accepted: {counted}, into {file}; keep it in git", style="green")
    left = of - len(accepted)
    are = (
        "1 is not accepted, and nobody may call it"
        if left == 1
        else f"{left} are not accepted, and nobody may call them"
    )
    told = are if left else "nothing is left to review"
    Screen(sys.stderr).say(told)


def _say_proposed(place: Place, proposals: Sequence[Proposal]) -> None:
    told = "nothing to review: no tool of a foreign source is here that was not accepted already"
    if proposals:
        accept = place.command("tools", "review", "--accept", proposals[0].group.value, tools=True)
        told = f"nothing of this is in force; accept a group with: {accept}"
    Screen(sys.stderr).say(told)


def _trusting(place: Place, found: Difference) -> str:
    return place.command("tools", "trust", found.name, "--definition", found.definition_hash[:SHORT], tools=True)
