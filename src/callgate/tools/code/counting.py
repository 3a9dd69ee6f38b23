"""Counting: runs pytest and says one letter for each test, apart from all that is printed, and one at its end.

What pytest prints last depends on a project's settings, and anything may be printed behind it. This text runs in the
Python of the project, whichever that is, inside the sandbox, and knows nothing of Callgate.
"""

import contextlib
import os
import sys
from typing import Any

HANDLE = "CALLGATE_COUNTS"
"""The variable that says where to; it is taken out before a test sees it."""
LETTERS = {"passed": b"p", "xpassed": b"p", "failed": b"f", "error": b"e", "skipped": b"s", "xfailed": b"s"}
END = b"."
LACKING = b"!"
"""All that is said where there is no pytest."""


class Counting:
    """A plugin of pytest's; with pytest-xdist it stays with the one that the workers report to."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._process = os.getpid()
        self._ends = True

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Ask those who name outcomes, as pytest's own summary does."""
        category = self._config.hook.pytest_report_teststatus(report=report, config=self._config)[0]
        known = LETTERS.get(category)
        if known is None and category and report.when == "call":  # a project may have other words for them
            known = LETTERS.get(report.outcome)
        self._say(known or b"")

    def pytest_collectreport(self, report: Any) -> None:
        """A file that could not be read counts as an error."""
        if report.failed:
            self._say(LETTERS["error"])

    def pytest_configure(self, config: Any) -> None:
        """Before anything is collected."""
        self._config = config

    def pytest_keyboard_interrupt(self) -> None:
        """Somebody broke it off, `pytest.exit` too, whatever it ends with then."""
        self._ends = False

    def pytest_unconfigure(self) -> None:
        """It came to its end, whatever that was."""
        if self._ends:
            self._say(END)

    def _say(self, letter: bytes) -> None:
        if self._process != os.getpid():  # a test forked, and goes on as if it were us
            return
        # A test may have closed what it found open; then the end is missing, and that is told.
        with contextlib.suppress(OSError):
            os.write(self._handle, letter)


def main() -> int:
    """As `python -m pytest` would."""
    sys.path[0] = os.getcwd()  # noqa: PTH109 - a text, as all of them
    sys.argv[0] = "pytest"
    handle = int(os.environ.pop(HANDLE))
    try:
        import pytest  # noqa: PLC0415 - it may be missing
    except ImportError as error:
        if error.name != "pytest":
            raise
        os.write(handle, LACKING)
        return 1
    os.set_inheritable(handle, False)  # noqa: FBT003 - it takes no name
    return int(pytest.main(sys.argv[1:], plugins=[Counting(handle)]))


if __name__ == "__main__":
    sys.exit(main())
