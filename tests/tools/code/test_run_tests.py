"""run_tests: what pytest says of a project, in the sandbox that run_shell has. TOOL-09."""

from __future__ import annotations

import os
import venv
from pathlib import Path
from typing import Any

import pytest

from callgate import Context
from callgate.model.levels import Autonomy, Category
from tests.tools.code.test_run_shell import open_gate
from tests.tools.code.world import left_running

pytestmark = [pytest.mark.usefixtures("bubblewrap"), pytest.mark.slow]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    (place / "tests").mkdir(parents=True)
    (place / "tests" / "test_a.py").write_text(
        "def test_good(): pass\ndef test_fine(): pass\ndef test_bad(): assert 1 == 2\n"
    )
    return place


async def ask(place: Path, **arguments: Any) -> Any:
    async with open_gate(place) as gate:
        return await gate.call("run_tests", arguments, Context(autonomy=Autonomy.A4))


async def test_tests_are_run_and_counted(project: Path) -> None:
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["exit_code"]) == (False, 1)
    assert (ran["passed"], ran["failed"], ran["errors"]) == (2, 1, 0)
    assert "assert 1 == 2" in ran["output"]
    assert ran["test_path"] == f"{project}/tests"


async def test_some_tests_are_chosen_by_name(project: Path) -> None:
    ran = (await ask(project, path="tests/test_a.py", pattern="good or fine", verbose=True)).unwrap()
    assert (ran["success"], ran["passed"]) == (True, 2)
    assert "test_good PASSED" in ran["output"]


async def test_an_error_is_counted_as_one(project: Path) -> None:
    (project / "tests" / "test_b.py").write_text("import nothing_of_that_name\n")
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["errors"]) == (False, 1)


async def test_settings_that_make_pytest_quiet_change_no_count(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = -q -q\n")
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["passed"], ran["failed"], ran["errors"]) == (False, 2, 1, 0)
    assert "assert 1 == 2" in ran["output"]


async def test_no_test_by_that_name_is_none(project: Path) -> None:
    ran = (await ask(project, pattern="absent")).unwrap()
    assert (ran["success"], ran["exit_code"], ran["passed"], ran["failed"], ran["errors"]) == (False, 5, 0, 0, 0)


async def test_more_output_than_can_be_told_is_cut_and_counted_all_the_same(project: Path) -> None:
    (project / "tests" / "test_a.py").write_text("def test_bad():\n    print('x' * 300_000)\n    assert 0\n")
    ran = (await ask(project)).unwrap()
    assert (len(ran["output"]), ran["truncated"], ran["failed"]) == (50_000, True, 1)


async def test_what_is_printed_last_changes_no_count(project: Path) -> None:
    (project / "conftest.py").write_text("import atexit\natexit.register(print, '7 passed, 9 failed')\n")
    ran = (await ask(project, pattern="good")).unwrap()
    assert "9 failed" in ran["output"]
    assert (ran["success"], ran["passed"], ran["failed"]) == (True, 1, 0)


async def test_a_failure_is_no_success_whatever_pytest_ends_with(project: Path) -> None:
    (project / "conftest.py").write_text("def pytest_sessionfinish(session):\n    session.exitstatus = 0\n")
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["exit_code"], ran["failed"]) == (False, 0, 1)
    assert "ended with 0 all the same" in ran["output"]


async def test_tests_that_ended_in_the_middle_are_no_success(project: Path) -> None:
    (project / "tests" / "test_a.py").write_text(
        "import os\ndef test_good(): pass\ndef test_end(): os._exit(0)\ndef test_bad(): assert 0\n"
    )
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["exit_code"], ran["passed"], ran["failed"]) == (False, 0, 1, 0)
    assert "did not come to its end" in ran["output"]


async def test_where_no_test_was_run_that_is_no_success(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["passed"], ran["failed"], ran["errors"]) == (False, 0, 0, 0)
    assert "no test was run" in ran["output"]


async def test_a_test_that_is_left_out_is_none_that_failed(project: Path) -> None:
    """Nor does what a test does with its own processes and handles change what is counted."""
    (project / "tests" / "test_a.py").write_text("""
import os, pytest, sys
@pytest.mark.skip
def test_left_out(): pass
@pytest.mark.xfail
def test_expected(): assert 0
def test_sees_nothing_of_it():
    assert "CALLGATE_COUNTS" not in os.environ
    assert sys.path[0] == os.getcwd() or os.getcwd() in sys.path
@pytest.fixture
def broken():
    yield
    raise ValueError
def test_with_an_end_that_fails(broken): pass
""")
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["passed"], ran["failed"], ran["errors"]) == (False, 2, 0, 1)


async def test_tests_are_kept_in_like_commands(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A witness outside: what a test would write, read and leave running."""
    outside, marker = project.parent, f"5{os.getpid()}"
    (outside / "secret").write_text("canary-1")
    monkeypatch.setenv("CALLGATE_TEST_SECRET", "canary-2")
    (project / "tests" / "test_a.py").write_text(f"""
import os, socket, subprocess, pytest
def test_write():
    open("{outside}/planted", "w").close()  # in a /tmp of its own, if at all
def test_read():
    with pytest.raises(OSError): open("{outside}/secret")
def test_configuration():
    with pytest.raises(OSError): open("{project}/callgate.yaml")
def test_environment():
    assert "CALLGATE_TEST_SECRET" not in os.environ
def test_network():
    with pytest.raises(OSError): socket.create_connection(("127.0.0.1", 9), timeout=5)
def test_left_behind():
    subprocess.Popen(["sleep", "{marker}"], start_new_session=True)
""")
    ran = (await ask(project)).unwrap()
    assert ran["passed"] == 6, ran["output"]
    assert not (outside / "planted").exists()
    assert left_running(marker) == []


async def test_tests_without_end_are_stopped(project: Path) -> None:
    (project / "tests" / "test_a.py").write_text("def test_a():\n    while True: pass\n")
    ran = (await ask(project, timeout=5)).unwrap()
    assert (ran["success"], ran["exit_code"]) == (False, -1)
    assert "time limit of 5 seconds" in ran["output"]


async def test_what_is_not_there_is_an_input_error(project: Path) -> None:
    outcome = await ask(project, path="absent")
    assert outcome.error.category is Category.USER_INPUT


async def test_a_preview_says_which_tests_would_run_and_where(project: Path) -> None:
    async with open_gate(project) as gate:
        asker = Context(autonomy=Autonomy.A0)
        assert "would run the tests in tests of the working directory with pytest, at most 300 s" in str(
            await gate.call("run_tests", {}, asker)
        )
        chosen = {"path": "unit", "working_dir": "packages/one", "pattern": "not slow"}
        assert "would run the tests in unit of packages/one with pytest, those that match 'not slow'" in str(
            await gate.call("run_tests", chosen, asker)
        )


async def test_a_projects_own_python_is_used_where_it_has_one(project: Path) -> None:
    """A `.venv` without pytest: that it was this one, its own words say."""
    venv.create(project / ".venv", symlinks=True, with_pip=False)
    ran = (await ask(project)).unwrap()
    assert f"{project}/.venv/bin/python: No module named pytest" in ran["output"]
