"""run_tests: what pytest says of a project, in the sandbox that run_shell has. TOOL-09."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import venv
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, Failed, Pending, Refused
from callgate.model.levels import Autonomy, Category, Happened
from callgate.policy.ways import follow, is_inside
from callgate.tools.code import sandbox, suite
from callgate.tools.code.lacking import lacks_pytest
from callgate.tools.code.sites import Site
from tests.needed import missing
from tests.tools.code.test_run_shell import ASKED, open_gate
from tests.tools.code.world import left_running
from tests.tools.without import installed_without

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


async def test_more_tests_than_can_be_counted_are_no_success_and_that_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A letter for each, of which a million takes minutes."""
    monkeypatch.setattr(sandbox, "_LONGEST_REPORT", 20)
    many = "import pytest\n@pytest.mark.parametrize('n', range({}))\ndef test_good(n): pass\n"
    (project / "tests" / "test_a.py").write_text(many.format(19))
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["exit_code"], ran["passed"]) == (True, 0, 19)
    (project / "tests" / "test_a.py").write_text(many.format(20))
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["exit_code"], ran["passed"]) == (False, 0, 20)
    assert "more tests were run than are counted" in ran["output"]
    assert "did not come to its end" not in ran["output"]


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


async def test_nobody_is_asked_about_tests_that_are_not_there(project: Path) -> None:
    async with open_gate(project) as gate:
        for arguments, said in (
            ({"path": "unit"}, f"path {project}/unit does not exist"),
            ({"working_dir": "packages"}, f"working_dir {project}/packages is no directory"),
        ):
            refused = await gate.call("run_tests", arguments, ASKED)
            assert isinstance(refused, Refused), refused
            assert refused.error is not None
            assert refused.error.code == "invalid_arguments"
            assert said in refused.error.message
        assert isinstance(await gate.call("run_tests", {}, ASKED), Pending)


async def test_a_preview_says_which_tests_would_run_and_where(project: Path) -> None:
    async with open_gate(project) as gate:
        asker = Context(autonomy=Autonomy.A0)
        assert "would run the tests in tests of the working directory with pytest, at most 300 s" in str(
            await gate.call("run_tests", {}, asker)
        )
        (project / "packages" / "one" / "unit").mkdir(parents=True)
        chosen = {"path": "unit", "working_dir": "packages/one", "pattern": "not slow"}
        assert "would run the tests in unit of packages/one with pytest, those that match 'not slow'" in str(
            await gate.call("run_tests", chosen, asker)
        )


async def test_a_projects_own_python_is_used_where_it_has_one(project: Path) -> None:
    """A `.venv` without pytest, and with a file that could lead to one: that it was this one, the words say."""
    venv.create(project / ".venv", symlinks=True, with_pip=False)
    [packages] = (project / ".venv" / "lib").glob("python3*/site-packages")
    (packages / "more.pth").write_text("")
    failed = await ask(project)
    assert isinstance(failed, Failed)
    assert failed.error is not None
    assert (failed.error.category, failed.happened) == (Category.CONFIGURATION, Happened.POSSIBLE)
    assert failed.error.message.endswith(f"install it there: {project}/.venv/bin/python -m pip install pytest")


async def test_nobody_is_asked_about_tests_of_a_python_that_has_no_pytest(project: Path) -> None:
    venv.create(project / ".venv", symlinks=True, with_pip=False)
    said = f"the project's .venv has no pytest; install it there: {project}/.venv/bin/python -m pip install pytest"
    async with open_gate(project) as gate:
        refused = await gate.call("run_tests", {}, ASKED)
        assert isinstance(refused, Refused), refused
        assert refused.error is not None
        assert (refused.error.code, refused.error.message) == ("tool_unavailable", said)
    failed = await ask(project)
    assert isinstance(failed, Failed)
    assert failed.error is not None
    assert failed.happened is Happened.NONE
    assert failed.error.message == said
    (project / "pytest.py").write_text("def main(words, plugins): return 3\n")
    assert (await ask(project)).unwrap()["exit_code"] == 3, "it is imported from the project's directory"


def test_a_python_of_callgates_without_pytest_is_told_with_the_extra(project: Path) -> None:
    """Nothing is faked here: this Python starts without the place where pytest lies."""
    env = os.environ | {"PYTHONPATH": installed_without("pytest", project.parent / "packages")}
    words = [sys.executable, "-S", "-m", "callgate", "call", "run_tests", "{}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=project, check=False, env=env)
    assert (done.returncode, "pip install 'callgate[code]'" in done.stderr) == (3, True), done


async def test_the_host_goes_on_while_the_disk_is_asked_for_a_python(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that answers when the loop has had its turn."""
    went_on, loop, seen = threading.Event(), asyncio.get_running_loop(), list[bool]()

    def slow(python: str, site: Site) -> str | None:
        loop.call_soon_threadsafe(went_on.set)
        seen.append(went_on.wait(10))
        return lacks_pytest(python, site)

    monkeypatch.setattr(suite, "lacks_pytest", slow)
    assert (await ask(project)).unwrap()["passed"] == 2
    assert seen == [True]


async def test_one_test_is_chosen_as_pytest_names_it(project: Path) -> None:
    ran = (await ask(project, path="tests/test_a.py::test_good")).unwrap()
    assert (ran["success"], ran["passed"]) == (True, 1)
    ran = (await ask(project, path="tests/test_a.py::test_absent")).unwrap()
    assert not ran["success"]
    assert "test_absent" in ran["output"]


async def test_a_run_that_a_test_breaks_off_is_no_success(project: Path) -> None:
    (project / "tests" / "test_a.py").write_text(
        "import pytest\ndef test_good(): pass\ndef test_x(): pytest.exit('x', returncode=0)\ndef test_bad(): assert 0\n"
    )
    ran = (await ask(project)).unwrap()
    assert (ran["success"], ran["passed"]) == (False, 1)
    assert "pytest did not come to its end" in ran["output"]


@pytest.mark.parametrize("settings", ["addopts = --ff", "addopts = --sw", "addopts = --strict-config\ncache_dir = .c"])
async def test_settings_of_what_pytest_remembers_are_no_trouble_and_leave_nothing(project: Path, settings: str) -> None:
    (project / "pytest.ini").write_text(f"[pytest]\n{settings}\n")
    ran = (await ask(project, pattern="good or fine")).unwrap()
    assert ran["success"], ran
    assert not {".pytest_cache", ".c"} & set(os.listdir(project))  # noqa: PTH208 - names are enough


async def test_a_project_may_have_words_of_its_own_for_outcomes(project: Path) -> None:
    (project / "conftest.py").write_text(
        "def pytest_report_teststatus(report):\n"
        "    if report.when == 'call':\n"
        "        return ('ok' if report.passed else 'bad'), 'x', 'X'\n"
    )
    ran = (await ask(project)).unwrap()
    assert (ran["passed"], ran["failed"]) == (2, 1)


async def test_where_no_test_is_found_that_is_told(project: Path) -> None:
    ran = (await ask(project, pattern="nothing")).unwrap()
    assert not ran["success"]
    assert "no test was run" in ran["output"]


async def test_a_python_that_programs_do_not_see_is_not_exchanged_without_a_word(project: Path) -> None:
    """A `.venv` of a Python that lies somewhere in a home, as several tools make them."""
    other = project.parent / "pythons" / "python3"
    other.parent.mkdir()
    other.write_bytes(b"")
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to(other)
    ran = (await ask(project, pattern="good")).unwrap()
    assert f"the project's .venv needs {other}, which programs do not see" in ran["output"]


async def test_a_project_whose_venv_lies_out_of_sight_is_tested_with_callgates_python_and_says_so(
    project: Path,
) -> None:
    """The Python behind it can be seen, and what leads to it cannot: programs find nothing at the end of the link."""
    elsewhere = project.parent / "environments" / "one"
    venv.create(elsewhere, symlinks=True, with_pip=False)
    (project / ".venv").symlink_to("../environments/one")
    (elsewhere / "bin" / "python").unlink()
    (elsewhere / "bin" / "python").symlink_to("/usr/bin/env")
    ran = (await ask(project, pattern="good")).unwrap()
    assert (ran["exit_code"], ran["passed"]) == (0, 1)
    assert f"the project's .venv needs {elsewhere}/bin/python, which programs do not see" in ran["output"]


async def test_a_venv_that_leads_nowhere_is_told(project: Path) -> None:
    (project / ".venv").symlink_to(".venv")
    ran = (await ask(project, pattern="good")).unwrap()
    assert ran["passed"] == 1
    assert f"the project's .venv needs {project}/.venv/bin/python, which programs do not see" in ran["output"]


async def test_a_python_that_the_system_finds_by_its_alternatives_is_seen(project: Path) -> None:
    """Any program that is found so will do."""
    listed = (os.path.join("/usr/bin", name) for name in os.listdir("/usr/bin"))  # noqa: PTH118, PTH208 - texts
    found = [path for path in listed if any(is_inside(link, "/etc/alternatives") for link in follow(path).links)]
    if not found:
        missing("a program that is found by /etc/alternatives")
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to(found[0])
    assert "the project's .venv needs" not in (await ask(project, pattern="good")).unwrap()["output"]
