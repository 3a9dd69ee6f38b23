"""Which hosts and origins are ours, and by which name people reach the console. Pages of others are not ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

MCP = "/mcp"
"""The path of the MCP door; below it each server has one of its own."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EVERYWHERE = ("0.0.0.0", "[::]")  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Addresses:
    """How this server is reached."""

    url: str
    """Where agents are sent, without a slash at its end."""
    console: str
    """Where people are sent, in the same way. The console answers under this name and no other."""
    hosts: frozenset[str]
    """Values of `Host` that are answered."""
    origins: frozenset[str]
    """Values of `Origin` that may write."""

    @property
    def console_host(self) -> str:
        """The value of `Host` under which the console answers."""
        return urlsplit(self.console).netloc.lower()


def addresses(*, address: str, port: int, url: str | None, hosts: Iterable[str], name: str | None = None) -> Addresses:
    """The addresses of a server that listens there.

    Args:
        address: What it listens on.
        port: On which port.
        url: How it is reached, where that is not by its own address.
        hosts: Names it is reached by besides.
        name: What the gate is called on this machine. Browsers look below `localhost` on it without asking anybody, and
            send a cookie to every port of the host it is of: under a name of its own nobody else's port is opened.
    """
    own = f"[{address}]" if ":" in address else address
    local = {f"{each}:{port}" for each in (*_LOOPBACK, own)}
    named = {each.lower() for each in hosts}
    told = (url or f"http://{'127.0.0.1' if own in _EVERYWHERE else own}:{port}").rstrip("/")
    nameable = name is not None and url is None and own in {*_LOOPBACK, *_EVERYWHERE}
    console = f"http://{name}.localhost:{port}" if nameable else told
    local.add(urlsplit(console).netloc.lower())
    named.add(urlsplit(told).netloc.lower())
    # A name is reached over TLS by a proxy in front of us, or plainly: who may write from it is the same.
    origins = {f"http://{each}" for each in local | named} | {f"https://{each}" for each in named}
    return Addresses(told, console, frozenset(local | named), frozenset(origins))
