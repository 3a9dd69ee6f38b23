"""What the tests of hooks share: a folder of a project, and a host that works in it."""

from pathlib import Path

import pytest

from tests.doors.hooks.host import CodexRun, CopilotRun, CursorRun, HostRun


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CALLGATE_STORE", "CALLGATE_CONFIG", "CALLGATE_DEBUG", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def host(capfd: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch) -> HostRun:
    return HostRun(capfd, monkeypatch, project)


@pytest.fixture
def cursor(capfd: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch) -> CursorRun:
    return CursorRun(capfd, monkeypatch, project)


@pytest.fixture
def codex(capfd: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch) -> CodexRun:
    return CodexRun(capfd, monkeypatch, project)


@pytest.fixture
def copilot(capfd: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch) -> CopilotRun:
    return CopilotRun(capfd, monkeypatch, project)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.setattr("sys.platform", "linux")
    return folder
