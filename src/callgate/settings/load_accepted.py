"""Loading accepted declarations: from their file or from text, as strictly as the configuration, all or nothing."""

from __future__ import annotations

from pathlib import Path

from callgate.settings.accepted import AcceptedDeclarations
from callgate.settings.file_text import read_text

ACCEPTED_FILE = "callgate.tools.yaml"
"""Beside the configuration."""


def load_accepted(path: Path) -> AcceptedDeclarations:
    """Read the file; one that is not there says nothing.

    Raises:
        ConfigurationError: It cannot be read or is wrong; with every complaint, each with file, line and key.
    """
    text = read_text(str(path), required=False)
    return AcceptedDeclarations() if text is None else parse_accepted(text, file=str(path))


def parse_accepted(text: str, *, file: str) -> AcceptedDeclarations:
    """Read the text of such a file.

    Raises:
        ConfigurationError: With every complaint, each with file, line and key.
    """
    from callgate.settings.read_accepted import read_accepted  # noqa: PLC0415 - YAML is slow to import

    return read_accepted(text, file=file)
