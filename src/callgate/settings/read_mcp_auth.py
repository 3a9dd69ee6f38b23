"""Reads `mcp_servers.*.auth`: how to sign in at a server, and what of it fits together. Signs in nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, Reading
from callgate.settings.leaves import Choice, Number, Text
from callgate.settings.values import OAuthSettings

_SERVER = r"https://\S+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?([/?]\S*)?"
_ISSUER = r"https://[^\s/@?#]+(/[^\s?#]*)?|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s?#]*)?"
_DOCUMENT = r"https://[^\s/@?#]+/[^\s?#]+"
_REFERENCE = r"secret:[^/\s]+/[^/\s]+"
_SCOPE = r"[!#-\[\]-~]+"
MACHINE = "client_credentials"


def refuse_unfit(oauth: OAuthSettings, url: str, *, headers: Mapping[str, str]) -> None:
    """Refuse what cannot be, or would show a credential to somebody it is not for.

    Raises:
        Fault: With what to write instead.
    """
    for wrong, advice in (*_wrong_places(oauth, url, headers=headers), *_wrong_client(oauth)):
        if wrong:
            raise Fault(advice)


def _wrong_places(oauth: OAuthSettings, url: str, *, headers: Mapping[str, str]) -> Iterable[tuple[bool, str]]:
    yield not re.fullmatch(_SERVER, url), "auth needs a URL with https, or one of this machine: tokens are sent there"
    given = any(name.lower() == "authorization" for name in headers)
    yield given, "there is a header Authorization already; leave out either that or auth"
    issuer = oauth.issuer
    yield issuer is not None and not re.fullmatch(_ISSUER, issuer), "auth.oauth.issuer needs a URL with https"
    document = oauth.client_metadata_url
    wrong = document is not None and not re.fullmatch(_DOCUMENT, document)
    yield wrong, "auth.oauth.client_metadata_url needs a URL with https and a path"


def _wrong_client(oauth: OAuthSettings) -> Iterable[tuple[bool, str]]:
    secret, machine = oauth.client_secret, oauth.grant == MACHINE
    written_out = secret is not None and not re.fullmatch(_REFERENCE, secret)
    yield (
        written_out,
        "auth.oauth.client_secret is written as secret:connector/key, and the value kept with the secrets",
    )
    yield machine and (oauth.client_id is None or secret is None), f"{MACHINE} needs client_id and client_secret"
    yield secret is not None and oauth.client_id is None, "auth.oauth.client_secret needs the client_id it belongs to"
    lacking = secret is not None and oauth.issuer is None
    yield lacking, "auth.oauth.client_secret needs the issuer it is for; else the server could have it sent anywhere"
    twice = oauth.client_id is not None and oauth.client_metadata_url is not None
    yield twice, "auth.oauth has either client_id or client_metadata_url, not both"
    person_only = machine and (oauth.redirect_port is not None or oauth.client_metadata_url is not None)
    yield person_only, f"redirect_port and client_metadata_url are for people who sign in, not for {MACHINE}"


def _build_oauth(fields: Fields, _: Reading) -> OAuthSettings:
    return OAuthSettings(**fields)


def _build_auth(fields: Fields, _: Reading) -> OAuthSettings:
    if "oauth" not in fields:
        raise Fault("says nothing; write oauth: {}")
    return fields["oauth"]


def _parse_secret(text: str) -> str:
    if not re.fullmatch(_REFERENCE, text):
        raise Fault("is written as secret:connector/key, and the value kept with the secrets")
    return text


_URL: dict[str, Any] = {"pattern": _ISSUER, "needs": "a URL with https", "longest": 2000}

AUTH = Block(
    {
        "oauth": Key(
            Block(
                {
                    "grant": Key(
                        Choice({"authorization_code": "authorization_code", MACHINE: MACHINE}),
                        "authorization_code: a person signs in. client_credentials: a machine does, by itself.",
                        "authorization_code",
                    ),
                    "issuer": Key(Text(**_URL), "The only authorization server that is accepted."),
                    "client_id": Key(Text(needs="a client id", longest=2000), "A client that was registered by hand."),
                    "client_secret": Key(
                        Text(pattern=_REFERENCE, needs="secret:connector/key", parse=_parse_secret, longest=400),
                        "Its secret, as secret:connector/key.",
                    ),
                    "client_auth": Key(
                        Choice(
                            {
                                "client_secret_basic": "client_secret_basic",
                                "client_secret_post": "client_secret_post",
                            }
                        ),
                        "How the secret is shown.",
                        "client_secret_basic",
                    ),
                    "client_metadata_url": Key(
                        Text(pattern=_DOCUMENT, needs="a URL with https and a path", longest=2000),
                        "Where a client describes itself, instead of being registered.",
                    ),
                    "scopes": Key(
                        ListOf(Text(pattern=_SCOPE, needs="a scope without blanks")),
                        "The rights that are asked for; without it, those the server asks for.",
                        [],
                    ),
                    "redirect_port": Key(
                        Number(1024, 65535), "The port of this machine that a person is sent back to; else any."
                    ),
                },
                _build_oauth,
            ),
            "Sign in with OAuth.",
        )
    },
    _build_auth,
)
