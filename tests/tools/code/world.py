"""A small world for programs to break out into: a granted directory, and around it what must stay as it is.

`escaped` is the witness: it looks at files, sockets and processes from outside of every sandbox.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import socket
import stat
import struct
import subprocess
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

SETTINGS = """\
autonomy: A4
scopes: {shell: {requires_approval: false}}
plugins: {folders: [plugins]}
secrets: {backend: file, path: GROUND/conf/secrets.sealed}
"""
_MAKE_ANEW = 0o3600
"""IPC_CREAT and IPC_EXCL, for its owner."""
_REMOVE = 0


@dataclass(slots=True, kw_only=True)
class World:
    """What there is outside, and how it was."""

    ground: Path
    """The granted directory."""
    outside: Path
    canary: str
    """Stands in everything that must not be read, and is said by a command that did what it must not."""
    sleeper: subprocess.Popen[bytes]
    port: int = 0
    heard: list[str] = field(default_factory=list[str])
    handle: int = -1
    """An open file that children inherit."""
    key: int = 0
    """Of a message queue and a shared segment of this machine that hold the canary."""
    before: object = None

    def names(self) -> dict[str, object]:
        """What commands may be written with."""
        return {
            "ground": self.ground,
            "out": self.outside,
            "secret": self.outside / "secret.txt",
            "port": self.port,
            "abstract": self.canary,
            "canary": self.canary,
            "sleeper": self.sleeper.pid,
            "pid": os.getpid(),
            "handle": self.handle,
            "key": self.key,
            "uts": str(Path("/proc/self/ns/uts").readlink()),
        }

    def state(self) -> object:
        """Everything that must stay as it is."""
        own = [tree(self.ground / name) for name in ("callgate.yaml", "plugins", "conf")]
        active = sorted(self.ground.rglob(".git"), key=lambda path: path.lstat().st_ino)
        return (
            tree(self.outside),
            own,
            [(path.lstat().st_ino, tree(path)) for path in active],
            [entry for entry in tree(self.ground) if entry[1] & (stat.S_ISUID | stat.S_ISGID)],
            list(self.heard),
            self.sleeper.poll(),
            sorted(path.name for path in Path("/dev/shm").iterdir() if self.canary in path.name),
        )

    def escaped(self, output: str) -> bool:
        """Whether something was changed, heard or read that must not be."""
        return self.canary in output or self.state() != self.before


def left_running(marker: str) -> list[str]:
    """Processes whose command line has that text."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and marker.encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
    return found


def tree(place: Path) -> list[tuple[str, int, bytes]]:
    """All that lies there, with modes and contents."""
    found: list[tuple[str, int, bytes]] = []
    for path in sorted([place, *place.rglob("*")]):
        with contextlib.suppress(OSError):
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found.append((str(path.relative_to(place)), status.st_mode, content))
    return found


@contextlib.contextmanager
def make_world(folder: Path) -> Generator[World]:
    """Make one in a folder, and take it away."""
    ground, outside = folder / "ground", folder / "outside"
    for place in (ground / "sub", ground / "conf", outside):
        place.mkdir(parents=True)
    canary = f"canary-{secrets.token_hex(8)}"
    (outside / "secret.txt").write_text(canary)
    (ground / "callgate.yaml").write_text(f"{SETTINGS.replace('GROUND', str(ground))}# {canary}\n")
    (ground / "conf" / "secrets.sealed").write_text(canary)
    (ground / "second").hardlink_to(ground / "conf" / "secrets.sealed")
    for place in (ground, ground / "sub"):
        subprocess.run(["git", "init", "-q", str(place)], check=True, capture_output=True)
    environment = {"PATH": os.environ["PATH"], "SECRET": canary}
    with contextlib.ExitStack() as stack:
        sleeper = subprocess.Popen(["sleep", "600"], env=environment)
        stack.callback(sleeper.wait)
        stack.callback(sleeper.kill)
        world = World(ground=ground, outside=outside, canary=canary, sleeper=sleeper)
        _listen(world, stack)
        _share(world, stack)
        world.before = world.state()
        yield world


def _share(world: World, stack: contextlib.ExitStack) -> None:
    system = ctypes.CDLL(None, use_errno=True)
    system.shmat.restype = ctypes.c_void_p
    world.key = secrets.randbelow(2**30) + 1
    text = world.canary.encode()
    queue = system.msgget(world.key, _MAKE_ANEW)
    stack.callback(system.msgctl, queue, _REMOVE, None)
    assert system.msgsnd(queue, struct.pack("l", 1) + text, len(text), 0) == 0
    segment = system.shmget(world.key, 4096, _MAKE_ANEW)
    stack.callback(system.shmctl, segment, _REMOVE, None)
    place = ctypes.c_void_p(system.shmat(segment, None, 0))
    ctypes.memmove(place, text, len(text))
    system.shmdt(place)


def _listen(world: World, stack: contextlib.ExitStack) -> None:
    inet = socket.create_server(("127.0.0.1", 0))
    world.port = inet.getsockname()[1]
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", world.port))
    listeners = [inet]
    for name in ("\0" + world.canary, str(world.outside / "s.sock"), str(world.ground / "s.sock")):
        listener = socket.socket(socket.AF_UNIX)
        # A path of a socket is short, and that of a test long: it is bound from its own directory.
        if name.startswith("/"):
            with contextlib.chdir(Path(name).parent):
                listener.bind(Path(name).name)
        else:
            listener.bind(name)
        listener.listen()
        listeners.append(listener)
    for each in (*listeners, datagrams):
        each.settimeout(0.05)
        stack.callback(each.close)
    closed = threading.Event()
    threads = [threading.Thread(target=_accept, args=(each, world.heard, closed)) for each in listeners]
    threads.append(threading.Thread(target=_receive, args=(datagrams, world.heard, closed)))
    for thread in threads:
        thread.start()
        stack.callback(thread.join)
    stack.callback(closed.set)


def _accept(listener: socket.socket, heard: list[str], closed: threading.Event) -> None:
    while not closed.is_set():
        with contextlib.suppress(TimeoutError):
            connection, _ = listener.accept()
            heard.append("connected")
            connection.close()


def _receive(listener: socket.socket, heard: list[str], closed: threading.Event) -> None:
    while not closed.is_set():
        with contextlib.suppress(TimeoutError):
            listener.recv(100)
            heard.append("datagram")
