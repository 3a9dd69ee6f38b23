"""What a machine lacks is a failure in CI: a suite that skips what it cannot do proves less than it says."""

import re
from pathlib import Path

import pytest

from tests.needed import missing, needs

_TESTS = Path(__file__).parents[1]
_SKIPS = re.compile(r"skipif\(.*\b(?:which|exists)\(|importorskip\(")


def test_what_is_missing_fails_in_ci_and_is_skipped_elsewhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no ripgrep; CI has to have it"):
        missing("no ripgrep")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="no ripgrep"):
        missing("no ripgrep")


def test_a_library_that_is_missing_is_told_as_that_and_one_that_is_there_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    needs("json")
    with pytest.raises(pytest.fail.Exception, match="nothing_of_that_name is not installed; CI has to have it"):
        needs("nothing_of_that_name")


def test_no_test_is_skipped_for_want_of_a_program_or_a_library():
    found = [file.relative_to(_TESTS).as_posix() for file in _TESTS.rglob("*.py") if _SKIPS.search(file.read_text())]
    assert found == []
