"""`callgate connect`: has a host on this machine go through Callgate. Shows what it would write, and takes it back."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from callgate.cli.changed_files import Change, as_text, backup_of, is_changed, undo, write
from callgate.cli.exit_codes import ExitCode
from callgate.cli.opening import settings_of, stdin_is_terminal, store_url
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Screen
from callgate.cli.toml_tables import Unchangeable, as_toml, changed
from callgate.cli.trouble import exclude, wrong
from callgate.errors import ConfigurationError
from callgate.runtime.host_entries import Entries, is_own_server, literal_values, same_server, without
from callgate.runtime.host_files import (
    HOSTS,
    HostFile,
    host_files,
    is_plain,
    is_toml,
    parse,
    project_servers,
    read_raw,
    servers_of,
)
from callgate.runtime.offline import store_file
from callgate.settings.values import Settings


@click.command("connect")
@click.argument("hosts", nargs=-1, required=True, type=click.Choice(HOSTS))
@click.option("--undo", "back", is_flag=True, help="Put their files back exactly as they were; with --user, yours.")
@click.option("--user", "of_user", is_flag=True, help="For everything you do with it, and not for this folder alone.")
@click.option("--write", is_flag=True, help="Write without asking; the difference is shown all the same.")
@click.option("--no-hooks", is_flag=True, help="Leave the host's own tools alone.")
@click.option("--no-mcp", is_flag=True, help="Leave the host's MCP servers alone.")
@place_options
@click.pass_obj
def command(place: Place, /, *, hosts: Sequence[str], back: bool, **choices: bool) -> ExitCode:
    """Have HOSTS on this machine use Callgate: its MCP server, and hooks around their own tools.

    Every difference is shown before it is written, and what was there is kept for --undo. Servers that the
    configuration has as well are taken out of the host's file: the host reaches them through Callgate.
    """
    exclude(undo=back, **{name: choices[name] for name in ("no_hooks", "no_mcp")})
    if back:
        return _undo(hosts, of_user=choices["of_user"])
    kinds = {kind for kind in ("mcp", "hooks") if not choices[f"no_{kind}"]}
    files = [each for host in hosts for each in _files(host, kinds, of_user=choices["of_user"])]
    settings = settings_of(place)
    entries = Entries(_place(place, settings), Path.cwd())
    changes = [_change(file, settings, entries=entries) for file in files]
    words = [*hosts, *(["--user"] if choices["of_user"] else [])]
    code = _write([change for change in changes if not change.is_none], unasked=choices["write"], of=words)
    if "mcp" in kinds:
        _tell_left([each for each in host_files(Path.cwd()) if each.host in hosts and each not in files], settings)
    return code


def _files(host: str, kinds: set[str], *, of_user: bool) -> list[HostFile]:
    """Where it is written: one file of each kind, the user's where a host has no other."""
    found: dict[str, HostFile] = {}
    for file in host_files(Path.cwd()):
        if file.host != host or file.kind not in kinds:
            continue
        known = found.get(file.kind)
        if known is None or (of_user and file.of_user and not known.of_user):
            found[file.kind] = file
    return list(found.values())


def _place(place: Place, settings: Settings) -> list[str]:
    """Options that name this place wherever the host starts us."""
    words: list[str] = []
    if settings.file is not None:
        words += ["--config", str(Path(settings.file).absolute())]
    store = store_file(store_url(place, settings))
    if store is None:
        wrong("a store in memory is forgotten with every process; name one in a file")
    words += ["--store", str(store)]
    for name in place.modules:
        words += ["--module", str(Path(name).absolute()) if name.endswith(".py") else name]
    return words


def _change(file: HostFile, settings: Settings, *, entries: Entries) -> Change:
    raw = read_raw(file.path)
    document = {} if raw is None else parse(raw, file.path)
    taken = _taken(servers_of(document, file), settings) if file.kind == "mcp" else {}
    new = entries.connected(document, file, taken=taken)
    here = project_servers(new, file, folder=Path.cwd())
    for name in _taken(here, settings):
        del here[name]
    if raw is not None and new == document:
        after = raw
    else:
        shown = entries.connected({}, file, taken={})
        after = (
            _as_toml(raw, new, file=file, shown=shown)
            if is_toml(file.path)
            else _as_json(raw, new, shown=shown, file=file)
        )
    return Change(
        path=file.path,
        before=raw,
        after=after,
        hide=tuple(literal_values(document, file)),
        is_connected=without(document, file) != document,
    )


def _as_json(raw: bytes | None, new: dict[str, Any], *, file: HostFile, shown: dict[str, Any]) -> bytes:
    if raw is not None and not is_plain(raw):
        advice = f"add this by hand:\n{json.dumps(shown, indent=2)}"
        raise ConfigurationError(f"has comments, which would be lost; {advice}", file=str(file.path))
    return as_text(new, raw)


def _as_toml(raw: bytes | None, new: dict[str, Any], *, file: HostFile, shown: dict[str, Any]) -> bytes:
    try:
        return changed((raw or b"").decode("utf-8-sig"), new, key=file.key).encode()
    except Unchangeable:
        advice = f"add this by hand:\n{as_toml(shown, key=file.key)}"
        raise ConfigurationError(
            f"has its servers in another form than tables; {advice}", file=str(file.path)
        ) from None


def _taken(servers: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The host's servers that the configuration has as well."""
    known = settings.mcp_servers.values()
    return {
        name: entry
        for name, entry in servers.items()
        if isinstance(entry, dict) and not is_own_server(entry)
        if any(same_server(cast("dict[str, Any]", entry), each.command, url=each.url) for each in known)
    }


def _tell_left(files: Sequence[HostFile], settings: Settings) -> None:
    """Say which servers of the configuration a host still reaches by itself, by another file of its."""
    for file in files:
        named: dict[str, dict[str, Any]] = {}
        # What cannot be read is none of what was connected; `callgate coverage` tells it.
        with contextlib.suppress(ConfigurationError):
            raw = read_raw(file.path) if file.kind == "mcp" and file.of_user else None
            named = {} if raw is None else servers_of(parse(raw, file.path), file, folder=Path.cwd())
        for name in _taken(named, settings):
            told = f"{file.path} has {name} as well, which {file.host} reaches by itself"
            Screen(sys.stdout).say(f"{told}: callgate connect {file.host} --user", style="yellow")


def _write(changes: list[Change], *, unasked: bool, of: Sequence[str]) -> ExitCode:
    screen, named = Screen(sys.stdout), ", ".join(word for word in of if word in HOSTS)
    if not changes:
        screen.say(f"{named}: connected already", style="green")
        return ExitCode.SUCCEEDED
    for change in changes:
        screen.say(change.difference())
        screen.say()
    if not unasked and not stdin_is_terminal():
        wrong("nothing was written: look at the difference, then say --write")
    if not unasked and not click.confirm("Write this?", default=False, err=True):
        screen.say("Nothing was written.")
        return ExitCode.REFUSED
    for change in changes:
        write(change)
        screen.say(f"{change.path} is written; what was there is kept in {backup_of(change.path)}", style="green")
    screen.say(f"Start {named} anew. To take it back: callgate connect --undo {' '.join(of)}")
    return ExitCode.SUCCEEDED


def _undo(hosts: Sequence[str], *, of_user: bool) -> ExitCode:
    """Take back what connecting with the same options wrote."""
    screen = Screen(sys.stdout)
    meant = [file for host in hosts for file in _files(host, {"mcp", "hooks"}, of_user=of_user)]
    changed = [file for file in host_files(Path.cwd()) if file.host in hosts and is_changed(file.path)]
    known = [file.path for file in changed if file in meant or file.of_user == of_user]
    for file in changed:
        if file.path not in known:
            other = "" if of_user else " --user"
            screen.say(f"{file.path} is left as it is: callgate connect --undo{other} {file.host}", style="yellow")
    if not known:
        screen.say("There is nothing to take back: these files were not written by callgate connect.")
        return ExitCode.SUCCEEDED
    code = ExitCode.SUCCEEDED
    for path in known:
        try:
            between = undo(path)
            screen.say(f"{path} is as it was", style="green")
            if between is not None:
                screen.say(
                    f"It was changed after it was connected; with these changes it is in {between}", style="yellow"
                )
        except ConfigurationError as error:
            Screen(sys.stderr).say(f"callgate: {error}", style="red")
            code = ExitCode.USAGE
    return code
