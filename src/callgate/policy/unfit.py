"""Unfit: a path that may not be touched, and those that are none by their spelling."""

from __future__ import annotations

import re

from callgate.policy.guess import LONGEST_PATH
from callgate.policy.showing import show

_OTHER_MEANING = re.compile(r"~|file:|[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class Unfit(Exception):
    """The path may not be touched; the message says why and what would change that."""


def refuse_spelling(text: str) -> None:
    """Refuse what tools take for different things, or for no path.

    Raises:
        Unfit: It is such a text.
    """
    if "\0" in text:
        raise Unfit(f"path {show(text)} has a NUL character in it")
    if len(text) > LONGEST_PATH:
        raise Unfit(f"a path has at most {LONGEST_PATH} characters, this one {len(text)}")
    if _OTHER_MEANING.match(text):
        raise Unfit(f"path {show(text)} means something else to some tools; write it out as a plain path")
