"""Headers: which of them a call may send, which may go along to another origin, and which are shown of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import metadata

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_MOST = 50
_LONGEST = 8192
"""Characters of a value: as many as servers usually take, and send."""
_OURS = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive"}
    | {"te", "trailer", "transfer-encoding", "upgrade", "via", "x-forwarded-for", "forwarded"}
)
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
"""What may go to another origin; any other header may be a credential, whatever it is called."""
_NOT_SHOWN = frozenset({"set-cookie", "set-cookie2", "authentication-info", "proxy-authenticate"})
_MOST_SHOWN = 100


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


def shown(headers: Iterable[tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    """The headers of an answer for a reader, bounded and without cookies, and the names of those left out for that.

    None is cut: half a value could be taken for a whole one.
    """
    seen: dict[str, str] = {}
    left_out: dict[str, None] = {}
    for name, value in headers:
        if name in _NOT_SHOWN or name in left_out:
            continue
        whole = f"{seen[name]}, {value}" if name in seen else value
        if len(whole) > _LONGEST or (name not in seen and len(seen) >= _MOST_SHOWN):
            seen.pop(name, None)
            left_out[name] = None
        else:
            seen[name] = whole
    return seen, list(left_out)
