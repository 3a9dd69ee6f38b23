"""Programs in the sandbox speak to nobody's sockets, whenever and wherever those are made. TOOL-09."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from callgate.tools.code.watch import Bounds
from tests.tools.code.small_program import run_small, until

pytestmark = pytest.mark.usefixtures("bubblewrap")
SEND = "s.connect('s.sock'); s.send(b'x'); print('sent')"
WAYS = {
    "stream": (socket.SOCK_STREAM, f"s = socket.socket(socket.AF_UNIX); {SEND}"),
    "datagram": (socket.SOCK_DGRAM, f"s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); {SEND}"),
    "one-of-a-pair": (socket.SOCK_DGRAM, f"s, t = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); {SEND}"),
    "raw-one-of-a-pair": (socket.SOCK_DGRAM, f"s, t = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW); {SEND}"),
}


@contextlib.contextmanager
def listening(place: Path, kind: int) -> Generator[socket.socket]:
    """A socket of another program's; it has heard somebody if it can be read."""
    with socket.socket(socket.AF_UNIX, kind) as listener:
        # A path of a socket is short, and that of a test long: it is bound from its own directory.
        with contextlib.chdir(place):
            listener.bind("s.sock")
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listener.setblocking(False)
        yield listener


def has_heard(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_STREAM:
            listener.accept()[0].close()
        else:
            listener.recv(10)
    except BlockingIOError:
        return False
    return True


@pytest.mark.parametrize("folder", [".", ".git/a/b"], ids=["granted", "deep-in-git"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_socket_that_is_made_meanwhile_cannot_be_spoken_to(way: str, folder: str, tmp_path: Path) -> None:
    kind, code = WAYS[way]
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    wait = f"touch begun; while test ! -S {folder}/s.sock; do :; done; cd {folder}"
    running = asyncio.ensure_future(run_small(tmp_path, f'{wait}; python3 -c "import socket; {code}"'))
    await until(tmp_path / "begun")
    with listening(tmp_path / folder, kind) as listener:
        ran = await running
        assert not has_heard(listener)
        assert (ran.stdout, ran.returncode) == (b"", 1)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_works_where_there_is_no_sandbox(way: str, tmp_path: Path) -> None:
    """Else the other test would prove nothing."""
    kind, code = WAYS[way]
    with listening(tmp_path, kind) as listener:
        subprocess.run([sys.executable, "-c", f"import socket; {code}"], cwd=tmp_path, check=True)
        assert has_heard(listener)


async def test_pairs_of_sockets_and_the_sandboxs_own_network_work(tmp_path: Path) -> None:
    """What programs use among themselves: asyncio's and Node's pairs, and a server of a test on this machine."""
    code = (
        "import asyncio, socket; asyncio.run(asyncio.sleep(0)); a, b = socket.socketpair(); a.send(b'x'); b.recv(1);"
        "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('all')"
    )
    assert (await run_small(tmp_path, f'python3 -c "{code}"')).stdout == b"all\n"


async def test_a_wish_for_a_larger_buffer_is_not_heard_and_others_are(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text("""
import socket
one = socket.socket()
usual = [one.getsockopt(socket.SOL_SOCKET, each) for each in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
for each in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
    one.setsockopt(socket.SOL_SOCKET, each, 4_000_000)
print([one.getsockopt(socket.SOL_SOCKET, each) for each in (socket.SO_SNDBUF, socket.SO_RCVBUF)] == usual)
one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
one.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 3)  # the same number as that of a buffer
print(one.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR), one.getsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT))
""")
    assert (await run_small(tmp_path, "python3 ask.py")).stdout == b"True\n1 3\n"


async def test_a_program_may_have_hundreds_of_sockets(tmp_path: Path) -> None:
    code = "import socket, time; p = [socket.socketpair() for _ in range(500)];"
    code += " time.sleep(0.2); print('had')"  # the watch has to look once while they are there
    ran = await run_small(tmp_path, f'python3 -c "{code}"', Bounds(seconds=20, open_files=2048))
    assert ran.stdout == b"had\n", ran
