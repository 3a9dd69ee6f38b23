"""Which hosts and origins are ours. A page of somebody else's, or a name that leads here, is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Addresses:
    """How this server is reached."""

    url: str
    """Where people and agents are sent, without a slash at its end."""
    hosts: frozenset[str]
    """Values of `Host` that are answered."""
    origins: frozenset[str]
    """Values of `Origin` that may write."""


def addresses(*, address: str, port: int, url: str | None, hosts: Iterable[str]) -> Addresses:
    """The addresses of a server that listens there.

    Args:
        address: What it listens on.
        port: On which port.
        url: How it is reached, where that is not by its own address.
        hosts: Names it is reached by besides.
    """
    own = f"[{address}]" if ":" in address else address
    local = {f"{name}:{port}" for name in (*_LOOPBACK, own)}
    named = {name.lower() for name in hosts}
    told = url or f"http://{'127.0.0.1' if own in {'0.0.0.0', '[::]'} else own}:{port}"  # noqa: S104 - compared, not bound
    named.add(urlsplit(told).netloc.lower())
    # A name is reached over TLS by a proxy in front of us, or plainly: who may write from it is the same.
    origins = {f"http://{name}" for name in local | named} | {f"https://{name}" for name in named}
    return Addresses(told.rstrip("/"), frozenset(local | named), frozenset(origins))
