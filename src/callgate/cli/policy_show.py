"""`callgate policy show`: the policy in force. The matrix, what roles give, and who may do what."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.opening import Need, Tools, run
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Cell, Column, Screen
from callgate.cli.trouble import wrong
from callgate.model.levels import Autonomy, Risk
from callgate.runtime.gate import Callgate
from callgate.runtime.overseeing import RoleStanding
from callgate.runtime.role_form import layer_to_json, role_to_json

_VERDICTS = {"allow": "green", "confirm": "yellow", "preview": "cyan", "deny": "red"}


class _Shown(NamedTuple):
    """The policy in force, ready to be told."""

    file: str | None
    autonomy: str
    matrix: dict[str, dict[str, str]]
    everybody: dict[str, Any] | None
    roles: list[dict[str, Any]]
    tools: dict[str, dict[str, RoleStanding]]
    held: frozenset[str]


@click.command("show")
@click.option("--role", help="Only this role.")
@click.option("--tool", metavar="WORD", default="", help="Only tools whose names have this in them.")
@place_options
@json_option
@click.pass_obj
def show(place: Place, /, *, role: str | None, tool: str, as_json: bool) -> None:
    """Show the policy in force: what autonomy and risk give together, what roles give, and who may do what."""

    async def work(gate: Callgate) -> _Shown:
        return _looked(gate, role, tool=tool)

    found = run(place, work, need=Need.IF_THERE, tools=Tools.LOADED)
    if as_json:
        print_document(_document(found))
    else:
        _show(Screen(sys.stdout), found)


def _looked(gate: Callgate, role: str | None, *, tool: str) -> _Shown:
    if role is not None and role not in gate.roles():
        wrong(f"there is no role {role}; there is {', '.join(gate.roles())}")
    settings, matrix = gate.settings_in_force(), gate.matrix()
    roles = gate.roles() if role is None else (role,)
    among = sorted((each for each in gate.tools() if tool in each.name), key=lambda each: each.name)
    return _Shown(
        file=settings.file,
        autonomy=settings.autonomy.label,
        matrix={level.label: {risk.label: _cell(matrix[level][risk]) for risk in Risk} for level in Autonomy},
        everybody=None if settings.global_layer is None else layer_to_json(settings.global_layer),
        roles=[role_to_json(gate.role_given(each)) for each in roles],
        tools={each.name: {name: gate.role_standing(each, name) for name in roles} for each in among},
        held=frozenset(each.name for each in gate.quarantined()),
    )


def _cell(cell: tuple[Any, bool]) -> str:
    return f"{cell[0].label} +" if cell[1] else str(cell[0].label)


def _document(found: _Shown) -> dict[str, Any]:
    tools = [
        {
            "tool": name,
            "held": name in found.held,
            "roles": {role: _standing(each) for role, each in standings.items()},
        }
        for name, standings in found.tools.items()
    ]
    policy = {"file": found.file, "autonomy": found.autonomy, "matrix": found.matrix, "global": found.everybody}
    return policy | {"roles": found.roles, "tools": tools}


def _standing(standing: RoleStanding) -> dict[str, Any]:
    return {
        "verdict": standing.verdict.label,
        "at_least": standing.depends,
        "reason": standing.reason,
        "risk": standing.risk.label,
        "autonomy": standing.autonomy.label,
    }


def _show(screen: Screen, found: _Shown) -> None:
    screen.say(f"in force: {found.file or 'the defaults; there is no callgate.yaml here'}", style="bold")
    screen.say()
    heads = [Column("AUTONOMY", whole=True), *(Column(risk.label.upper(), whole=True) for risk in Risk)]
    screen.table(heads, [[_level(level, found), *map(_coloured, row.values())] for level, row in found.matrix.items()])
    screen.say("It is about effects: what only reads, at low risk, is allowed at every level.", style="dim")
    if found.everybody is not None:
        screen.say()
        screen.say("for everybody", style="bold")
        screen.facts(_layer(found.everybody), indent=2)
    for role in found.roles:
        screen.say()
        screen.say(f"role {role['name']}", style="bold")
        scopes = "every one but secrets:*" if role["scopes"] is None else ", ".join(role["scopes"]) or "none"
        screen.facts([("scopes", scopes), ("autonomy", role["autonomy"] or ""), *_layer(role)], indent=2)
    if found.tools:
        screen.say()
        roles = [each["name"] for each in found.roles]
        heads = [Column("TOOL", whole=True), *(Column(f"AS {name}") for name in roles)]
        screen.table(heads, [[name, *_row(name, each, held=found.held)] for name, each in found.tools.items()])


def _level(level: str, found: _Shown) -> str:
    return f"{level} (default)" if level == found.autonomy else level


def _coloured(verdict: str) -> Cell:
    return Cell(verdict, _VERDICTS[verdict.partition(" ")[0]])


def _layer(layer: Mapping[str, Any]) -> list[tuple[str, str]]:
    allow = "" if layer["allow"] is None else ", ".join(layer["allow"]) or "nothing"
    rules = [("rule", _rule(each)) for each in layer["rules"]]
    ceilings = [("autonomy at most", layer["max_autonomy"] or ""), ("risk at most", layer["max_risk"] or "")]
    return [("allows", allow), ("denies", ", ".join(layer["deny"])), *ceilings, *rules]


def _rule(rule: Mapping[str, Any]) -> str:
    said = [rule["match"], f"when {rule['when']}" if rule["when"] else ""]
    said += [f"at least {rule['verdict']}" if rule["verdict"] else "", f"{rule['risk']} risk" if rule["risk"] else ""]
    said += [f"by {rule['by']}" if rule["by"] else "", f"({rule['why']})" if rule["why"] else ""]
    return " ".join(each for each in said if each)


def _row(name: str, standings: Mapping[str, RoleStanding], *, held: frozenset[str]) -> list[Cell]:
    if name in held:
        return [Cell("held", "yellow") for _ in standings]
    return [_told(each) for each in standings.values()]


def _told(standing: RoleStanding) -> Cell:
    if standing.reason:
        return Cell("no", "red")
    verdict = standing.verdict.label
    return Cell(f"at least {verdict}" if standing.depends else verdict, _VERDICTS[verdict])
