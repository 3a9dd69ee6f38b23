"""What the tests of the settings share: reading a text, and hearing its complaints."""

import textwrap

import pytest

from callgate.errors import ConfigurationError
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings

FILE = "callgate.yaml"
NOW = 1_768_000_000.0
"""9 January 2026."""


def read(text: str) -> Settings:
    return parse_settings(textwrap.dedent(text), file=FILE, now=NOW)


def error_of(text: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        read(text)
    return caught.value


def complaints_of(text: str) -> list[str]:
    """The complaints, each as `line: key: message`."""
    lines = str(error_of(text)).splitlines()
    assert all(line.startswith((f"{FILE}:", "…")) for line in lines), lines
    return [line.removeprefix(f"{FILE}:").strip() for line in lines]


def complaint_of(text: str) -> str:
    """The only complaint."""
    complaints = complaints_of(text)
    assert len(complaints) == 1, complaints
    return complaints[0]
