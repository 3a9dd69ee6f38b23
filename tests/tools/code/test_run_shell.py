"""run_shell: ordinary use, what it refuses, and how it is gated. TOOL-09."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Refused
from callgate.model.levels import Autonomy, Category
from tests.tools.code.test_git_status import do
from tests.tools.code.world import SETTINGS
from tests.tools.examples import run_examples

pytestmark = pytest.mark.usefixtures("bubblewrap")
ASKED = Context(autonomy=Autonomy.A1)
"""Under which a person is asked about every effect."""


def open_gate(place: Path, settings: str = SETTINGS) -> Callgate:
    (place / "callgate.yaml").write_text(settings.replace("GROUND", str(place)))
    return Callgate.open(
        "memory://", place / "callgate.yaml", working_directory=place, builtin_tools=["run_shell", "run_tests"]
    )


async def ask(place: Path, **arguments: Any) -> Any:
    async with open_gate(place) as gate:
        return await gate.call("run_shell", arguments, Context(autonomy=Autonomy.A4))


async def test_a_command_is_run_and_told(tmp_path: Path) -> None:
    """TOOL-09: stdout, stderr, returncode and elapsed_ms."""
    ran = (await ask(tmp_path, command="echo out; echo err >&2; exit 3")).unwrap()
    assert (ran["stdout"], ran["stderr"], ran["returncode"]) == ("out\n", "err\n", 3)
    assert ran["elapsed_ms"] > 0
    assert (ran["truncated"], ran["note"]) == (False, None)


async def test_it_runs_where_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    assert (await ask(tmp_path, command="pwd", cwd="inner")).unwrap()["stdout"] == f"{tmp_path}/inner\n"
    assert (await ask(tmp_path, command="pwd")).unwrap()["stdout"] == f"{tmp_path}\n"
    assert "no directory" in str(await ask(tmp_path, command="pwd", cwd="absent"))
    assert "leads to" in str(await ask(tmp_path, command="pwd", cwd="/etc"))


async def test_nobody_is_asked_about_a_command_that_cannot_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    async with open_gate(tmp_path) as gate:
        for arguments, said in (
            ({"command": "pwd", "cwd": "absent"}, f"cwd {tmp_path}/absent is no directory; name one that exists"),
            ({"command": "pwd", "cwd": "file"}, f"cwd {tmp_path}/file is no directory; name one that exists"),
            ({"command": "echo a\necho b"}, "command must be one line"),
        ):
            refused = await gate.call("run_shell", arguments, ASKED)
            assert isinstance(refused, Refused), refused
            assert refused.error is not None
            assert refused.error.code == "invalid_arguments"
            assert said in refused.error.message
        assert isinstance(await gate.call("run_shell", {"command": "pwd"}, ASKED), Pending)


@pytest.mark.parametrize(
    "command",
    ["echo a\0b", "echo a\necho b", "echo a\recho b", "echo a\u2028b", "", "  "],
    ids=["nul", "newline", "return", "separator", "empty", "blank"],
)
async def test_what_is_not_one_line_is_refused(command: str, tmp_path: Path) -> None:
    """TOOL-09: NUL and newline are refused."""
    outcome = await ask(tmp_path, command=command)
    assert not outcome.ok
    assert outcome.error.category is Category.USER_INPUT
    assert "command" in str(outcome)


async def test_a_command_that_the_kernel_would_not_take_is_refused_in_words(tmp_path: Path) -> None:
    assert (await ask(tmp_path, command="true " + "x" * 131_066)).unwrap()["returncode"] == 0
    outcome = await ask(tmp_path, command="true " + "\N{EURO SIGN}" * 43_689)
    assert outcome.error.category is Category.USER_INPUT
    assert "longer than 131071 bytes" in str(outcome)


async def test_a_file_that_grows_too_large_is_told(tmp_path: Path) -> None:
    ran = (await ask(tmp_path, command="head -c 300000000 /dev/zero > big")).unwrap()
    assert ran["returncode"] == 153
    assert "a program whose file would be larger than 256 MiB" in ran["note"]
    assert (tmp_path / "big").stat().st_size == 256 * 1024**2


@pytest.mark.parametrize("timeout", [0, 601, -1])
async def test_a_time_limit_has_its_bounds(timeout: int, tmp_path: Path) -> None:
    outcome = await ask(tmp_path, command="true", timeout=timeout)
    assert outcome.error.code == "invalid_arguments"


async def test_it_is_gated_as_destructive(tmp_path: Path) -> None:
    """TOOL-09: a person is asked, sees the command, and nothing runs before; not even chains call it."""
    async with open_gate(tmp_path) as gate:
        asked = await gate.call("run_shell", {"command": "touch ran"}, Context(autonomy=Autonomy.A3))
        assert asked.status == "pending"
        previewed = await gate.call("run_shell", {"command": "touch ran"}, Context(autonomy=Autonomy.A0))
        assert "touch ran" in str(previewed)
        chained = await gate.chain('run_shell(command="touch ran")', Context(autonomy=Autonomy.A4))
        assert not chained.ok
    assert not (tmp_path / "ran").exists()
    async with open_gate(tmp_path, "autonomy: A4\n") as gate:
        assert (await gate.call("run_shell", {"command": "touch ran"})).status == "pending"


async def test_a_granted_git_may_be_written_to(tmp_path: Path) -> None:
    do(tmp_path, "init", "-q")
    settings = f"{SETTINGS}".replace("scopes: {", f'scopes: {{fs: {{paths: [".", "{tmp_path}/.git"]}}, ')
    async with open_gate(tmp_path, settings) as gate:
        line = {"command": "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git log --oneline"}
        ran = (await gate.call("run_shell", line, Context(autonomy=Autonomy.A4))).unwrap()
        assert ran["stdout"].endswith(" one\n"), ran


async def test_where_everything_is_granted_programs_get_the_working_directory(tmp_path: Path) -> None:
    settings = SETTINGS.replace("scopes: {", 'scopes: {fs: {paths: ["/"]}, ')
    place = tmp_path / "work"
    place.mkdir()
    async with open_gate(place, settings) as gate:
        line = {"command": f"touch here; touch {tmp_path}/there"}
        await gate.call("run_shell", line, Context(autonomy=Autonomy.A4))
    assert ((place / "here").exists(), (tmp_path / "there").exists()) == (True, False)


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are of a normal user already")
def test_it_works_for_a_normal_user_as_well() -> None:
    """The libraries are loaded first: a normal user may not be able to read where the tests' Python lies."""
    with TemporaryDirectory() as place:  # beside the tests' own, which only their user may enter
        _works_for_a_normal_user(Path(place))


def _works_for_a_normal_user(place: Path) -> None:
    place.chmod(0o777)
    code = """
import asyncio, os, sys, json, tempfile
from pathlib import Path
from tempfile import TemporaryDirectory
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from tests.tools.code.test_run_shell import SETTINGS, open_gate

async def main(place, command):
    async with open_gate(place, SETTINGS.replace("[plugins]", "[plugins, shut/plugins]")) as gate:
        return (await gate.call("run_shell", {"command": command}, Context(autonomy=Autonomy.A4))).unwrap()

with tempfile.TemporaryDirectory() as warm:
    os.environ["XDG_CONFIG_HOME"] = warm
    asyncio.run(main(Path(warm), "true"))
os.environ["XDG_CONFIG_HOME"] = sys.argv[1] + "/conf"
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
for name in ("closed/.git/hooks", "shut"):
    os.makedirs(f"{sys.argv[1]}/{name}")
os.chmod(f"{sys.argv[1]}/closed", 0)
os.chmod(f"{sys.argv[1]}/shut", 0o555)
hide = "mkdir -p new/.git sly/.git shy/.git; chmod 555 new; chmod 0 sly; chmod 444 shy; "
command = hide + "id -u; chmod 755 closed shut; touch closed/.git/hooks/pre-commit; mkdir -p shut/plugins/evil; "
command += " touch made; mkdir -p plugins/x; cat /proc/self/environ callgate.yaml; echo x > /usr/x; true"
print(json.dumps(asyncio.run(main(Path(sys.argv[1]), command))))
"""
    done = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=False)
    assert '"stdout": "65534\\n' in done.stdout, done
    assert "Permission denied" in done.stdout
    assert (place / "made").stat().st_uid == 65534
    assert not (place / "plugins").exists()
    assert done.stdout.count("renamed") == 3, done
    assert [path.parent.name for path in place.rglob(".git")] == ["closed"]
    assert [list((place / name).iterdir()) for name in ("closed/.git/hooks", "shut")] == [[], []]


@pytest.mark.slow
async def test_the_examples_run(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_login.py").write_text("def test_login():\n    assert True\n")
    async with open_gate(tmp_path) as gate:
        await run_examples(gate, "run_shell", "run_tests")
