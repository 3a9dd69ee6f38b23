"""What Callgate runs from is written by no tool and no program, wherever it lies and over whichever links. TOOL-09.

Each has a Callgate of its own; the witness is the file that it would run next.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.tools.code.a_callgate import PYTHON, Own, copy_interpreter, make_own

pytestmark = [pytest.mark.usefixtures("bubblewrap"), pytest.mark.slow]
BAD = "import os\nimport json\n\nprint(json)\n"
SQL: tuple[str, dict[str, Any]] = ("sql_query", {"query": "SELECT 1 AS one", "tables": {}})


@pytest.fixture
def own(tmp_path: Path) -> Own:
    return make_own(tmp_path)


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of a Python that lies among granted files, without being an environment."""
    return copy_interpreter(tmp_path_factory.mktemp("granted") / ".python")


def shell(command: str) -> tuple[str, dict[str, Any]]:
    return ("run_shell", {"command": command})


def write(path: Path | str, content: str) -> tuple[str, dict[str, Any]]:
    return ("write_file", {"path": str(path), "content": content})


def which(program: Path) -> tuple[int, int]:
    return program.stat().st_ino, program.stat().st_size


def test_a_link_to_the_environment_is_not_replaced(own: Own, tmp_path: Path) -> None:
    """As worktrees have it: the next start, and the next process of a tool, would run what a program put there."""
    own.environment(tmp_path / "elsewhere")
    (own.ground / ".venv").symlink_to(tmp_path / "elsewhere")
    own.python = own.ground / ".venv" / "bin" / "python"
    witness = tmp_path / "witness"
    planted = f"printf '#!/bin/sh\\ntouch {witness}\\n' > .venv/bin/python; chmod +x .venv/bin/python"
    told = own.call(shell(f"rm .venv; mkdir -p .venv/bin; {planted}"), SQL)
    assert (own.ground / ".venv").is_symlink()
    assert ".venv is a link, which a program could replace" in told
    assert "sql_query succeeded" in told
    own.call(SQL)
    assert not witness.exists()


def test_beside_a_link_to_the_environment_programs_run_if_callgate_was_not_started_over_it(own: Own) -> None:
    own.environment(own.ground.parent / "elsewhere")
    (own.ground / ".venv").symlink_to(own.ground.parent / "elsewhere")
    assert "'stdout': 'ran\\n'" in own.call(shell("echo ran"))


def test_an_environment_in_a_folder_of_its_own_is_kept_whole(own: Own) -> None:
    own.environment(own.ground / ".venv")
    before = sorted(path.name for path in (own.ground / ".venv").iterdir())
    told = own.call(
        shell("rm .venv/lib64; mkdir -p .venv/lib64/x; touch .venv/new; mv .venv old; echo mine > mine"),
        write(".venv/new", "x"),
    )
    assert sorted(path.name for path in (own.ground / ".venv").iterdir()) == before, told
    assert (own.ground / ".venv" / "lib64").is_symlink() or "lib64" not in before
    assert (own.ground / "mine").read_text() == "mine\n"


def test_a_project_that_is_its_own_environment_can_be_worked_in(own: Own) -> None:
    (own.ground / "mine").write_text("")
    packages = own.environment(own.ground)
    told = own.call(shell(f"echo mine > mine; echo x > {packages}/zz.pth; echo y > pyvenv.cfg"))
    assert (own.ground / "mine").read_text() == "mine\n", told
    assert not (packages / "zz.pth").exists()
    assert "home" in (own.ground / "pyvenv.cfg").read_text()


def test_an_interpreter_among_granted_files_is_not_written(own: Own, interpreter: Path) -> None:
    """It is no environment; the first place it imports from, and one of its settings, need not even be there."""
    base = interpreter.parents[1]
    own.ground, own.python = base.parent, interpreter
    own.sees(base / "lib" / PYTHON / "site-packages")
    first = base / "lib" / f"{PYTHON.replace('.', '')}.zip"
    before = which(interpreter)
    told = own.call(
        shell(f"cd .python; cp bin/{PYTHON} x; echo >> x; mv x bin/{PYTHON}; touch {first} pyvenv.cfg; echo mine > x"),
        write(interpreter, "#!/bin/sh\n"),
        write(first, "planted"),
        write(base / "pyvenv.cfg", "home = /nowhere\n"),
    )
    assert which(interpreter) == before, told
    assert not first.exists()
    assert not (base / "pyvenv.cfg").exists()
    assert (base / "x").read_text() == "mine\n"


def test_the_interpreter_behind_an_environment_is_not_written(own: Own, interpreter: Path, tmp_path: Path) -> None:
    own.ground = interpreter.parents[2]
    own.environment(tmp_path / "env", made_with=interpreter)
    witness, before = tmp_path / "witness", which(interpreter)
    planted = f"#!/bin/sh\ntouch {witness}\n"
    told = own.call(shell(f"cd .python/bin; cp {PYTHON} x; echo >> x; mv x {PYTHON}"), write(interpreter, planted), SQL)
    assert which(interpreter) == before, told
    assert "sql_query succeeded" in told
    assert not witness.exists()


@pytest.mark.parametrize("there", [True, False], ids=["there", "not-yet"])
def test_packages_of_the_user_are_not_written_where_they_count(own: Own, tmp_path: Path, *, there: bool) -> None:
    """`pip install --user`, where the home directory is granted."""
    own.home = str(own.ground)
    own.python = Path(os.path.realpath(own.python))
    packages = own.ground / ".local" / "lib" / PYTHON / "site-packages"
    own.env = {} if there else {"PYTHONPATH": f"{own.app}:{sysconfig.get_path('purelib')}"}
    if there:
        own.sees(packages)
    witness = tmp_path / "witness"
    line = f"import os; os.path.lexists({str(witness)!r}) or os.mkdir({str(witness)!r})"
    told = own.call(
        shell(f'mkdir -p {packages}; echo "{line}" > {packages}/zz.pth; echo mine > mine'),
        write(packages / "yy.pth", line),
        write(packages / "jmespath.py", line),
        ("json_query", {"data": [1], "query": "[0]"}),
    )
    assert "json_query succeeded" in told
    assert (own.ground / "mine").exists(), told
    own.call()  # the next start
    assert not witness.exists()
    assert packages.exists() == there


def test_a_working_directory_in_what_callgate_runs_from_can_only_be_read(own: Own) -> None:
    """Somebody works on Callgate itself, or on a library that is installed as it lies there."""
    own.environment(own.ground / ".venv")
    inside = own.app / "callgate" / "tools"
    before = (inside / "__init__.py").read_text()
    told = own.call(shell("echo 'evil = 1' >> __init__.py; ls"), ground=inside)
    assert (inside / "__init__.py").read_text() == before
    assert "__init__.py" in told
    assert "could only be read: Callgate runs from it" in told


def test_hard_links_of_what_callgate_runs_from_are_not_written(own: Own, tmp_path: Path) -> None:
    """uv makes environments of hard links: two of them have their files in common."""
    packages = own.environment(tmp_path / "env")
    theirs = own.ground / ".venv" / "lib" / PYTHON / "site-packages"
    theirs.mkdir(parents=True)
    shared, module = packages / "shared.py", own.app / "callgate" / "planted.py"
    for file in (shared, module):
        file.write_text(BAD)
    (theirs / "shared.py").hardlink_to(shared)
    (own.ground / "planted.py").hardlink_to(module)
    (own.ground / "one").write_text("")
    (own.ground / "two").hardlink_to(own.ground / "one")
    told = own.call(
        shell(f"echo evil >> {theirs}/shared.py; echo evil >> planted.py"),
        shell("mv planted.py x; echo evil >> x; mv x planted.py"),
        shell("echo mine >> two; cat planted.py"),
        ("lint_code", {"path": "planted.py", "fix": True}),
        ("lint_code", {"path": ".", "fix": True}),
    )
    assert [file.read_text() for file in (shared, module)] == [BAD, BAD], told
    assert (own.ground / "one").read_text() == "mine\n"
    assert "print(json)" in told


def test_tests_see_of_an_environment_what_python_needs_and_not_the_folder_it_lies_in(own: Own, tmp_path: Path) -> None:
    project = tmp_path / "project"
    own.ground = project / "part"
    own.ground.mkdir(parents=True)
    own.environment(project)
    (project / "secret.txt").write_text("canary")
    leak = own.ground / "leak"
    (own.ground / "test_it.py").write_text(
        f"import pathlib\ndef test_it():\n    pathlib.Path({str(leak)!r}).write_text('ran')\n"
        f"    pathlib.Path({str(leak)!r}).write_text(pathlib.Path({str(project / 'secret.txt')!r}).read_text())\n"
    )
    told = own.call(("run_tests", {"path": "test_it.py"}))
    assert leak.exists(), told
    assert leak.read_text() == "ran"


def test_programs_that_were_planted_are_what_would_run(own: Own, tmp_path: Path) -> None:
    """Without a sandbox, what the others try works: the witness is one."""
    own.environment(tmp_path / "elsewhere")
    (own.ground / ".venv").symlink_to(tmp_path / "elsewhere")
    own.python = own.ground / ".venv" / "bin" / "python"
    (own.ground / ".venv").unlink()
    (own.ground / ".venv" / "bin").mkdir(parents=True)
    witness = tmp_path / "witness"
    own.python.write_text(f"#!/bin/sh\ntouch {witness}\n")
    own.python.chmod(0o755)
    own.call(SQL)
    assert witness.exists()
