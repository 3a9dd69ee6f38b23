"""What the tests of the doors share: a folder to work in, and the command line in it."""

from pathlib import Path

import pytest

from tests.doors.running import Cli


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    for name in ("CALLGATE_STORE", "CALLGATE_CONFIG", "CALLGATE_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Cli(capsys, tmp_path)
