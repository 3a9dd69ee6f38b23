"""Where programs are run: only with bubblewrap, which is missing nowhere in CI."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture
def bubblewrap() -> None:
    """Skips where it is not installed; in CI that is a failure."""
    if shutil.which("bwrap") is None:
        if os.environ.get("CI"):
            pytest.fail("bubblewrap is not installed, and CI has to have it")
        pytest.skip("bubblewrap is not installed: apt-get install bubblewrap")
