"""Hosts: which host a URL or an address really names, and whether a tool may speak to it.

Only what every reader would understand alike is accepted. Nothing is looked up here: that a public name leads to a
private address, a tool sees when it connects, and checks again.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from callgate.policy.showing import name_all, show

_ANY = "*"
_LONGEST = 8192
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_LABELS = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_LOOKS_NUMERIC = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
_HOST_AND_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::\d+)?")
_PORT = re.compile(r"(.*):(\d{1,5})")
_PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".localdomain")
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",
            "192.88.99.0/24",
            "2001::/23",
            "2001:db8::/32",
            "3fff::/20",
            "168.63.129.16/32",
        ),
    )
)
"""For purposes of their own (IANA), of which Python knows more or fewer with each of its versions; and the door of a
cloud's host to its machines, which has a public number."""
_UNICAST = ipaddress.IPv6Network("2000::/3")
_ISATAP = 0x00005EFE
_WITHOUT_FLAGS = 0xFCFFFFFF
"""The flags of an interface (unique, group) may be set or not."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Unfit(Exception):
    """The host may not be spoken to; the message says why and what would change that."""


class Host(NamedTuple):
    """A host in its one spelling."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        shown = f"[{self.name}]" if ":" in self.name else self.name
        return shown if self.port is None else f"{shown}:{self.port}"


@dataclass(frozen=True, slots=True)
class Airspace:
    """Which hosts the tools of one scope family may speak to."""

    family: str
    hosts: tuple[str, ...] | None
    """Names or globs, with or without a port; None is any."""
    private_addresses: bool

    def refuse(self, host: Host, text: str) -> None:
        """Let it pass or not.

        Raises:
            Unfit: It is private, or not among the hosts.
        """
        if not self.private_addresses and is_private(host.name):
            raise Unfit(f"{show(text)} names the private host {host}; {self._opening(host)}")
        if self.hosts is not None and not any(_fits(host, pattern) for pattern in self.hosts):
            allowed = name_all(self.hosts) or "none"
            advice = f"add it to scopes.{self.family}.hosts"
            raise Unfit(f"{show(text)} names the host {host}, and {self.family} allows {allowed}; {advice}")

    def _opening(self, host: Host) -> str:
        """How to allow a private host, and not with it every other that a redirect leads to."""
        opened = f"in callgate.yaml, set scopes.{self.family}.private_addresses to true"
        if self.hosts is not None and _ANY not in self.hosts:
            return opened
        return f'{opened} and narrow scopes.{self.family}.hosts to what is needed, such as "{host}"'


def read_host(text: str) -> Host | None:
    """The host of a URL, of `host`, of `host:port` or of an address.

    None for a reference like `/users`, which stays on whatever host the tool has.

    Raises:
        Unfit: There is none, or readers could disagree about which it is.
    """
    if len(text) > _LONGEST:
        raise Unfit(f"a URL has at most {_LONGEST} characters, this one {len(text)}")
    if not text or _HIDDEN.search(text):
        odd = "is empty, or has spaces, control characters or a backslash in it"
        raise Unfit(f"{show(text)} {odd}; write %20 for a space")
    bare = _bare_address(text)
    if bare is not None:
        return Host(str(bare))
    if text.startswith("/") and not text.startswith("//"):
        return None
    try:
        parts = urlsplit(text if _SCHEME.match(text) else f"//{text}")
        name, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise Unfit(f"{show(text)} cannot be read as a URL or a host") from error
    if "@" in parts.netloc:
        raise Unfit(f"{show(text)} has a user name in it; leave it out, credentials come from the secrets")
    if parts.scheme == "file" or not name or not _HOST_AND_PORT.fullmatch(parts.netloc):
        raise Unfit(f"{show(text)} names no host, or not only one")
    return Host(_canonical(name, text), port)


def is_private(name: str) -> bool:
    """Whether a canonical host is this machine, its network, or no public address."""
    address = _bare_address(name)
    if address is not None:
        return not _is_public(address)
    return "." not in name or name.endswith(_PRIVATE_ENDINGS)


def _bare_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]") if text.startswith("[") else text)
    except ValueError:
        return None


def _canonical(name: str, text: str) -> str:
    name = name.lower()
    if not name.isascii():
        raise Unfit(f"{show(text)} has a host that is not ASCII; write it in its xn-- form")
    if "%" in name:
        raise Unfit(f"{show(text)} has a percent sign in its host")
    address = _bare_address(name)
    if address is not None:
        return str(address)
    name = name.removesuffix(".")
    if _LOOKS_NUMERIC.fullmatch(name):
        raise Unfit(f"{show(text)} hides an address; write it as four decimal numbers")
    if not _LABELS.fullmatch(name):
        raise Unfit(f"{show(text)} has a host that is no host name")
    return name


def _is_public(address: Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if any(address in network for network in _NOT_PUBLIC):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return True
    # Addresses that carry another one inside (mapped, translated, tunnelled) lead to that other one. Mapped and
    # translated ones (NAT64) are no unicast; of tunnels three are left.
    if address not in _UNICAST or address.sixtofour is not None or address.teredo is not None:
        return False
    return int(address) >> 32 & _WITHOUT_FLAGS != _ISATAP


def _fits(host: Host, pattern: str) -> bool:
    pattern = pattern.lower().removesuffix(".")
    if _bare_address(pattern) is not None:
        return str(_bare_address(pattern)) == host.name
    with_port = _PORT.fullmatch(pattern)
    if with_port is None:
        return fnmatch.fnmatchcase(host.name, pattern)
    name = str(_bare_address(with_port[1]) or with_port[1])
    return fnmatch.fnmatchcase(host.name, name) and host.port == int(with_port[2])
