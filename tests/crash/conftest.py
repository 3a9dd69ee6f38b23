"""What crash tests share: a seed that is printed and can be given, and a store of the test's own."""

import os
import random
from pathlib import Path

import pytest


@pytest.fixture
def seed() -> int:
    """Run a test again with what it printed: CALLGATE_SEED=123 pytest tests/crash/…."""
    number = int(os.environ.get("CALLGATE_SEED") or random.SystemRandom().randrange(2**32))
    print(f"CALLGATE_SEED={number}")  # noqa: T201 - shown by pytest when the test fails
    return number


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store in a file."""
    return f"sqlite:///{tmp_path / 'store' / 'callgate.db'}"
