"""Placeholders: what stands where a secret was struck out, and how one is recognised. Knows no secret."""

from __future__ import annotations

import re

_LABEL_AT_MOST = 64
_UNUSUAL = re.compile(r"[^A-Za-z0-9._\-]")

OPENING = "[secret:"
PLAIN = ("[struck]", "[***]", "[...]", "[---]", "[+++]", "[===]")
"""For secrets that are themselves part of the usual placeholder."""
ANY = re.compile(r"\[secret:[A-Za-z0-9._\-/]{1,160}\]|" + "|".join(re.escape(text) for text in PLAIN))


def placeholder(*names: str) -> str:
    """`[secret:github/token]`, safe to show whatever the names hold."""
    return f"{OPENING}{'/'.join(_UNUSUAL.sub('_', name)[:_LABEL_AT_MOST] or '_' for name in names)}]"
