"""`callgate init`: a configuration to begin with, from the MCP servers that other clients here already have."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from callgate.cli.away import sources_away, tell_away
from callgate.cli.changed_files import Change, replace_file
from callgate.cli.exit_codes import ExitCode
from callgate.cli.found_servers import Findings, Found, Wanted, find_servers
from callgate.cli.opening import Need, Tools, run, stdin_is_terminal
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Cell, Column, Screen
from callgate.cli.trouble import wrong
from callgate.cli.trust_text import show_groups
from callgate.errors import ConfigurationError
from callgate.model.visible import one_line
from callgate.runtime.configuring import read_configuration
from callgate.runtime.gate import Callgate
from callgate.runtime.keeping import keep_secret, look_for_secret
from callgate.runtime.trusting import Proposal
from callgate.settings.values import SecretsSettings, Settings

_FILE = "callgate.yaml"
_HEAD = """\
# Callgate: who may do what. `callgate policy check` looks it over, `callgate policy explain` says why.
version: 1
autonomy: A2              # reads and changes of low risk run; what risks more is asked about
builtin_tools: {enable: [read_only]}   # add names or categories, or all: docs/builtin.md
"""
_SECRETS = SecretsSettings(backend="file")


@click.command("init")
@click.option(
    "--from",
    "source",
    metavar="auto|FILE",
    help="Take over the MCP servers of other clients: of all that are found here, or those of one file.",
)
@click.option("--write", is_flag=True, help="Write without asking; what would be written is shown all the same.")
@click.option(
    "--give",
    "gives",
    multiple=True,
    metavar="VARIABLE",
    help="Give servers this variable of yours where their file asks for it; you are asked about the others.",
)
@click.option("--no-start", is_flag=True, help="Do not start the servers to propose what their tools should declare.")
@place_options
@click.pass_obj
def command(place: Place, /, *, source: str | None, write: bool, gives: tuple[str, ...], no_start: bool) -> ExitCode:
    """Write callgate.yaml: empty, or with the MCP servers that other clients on this machine have.

    Secrets that stand openly in their files are kept with Callgate's secrets instead, and only named. A variable of
    yours that a file asks for is shown, and given to its server only where you say so. Then proposes what the tools
    should declare; nothing of that is in force before you accept it.
    """
    file = Path(place.config or _FILE).absolute()
    if file.exists():
        wrong(f"{file} is there already; write into it, or name another with --config")
    findings = _found(source)
    names = _free_names(findings)
    text = _text(findings, names)
    _check(text)
    screen = Screen(sys.stdout)
    _show(screen, findings, names=names)
    hidden = tuple(value for each in findings.servers.values() for value in each.hidden)
    screen.say(Change(path=file, before=None, after=text.encode(), hide=hidden).difference())
    if not _agreed(unasked=write):
        screen.say("Nothing was written.")
        return ExitCode.REFUSED
    for found in findings.servers.values():
        agreed = _given(screen, found, gives=gives, unasked=write)
        for key, value in (found.secrets | agreed).items():
            keep_secret(Settings(secrets=_SECRETS), found.name, names[found.name, key], value=value)
    replace_file(file, text.encode())
    screen.say(f"{file} is written", style="green")
    if not findings.servers or no_start:
        return ExitCode.SUCCEEDED
    place.config = str(file)
    return _propose(place, screen)


def _found(source: str | None) -> Findings:
    if source is None:
        return Findings()
    if source == "auto":
        return find_servers(Path.cwd())
    only = Path(source).expanduser().absolute()
    if not only.exists():
        wrong(f"there is no file {only}")
    return find_servers(Path.cwd(), only=only)


def _free_names(findings: Findings) -> dict[tuple[str, str], str]:
    """Under which key each secret is kept: one that is there already belongs to somebody, and is left alone."""
    settings, names = Settings(secrets=_SECRETS), dict[tuple[str, str], str]()
    for found in findings.servers.values():
        for key in (*found.secrets, *found.wanted, *found.missing):
            name, number = key, 2
            taken = {chosen for (owner, _), chosen in names.items() if owner == found.name}
            while name in taken or look_for_secret(settings, found.name, name) is None:
                name, number = f"{key}_{number}", number + 1
            names[found.name, key] = name
    return names


def _given(screen: Screen, found: Found, *, gives: Sequence[str], unasked: bool) -> dict[str, str]:
    """The values of variables that somebody agreed to give to this server."""
    agreed: dict[str, str] = {}
    for key, wanted in found.wanted.items():
        left = [name for name in wanted.variables if name not in gives]
        question = f"Give {found.name} ({_reached(found.entry)}) your {', '.join(left)}, as its {wanted.place}?"
        if not left or (not unasked and click.confirm(one_line(question), default=False, err=True)):
            agreed[key] = wanted.value
        else:
            screen.say(one_line(f"{found.name} was not given {', '.join(wanted.variables)}"), style="yellow")
    return agreed


def _text(findings: Findings, names: Mapping[tuple[str, str], str]) -> str:
    lines = [_HEAD.rstrip()]
    if any(found.secrets or found.wanted or found.missing for found in findings.servers.values()):
        lines.append("secrets: {backend: file}")
    if findings.servers:
        lines.append("mcp_servers:")
    for name, found in findings.servers.items():
        lines += [f"  # {', '.join(found.where)}".replace("\n", " "), f"  {name}:"]
        for key, value in found.entry.items():
            lines.append(f"    {key}: {json.dumps(_renamed(value, found.name, names=names), ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _renamed(value: Any, server: str, *, names: Mapping[tuple[str, str], str]) -> Any:
    if not isinstance(value, dict):
        return value
    new: dict[str, str] = dict(value)  # pyright: ignore[reportUnknownArgumentType] - ours: names and texts
    for at, text in new.items():
        before, named, key = text.rpartition(f"secret:{server}/")
        if named:
            new[at] = f"{before}{named}{names[server, key]}"
    return new


def _check(text: str) -> None:
    """Read it as it will be read, before anybody is asked to write it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        path.write_text(text, encoding="utf-8")
        try:
            read_configuration(path, required=True)
        except ConfigurationError as error:
            message = f"what these clients have cannot be written as a configuration: {error}"
            raise ConfigurationError(message.replace(f"{path}:", "line ")) from None


def _show(screen: Screen, findings: Findings, *, names: Mapping[tuple[str, str], str]) -> None:
    if findings.servers:
        heads = [Column("SERVER", whole=True), Column("REACHED BY"), Column("FOUND IN")]
        rows = [[each.name, _reached(each.entry), ", ".join(each.where)] for each in findings.servers.values()]
        screen.table(heads, rows)
        screen.say()
    facts: list[tuple[str, str | Cell]] = [("not read", each) for each in findings.unread]
    facts += [("not usable", f"{name} of {where}: {why}") for name, where, why in findings.unusable]
    for each in findings.servers.values():
        facts += [("kept as secret", f"{each.name}/{names[each.name, key]}") for key in each.secrets]
        facts += [("asks for", _asked(each, wanted)) for wanted in each.wanted.values()]
        for key in (*each.wanted, *each.missing):
            setting = f"callgate secrets set {each.name} {names[each.name, key]}"
            facts.append(("to be set" if key in each.missing else "else set", Cell(setting, whole=True)))
        facts += [("look at", f"{each.name}: {text}") for text in each.warnings]
    if facts:
        screen.facts(facts)
        screen.say()


def _asked(found: Found, wanted: Wanted) -> str:
    return one_line(f"{found.name}: your {', '.join(wanted.variables)}, as its {wanted.place}; --give names it")


def _reached(entry: Mapping[str, Any]) -> str:
    return str(entry["url"]) if "url" in entry else " ".join(entry["command"][:1])


def _agreed(*, unasked: bool) -> bool:
    if unasked:
        return True
    if not stdin_is_terminal():
        wrong("nothing was written: look at what would be, then say --write")
    return click.confirm("Write this?", default=False, err=True)


def _propose(place: Place, screen: Screen) -> ExitCode:
    async def work(gate: Callgate) -> tuple[tuple[Proposal, ...], dict[str, str]]:
        return gate.proposals(), sources_away(gate)

    proposals, away = run(place, work, need=Need.NONE, tools=Tools.SERVERS)
    screen.say()
    show_groups(screen, proposals)
    if proposals:
        Screen(sys.stderr).say("Nothing of this is in force; accept it group by group with: callgate tools review")
    Screen(sys.stderr).say("Then have your clients use Callgate: callgate connect claude-code cursor …")
    return tell_away(away)
