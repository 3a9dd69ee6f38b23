"""Where the command line begins and ends: commands found by name, every error told once, an exit code for each end."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import click

import callgate
from callgate.cli.document import json_option_of_all
from callgate.cli.lazy import LazyGroup
from callgate.cli.place import place_options
from callgate.cli.streams import as_answer, let_go, put, take_streams

_ROOMS = {
    "serve": ("callgate.cli.serve", "Serve console, HTTP API and MCP on one port of this machine."),
    "mcp": ("callgate.cli.mcp", "Be an MCP server over stdio for a client on this machine."),
    "init": ("callgate.cli.init", "Write a configuration to begin with, from the MCP servers that are here already."),
    "connect": ("callgate.cli.connect", "Have a host on this machine (claude-code, cursor, ...) go through Callgate."),
    "coverage": ("callgate.cli.coverage", "Which tools of the hosts here go through Callgate, and which do not."),
    "hook": ("callgate.cli.hook", "Judge what a coding agent is about to do; its hooks run this."),
    "call": ("callgate.cli.call", "Call a tool through the gate."),
    "tools": (
        "callgate.cli.tools",
        "What can be called, and whom to trust: list, show, search, diff, trust, distrust, review, login, logout.",
    ),
    "approvals": ("callgate.cli.approvals", "Questions to people: list, show, decide, watch."),
    "grants": ("callgate.cli.grants", "Standing answers: list, give, revoke."),
    "outcomes": ("callgate.cli.outcomes", "Calls nobody knows the end of: list, show, verify, resolve."),
    "notices": ("callgate.cli.notices", "What agents left for themselves: list, collect."),
    "audit": ("callgate.cli.audit", "What was recorded: verify, list, show, calls, usage, export, rebuild, erase."),
    "health": ("callgate.cli.health", "How much is called, how it ends, and how long people are waited for."),
    "watch": ("callgate.cli.watch", "What happens here, as it happens."),
    "evidence": ("callgate.cli.evidence", "The record in one file that verifies on another machine."),
    "plugins": ("callgate.cli.plugins", "Folders of plugins: list, new, check, enable, disable, reload."),
    "programs": ("callgate.cli.programs", "Programs over your tools: run, list, show, resume."),
    "policy": ("callgate.cli.policy", "Who may do what: show, check, explain, test, replay, schema."),
    "secrets": ("callgate.cli.secrets", "Values that tools are given while they run: set, delete, check."),
    "tokens": (
        "callgate.cli.tokens",
        "Who is let in at the network doors: list, agent, person, revoke, sign-out, link, password.",
    ),
    "doctor": ("callgate.cli.doctor", "Look at everything Callgate rests on, and say what to do."),
    "demo": ("callgate.cli.demo", "See it at work, in about a minute, in a folder of its own."),
}
_NAME = "callgate"
_COMPLETION = "_CALLGATE_COMPLETE"
_EPILOG = (
    "Exit codes: 0 succeeded or previewed, 1 failed, 2 usage or configuration error, 3 refused, 4 pending, "
    "5 unknown, 6 store unusable or its key missing, 7 audit broken, 74 the answer could not be written; "
    "129 the terminal was closed, 130 interrupted, 143 terminated."
)


@click.group(cls=LazyGroup, rooms=_ROOMS, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(callgate.__version__, "--version", prog_name=_NAME, message="%(prog)s %(version)s")
@place_options
@json_option_of_all
def root() -> None:
    """The one checked door between an AI agent and its tools.

    Without a configuration the store is ./.callgate/callgate.db. Arguments are one JSON object, @FILE, or - for stdin.
    """


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    sys.exit(run(argv))


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if _COMPLETION in os.environ:
        # A shell asks how a word could go on; click answers, and exits.
        root.main(words, prog_name=_NAME)
    with _streams_prepared():
        try:
            _refuse_half_characters(words)
            with root.make_context(_NAME, [*words]) as context:  # click takes the words out of its list
                code = int(root.invoke(context) or 0)
                put(sys.stdout)
                return code
        except click.exceptions.Exit as end:
            return end.exit_code
        except BrokenPipeError:
            return _reader_left()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last line of defence tells it in one line
            return _tell(as_answer(error), words)


def _refuse_half_characters(words: Sequence[str]) -> None:
    """A terminal of another encoding sends what Python reads as halves of characters; nothing can be kept of them."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"{word!a} is no UTF-8; type it in a terminal that is set to UTF-8") from None


def _tell(error: BaseException, words: Sequence[str]) -> int:
    from callgate.cli.trouble import tell  # noqa: PLC0415 - only where there is trouble

    try:
        return int(tell(error, as_json="--json" in words))
    except BrokenPipeError:
        return _reader_left()
    finally:
        let_go()


class _OneLine(logging.Formatter):
    """What the gate logs, as one line of ours."""

    def format(self, record: logging.LogRecord) -> str:
        """The message alone, hidden characters visible."""
        from callgate.model.visible import one_line  # noqa: PLC0415 - only where something is logged

        return f"{_NAME}: {one_line(record.getMessage())}"


@contextmanager
def _streams_prepared() -> Generator[None]:
    """Text that the terminal cannot spell is escaped instead of ending the command; warnings read as ours."""
    take_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logger = logging.getLogger("callgate")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _reader_left() -> int:
    """Whoever read our output has seen enough; the interpreter must not complain about it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
