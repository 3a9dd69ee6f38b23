"""Reading `builtin_tools.github:` and `.language:`: which servers these tools ask, and where their keys are kept."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, Reading
from callgate.settings.leaves import Choice, Text
from callgate.settings.values import GithubSettings, LanguageSettings

_API = r"https?://[^\s/@?#]+(/[^\s?#]*)?"
_SECRET = r"[^/\s:]+/[^/\s]+"  # noqa: S105 - what its name looks like
_PROVIDERS = ("wordllama", "openai")


def _parse_api(text: str) -> str:
    if not re.fullmatch(_API, text):
        raise Fault("needs a URL such as https://api.example.com/v1, without a user, a password or a query in it")
    return text.rstrip("/")


def _parse_secret(text: str) -> str:
    if not re.fullmatch(_SECRET, text):
        raise Fault("names where a key is kept, as connector/key such as github/token; the key itself is never here")
    return text


def _refuse_clear_text(url: str, key: str) -> None:
    """A key that goes by http could be read by anybody on the way; on this machine there is nobody."""
    parts = urlsplit(url)
    if parts.scheme == "http" and not _is_here(parts.hostname or ""):
        raise Fault(f"{key} is http, so that anybody on the way could read the key; use https")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _build_github(fields: Fields, _: Reading) -> GithubSettings:
    made = GithubSettings(**fields)
    _refuse_clear_text(made.api, "api")
    return made


def _build_language(fields: Fields, _: Reading) -> LanguageSettings:
    made = LanguageSettings(**fields)
    if made.provider == "wordllama":
        beyond = [name for name in ("url", "model", "secret") if name in fields]
        if beyond:
            raise Fault(f"{', '.join(beyond)}: wordllama asks no server; write provider: openai, or leave it out")
        return made
    missing = [name for name in ("url", "model") if name not in fields]
    if missing:
        raise Fault(f"provider openai needs {' and '.join(missing)}")
    if made.secret is not None:
        _refuse_clear_text(made.url or "", "url")
    return made


_URL = Text(pattern=_API, needs="a URL", parse=_parse_api, longest=2000)
_KEPT = Text(pattern=_SECRET, needs="connector/key", parse=_parse_secret, longest=400)

GITHUB_TOOLS = Block(
    {
        "api": Key(_URL, "The REST API; of GitHub Enterprise Server, its address with /api/v3."),
        "secret": Key(_KEPT, "Where the token is kept with the secrets, as connector/key."),
    },
    _build_github,
)
LANGUAGE_TOOLS = Block(
    {
        "provider": Key(
            Choice({name: name for name in _PROVIDERS}),
            "wordllama, a small model inside a package, or openai: a server that speaks as OpenAI's does.",
        ),
        "url": Key(_URL, "The server's address up to its version; /embeddings is put after it."),
        "model": Key(Text(needs="the name of a model"), "The model that the server is asked for."),
        "secret": Key(_KEPT, "Where the server's key is kept with the secrets, as connector/key; without it, none."),
    },
    _build_language,
)
