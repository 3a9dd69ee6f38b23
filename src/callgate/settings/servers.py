"""Servers that want a key: their address, and the name under which the key is kept, as every block writes them.

A key itself is never in the configuration, and never goes where anybody on the way could read it. Asks nobody.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from callgate.settings.complaints import Fault
from callgate.settings.leaves import Text

_ADDRESS = r"https?://[^\s/@?#]+(/[^\s?#]*)?"
_NAME = r"[^/\s:]+/[^/\s]+"


def _parse_address(text: str) -> str:
    if not re.fullmatch(_ADDRESS, text):
        raise Fault("needs a URL such as https://api.example.com/v1, without a user, a password or a query in it")
    return text.rstrip("/")


def _parse_name(text: str) -> str:
    if not re.fullmatch(_NAME, text):
        raise Fault("names where a key is kept, as connector/key such as github/token; the key itself is never here")
    return text


SERVER = Text(pattern=_ADDRESS, needs="a URL", parse=_parse_address, longest=2000)
SECRET_NAME = Text(pattern=_NAME, needs="connector/key", parse=_parse_name, longest=400)


def refuse_clear_text(url: str, key: str) -> None:
    """Refuse to send a key by http to another machine: anybody on the way could read it.

    Args:
        url: Where it would go.
        key: The setting that says so.

    Raises:
        Fault: It would be readable.
    """
    parts = urlsplit(url)
    if parts.scheme == "http" and not _is_here(parts.hostname or ""):
        raise Fault(f"{key} is http, so that anybody on the way could read the key; use https")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
