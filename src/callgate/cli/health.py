"""`callgate health`: how much is called, how it ends, how long people are waited for. The console's charts, as text."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.moments import span as length
from callgate.cli.opening import Need, run
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Cell, Column, Screen
from callgate.runtime.figures import SPANS, Figures
from callgate.runtime.gate import Callgate

_BARS = "▁▂▃▄▅▆▇█"
_STATES = {"healthy": "green", "degraded": "yellow", "unavailable": "red"}
_ENDS = {"succeeded": "green", "refused": "", "failed": "red", "unknown": "yellow", "waiting": "cyan"}


@click.command("health")
@click.option("--span", type=click.Choice(list(SPANS)), default="24h", show_default=True, help="How far back.")
@place_options
@json_option
@click.pass_obj
def command(place: Place, /, *, span: str, as_json: bool) -> None:
    """Show how much was called and how it ended, how long people were waited for, and what is in trouble."""
    back, step = SPANS[span]

    async def work(gate: Callgate) -> tuple[Figures, list[dict[str, Any]]]:
        return await gate.figures(back=back, step=step), await gate.healths()

    figures, connectors = run(place, work, need=Need.LOOK)
    if as_json:
        print_document(_document(figures, connectors, span=span))
    else:
        _show(Screen(sys.stdout), figures, connectors=connectors, span=span)


def _document(figures: Figures, connectors: Sequence[Mapping[str, Any]], *, span: str) -> dict[str, Any]:
    body: dict[str, Any] = {"span": span, "calls": figures.total, "share_succeeded": figures.share}
    body |= {"ends": dict(figures.ends), "waited_seconds": figures.waited, "took_ms": figures.took}
    body["tools"] = [{"tool": name, "calls": number} for name, number in figures.tools]
    body["over_time"] = {
        "times": list(figures.times),
        "ends": {name: list(row) for name, row in figures.ended.items()},
        "waited_seconds": list(figures.waits),
        "took_ms": list(figures.takes),
    }
    return body | {"connectors": list(connectors)}


def _show(screen: Screen, figures: Figures, *, connectors: Sequence[Mapping[str, Any]], span: str) -> None:
    if figures.total:
        _show_figures(screen, figures, span=span)
    else:
        screen.say(f"nothing was called in the last {span}")
    screen.say()
    if not connectors:
        screen.say("nothing behind the tools was ever in trouble", style="green")
        return
    heads = [Column("CONNECTOR", whole=True), Column("STATE"), Column("SINCE"), Column("LAST TROUBLE")]
    screen.table(heads, [_connector(screen, each) for each in connectors])


def _show_figures(screen: Screen, figures: Figures, *, span: str) -> None:
    share = "" if figures.share is None else f", {100 * figures.share:.0f} % of what ended succeeded"
    calls = "1 call" if figures.total == 1 else f"{figures.total} calls"
    screen.say(f"{calls} in the last {span}{share}", style="bold")
    rows = [(name, figures.ends[name], figures.ended[name]) for name in _ENDS if figures.ends[name]]
    screen.facts([(name, Cell(f"{number:>6}  {_drawn(row)}", _ENDS[name])) for name, number, row in rows], indent=2)
    screen.say()
    waited = "nobody decided anything" if figures.waited is None else f"a person decided in {length(figures.waited)}"
    took = "" if figures.took is None else f"a call took {figures.took:.0f} ms"
    screen.facts([("median", "; ".join(each for each in (took, waited) if each))], indent=2)
    screen.say()
    screen.table([Column("TOOL"), Column("CALLS", whole=True)], [[name, str(number)] for name, number in figures.tools])


def _drawn(row: Sequence[int]) -> str:
    """A row of numbers as bars; nothing is drawn where there was nothing."""
    most = max(row)
    return "".join(_BARS[max(0, -(-number * len(_BARS) // most) - 1)] if number else " " for number in row).rstrip()


def _connector(screen: Screen, entry: Mapping[str, Any]) -> list[str | Cell]:
    state = str(entry.get("status") or "")
    return [
        str(entry.get("connector")),
        Cell(state, _STATES.get(state, "")),
        screen.moment(entry.get("since")),
        str(entry.get("last_error") or ""),
    ]
