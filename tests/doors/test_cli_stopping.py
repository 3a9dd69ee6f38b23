"""A command that makes calls and is told to stop: they come to an orderly end, and its exit code says which signal."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.doors.running import Cli, Terminal, environment

pytestmark = pytest.mark.crash
_SECONDS = 30
TOOLS = """
import asyncio
from pathlib import Path
from callgate import tool

def say(word):
    with open("said", "w") as pipe:
        pipe.write(word)

@tool(effects="network_access", risk="low", allowed_callers={"direct", "chain"})
async def wait_for_ever() -> None:
    say("begun")
    try:
        await asyncio.Event().wait()
    finally:
        Path("tidied").touch()

@tool(effects="network_access", risk="low")
async def never_end() -> None:
    say("begun")
    try:
        await asyncio.Event().wait()
    finally:
        say("stopping")
        await asyncio.Event().wait()

@tool(effects="read_only")
async def wait_for_a_word() -> str:
    say("begun")
    return await asyncio.to_thread(Path("heard").read_text)
"""


class Calling:
    """A command in a process of its own, whose tool says through a pipe how far it is."""

    def __init__(self, *command: str, folder: Path, deaf_to: str = "") -> None:
        self.said = os.open(folder / "said", os.O_RDWR)  # one that is only read ends with each who wrote
        words = [sys.executable, "-m", "callgate", *command, "--module", "waiting_tools.py"]
        if deaf_to:
            words = ["/bin/sh", "-c", f'trap "" {deaf_to}; exec "$@"', "sh", *words]
        self.process = subprocess.Popen(
            words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def says(self, word: str) -> None:
        assert select.select([self.said], [], [], _SECONDS)[0], "it says nothing"
        assert os.read(self.said, 100).decode() == word

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=_SECONDS)
        return self.process.returncode, out, err

    def leave(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self.said)


@pytest.fixture
def calling(cli: Cli) -> Iterator[Callable[..., Calling]]:
    (cli.folder / "waiting_tools.py").write_text(TOOLS)
    (cli.folder / "callgate.yaml").write_text("autonomy: A4\n")
    for name in ("said", "heard"):
        os.mkfifo(cli.folder / name)
    made: list[Calling] = []

    def call(*command: str, **more: str) -> Calling:
        made.append(Calling(*command, folder=cli.folder, **more))
        return made[-1]

    yield call
    for each in made:
        each.leave()


ENDS = [
    pytest.param(signal.SIGTERM, 143, "terminated (SIGTERM)", id="terminated"),
    pytest.param(signal.SIGHUP, 129, "the terminal was closed (SIGHUP)", id="hung-up"),
    pytest.param(signal.SIGINT, 130, "interrupted", id="interrupted"),
]


@pytest.mark.parametrize(("number", "code", "said"), ENDS)
def test_a_call_that_is_told_to_stop_is_cancelled_and_recorded(
    calling: Callable[..., Calling], cli: Cli, number: int, code: int, said: str
):
    one = calling("call", "wait_for_ever")
    one.says("begun")
    one.send(number)
    ended, out, err = one.ended()
    assert (ended, out) == (code, "")
    assert err.startswith(f"callgate: {said}; if the tool had begun, what is known of it is in: callgate outcomes list")
    assert (cli.folder / "tidied").exists()
    (left,) = cli("outcomes", "list", "--json").body["outcomes"]
    assert (left["tool"], left["state"]) == ("wait_for_ever", "unknown")
    assert cli("audit", "verify").code == 0


def test_a_terminal_that_is_really_closed_ends_it_as_the_signal_says(calling: Callable[..., Calling], cli: Cli):
    """There nothing can be said any more; who started it still asks how it ended."""
    pipe = os.open(cli.folder / "said", os.O_RDWR)
    with Terminal("call", "wait_for_ever", "--module", "waiting_tools.py", cwd=cli.folder) as terminal:
        assert select.select([pipe], [], [], _SECONDS)[0], "it says nothing"
        terminal.hang_up()
        assert terminal.process.wait(timeout=_SECONDS) == 129
    os.close(pipe)
    assert (cli.folder / "tidied").exists()


PROGRAM = "await wait_for_ever()"


@pytest.mark.parametrize(("number", "code", "said"), ENDS)
def test_a_program_that_is_told_to_stop_has_its_call_cancelled_and_can_be_resumed(
    calling: Callable[..., Calling], cli: Cli, number: int, code: int, said: str
):
    (cli.folder / "waiting.py").write_text(PROGRAM)
    one = calling("programs", "run", "waiting.py")
    one.says("begun")
    one.send(number)
    ended, out, err = one.ended()
    assert (ended, out) == (code, "")
    told = "if the program had begun, it is among these, and can be resumed: callgate programs list"
    assert err.startswith(f"callgate: {said}; {told}")
    assert (cli.folder / "tidied").exists()
    (left,) = cli("outcomes", "list", "--json").body["outcomes"]
    assert (left["tool"], left["state"]) == ("wait_for_ever", "unknown")
    (program,) = cli("programs", "list", "--json").body["programs"]
    assert program["state"] == "interrupted"


def test_a_program_that_is_resumed_and_told_to_stop_has_its_call_cancelled(calling: Callable[..., Calling], cli: Cli):
    (cli.folder / "callgate.yaml").write_text("autonomy: A1\n")
    (cli.folder / "waiting.py").write_text(PROGRAM)
    asked = cli("programs", "run", "waiting.py", "--module", "waiting_tools.py", "--json").body
    assert cli("approvals", "approve", asked["waiting_for"][0]["approval_id"], "--by", "ann").code == 0
    one = calling("programs", "resume", asked["program_id"])
    one.says("begun")
    one.send(signal.SIGTERM)
    assert one.ended()[0] == 143
    assert (cli.folder / "tidied").exists()


def test_a_second_signal_ends_it_at_once(calling: Callable[..., Calling]):
    one = calling("call", "never_end")
    one.says("begun")
    one.send(signal.SIGTERM)
    one.says("stopping")
    one.send(signal.SIGTERM)
    assert one.ended()[0] == -signal.SIGTERM


def test_what_was_started_deaf_to_a_signal_stays_so(calling: Callable[..., Calling], cli: Cli):
    """As by `nohup`: a terminal that is closed does not end it."""
    one = calling("call", "wait_for_a_word", deaf_to="HUP")
    one.says("begun")
    one.send(signal.SIGHUP)
    (cli.folder / "heard").write_text("a word")
    code, out, _ = one.ended()
    assert (code, out) == (0, "a word\n")
