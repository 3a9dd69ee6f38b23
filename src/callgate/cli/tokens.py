"""`callgate tokens`: who is let in at the network doors. A token is printed once, when it is made, and kept nowhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from callgate.cli.autonomy import LEVELS
from callgate.cli.document import json_option, print_document
from callgate.cli.opening import Need, run, settings_of, stdin_is_terminal
from callgate.cli.person import by_option, person
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Column, Screen
from callgate.cli.streams import put
from callgate.cli.trouble import wrong
from callgate.model.credential import Credential, CredentialKind, Right
from callgate.model.credential_form import credential_document
from callgate.model.levels import Autonomy
from callgate.runtime.gate import Callgate
from callgate.serve.addresses import addresses

_DAY = 86_400.0
_EXPIRES = click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), help="How many days it lasts; no end when left out."
)


@click.group("tokens")
def command() -> None:
    """Who is let in at the network doors: an agent, which may call, or a person, who may decide; never both.

    Whoever can run this command on this machine, with its store and key, can let anybody in.
    """


@command.command("list")
@place_options
@json_option
@click.pass_obj
def list_credentials(place: Place, /, *, as_json: bool) -> None:
    """List the credentials, ended ones too. Tokens are not kept, so they cannot be shown."""
    found = run(place, lambda gate: gate.credentials(), need=Need.LOOK)
    if as_json:
        print_document([credential_document(each) for each in found])
        return
    screen = Screen(sys.stdout)
    if not found:
        screen.say("Nobody is let in yet: callgate tokens agent NAME, or callgate tokens person NAME.")
        return
    heads = [Column("ID"), Column("WHO"), Column("MAY"), Column("SINCE"), Column("UNTIL")]
    screen.table(heads, [_row(each, screen) for each in found])


@command.command("agent")
@click.argument("name")
@click.option("--role", default="default", show_default=True, help="The role it calls under.")
@click.option("--scope", "scopes", multiple=True, help="A scope it has; the role's when left out. Repeatable.")
@click.option("--autonomy", type=LEVELS, help="How much it may do unasked.")
@click.option("--user", help="The person it acts for.")
@click.option("--session", default="default", show_default=True, help="The session its calls belong to.")
@click.option("--many-sessions", is_flag=True, help="Let requests name sessions below it.")
@click.option("--attended", is_flag=True, help="A person sits at its client and may be asked there.")
@click.option("--read-only", is_flag=True, help="Only tools that change nothing.")
@click.option("--no-web", is_flag=True, help="No tool that reaches the network.")
@_EXPIRES
@by_option
@place_options
@json_option
@click.pass_obj
def admit_agent(
    place: Place, /, *, name: str, as_json: bool, by: str | None, days: float | None, **limits: Any
) -> None:
    """Let an agent in as NAME, and print its token."""
    chosen = limits | {"scopes": frozenset(limits["scopes"]) or None}
    if limits["autonomy"] is not None:
        chosen["autonomy"] = Autonomy[limits["autonomy"]]
    who = person(by)

    async def work(gate: Callgate) -> tuple[Credential, str]:
        return await gate.admit_agent(name, by=who, expires_at=gate.in_seconds(_seconds(days)), **chosen)

    _show_token(*run(place, work, need=Need.MAKE), as_json=as_json)


@command.command("person")
@click.argument("name")
@click.option(
    "--may",
    "rights",
    type=click.Choice([right.value for right in Right]),
    multiple=True,
    default=[right.value for right in Right],
    help="What they may do; everything when left out. Repeatable.",
)
@_EXPIRES
@by_option
@place_options
@json_option
@click.pass_obj
def admit_person(
    place: Place, /, *, name: str, rights: Sequence[str], days: float | None, by: str | None, as_json: bool
) -> None:
    """Let a person in as NAME, and print their token."""
    who = person(by)

    async def work(gate: Callgate) -> tuple[Credential, str]:
        return await gate.admit_person(name, by=who, rights=rights, expires_at=gate.in_seconds(_seconds(days)))

    _show_token(*run(place, work, need=Need.MAKE), as_json=as_json)


@command.command("revoke")
@click.argument("credential")
@by_option
@place_options
@json_option
@click.pass_obj
def revoke(place: Place, /, *, credential: str, by: str | None, as_json: bool) -> None:
    """End CREDENTIAL: its token and every visit to the console made with it open nothing from now on."""
    who = person(by)

    async def work(gate: Callgate) -> Credential:
        return await gate.revoke_credential((await _meant(gate, credential)).id, by=who)

    ended = run(place, work, need=Need.EXISTING)
    if as_json:
        print_document(credential_document(ended))
        return
    Screen(sys.stdout).say(f"{ended.name} is not let in any more with {ended.id}.")


@command.command("sign-out")
@click.argument("credential")
@by_option
@place_options
@json_option
@click.pass_obj
def sign_out(place: Place, /, *, credential: str, by: str | None, as_json: bool) -> None:
    """End every visit of the person of CREDENTIAL to the console, and links not used yet; they can sign in again."""
    who = person(by)

    async def work(gate: Callgate) -> tuple[Credential, int]:
        meant = await _meant(gate, credential)
        return meant, await gate.end_visits(meant.id, by=who)

    found, ended = run(place, work, need=Need.EXISTING)
    if as_json:
        print_document(credential_document(found) | {"visits_ended": ended})
        return
    visits = "1 visit is" if ended == 1 else f"{ended} visits are"
    Screen(sys.stdout).say(f"{visits} over; {found.name} can sign in again.")


@command.command("password")
@click.argument("credential")
@place_options
@click.pass_obj
def password(place: Place, /, *, credential: str) -> None:
    """Let the person of CREDENTIAL sign in at the console with a password. It is asked for, or read from stdin."""
    given = (
        click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        if stdin_is_terminal()
        else sys.stdin.readline().rstrip("\n")
    )

    async def work(gate: Callgate) -> Credential:
        return await gate.set_password((await _meant(gate, credential)).id, given)

    kept = run(place, work, need=Need.EXISTING)
    Screen(sys.stdout).say(f"{kept.name} can sign in with this password.")


@command.command("link")
@click.argument("credential")
@click.option("--port", type=click.IntRange(1, 65_535), help="The port of a server that was started with --port.")
@place_options
@click.pass_obj
def link(place: Place, /, *, credential: str, port: int | None) -> None:
    """Print a link that lets the person of CREDENTIAL into the console once, within ten minutes."""

    async def work(gate: Callgate) -> tuple[str, str]:
        return await gate.sign_in_link((await _meant(gate, credential)).id), gate.own_name

    settings = settings_of(place).serve
    chosen = settings if port is None else replace(settings, port=port)
    code, name = run(place, work, need=Need.EXISTING)
    if chosen.url is None and chosen.port == 0:
        Screen(sys.stderr).say("Any free port is served: put the address that `callgate serve` told before this.")
        put(sys.stdout, f"/enter?code={code}\n")
        return
    if chosen.url is None and port is None:
        Screen(sys.stderr).say(
            f"For a server at port {chosen.port}; was it started with another --port, say that here too."
        )
    served = addresses(address=chosen.address, port=chosen.port, url=chosen.url, hosts=chosen.hosts, name=name)
    put(sys.stdout, f"{served.console}/enter?code={code}\n")


async def _meant(gate: Callgate, given: str) -> Credential:
    """The credential that is meant: by its id, the end of it, or the one name it has."""
    known = await gate.credentials()
    found = [each for each in known if given in {each.id, each.id[-8:]}] or [
        each for each in known if each.name == given and each.revoked_at is None
    ]
    if len(found) != 1:
        many = "no credential is" if not found else "several credentials are"
        wrong(f"{many} called {given}; take its id from: callgate tokens list")
    return found[0]


def _seconds(days: float | None) -> float | None:
    return None if days is None else days * _DAY


def _show_token(made: Credential, token: str, *, as_json: bool) -> None:
    if as_json:
        print_document(credential_document(made) | {"token": token})
        return
    screen = Screen(sys.stderr)
    # Right also where stdout is taken up, and nothing follows here.
    screen.say(f"{made.name} is let in. The token is printed on stdout, once, and kept nowhere.")
    put(sys.stdout, f"{token}\n")


def _may(each: Credential) -> str:
    return f"call as {each.role}" if each.kind is CredentialKind.AGENT else ", ".join(sorted(each.rights))


def _row(each: Credential, screen: Screen) -> list[str]:
    ended = each.revoked_at or each.expires_at
    until = "for good" if ended is None else screen.moment(ended)
    return [each.id[-8:], f"{each.kind} {each.name}", _may(each), screen.moment(each.created_at), until]
