"""The suite stays on this machine: a test that tries to leave it is stopped, and fails."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loopback import LeavesThisMachine, trying

ROOT = Path(__file__).parents[2]
ELSEWHERE = ("93.184.215.14", 80)


def by(kind: socket.SocketKind, act: Callable[[socket.socket], object], family: int = socket.AF_INET) -> None:
    with socket.socket(family, kind) as one:
        act(one)


LEAVING: dict[str, tuple[Callable[[], object], str]] = {
    "connecting": (lambda: by(socket.SOCK_STREAM, lambda one: one.connect(ELSEWHERE)), "socket.connect 93.184.215.14"),
    "asking-whether": (
        lambda: by(socket.SOCK_STREAM, lambda one: one.connect_ex(ELSEWHERE)),
        "socket.connect 93.184.215.14",
    ),
    "version-6": (
        lambda: by(socket.SOCK_STREAM, lambda one: one.connect(("2606:2800::1", 80)), socket.AF_INET6),
        "socket.connect 2606:2800::1",
    ),
    "carried-inside": (
        lambda: by(socket.SOCK_STREAM, lambda one: one.connect(("::ffff:93.184.215.14", 80)), socket.AF_INET6),
        "socket.connect ::ffff:93.184.215.14",
    ),
    "sending": (lambda: by(socket.SOCK_DGRAM, lambda one: one.sendto(b"x", ELSEWHERE)), "socket.sendto 93.184.215.14"),
    "sending-parts": (
        lambda: by(socket.SOCK_DGRAM, lambda one: one.sendmsg([b"x"], [], 0, ELSEWHERE)),
        "socket.sendmsg 93.184.215.14",
    ),
    "looking-up": (lambda: socket.getaddrinfo("example.com", 80), "socket.getaddrinfo example.com"),
    "looking-up-bytes": (lambda: socket.getaddrinfo(b"example.com", 80), "socket.getaddrinfo example.com"),
    "looking-up-as-of-old": (lambda: socket.gethostbyname("example.com"), "socket.gethostbyname example.com"),
    "looking-back": (lambda: socket.gethostbyaddr("93.184.215.14"), "socket.gethostbyaddr 93.184.215.14"),
    "looking-back-as-today": (lambda: socket.getnameinfo(ELSEWHERE, 0), "socket.getnameinfo 93.184.215.14"),
}


@pytest.mark.parametrize("way", LEAVING)
def test_no_way_leads_off_this_machine(way: str) -> None:
    leave, told = LEAVING[way]
    with trying() as tried, pytest.raises(LeavesThisMachine, match="tests stay on this machine"):
        leave()
    assert tried == [told]


def test_this_machine_and_numbers_are_free(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as server, socket.socket(socket.AF_UNIX) as listening:
        for host in ("localhost", "127.0.0.1", "0.0.0.0", ""):
            by(socket.SOCK_STREAM, lambda one, host=host: one.connect((host, server.getsockname()[1])))
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        by(socket.SOCK_STREAM, lambda one: one.connect(str(tmp_path / "s")), socket.AF_UNIX)
    assert socket.getaddrinfo("93.184.215.14", 80)
    assert socket.getaddrinfo(None, 80)
    assert socket.gethostbyname("localhost") == "127.0.0.1"


MISTAKEN = """
import pytest
from callgate import Callgate
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.web.offer import make

@pytest.mark.parametrize("url", ["http://example.com/", "http://93.184.215.14/", "http://127.0.0.1:9/"])
async def test_it_is_content_with_any_answer(url):
    gate = Callgate.open("memory://")
    gate.add(*make(BuiltinToolsSettings()))
    async with gate:
        assert not (await gate.call("http_get", {"url": url})).ok
"""


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.usefixtures("unmeasured")
def test_a_test_that_forgets_its_network_fails_though_it_takes_any_answer(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_mistaken.py").write_text(MISTAKEN)
    (tmp_path / "conftest.py").write_text("from tests.loopback import loopback_only\n")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers, str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "left this machine, or would have: socket.getaddrinfo example.com" in done.stdout
    assert "left this machine, or would have: socket.connect 93.184.215.14" in done.stdout
    assert "3 passed, 2 errors" in done.stdout
