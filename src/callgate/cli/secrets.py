"""`callgate secrets`: values that tools are given while they run. Read from a prompt or stdin, never shown again."""

from __future__ import annotations

import sys

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.opening import settings_of, stdin_is_terminal
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Screen
from callgate.cli.trouble import wrong
from callgate.runtime.keeping import forget_secret, keep_secret, look_for_secret

_MOST_CHARACTERS = 65_536


@click.group("secrets")
def command() -> None:
    """Values that tools are given while they run: set, delete, check.

    They are kept where the configuration says: `secrets: {backend: file}` or keyring. The backend env, which is the
    default, reads CALLGATE_SECRET_<CONNECTOR>_<KEY> and is set where Callgate is started.
    """


@command.command("set")
@click.argument("connector")
@click.argument("key")
@place_options
@json_option
@click.pass_obj
def set_secret(place: Place, /, *, connector: str, key: str, as_json: bool) -> None:
    """Keep the value for CONNECTOR and KEY. It is asked for, or read from stdin; never an argument."""
    settings = settings_of(place)
    keep_secret(settings, *_pair(connector, key), value=_value(connector, key))
    _tell("kept", connector, key=key, as_json=as_json)


@command.command("delete")
@click.argument("connector")
@click.argument("key")
@place_options
@json_option
@click.pass_obj
def delete(place: Place, /, *, connector: str, key: str, as_json: bool) -> None:
    """Forget the value for CONNECTOR and KEY."""
    forget_secret(settings_of(place), *_pair(connector, key))
    _tell("deleted", connector, key=key, as_json=as_json)


@command.command("check")
@click.argument("connector")
@click.argument("key")
@place_options
@json_option
@click.pass_obj
def check(place: Place, /, *, connector: str, key: str, as_json: bool) -> ExitCode:
    """Say whether a tool would get a value for CONNECTOR and KEY."""
    missing = look_for_secret(settings_of(place), *_pair(connector, key))
    if as_json:
        print_document({"connector": connector, "key": key, "found": missing is None})
    elif missing is None:
        Screen(sys.stdout).say(f"there is a value for {connector}/{key}", style="green")
    else:
        Screen(sys.stderr).say(missing, style="red")
    return ExitCode.SUCCEEDED if missing is None else ExitCode.FAILED


def _pair(connector: str, key: str) -> tuple[str, str]:
    if not connector.strip() or not key.strip():
        wrong("a secret needs the name of its connector and of its key")
    return connector, key


def _value(connector: str, key: str) -> str:
    """The value that was typed or piped; the line break at its end is the terminal's."""
    if stdin_is_terminal():
        return click.prompt(f"value for {connector}/{key}", hide_input=True, confirmation_prompt=True, err=True)
    try:
        text = sys.stdin.read(_MOST_CHARACTERS + 1)
        text.encode()
    except UnicodeError:
        wrong("a secret is text, and stdin is no UTF-8; pipe it in as base64 or hex, as its tool can read it")
    if len(text) > _MOST_CHARACTERS:
        wrong(f"a secret has at most {_MOST_CHARACTERS} characters")
    value = text.removesuffix("\n").removesuffix("\r")
    return value or wrong("stdin is empty; pipe the value in, or run this at a terminal to be asked for it")


def _tell(what: str, connector: str, *, key: str, as_json: bool) -> None:
    if as_json:
        print_document({"connector": connector, "key": key, "done": what})
    else:
        Screen(sys.stdout).say(f"{what}: {connector}/{key}", style="green")
