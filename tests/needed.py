"""What tests need of the machine: where it is missing they are skipped, and in CI, which has to have it, they fail."""

import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Something that a test needs is not here."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI has to have it")
    pytest.skip(reason)
