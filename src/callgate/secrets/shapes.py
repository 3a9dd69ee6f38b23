"""Known shapes of credentials, struck wherever they appear. Knows no secret of ours.

One pattern, linear in the text: each shape begins with its own letters, takes the rest of its word without looking
back, and no part of it can be read in two ways. What is struck is the group that names the shape, or else all of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORD = r"[A-Za-z0-9_\-]"
# "(?<!…)" stands after the first letters on purpose: a pattern that begins with letters is searched much faster.
_SHAPES = (
    rf"A(?<![A-Za-z0-9]A)(?:KIA|SIA)[A-Z0-9]{{16}}{_WORD}*+(?P<aws_access_key>)",
    rf"A(?<![A-Za-z0-9]A)Iza{_WORD}{{20,}}+(?P<google_api_key>)",
    # "sk-" also begins names of styles and packages: digits, capitals or one long word make it a key.
    rf"s(?<![A-Za-z0-9]s)k-(?=[a-z_\-]{{0,40}}[A-Z0-9]|(?:[a-z]{{1,12}}+-){{0,3}}+[a-z]{{20}}){_WORD}{{16,}}+(?P<api_key>)",
    rf"s(?<![A-Za-z0-9]s)k_(?:live|test)_[A-Za-z0-9_]{{10,}}+{_WORD}*+(?P<stripe_key>)",
    rf"r(?<![A-Za-z0-9]r)k_(?:live|test)_[A-Za-z0-9_]{{10,}}+{_WORD}*+(?P<stripe_restricted_key>)",
    rf"g(?<![A-Za-z0-9]g)h[oprsu]_[A-Za-z0-9_]{{10,}}+{_WORD}*+(?P<github_token>)",
    rf"g(?<![A-Za-z0-9]g)ithub_pat_[A-Za-z0-9_]{{10,}}+{_WORD}*+(?P<github_fine_grained_token>)",
    rf"x(?<![A-Za-z0-9]x)ox[a-z]-{_WORD}{{8,}}+(?P<slack_token>)",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<slack_webhook>[A-Za-z0-9_\-/]{12,}+)",
    rf"e(?<!{_WORD}e)yJ[A-Za-z0-9_]{{10,}}+{_WORD}*+\.{_WORD}{{8,}}+(?:\.{_WORD}*+)*+(?P<json_web_token>)",
    (
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\,:.()]++|-(?!----))*+"
        rf"(?:-----END [A-Z0-9 ]{{0,60}}-----{_WORD}*+)?(?P<private_key>)"
    ),
    (
        # The user as well: some services take a token there.
        r"://(?P<url_credentials>[^\s/?#:@\"'<>\\]{0,256}+:"
        r"[^\s/?#@\"'<>\\]{1,256}+(?:@[^\s/?#@,\"'<>\\]{1,256}+(?=@))*+)@"
    ),
    *(
        rf"{first}(?:{rest})\s{{1,8}}+(?=[A-Za-z]?[a-z]{{0,40}}[0-9A-Z]|[A-Za-z]{{1,40}}[._\-~][A-Za-z0-9]|[A-Za-z]{{20}})"
        rf"(?P<{name}>[A-Za-z0-9\-._~+/]{{6,}}+=*+)"
        for first, rest, name in (("B", "earer|EARER", "bearer_token"), ("b", "earer", "bearer"))
    ),
    *(
        rf"{first}(?:{rest})[\"'\\]{{0,3}}+\s{{0,4}}+[:=]\s{{0,4}}+[\"'\\]{{0,3}}+"
        rf"(?:Basic|basic|Bearer|bearer|Token|token|ApiKey)\s{{1,8}}+(?P<{name}>[A-Za-z0-9\-._~+/]{{4,}}+=*+)"
        for first, rest, name in (("A", "uthorization|UTHORIZATION", "authorization"), ("a", "uthorization", "header"))
    ),
)
_NAMES = {
    "stripe_restricted_key": "stripe_key",
    "github_fine_grained_token": "github_token",
    "bearer": "bearer_token",
    "header": "authorization",
}
"""Groups of one pattern cannot share a name; shapes can."""
_PATTERN = re.compile("|".join(_SHAPES))

NAMES = frozenset(_NAMES.get(name, name) for name in _PATTERN.groupindex)
"""What the shapes are called."""


def strike_shapes(text: str, stand_ins: Mapping[str, str]) -> str:
    """The text with every known shape struck; the same object when there is none.

    Args:
        text: Any text.
        stand_ins: What is put in place of each of `NAMES`.
    """

    def stand_in(match: re.Match[str]) -> str:
        group = match.lastgroup or ""
        start, end = match.span(group)
        struck = stand_ins[_NAMES.get(group, group)]
        return struck if start == end else f"{text[match.start() : start]}{struck}{text[end : match.end()]}"

    return _PATTERN.sub(stand_in, text) if _PATTERN.search(text) else text
