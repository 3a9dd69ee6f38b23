"""Telling what went wrong: one line that names the thing and what to do, and never a traceback unless asked for."""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn

import click

from callgate.cli.document import print_document
from callgate.cli.exit_codes import ExitCode, code_of_error
from callgate.cli.screen import Screen
from callgate.cli.stopping import HungUp, Terminated
from callgate.cli.streams import Unwritten
from callgate.errors import CallgateError, ConfigurationError, ToolNotFoundError

DEBUG = "CALLGATE_DEBUG"
_ENDED: dict[type[BaseException], tuple[str, ExitCode]] = {
    Terminated: ("terminated (SIGTERM)", ExitCode.TERMINATED),
    HungUp: ("the terminal was closed (SIGHUP)", ExitCode.HUNG_UP),
}


def wrong(message: str) -> NoReturn:
    """Refuse what was typed.

    Raises:
        ConfigurationError: Always.
    """
    raise ConfigurationError(message)


def is_debugging() -> bool:
    """Whether somebody wants to see where things went wrong."""
    return os.environ.get(DEBUG) == "1"


def exclude(**given: object) -> None:
    """Refuse options that contradict each other, by their names and what was given for each.

    Raises:
        ConfigurationError: More than one of them was given.
    """
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(named) > 1:
        wrong(f"{', '.join(named[:-1])} and {named[-1]} exclude each other")


def tell(error: BaseException, *, as_json: bool) -> ExitCode:
    """Write the error and give the code to exit with."""
    if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2 and newer; its message is the help itself
        click.echo(str(error), err=True)
        return ExitCode.USAGE
    if is_debugging():
        traceback.print_exception(error)
    message, code = _describe(error)
    try:
        _write(message, error, code=code, as_json=as_json)
    except BrokenPipeError:
        raise
    except OSError:
        # Where the terminal itself is gone nobody reads it, but who started us asks how it ended.
        return code if isinstance(error, KeyboardInterrupt) else ExitCode.UNWRITTEN
    return code


def _write(message: str, error: BaseException, *, code: ExitCode, as_json: bool) -> None:
    screen = Screen(sys.stderr)
    for number, line in enumerate(message.splitlines() or [""]):
        screen.say(f"callgate: {line}" if number == 0 else line, style="red", indent=0 if number == 0 else 2)
    if as_json and code is not ExitCode.UNWRITTEN:
        print_document({"ok": False, "error": {"message": message, "code": _code(error), "exit_code": int(code)}})


def _describe(error: BaseException) -> tuple[str, ExitCode]:
    if isinstance(error, CallgateError):
        return _with_advice(error), code_of_error(error)
    if isinstance(error, click.ClickException):
        return _usage(error), ExitCode.USAGE
    if isinstance(error, KeyboardInterrupt | click.Abort):
        how, code = _ENDED.get(type(error), ("interrupted", ExitCode.INTERRUPTED))
        return "; ".join([how, *map(str, error.args)]), code
    if isinstance(error, Unwritten):
        return str(error), ExitCode.UNWRITTEN
    told = f"a fault in callgate itself ({type(error).__name__}: {error}); run it again with {DEBUG}=1 to see where"
    return told, ExitCode.FAULT


def _with_advice(error: CallgateError) -> str:
    """A name that is none is most often mistyped."""
    info = error.info if isinstance(error, ToolNotFoundError) else None
    return f"{error}; {_lower(info.suggestion)}" if info is not None and info.suggestion else str(error)


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _usage(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return message if ctx is None else f"{message}; see: {ctx.command_path} --help"


def _code(error: BaseException) -> str:
    if isinstance(error, ConfigurationError | click.ClickException):
        return str(getattr(error, "code", "usage"))
    return str(getattr(error, "code", type(error).__name__))
