"""Sources that could not be reached while a command looked at the tools: what it shows is not all there is."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from callgate.cli.exit_codes import ExitCode
from callgate.cli.screen import Screen
from callgate.runtime.gate import Callgate


def sources_away(gate: Callgate) -> dict[str, str]:
    """Why nothing of a source is there, by its name; those of which something is are left out."""
    reports = ((report.source, report.missing) for report in gate.sources())
    return {name: reason for name, reason in reports if reason is not None}


def tell_away(away: Mapping[str, str], *, quiet: bool = False) -> ExitCode:
    """Say whose tools are not among what was shown; the exit code that says the same."""
    if away and not quiet:
        # Why, the gate said when it opened.
        Screen(sys.stderr).say(
            f"not among them: the tools of {', '.join(away)}, which could not be reached", style="red"
        )
    return ExitCode.FAILED if away else ExitCode.SUCCEEDED
