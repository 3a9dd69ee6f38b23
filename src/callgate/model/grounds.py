"""Grounds: where a running tool may go.

The call's own arguments were judged before it ran. What it meets on its way (a link, a redirect, what a pattern
matches, what an archive names) it judges by these.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Where one tool may go in one context. What is refused comes with a reason for people."""

    directory: str
    """The real working directory: relative paths start here."""
    roots: tuple[str, ...]
    """The real directories it may work in, none inside another; `/` is anywhere."""
    closed: tuple[str, ...]
    """Callgate's own files and folders, there or not: out of reach, also of programs a tool starts."""
    git: tuple[str, ...]
    """Directories inside a `.git` that may be written to; every other `.git` is read-only."""
    code: tuple[str, ...]
    """What Callgate itself runs from, there or not: to be read and started, and never written."""
    private_addresses: bool
    """Whether it may speak to this machine and its network."""
    path_refused: Callable[[str, os.stat_result | None], str | None]
    """(a real path without links, what is there) -> why it may not be touched, or None."""
    host_refused: Callable[[str], str | None]
    """(a URL, host or address) -> why it may not be spoken to, or None. Names are not looked up."""
    others: tuple[str, ...] = ()
    """Real directories that tools of any scope family may work in, this one or not."""
    ways_to_code: tuple[str, ...] = ()
    """Links over which Callgate finds what it runs from: whoever replaces one chooses what that is."""
