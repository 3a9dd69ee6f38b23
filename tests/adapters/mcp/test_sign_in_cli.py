"""`callgate tools login` and `logout`: a person at this machine signs in, and so does every gate on its secrets."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import httpx2
import pytest

from callgate.cli.entry import run
from tests.adapters.mcp.authorization import Front, Issuer, Protected, issuing, protecting

pytestmark = pytest.mark.slow


@pytest.fixture
def world() -> Generator[tuple[Issuer, Front, Protected]]:
    with issuing() as (issuer, front), protecting(issuer) as server:
        yield issuer, front, server


World = tuple[Issuer, Front, Protected]


def configured(folder: Path, url: str, *, secrets: str = "{backend: file}", auth: str = "{oauth: {}}") -> None:
    described = f"{{url: '{url}', auth: {auth}, startup: 20s, declare: {{note: {{effects: read_only}}}}}}"
    others = "local: {command: [x]}, open: {url: 'https://example.com/mcp'}"
    (folder / "callgate.yaml").write_text(
        f"store: sqlite:///{folder / 'gate.db'}\nsecrets: {secrets}\nmcp_servers: {{srv: {described}, {others}}}\n"
    )


def alone(folder: Path) -> None:
    """Leave out the servers that nobody has to reach."""
    file = folder / "callgate.yaml"
    file.write_text(file.read_text().replace(", local: {command: [x]}, open: {url: 'https://example.com/mcp'}", ""))


class Shell:
    """The command line in this process, in a folder of its own; a person reads what it writes, and visits pages."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.said = ""
        """All it wrote so far."""

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = run(words)
        out, err = self._capsys.readouterr()
        self.said += out + err
        return code, out, err

    def login(self, *words: str) -> tuple[int, str, str]:
        """Sign in, from a thread, while a person does what is written."""
        with ThreadPoolExecutor(1) as alone:
            ending = alone.submit(run, ["tools", "login", "srv", *words])
            out = err = ""
            visited = False
            while not ending.done() or not visited:
                more_out, more_err = self._capsys.readouterr()
                out, err = out + more_out, err + more_err
                found = re.search(r"^(http\S+)\n", err, flags=re.MULTILINE)
                if found and not visited:
                    visited = True
                    assert visit(found[1]) == 200
                wait([ending], timeout=0.05)
                assert visited or not ending.done(), err
            more_out, more_err = self._capsys.readouterr()
        self.said += out + more_out + err + more_err
        return ending.result(), out + more_out, err + more_err


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def visit(url: str) -> int:
    with httpx2.Client(timeout=60) as browser:
        return browser.get(browser.get(url).headers["location"]).status_code


def test_a_person_signs_in_calls_and_signs_out(tmp_path: Path, world: World, shell: Shell) -> None:
    issuer, front, server = world
    configured(tmp_path, server.url)
    code, out, err = shell.login("--json")
    assert code == 0, err
    assert json.loads(out) == {"server": "srv", "issuer": f"{issuer.url}/", "scopes": [], "renewable": True}
    alone(tmp_path)
    assert shell("call", "srv.note", '{"text": "by hand"}')[0] == 0
    assert server.notes == ["by hand"]
    assert shell("tools", "logout", "srv")[:2] == (0, "signed out: srv\n")
    assert "/revoke" in {asked.path for asked in front.seen}
    assert all(token.expires_at == 1 for token in issuer.access.values())
    code, _, err = shell("call", "srv.note", '{"text": "too late"}')
    assert code != 0
    assert "run: callgate tools login srv" in err
    assert server.notes == ["by hand"]
    code, _, err = shell("tools", "logout", "srv")
    assert code == 2
    assert "nobody is signed in at the MCP server srv" in err
    assert not any(secret in shell.said for secret in issuer.everything_secret())


def test_a_browser_is_opened_where_that_is_wanted(tmp_path: Path, world: World) -> None:
    *_, server = world
    configured(tmp_path, server.url)
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\nprintf '%s' \"$1\" > {tmp_path / 'opened'}\n")
    browser.chmod(0o700)
    words = [sys.executable, "-m", "callgate", "tools", "login", "srv", "--browser"]
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=tmp_path, env=environment, text=True, stdout=pipe, stderr=pipe) as process:
        assert process.stderr is not None
        url = next(line.strip() for line in process.stderr if line.startswith("http"))
        assert visit(url) == 200
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.startswith("signed in: srv, by http://127.0.0.1:")
    assert (tmp_path / "opened").read_text() == url


def test_who_takes_too_long_or_is_refused_is_not_signed_in(tmp_path: Path, world: World, shell: Shell) -> None:
    issuer, front, server = world
    configured(tmp_path, server.url)
    code, out, err = shell("tools", "login", "srv", "--timeout", "1")
    assert (code, out) == (1, "")
    assert "nobody signed in within 1 seconds" in err
    issuer.refuses_people = True
    code, out, err = shell.login()
    assert (code, out) == (1, "")
    assert "the authorization server says no: access_denied" in err
    assert "/token" not in {asked.path for asked in front.seen}


@pytest.mark.parametrize(
    ("secrets", "auth", "name", "told"),
    [
        ("{backend: env}", "{oauth: {}}", "srv", "secrets come from the env backend, which Callgate does not write"),
        (
            "{backend: file}",
            "{oauth: {}}",
            "nobody",
            "no MCP server called 'nobody' is configured; configured are: srv",
        ),
        ("{backend: file}", "{oauth: {}}", "local", "nobody signs in at it; it is a program that is started here"),
        ("{backend: file}", "{oauth: {}}", "open", "nobody signs in at it; write auth: {oauth: {}} for it"),
        (
            "{backend: file}",
            "{oauth: {grant: client_credentials, client_id: a, client_secret: 'secret:a/b', issuer: 'https://b.example'}}",
            "srv",
            "signed in at by client_credentials, without a person",
        ),
    ],
)
@pytest.mark.parametrize("command", ["login", "logout"])
def test_where_nobody_can_sign_in_it_is_told(
    tmp_path: Path, shell: Shell, command: str, secrets: str, auth: str, name: str, told: str
) -> None:
    configured(tmp_path, "http://127.0.0.1:9/mcp", secrets=secrets, auth=auth)
    code, _, err = shell("tools", command, name)
    assert code == 2
    assert told in err


def test_an_issuer_that_hears_nothing_of_it_is_told(tmp_path: Path, world: World, shell: Shell) -> None:
    _, front, server = world
    configured(tmp_path, server.url)
    assert shell.login()[0] == 0
    front.lies["/revoke"] = (503, {})
    code, out, err = shell("tools", "logout", "srv")
    assert (code, out) == (0, "signed out: srv\n")
    assert "the authorization server was not told" in err
