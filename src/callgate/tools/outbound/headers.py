"""Headers: which of them a call may send, which may go along to another origin, and which are shown of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import metadata

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_MOST = 50
_LONGEST = 8192
_OURS = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive"}
    | {"te", "trailer", "transfer-encoding", "upgrade", "via", "x-forwarded-for", "forwarded"}
)
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
"""What may go to another origin; any other header may be a credential, whatever it is called."""
_NOT_SHOWN = frozenset({"set-cookie", "set-cookie2", "authentication-info", "proxy-authenticate"})
_MOST_SHOWN = 100
_LONGEST_SHOWN = 2000


def sendable(given: Mapping[str, str] | None) -> dict[str, str]:
    """The headers of a request, names in small letters.

    Raises:
        ValueError: One of them is not the caller's to set, or is no header at all.
    """
    headers = {"user-agent": f"callgate/{metadata.version('callgate')}", "accept": "*/*"}
    if given and len(given) > _MOST:
        raise ValueError(f"headers has {len(given)} entries; at most {_MOST} are possible")
    for name, value in (given or {}).items():
        small = name.lower()
        if not _NAME.fullmatch(name):
            raise ValueError("headers has a name that is no name of a header; use letters, digits and hyphens")
        if small in _OURS or small.startswith("proxy-"):
            raise ValueError(f"headers must not set {small}; the client does that itself")
        if not _VALUE.fullmatch(value) or len(value) > _LONGEST:
            raise ValueError(f"headers.{small} has line breaks, control or other characters, or is too long")
        headers[small] = value.strip()
    return headers


def for_another_origin(headers: Mapping[str, str]) -> dict[str, str]:
    """What is left of a request's headers when it is sent on to another origin: nothing that may be a credential."""
    return {name: value for name, value in headers.items() if name in _HARMLESS}


def shown(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers of an answer for a reader: bounded, and without cookies."""
    seen: dict[str, str] = {}
    for name, value in headers:
        if name not in _NOT_SHOWN and (name in seen or len(seen) < _MOST_SHOWN):
            seen[name] = (f"{seen[name]}, {value}" if name in seen else value)[:_LONGEST_SHOWN]
    return seen
