"""Closed: whether a text that nobody calls a path may mean what is closed to tools beside Callgate's own files.

Prose, names and separators are texts as well: what says nothing about files is taken for nothing else.
"""

from __future__ import annotations

import os

from callgate.policy.aims import Aims
from callgate.policy.looks import Looks
from callgate.policy.own_files import CONFIGURATIONS, STORE_FOLDER

_GOVERNING = Aims([(name,) for name in (*CONFIGURATIONS, STORE_FOLDER, ".git")])
_STORE = Aims([(STORE_FOLDER,)])


def is_prose(text: str, place: str) -> bool:
    """Whether it has blanks, and what it would lie in is not there."""
    return " " in text and not os.path.isdir(os.path.dirname(place))  # noqa: PTH112, PTH120 - texts all along


def says_a_word(text: str) -> bool:
    """Whether it is more than signs: a dot, a slash and a star stand in texts for themselves."""
    return bool(text.strip("./*?\\"))


def names_governing(pattern: str, *, read_only: bool, looks: Looks) -> bool:
    """Whether a part of a pattern could be the name of what governs a Callgate or a repository."""
    aims = _STORE if read_only else _GOVERNING
    return any(says_a_word(part) and aims.met_by(part, looks=looks) for part in pattern.split("/"))
