"""Loading the configuration: from a file or from text, all or nothing. Nothing of what it says is executed here."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from callgate.settings.file_text import read_text
from callgate.settings.values import Settings

DEFAULT_FILE = "callgate.yaml"
"""The file that is read from the working directory when none is named."""


def load_settings(path: str | Path | None, *, required: bool) -> Settings:
    """Read a configuration file.

    Args:
        path: The file; None is `callgate.yaml` in the working directory.
        required: Whether it must exist. If it need not and does not, the answer is `Settings()`.

    Raises:
        ConfigurationError: The file is missing, cannot be read or is wrong; with every complaint, each with file, line
            and key.
    """
    name = os.fspath(DEFAULT_FILE if path is None else path)
    text = read_text(name, required=required)
    if text is None:
        return Settings()
    # Absolute, because the working directory may change and the file must stay out of every tool's reach.
    return replace(parse_settings(text, file=name), file=str(Path(name).absolute()))


def parse_settings(text: str, *, file: str, now: float | None = None) -> Settings:
    """Read the text of a configuration file.

    Args:
        text: YAML.
        file: What to call it in complaints.
        now: Seconds since the epoch, for the end of observe mode; None is the present.

    Raises:
        ConfigurationError: With every complaint, each with file, line and key.
    """
    from callgate.settings.reader import read_settings  # noqa: PLC0415 - YAML is slow to import, and often not needed

    return read_settings(text, file=file, now=time.time() if now is None else now)
