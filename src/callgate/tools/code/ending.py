"""Ending: what is to be done when a program has ended, and what has to be known for that from before it began.

It can be written down, so that somebody else does it when the Callgate of that program has ended with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from callgate.policy.ways import is_inside
from callgate.tools.code.aside import RENAMED, Spared, first, set_aside
from callgate.tools.code.inventory import Identity, Inventory, Which, identity_of, shown, which_of
from callgate.tools.code.lifetimes import Lifetime
from callgate.tools.code.others import Link, put_back, replaced

_MOST_NAMED = 5
_BACK = "what was renamed and is somebody else's, made before that was looked at, is to be renamed back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a program may write to, and what was there."""

    roots: Mapping[str, Identity]
    """The directories, and which ones these are: another may lie there later."""
    before: Inventory
    absent: tuple[str, ...]
    """Where something would be found by what was there, and nothing was."""
    links: tuple[Link, ...]
    """By which other Callgates find what is their own."""
    spared: Spared

    def finish(self) -> list[str]:
        """Set aside what it made, and put back what it took away; what was done, for people."""
        gone = [*self.absent, *replaced(self.links)]
        roots = tuple(self.roots)
        told = set_aside(self.before, gone, roots=roots, spared=self.spared)
        return [*told, *first(put_back(self.links, roots))]

    def finish_for_another(self) -> list[str]:
        """The same, where its own call is broken off: what was done, for who comes next."""
        told = self.finish()
        return [f"of a program in {self.named()} whose call was broken off: {'; '.join(told)}"] if told else []

    def named(self) -> str:
        """Where it ran, for people."""
        return ", ".join(shown(path) for path in list(self.roots)[:_MOST_NAMED])

    def to_json(self, lifetime: Lifetime) -> dict[str, Any]:
        """To be written down."""
        return {
            "lifetime": lifetime,
            "roots": self.roots,
            "git": self.before.git,
            "configurations": self.before.configurations,
            "stores": self.before.stores,
            "unseen": self.before.unseen,
            "absent": self.absent,
            "links": [(link.path, link.which, link.leads) for link in self.links],
            "granted": self.spared.granted,
            "own": self.spared.own,
        }


def finish_late(body: dict[str, Any], *, own: tuple[str, ...]) -> list[str]:
    """Do for a program, whose Callgate ended with it, what would have been done for it.

    Args:
        body: What was written down for it.
        own: What is our own, and so left where it is.

    Returns:
        What was done, for people.

    Raises:
        Exception: That is not what was written down for any, or it cannot be done.
    """
    lifetime = Lifetime(*body["lifetime"])
    ending = _read(body, over=lifetime.over(), own=own)
    there = {path: which for path, which in ending.roots.items() if _is_still(path, which)}
    told = [f"{shown(path)} is not there any more, so nothing was looked for in it" for path in _without(ending, there)]
    if there:
        links = tuple(link for link in ending.links if any(is_inside(link.path, root) for root in there))
        told += _today(replace(ending, roots=there, links=links)).finish()
    if not told:
        return []
    begun = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(lifetime.begun))
    of_whom = f"a program that was begun in {ending.named()} at {begun} was ended with its Callgate"
    back = [_BACK] if any(RENAMED in each for each in told) else []
    return [f"{of_whom}, and what was left to do was done now: {'; '.join([*told, *back])}"]


def _read(body: dict[str, Any], *, over: float, own: tuple[str, ...]) -> Ending:
    links = tuple(Link(str(path), _which(which), str(leads)) for path, which, leads in body["links"])
    return Ending(
        roots={str(path): (int(device), int(number)) for path, (device, number) in body["roots"].items()},
        before=Inventory(
            git=_found(body["git"]),
            configurations=_found(body["configurations"]),
            stores=_found(body["stores"]),
            unseen=[str(path) for path in body["unseen"]],
        ),
        absent=tuple(map(str, body["absent"])),
        links=links,
        spared=Spared(
            granted=tuple(map(str, body["granted"])),
            own=(*map(str, body["own"]), *own),
            later_than=over,
            links={link.path: link.leads for link in links},
        ),
    )


def _found(body: dict[str, Any]) -> dict[str, Which]:
    return {str(path): _which(which) for path, which in body.items()}


def _which(numbers: Any) -> Which:
    return tuple(map(int, numbers))


def _is_still(path: str, which: Identity) -> bool:
    """Whether the directory there is the one that the program had. A device has another number after each start."""
    now = identity_of(path)
    return now is not None and now[1:] == which[1:] and os.path.isdir(path)  # noqa: PTH112 - a text all along


def _without(ending: Ending, there: Mapping[str, Identity]) -> list[str]:
    return [path for path in ending.roots if path not in there]


def _today(ending: Ending) -> Ending:
    """With today's numbers of devices for what still lies where it lay."""
    before = ending.before
    for found in (before.git, before.configurations, before.stores):
        for path, which in found.items():
            found[path] = _as_of_today(path, which)
    links = tuple(replace(link, which=_as_of_today(link.path, link.which)) for link in ending.links)
    return replace(ending, links=links)


def _as_of_today(path: str, which: Which) -> Which:
    now = which_of(path)
    return now if now is not None and now[1:] == which[1:] else which
