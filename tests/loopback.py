"""Loopback: no test sends a packet off this machine; one that tries is stopped, and fails.

Tests hand the tools a resolver and a connector of theirs, which never reach a socket. What is watched here is the
mistake: a network of the system's own, a library that asks for its newest version. Python tells of every name that is
looked up and of every connection in this process. Out of its sight is who asks the system by himself: the processes
that tests start, libraries that bring their own C (libpq, uvloop), and the name in `socket.connect((name, port))`: it
is looked up before anybody is told. Whoever opens connections by name asks `getaddrinfo` first.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

_INTERNET = (socket.AF_INET, socket.AF_INET6)
_LOCAL = frozenset({"", "localhost"})
_tried: list[str] = []


class LeavesThisMachine(OSError):
    """What a test did would have sent something to another machine."""


@pytest.fixture(autouse=True)
def loopback_only() -> Generator[None]:
    """Fail the test that tried: whoever tried may have taken the refusal for a network that is down."""
    yield
    tried = _taken()
    if tried:
        pytest.fail(f"left this machine, or would have: {', '.join(tried)}", pytrace=False)


@contextmanager
def trying() -> Generator[list[str]]:
    """For who tries on purpose: what was tried inside, known when this is left."""
    tried: list[str] = []
    try:
        yield tried
    finally:
        tried += _taken()


def _taken() -> list[str]:
    tried = _tried.copy()
    _tried.clear()
    return tried


def _refuse_name(event: str, host: Any) -> None:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    if name not in _LOCAL and not _is_number(name):
        _refuse(event, name)


def _refuse_address(event: str, host: str) -> None:
    if host not in _LOCAL and not (_is_number(host) and _stays(host)):
        _refuse(event, host)


def _refuse(event: str, what: str) -> None:
    _tried.append(f"{event} {what}")
    raise LeavesThisMachine(f"{event} {what}: tests stay on this machine")


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _stays(number: str) -> bool:
    """Whether this machine answers itself there; to `0.0.0.0` it does."""
    address = ipaddress.ip_address(number)
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    return address.is_loopback or address.is_unspecified


def _sent(event: str, arguments: tuple[Any, ...]) -> None:
    sender, address = arguments
    if address is not None and sender.family in _INTERNET:
        _refuse_address(event, str(address[0]))


def _looked_up(event: str, arguments: tuple[Any, ...]) -> None:
    _refuse_name(event, arguments[0])


def _looked_back(event: str, arguments: tuple[Any, ...]) -> None:
    """Whose address it is, others know as well."""
    (where,) = arguments
    _refuse_address(event, where if isinstance(where, str) else str(where[0]))


_WATCHED: dict[str, Callable[[str, tuple[Any, ...]], None]] = {
    "socket.connect": _sent,
    "socket.sendto": _sent,
    "socket.sendmsg": _sent,
    "socket.getaddrinfo": _looked_up,
    "socket.gethostbyname": _looked_up,
    "socket.gethostbyaddr": _looked_back,
    "socket.getnameinfo": _looked_back,
}


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """Told of all that Python tells of, each file that is opened: so all that is not meant costs one look."""
    judge = _WATCHED.get(event)
    if judge is not None:
        judge(event, arguments)


sys.addaudithook(_hear)  # once for the process, and for good: there is no way to take one off
