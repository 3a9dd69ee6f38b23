"""What a machine lacks is a failure in CI: a suite that skips what it cannot do proves less than it says."""

import re
from pathlib import Path

import pytest

from tests.needed import missing

_TESTS = Path(__file__).parents[1]
_SKIPS = re.compile(r"skipif\(.*\b(?:which|exists)\(")
_COMPILER = "tools/test_libraries.py"
"""Its library is only there where Python was built with one, and nothing installs a compiler for it."""


def test_what_is_missing_fails_in_ci_and_is_skipped_elsewhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no ripgrep; CI has to have it"):
        missing("no ripgrep")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="no ripgrep"):
        missing("no ripgrep")


def test_no_test_is_skipped_for_want_of_a_program():
    found = [file.relative_to(_TESTS).as_posix() for file in _TESTS.rglob("*.py") if _SKIPS.search(file.read_text())]
    assert found == [_COMPILER]
