"""The commands of `callgate tools` for MCP servers that ask for a sign-in: login, logout."""

from __future__ import annotations

import asyncio
import sys
import webbrowser

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.opening import settings_of
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Screen
from callgate.model.visible import visible
from callgate.runtime.signing_in import sign_in, sign_out

_MOST_SECONDS = 3600


@click.command("login")
@click.argument("server")
@click.option("--browser", is_flag=True, help="Open the page in a browser of this machine.")
@click.option(
    "--timeout",
    type=click.IntRange(min=1, max=_MOST_SECONDS),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="How long you have.",
)
@place_options
@json_option
@click.pass_obj
def login(place: Place, /, *, server: str, browser: bool, timeout: int, as_json: bool) -> None:
    """Sign in at SERVER, an MCP server of the configuration that asks for it.

    The page where you do is printed; after it your browser is sent back to this machine. What the server is shown from
    then on is kept with the secrets, and renewed by itself.
    """
    settings, screen = settings_of(place), Screen(sys.stderr)

    async def show(url: str) -> None:
        screen.say(f"to sign in at {server}, open:")
        # In one piece, however wide the terminal is: it is copied from there.
        click.echo(visible(url), err=True)
        if browser and not await asyncio.to_thread(webbrowser.open, url):
            screen.say("no browser could be opened here; open it yourself", style="yellow")

    done = asyncio.run(sign_in(settings, server, show=show, patience=timeout))
    if as_json:
        body = {"server": done.server, "issuer": done.issuer, "scopes": list(done.scopes), "renewable": done.renewable}
        print_document(body)
        return
    rights = f", for {', '.join(done.scopes)}" if done.scopes else ""
    Screen(sys.stdout).say(f"signed in: {done.server}, by {done.issuer}{rights}", style="green")
    if not done.renewable:
        screen.say("it cannot be renewed: when it ends, you will have to sign in again", style="yellow")


@click.command("logout")
@click.argument("server")
@place_options
@json_option
@click.pass_obj
def logout(place: Place, /, *, server: str, as_json: bool) -> None:
    """Sign out at SERVER: forget the sign-in, and tell the authorization server that it is over."""
    done = asyncio.run(sign_out(settings_of(place), server))
    if as_json:
        print_document({"server": done.server, "issuer": done.issuer or None, "revoked": done.revoked})
        return
    Screen(sys.stdout).say(f"signed out: {done.server}", style="green")
    if not done.revoked:
        told = "the authorization server was not told; what it gave holds there until it ends"
        Screen(sys.stderr).say(told, style="yellow")
