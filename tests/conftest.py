"""What holds for every test: a home of its own, no way off this machine; and property tests repeat themselves in CI."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from callgate.secrets.strike import process_striker
from tests.loopback import loopback_only
from tests.needed import missing

__all__ = ["loopback_only"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in its background deaf to Ctrl-C, and the processes that tests start inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # So does `nohup`. The tests stay deaf to it by a handler of their own, which nobody inherits.
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests wait for disks, browsers and programs for a good part of their time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep keys and settings of the person who runs the tests out of them."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.delenv("CALLGATE_KEY", raising=False)
    return folder


@pytest.fixture(autouse=True)
def no_other_callgate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs the tests may have a callgate on the path, of this tree or another: hosts would be given that one."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(each for each in folders if not (Path(each) / "callgate").exists()))


@pytest.fixture(autouse=True)
def turns_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of tests that run side by side do not wait for each other, as those of one user would."""
    monkeypatch.setattr("callgate.tools.code.alone.NAME", f"\0callgate-tests-{os.getpid()}-{{}}")


@pytest.fixture(autouse=True)
def secrets_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test hands out is not struck from another's texts, as it would be for the life of a process."""
    striker = process_striker()
    for name in ("_known", "_values"):
        value = getattr(striker, name)
        monkeypatch.setattr(striker, name, set(value) if name == "_values" else value)


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes without the measuring of coverage: it loads modules, takes time, and writes where it may not."""
    for name in [name for name in os.environ if name.startswith("COV")]:
        monkeypatch.delenv(name)


@pytest.fixture
def bubblewrap() -> None:
    """For tests that run programs: skips where it is not installed; in CI that is a failure."""
    if shutil.which("bwrap") is None:
        missing("bubblewrap is not installed: apt-get install bubblewrap")
