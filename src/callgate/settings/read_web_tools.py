"""Reading `builtin_tools.web:`: whom the web tools ask, and how they get there. Asks nobody."""

from __future__ import annotations

import re

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, Reading
from callgate.settings.leaves import Choice, Text
from callgate.settings.values import SearchBackend, WebSettings

_URL = r"https?://[^\s/@?#]+(/[^\s#]*)?"
_PROXY = r"http://[A-Za-z0-9._-]+(:[0-9]{1,5})?/?"
_HOST = r"[a-z0-9-]+(\.[a-z0-9-]+)+"
_KINDS = ("duckduckgo", "searxng")


def _parse_url(text: str) -> str:
    if not re.fullmatch(_URL, text):
        raise Fault("needs a URL such as https://search.example.com/search, without a user or a password in it")
    return text


def _parse_proxy(text: str) -> str:
    if not re.fullmatch(_PROXY, text):
        raise Fault("needs a proxy such as http://proxy.example.com:3128, without a user or a password in it")
    return text.rstrip("/")


def _build_backend(fields: Fields, _: Reading) -> SearchBackend:
    return SearchBackend(**fields)


def _build(fields: Fields, _: Reading) -> WebSettings:
    if not fields.get("search", (None,)):
        raise Fault("search is empty; name a backend, or leave the key out")
    return WebSettings(**fields)


_PLACE = Text(pattern=_URL, needs="a URL", parse=_parse_url, longest=2000)

WEB_TOOLS = Block(
    {
        "search": Key(
            ListOf(
                Block(
                    {
                        "kind": Key(
                            Choice({kind: kind for kind in _KINDS}), "How it is asked and read.", required=True
                        ),
                        "url": Key(_PLACE, "Where it is.", required=True),
                    },
                    _build_backend,
                )
            ),
            "Whom web_search asks, in this order until one answers.",
        ),
        "wikipedia": Key(_PLACE, "The API of a MediaWiki that fetch_wikipedia asks."),
        "proxy": Key(
            Text(pattern=_PROXY, needs="a proxy", parse=_parse_proxy, longest=500),
            "A proxy to go through; variables of the environment are not looked at.",
        ),
        "trusted_docs": Key(
            ListOf(Text(pattern=_HOST, needs="a host such as docs.python.org")),
            "Hosts whose pages fetch_docs calls trusted, with those below them.",
        ),
    },
    _build,
)
