"""What tests need of the machine: where it is missing they are skipped, and in CI, which has to have it, they fail."""

import importlib.util
import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Something that a test needs is not here."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI has to have it")
    pytest.skip(reason, allow_module_level=True)


def needs(library: str) -> None:
    """A test, or a whole module of them where it is called between the imports and the first test, needs a library."""
    if importlib.util.find_spec(library) is None:
        missing(f"{library} is not installed")
