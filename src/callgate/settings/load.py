"""Loading the configuration: from a file or from text, all or nothing. Nothing of what it says is executed here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from callgate.settings.file_text import read_text
from callgate.settings.values import Settings

DEFAULT_FILE = "callgate.yaml"
"""The file that is read from the working directory when none is named."""


CheckCondition = Callable[[str], object]
"""Raises ConfigurationError for a condition (`when:`) that cannot be read."""
CheckBuiltin = Callable[[str], object]
"""Raises ConfigurationError where no built-in tool or category is called so."""


def load_settings(
    path: str | Path | None,
    *,
    required: bool,
    check_condition: CheckCondition | None = None,
    check_builtin: CheckBuiltin | None = None,
) -> Settings:
    """Read a configuration file.

    Args:
        path: The file; None is `callgate.yaml` in the working directory.
        required: Whether it must exist. If it need not and does not, the answer is `Settings()`.
        check_condition: Tries the conditions of rules, so that their faults come with the others; None leaves that to
            the policy.
        check_builtin: Tries the names of built-in tools likewise; None leaves that to whoever makes them.

    Raises:
        ConfigurationError: The file is missing, cannot be read or is wrong; with every complaint, each with file, line
            and key.
    """
    name = os.fspath(DEFAULT_FILE if path is None else path)
    text = read_text(name, required=required)
    if text is None:
        return Settings()
    # Absolute, because the working directory may change and the file must stay out of every tool's reach.
    settings = parse_settings(text, file=name, check_condition=check_condition, check_builtin=check_builtin)
    return replace(settings, file=str(Path(name).absolute()))


def parse_settings(
    text: str,
    *,
    file: str,
    now: float | None = None,
    check_condition: CheckCondition | None = None,
    check_builtin: CheckBuiltin | None = None,
) -> Settings:
    """Read the text of a configuration file.

    Args:
        text: YAML.
        file: What to call it in complaints.
        now: Seconds since the epoch, for the end of observe mode; None is the present.
        check_condition: As for `load_settings`.
        check_builtin: Likewise.

    Raises:
        ConfigurationError: With every complaint, each with file, line and key.
    """
    from callgate.settings.reader import read_settings  # noqa: PLC0415 - YAML is slow to import, and often not needed

    present = time.time() if now is None else now
    return read_settings(text, file=file, now=present, check_condition=check_condition, check_builtin=check_builtin)
