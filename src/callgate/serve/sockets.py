"""Sockets: what is listened on. A port of this machine is ours on both of its own addresses, or not at all."""

from __future__ import annotations

import errno
import socket

from callgate.errors import ConfigurationError

_OTHER = {"127.0.0.1": "::1", "0.0.0.0": "::1", "::1": "127.0.0.1"}  # noqa: S104 - the operator's to say
"""Browsers look for `localhost`, and for every name below it, at `::1` first and then at `127.0.0.1`. Whoever had the
one while we have the other would be sent what is meant for us: links, cookies, tokens."""
_NOT_HERE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
_BACKLOG = 2048


def listen(address: str, port: int, *, tries: int = 20) -> list[socket.socket]:
    """Listen there; port 0 is any that is free. The first socket is that of the address.

    Raises:
        ConfigurationError: It cannot be listened there.
    """
    first = _bound(address, port)
    try:
        return [first, *_beside(address, first.getsockname()[1])]
    except ConfigurationError:
        first.close()
        if port != 0 or tries == 0:
            raise
    return listen(address, 0, tries=tries - 1)


def _beside(address: str, port: int) -> list[socket.socket]:
    """The same port of this machine's other address, where it has one."""
    other = _OTHER.get(address)
    if other is None:
        return []
    try:
        return [_bound(other, port)]
    except _NotHere:
        return []


class _NotHere(ConfigurationError):
    """The machine has no such address."""


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        # The protocol is named so that asyncio knows it: else every answer waits for an acknowledgement, 40 ms.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise _refusal(error, address=address, port=port) from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` is every address, of both kinds; whatever the system's habit is.
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(address != "::"))
        made.bind((address, port))
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise _refusal(error, address=address, port=port) from None
    made.settimeout(0)
    return made


def _refusal(error: OSError, *, address: str, port: int) -> ConfigurationError:
    where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    kind = _NotHere if error.errno in _NOT_HERE else ConfigurationError
    return kind(f"cannot listen on {where} ({error.strerror}); choose another with --port")
