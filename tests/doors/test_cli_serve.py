"""`callgate serve`: one port, a link that lets in once, and an end that lets go of everything."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.doors.running import TOOLS, Cli, Terminal, environment, start

pytestmark = pytest.mark.slow
_SECONDS = 60


class Serving:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "callgate", "serve", "--port", "0", *words],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self.url = self._until(r"at (http://127\.0\.0\.1:\d+)$")

    def link(self) -> str:
        """What it printed for the console."""
        return self._until(r" (http\S+/enter\?code=\S+)$")

    def get(self, path: str, token: str | None = None) -> httpx2.Response:
        return self._ask("GET", path, token)

    def post(self, path: str, token: str, **body: Any) -> httpx2.Response:
        return self._ask("POST", path, token, json=body)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Stop it, by its process id; its exit code and what else it said."""
        os.kill(self.process.pid, number)
        out, err = self.process.communicate(timeout=_SECONDS)
        return self.process.returncode, out, err

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=_SECONDS)

    def _ask(self, method: str, path: str, token: str | None, **more: Any) -> httpx2.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=_SECONDS) as client:
            return client.request(method, path, **more)

    def _until(self, pattern: str) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))
            found = re.search(pattern, self.said[-1])
            if found:
                return found[1]
        pytest.fail(f"it ended, and said: {self.said}")


@pytest.fixture
def serving(cli: Cli) -> Iterator[Serving]:
    made = Serving(cli.folder, "--module", TOOLS)
    yield made
    made.kill()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=["terminated", "hung-up", "interrupted"]
)
def test_it_serves_until_it_is_told_to_stop(serving: Serving, cli: Cli, number: int):
    assert serving.get("/healthz").json() == {"status": "alive"}
    token = cli("tokens", "agent", "crawler").out.strip()
    made = serving.post("/api/v1/calls", token, tool="word_count", arguments={"text": "a b"})
    assert (made.status_code, made.json()["value"]) == (200, 2)
    code, out, err = serving.stop(number)
    assert (code, out) == (0, "")
    assert "Stopping" in err
    assert token not in err
    with pytest.raises(httpx2.ConnectError):
        serving.get("/healthz")
    assert cli("audit", "verify").code == 0


def test_it_ends_in_order_where_its_terminal_is_closed(cli: Cli):
    with Terminal("serve", "--port", "0", "--module", TOOLS, cwd=cli.folder) as terminal:
        terminal.expect("Stop with Ctrl-C")
        terminal.hang_up()
        assert terminal.process.wait(_SECONDS) == 74  # it ended by itself, and stdout is gone
    assert cli("audit", "verify").code == 0


def test_a_token_that_is_ended_elsewhere_opens_nothing_at_once(serving: Serving, cli: Cli):
    made = cli("tokens", "person", "bob", "--json").body
    assert serving.get("/api/v1/approvals", made["token"]).status_code == 200
    cli("tokens", "revoke", made["id"])
    assert serving.get("/api/v1/approvals", made["token"]).status_code == 401


def test_what_is_asked_there_is_decided_at_the_command_line_and_collected_there(serving: Serving, cli: Cli):
    token = cli("tokens", "agent", "crawler").out.strip()
    asked = serving.post("/api/v1/calls", token, tool="pay", arguments={"to": "bob", "amount": 5})
    assert asked.status_code == 202
    question = asked.json()["approval_id"]
    assert cli("approvals", "approve", question, "--by", "ada").code == 0
    made = serving.post(f"/api/v1/approvals/{question}/result", token)
    assert (made.status_code, made.json()["status"]) == (200, "succeeded")


def test_only_tools_that_read_are_built_in_where_no_configuration_names_any(serving: Serving, cli: Cli):
    token = cli("tokens", "person", "bob").out.strip()
    answer = serving.get("/api/v1/tools?limit=500", token)
    assert answer.status_code == 200, answer.text
    found = answer.json()["items"]
    builtin = [each for each in found if each["source"] == "builtin"]
    assert builtin
    assert all(each["read_only"] for each in builtin)


def test_it_prints_a_link_for_whoever_started_it(serving: Serving, cli: Cli):
    port = serving.url.rpartition(":")[2]
    where, _, code = serving.link().partition("/enter?code=")
    assert re.fullmatch(rf"http://callgate-[0-9a-f]{{12}}\.localhost:{port}", where)
    assert serving.get(f"/enter?code={code}").status_code == 421
    with httpx2.Client(trust_env=False, timeout=60) as browser:
        host = {"Host": where.removeprefix("http://")}
        assert browser.get(f"{serving.url}/enter?code={code}", headers=host).status_code == 303
    people = [each for each in cli("tokens", "list", "--json").body if each["kind"] == "person"]
    assert [each["rights"] for each in people] == [["administer", "decide", "read"]]


def test_a_port_that_is_taken_is_said_in_one_line(cli: Cli):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = start("serve", "--port", str(taken.getsockname()[1]), cwd=cli.folder)
    assert done.code == 2
    assert "choose another with --port" in done.err
    assert "Traceback" not in done.err
