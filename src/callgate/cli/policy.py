"""`callgate policy`: who may do what, and why. Checking and testing need no store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from callgate.cli.asking import asker_context, asker_options
from callgate.cli.cases_file import read_cases
from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.json_arguments import read_object
from callgate.cli.opening import Need, Tools, run, settings_of, things_of
from callgate.cli.place import Place, place_options
from callgate.cli.policy_replay import replay
from callgate.cli.policy_show import show
from callgate.cli.screen import Cell, Screen
from callgate.model.decision import Decision, Reason
from callgate.model.levels import Verdict
from callgate.runtime.gate import Callgate
from callgate.runtime.offline import CaseResult, Finding, check_policy, policy_schema, try_policy
from callgate.settings.values import Settings

_VERDICTS = {"allow": "green", "confirm": "yellow", "preview": "cyan", "deny": "red"}
_LEVELS = {"error": "red", "warning": "yellow"}


@click.group("policy")
def command() -> None:
    """Who may do what: show, check, explain, test, replay, schema."""


command.add_command(replay)
command.add_command(show)


@command.command("check")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@place_options
@json_option
@click.pass_obj
def check(place: Place, /, *, strict: bool, as_json: bool) -> ExitCode:
    """Look for what is wrong, unreachable or forgotten in the configuration, beside the tools it governs."""
    settings = settings_of(place)
    found = check_policy(settings, things_of(place, settings))
    ok = not any(strict or finding.level == "error" for finding in found)
    if as_json:
        body = [_finding(item, settings) for item in found]
        print_document({"ok": ok, "file": settings.file, "findings": body})
    else:
        _show_findings(found, settings)
    return ExitCode.SUCCEEDED if ok else ExitCode.FAILED


@command.command("explain")
@click.argument("name")
@click.argument("arguments", default="{}")
@asker_options
@place_options
@json_option
@click.pass_obj
def explain(place: Place, /, **options: Any) -> None:
    """Say what would be decided about a call and why, layer by layer, without doing or recording anything."""
    arguments = read_object(options["arguments"], what="arguments")
    context = asker_context(options)

    async def work(gate: Callgate) -> Decision:
        return await gate.explain(options["name"], arguments, context)

    decision = run(place, work, need=Need.IF_THERE, tools=Tools.NEEDED)
    if options["as_json"]:
        print_document({"tool": options["name"]} | decision.to_json())
    else:
        _show_decision(Screen(sys.stdout), options["name"], decision=decision)


@command.command("test")
@click.argument("file", type=click.Path(path_type=Path))
@place_options
@json_option
@click.pass_obj
def test(place: Place, /, *, file: Path, as_json: bool) -> ExitCode:
    """Decide the cases in FILE (YAML or JSON) and compare with what each expects.

    A case that names a tool, a role or an argument that is not there is wrong itself (2).
    """
    cases = read_cases(file)
    settings = settings_of(place)
    results = try_policy(settings, things_of(place, settings), cases=cases.values, folder=Path.cwd())
    ok = all(result.ok for result in results)
    places = [f"{file}:{line}" for line in cases.lines] or [str(file)] * len(results)
    if as_json:
        print_document({"ok": ok, "cases": [_result(*each) for each in zip(results, places, strict=True)]})
    else:
        _show_results(Screen(sys.stdout), list(zip(results, places, strict=True)))
    if not all(result.usable for result in results):
        return ExitCode.USAGE
    return ExitCode.SUCCEEDED if ok else ExitCode.FAILED


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of callgate.yaml, for editors."""
    print_document(policy_schema(), indented=True)


def _finding(item: Finding, settings: Settings) -> dict[str, Any]:
    line = settings.lines.get(item.where)
    return {"level": item.level, "where": item.where, "line": line, "text": item.text}


def _show_findings(found: Sequence[Finding], settings: Settings) -> None:
    screen, file = Screen(sys.stdout), settings.file or "the defaults (there is no callgate.yaml here)"
    if not found:
        screen.say(f"nothing to complain about in {file}", style="green")
        return
    screen.say(file, style="bold")
    screen.facts([(item.level, Cell(_told_finding(item, settings), _LEVELS[item.level])) for item in found], indent=2)


def _told_finding(item: Finding, settings: Settings) -> str:
    line = settings.lines.get(item.where)
    return f"{item.where}: {item.text}" if line is None else f"line {line}: {item.where}: {item.text}"


def _show_decision(screen: Screen, name: str, *, decision: Decision) -> None:
    verdict = decision.verdict.label
    code = f" ({decision.code})" if decision.code else ""
    observed = f", observed only: would be {decision.observed.label}" if decision.observed is not None else ""
    screen.say(f"{verdict}: {name}{code}{observed}", style=_VERDICTS[verdict])
    screen.facts([("risk", decision.risk.label), ("autonomy", decision.autonomy.label), *_who(decision)], indent=2)
    screen.say()
    screen.facts([(reason.step, _told(reason)) for reason in decision.reasons], indent=2)


def _who(decision: Decision) -> list[tuple[str, str]]:
    """Who would have to say yes, and how certain it would have to be that it is they."""
    if decision.verdict is not Verdict.CONFIRM:
        return []
    second = ", and another than the user where there is one" if decision.plus else ""
    return [("confirmed by", decision.by.value + second), ("assurance", f"at least {decision.assurance.label}")]


def _told(reason: Reason) -> Cell:
    asks = "" if reason.verdict is None else reason.verdict.label
    return Cell(reason.text + (f" -> {asks}" if asks else ""), _VERDICTS.get(asks, ""))


def _result(result: CaseResult, place: str) -> dict[str, Any]:
    body = {"name": result.name, "ok": result.ok, "usable": result.usable, "place": place}
    return body | {"faults": list(result.faults)}


def _show_results(screen: Screen, results: Sequence[tuple[CaseResult, str]]) -> None:
    for result, place in results:
        screen.say(f"{'ok' if result.ok else 'not ok'}: {result.name}", style="green" if result.ok else "red")
        for fault in result.faults:
            screen.say(f"- {fault}" if result.usable else f"- {place}: {fault}", indent=2)
        if not result.ok and result.decision is not None:
            for reason in result.decision.reasons:
                screen.say(f"{reason.step}: {reason.text}", indent=4, style="dim")
    otherwise = sum(result.usable and not result.ok for result, _ in results)
    unusable = sum(not result.usable for result, _ in results)
    told = f", {unusable} wrong in themselves" if unusable else ""
    screen.say(f"{len(results)} cases, {otherwise} not as expected{told}")
