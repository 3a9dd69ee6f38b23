"""`callgate policy replay`: what the policy would say now of what was called before."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.filters import parse_moment
from callgate.cli.opening import Need, Tools, run, settings_of, store_url
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Cell, Column, Screen
from callgate.runtime.gate import Callgate
from callgate.runtime.host_tools import every_host_tool
from callgate.runtime.replaying import Replayed

_STYLES = {"allow": "green", "confirm": "yellow", "preview": "cyan", "deny": "red"}
_TOLD = {"allow": "allowed", "confirm": "asked about", "preview": "previewed", "deny": "denied"}
_UNDECIDABLE = "undecidable"


@click.command("replay")
@click.argument("new", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--since", type=parse_moment, metavar="TIME", help="Not before: 1h, 7d for so long ago, or 2026-08-22T14:30."
)
@click.option("--until", type=parse_moment, metavar="TIME", help="Before.")
@click.option("--all", "everything", is_flag=True, help="Show also what was and would be allowed.")
@place_options
@json_option
@click.pass_obj
def replay(place: Place, /, *, new: str | None, as_json: bool, everything: bool, **times: float | None) -> None:
    """Decide recorded calls again: by the configuration as it is now, or by the one in NEW.

    Runs nothing and records nothing. Where the arguments of a call were not kept, or are gone, it says so: undecidable.
    """
    place.store = store_url(place, settings_of(place))
    if new is not None:
        place.config = new

    async def work(gate: Callgate) -> list[Replayed]:
        gate.add(*every_host_tool(), update=True)
        return await gate.replay(since=times["since"], until=times["until"])

    found = run(place, work, need=Need.EXISTING, tools=Tools.LOADED)
    if as_json:
        body = [_document(each) for each in found]
        print_document({"calls": body, "counts": _counts(found), "changed": sum(each.changed for each in found)})
    else:
        _show(Screen(sys.stdout), found, everything=everything)


def _counts(found: Sequence[Replayed]) -> dict[str, int]:
    return dict(Counter(each.now or _UNDECIDABLE for each in found))


def _document(each: Replayed) -> dict[str, Any]:
    body: dict[str, Any] = {"call": each.call, "tool": each.tool, "asked_at": each.asked_at, "was": each.was}
    return body | {"now": each.now or _UNDECIDABLE, "changed": each.changed, "why": each.why}


def _show(screen: Screen, found: Sequence[Replayed], *, everything: bool) -> None:
    if not found:
        screen.say("nothing was called in that time")
        return
    shown = [each for each in found if everything or each.changed or each.now != "allow"]
    if shown:
        heads = [Column("CALL"), Column("WHEN"), Column("TOOL"), Column("WAS"), Column("NOW"), Column("WHY")]
        screen.table(heads, [_row(each, screen) for each in shown])
        screen.say()
    counts = _counts(found)
    told = [f"{counts[word]} would be {text}" for word, text in _TOLD.items() if word in counts]
    told += [f"{counts[_UNDECIDABLE]} {_UNDECIDABLE}"] if _UNDECIDABLE in counts else []
    changed = sum(each.changed for each in found)
    calls = "1 call" if len(found) == 1 else f"{len(found)} calls"
    screen.say(f"{calls}: {', '.join(told)}; {changed} otherwise than then")


def _row(each: Replayed, screen: Screen) -> list[str | Cell]:
    now = Cell(each.now, _STYLES[each.now]) if each.now is not None else Cell(_UNDECIDABLE, "dim")
    return [each.call[-8:], screen.moment(each.asked_at), each.tool, each.was or "", now, each.why]
