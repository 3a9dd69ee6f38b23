"""Reading `serve:`: where the network doors are, and which names they answer to. Opens nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, Reading
from callgate.settings.leaves import Flag, Number, Text
from callgate.settings.servers import SERVER, refuse_clear_text
from callgate.settings.values import ServeOAuthSettings, ServeSettings

_HOST = r"[A-Za-z0-9.-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?"
_MEGABYTE = 1024 * 1024


def _parse_host(text: str) -> str:
    if not re.fullmatch(_HOST, text):
        raise Fault("needs a host name, with its port where it has one: callgate.example.com")
    return text.lower()


def _build(fields: Fields, _: Reading) -> ServeSettings:
    hosts: Sequence[str] = fields.get("hosts", ())
    if len(set(hosts)) < len(hosts):
        raise Fault("hosts names one twice; keep one")
    return ServeSettings(**fields)


def _build_oauth(fields: Fields, _: Reading) -> ServeOAuthSettings:
    made = ServeOAuthSettings(**fields)
    refuse_clear_text(made.jwks, "jwks")
    return made


_OAUTH = Block(
    {
        "issuer": Key(
            Text(pattern=r"https?://[^\s?#]+", needs="the URL of an authorization server", longest=2000),
            "The authorization server, exactly as its tokens name it.",
            required=True,
        ),
        "jwks": Key(SERVER, "Where its public keys are.", required=True),
        "audience": Key(Text(needs="an audience", longest=2000), "What a token has to be for; else this server's url."),
        "role": Key(Text(needs="a role"), "The role under which its agents call.", "default"),
        "required_scope": Key(Text(needs="a scope of the server's"), "A scope that a token must have."),
        "private_addresses": Key(Flag(), "Whether its keys may be on this machine or its network.", default=False),
    },
    _build_oauth,
)


SERVE = Block(
    {
        "address": Key(
            Text(pattern=r"[0-9A-Fa-f:.]+", needs="an address of this machine", longest=100),
            "The address of this machine that is listened on.",
            "127.0.0.1",
        ),
        "port": Key(Number(0, 65_535), "The port that is listened on; 0 is any that is free.", 8700),
        "url": Key(SERVER, "The address that people and agents reach it by, where that is another."),
        "hosts": Key(
            ListOf(Text(pattern=_HOST, needs="a host name", parse=_parse_host, longest=300)),
            "Names that agents reach it by besides its own address; requests for any other host are refused.",
            [],
        ),
        "oauth": Key(_OAUTH, "An authorization server whose access tokens let agents in."),
        "body_bytes": Key(Number(1024, 64 * _MEGABYTE), "The largest request that is read.", _MEGABYTE),
        "requests_per_second": Key(
            Number(1, 1_000_000), "How many requests one credential may make in a second, in the long run.", 500
        ),
        "requests_at_once": Key(
            Number(1, 1_000_000), "How many requests one credential may make before it has to slow down.", 3000
        ),
    },
    _build,
)
