"""Filter: the system calls that a program in the sandbox is refused, as the kernel's own small language (BPF).

The namespaces already keep it in. What the filter takes away on top is what has led out of namespaces before, and what
they do not cover: sockets to the machine's host, the keyrings of the kernel, typing into a terminal.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _ONLY_BITS = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _MACHINE = 0, 4
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020080
"""Every CLONE_NEW… flag."""
_THREAD = 0x00010000
_FAMILIES = (2, 10, 16)
"""AF_INET, AF_INET6, AF_NETLINK: those that a network namespace keeps apart. AF_VSOCK, say, it does not, nor AF_UNIX:
a socket that another program makes in a granted directory could be spoken to by its path, and no filter sees paths."""
_KIND_BITS = 0xF
_KINDS_OF_PAIRS = (1, 5)
"""Streams and sequences of packets know only each other. One of a pair for datagrams can still send to any path."""
_OF_SOCKETS = 1
_SIZES = (7, 8, 32, 33)
"""SO_SNDBUF and SO_RCVBUF, and as an administrator forces them. The kernel takes what it likes of a wish for a larger
buffer and says yes: here it takes none, so that the watch knows what a socket can hold."""
_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into a terminal as if somebody sat there."""
_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442)
"""io_uring, the mount calls by handle, pidfd_getfd, mount_setattr: numbered alike on all machines."""
_NOT_THERE = (435, 437, 447)
"""clone3 and openat2: their flags lie in memory, where no filter sees them. Who is told so takes the older calls.
memfd_secret: memory that nobody can count."""
_FCHMODAT2 = (452, 2)
_MAKES_FILE = 0x400040
_SET_ID = 0o6000
"""A program of root's that everybody could start as root would outlive the sandbox."""


class _Machine(NamedTuple):
    mark: int
    refused: Mapping[str, int]
    clone: int
    socket: int
    socketpair: int
    ioctl: int
    setsockopt: int
    uncounted: tuple[int, ...]
    """memfd_create, shmget, semget, msgget and vmsplice, which keeps whole huge pages in a pipe: memory that belongs to
    no process and no file system, so that nobody can count it."""
    forks: tuple[int, ...]
    modes: tuple[tuple[int, int], ...]
    """Calls that set or make a mode, and which argument it is: chmod, creat, mknod and their kin."""
    opens: tuple[tuple[int, int], ...]
    """Calls that open, and which argument has the flags; a mode follows where they make a file."""


_NAMES = [
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "unshare",
    "setns",
    "keyctl",
    "add_key",
    "request_key",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "open_by_handle_at",
    "quotactl",
    "acct",
    "swapon",
    "swapoff",
    "reboot",
    "syslog",
]
# fmt: off
_ON_X86 = (165, 166, 155, 161, 272, 308, 250, 248, 249, 321, 298, 323, 101, 310, 311, 246, 320, 175, 313, 176, 304,
           179, 163, 167, 168, 169, 103)
_ON_ARM = (40, 39, 41, 51, 97, 268, 219, 217, 218, 280, 241, 282, 117, 270, 271, 104, 294, 105, 273, 106, 265,
           60, 89, 224, 225, 142, 116)
# fmt: on
_MACHINES: Mapping[str, _Machine] = MappingProxyType(
    {
        "x86_64": _Machine(
            mark=0xC000003E,
            refused=dict(zip(_NAMES, _ON_X86, strict=True)),
            clone=56,
            socket=41,
            socketpair=53,
            ioctl=16,
            setsockopt=54,
            uncounted=(319, 29, 64, 68, 278),
            forks=(57, 58),
            modes=((90, 1), (91, 1), (268, 2), (85, 1), (133, 1), (259, 2)),
            opens=((2, 1), (257, 2)),
        ),
        "aarch64": _Machine(
            mark=0xC00000B7,
            refused=dict(zip(_NAMES, _ON_ARM, strict=True)),
            clone=220,
            socket=198,
            socketpair=199,
            ioctl=29,
            setsockopt=208,
            uncounted=(279, 194, 190, 186, 75),
            forks=(),
            modes=((52, 1), (53, 2), (33, 2)),
            opens=((56, 2),),
        ),
    }
)


@lru_cache
def system_call_filter(*, may_fork: bool, machine: str = platform.machine()) -> bytes:
    """The filter as bubblewrap takes it.

    Args:
        may_fork: Whether the program may start others.
        machine: What the kernel calls this kind of processor.

    Raises:
        OSError: The numbers of this machine's system calls are not known here.
    """
    known = _MACHINES.get(machine)
    if known is None:
        raise OSError(f"programs are kept apart on {' and '.join(_MACHINES)} only, and this machine is {machine}")
    return b"".join(_steps(known, may_fork=may_fork))


def _steps(machine: _Machine, *, may_fork: bool) -> Iterator[bytes]:
    # Programs of another kind of processor have other numbers for the same calls: there are none here.
    yield from (_step(_LOAD, _MACHINE), _step(_EQUAL, machine.mark, yes=1), _fail(errno.ENOSYS), _step(_LOAD, _NUMBER))
    yield from (_step(_AT_LEAST, _X32, no=1), _fail(errno.ENOSYS))
    for number in (*machine.refused.values(), *_EVERYWHERE, *(() if may_fork else machine.forks)):
        yield from (_step(_EQUAL, number, no=1), _fail(errno.EPERM))
    for number in (*_NOT_THERE, *machine.uncounted):
        yield from (_step(_EQUAL, number, no=1), _fail(errno.ENOSYS))
    refuse_set_id = _step(_ANY_BIT, _SET_ID, no=1) + _fail(errno.EPERM)
    for number, argument in (*machine.modes, _FCHMODAT2):
        yield from _of(number, argument, then=refuse_set_id)
    for number, argument in machine.opens:
        mode = _step(_LOAD, 16 + 8 * (argument + 1)) + refuse_set_id
        yield from _of(number, argument, then=_step(_ANY_BIT, _MAKES_FILE, yes=1) + _allow() + mode)
    yield from _of(machine.clone, 0, then=_clone(may_fork=may_fork))
    yield from _of(machine.socket, 0, then=_one_of(_FAMILIES) + _fail(errno.EAFNOSUPPORT))
    kinds = _step(_ONLY_BITS, _KIND_BITS) + _one_of(_KINDS_OF_PAIRS)
    yield from _of(machine.socketpair, 1, then=kinds + _fail(errno.EAFNOSUPPORT))
    sizes = _step(_LOAD, 16 + 8 * 2) + b"".join(_step(_EQUAL, each, no=1) + _fail(0) for each in _SIZES)
    yield from _of(machine.setsockopt, 1, then=_step(_EQUAL, _OF_SOCKETS, yes=1) + _allow() + sizes)
    yield from _of(
        machine.ioctl, 1, then=b"".join(_step(_EQUAL, each, no=1) + _fail(errno.EPERM) for each in _TERMINAL)
    )
    yield _allow()


def _one_of(allowed: tuple[int, ...]) -> bytes:
    return b"".join(_step(_EQUAL, each, no=1) + _allow() for each in allowed)


def _clone(*, may_fork: bool) -> bytes:
    spaces = _step(_ANY_BIT, _NEW_NAMESPACES, no=1) + _fail(errno.EPERM)
    return spaces if may_fork else spaces + _step(_ANY_BIT, _THREAD, yes=1) + _fail(errno.EPERM)


def _of(number: int, argument: int, *, then: bytes) -> Iterator[bytes]:
    """For one system call: look at one argument of it, and allow what `then` does not answer."""
    inside = _step(_LOAD, 16 + 8 * argument) + then + _allow()
    yield _step(_EQUAL, number, no=len(inside) // 8)
    yield inside


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)


def _fail(number: int) -> bytes:
    return _step(_RETURN, _FAIL | number)


def _allow() -> bytes:
    return _step(_RETURN, _ALLOW)
