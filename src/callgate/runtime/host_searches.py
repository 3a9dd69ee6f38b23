"""Searches of hosts: which of the files that no tool may touch one would read. Looks at names, and opens nothing.

A host's search goes through all that lies in a folder. Each file there is judged as one that is read by its name; those
that a glob or a type surely leaves out do not count. Links are not followed, as a search does not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from callgate.model.call import Call
from callgate.model.grounds import Grounds
from callgate.model.outcome import Outcome, Refused
from callgate.policy.mounted import mounted
from callgate.policy.own_files import STORE_FOLDER, key_of, listed
from callgate.runtime.host_globs import Chosen

SEARCH = "host.grep"
SEARCHED = "searched"
"""The argument that says which of the files out of reach a search would read: paths, judged like the others."""
_MOST = 20
"""So many are handed on; one is enough for a no."""
_MOST_NAMED = 4
_MOST_LOOKED_AT = 200_000
_MOST_OWN = 20_000
_ROOT = STORE_FOLDER.strip(".")
_PLAIN = re.compile(r"[\w.@+=~-]+", re.ASCII)


def with_searched(call: Call, grounds: Grounds) -> Call:
    """The search, with what it would read of the files out of reach where it would read one.

    Args:
        call: A search of a host.
        grounds: Where it may go.
    """
    found = _look(call.arguments, grounds).found
    return call._replace(arguments={**call.arguments, SEARCHED: found[:_MOST]}) if found else call


def advised(outcome: Outcome | None, call: Call, grounds: Grounds) -> Outcome | None:
    """The outcome, and where a search was denied for what it would read, with the glob that leaves it out."""
    if not isinstance(outcome, Refused) or outcome.error is None or f"argument {SEARCHED}" not in outcome.error.message:
        return outcome
    seen = _look(call.arguments, grounds)
    if not seen.names:
        return outcome
    names = [os.path.relpath(path, seen.folder) for path in seen.found]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    unsure = " (there are more files than can be looked at)" if seen.unsure else ""
    message = f"this search would read Callgate's own files, or what switches hooks on and off{unsure}"
    glob = _glob(call.arguments, grounds)
    advice = "Search a folder without these files, or with a glob that leaves them out."
    if glob is not None:
        advice = f'Make the same search with glob: "{glob}", which leaves them out, or search a folder without them.'
    error = replace(outcome.error, message=f"{message}: {', '.join(names[:_MOST_NAMED])}{more}", suggestion=advice)
    return replace(outcome, error=error)


def _glob(arguments: Mapping[str, Any], grounds: Grounds) -> str | None:
    """A glob that leaves out all that would be read without one; None where none is sure to."""
    names = sorted(_look({**arguments, "glob": None}, grounds).names)
    if not all(map(_PLAIN.fullmatch, names)):
        return None
    # Names alone, since where a glob with a slash counts from is up to the host.
    glob = f"!{names[0]}" if len(names) == 1 else f"!{{{','.join(names)}}}"
    return None if _look({**arguments, "glob": glob}, grounds).found else glob


@dataclass(slots=True)
class _Seen:
    """What a search would read of what is out of reach."""

    folder: str
    found: list[str] = field(default_factory=list[str])
    names: set[str] = field(default_factory=set[str])
    """What has to be left out for it: names of files, or of folders above them."""
    unsure: bool = False


def _look(arguments: Mapping[str, Any], grounds: Grounds) -> _Seen:
    said = os.path.join(grounds.directory, str(arguments.get("path") or "."))  # noqa: PTH118 - `..` stays as it was said
    # A host that tidies the path first means another folder wherever a link stands before a `..`.
    folders = dict.fromkeys((os.path.realpath(said), os.path.realpath(os.path.normpath(said))))
    seen = _Seen(next(iter(folders)))
    chosen = Chosen(arguments.get("glob"), arguments.get("type"))
    for folder in filter(os.path.isdir, folders):
        if grounds.path_refused(folder, None) is None:
            _Walk(folder, seen, chosen, grounds).go()
        else:
            # Where it says no path, nobody else looks at the folder.
            seen.found.append(folder)
    return seen


class _Walk:
    """One way through a folder: first to where own files are known to lie, then everywhere."""

    def __init__(self, folder: str, seen: _Seen, chosen: Chosen, grounds: Grounds) -> None:
        self._top = folder
        self._seen = seen
        self._chosen = chosen
        self._grounds = grounds
        self._left = _MOST_LOOKED_AT
        self._gone: set[tuple[str, ...]] = set()
        mounts = mounted()
        above = [os.path.realpath(os.path.dirname(path)) for path in (*grounds.closed, *mounts.points)]  # noqa: PTH120 - a text all along
        above.extend(map(os.path.dirname, mounts.process_points))
        self._known = tuple(self._where_known(above))
        self._known_keys = frozenset(map(key_of, above))
        self._endless = frozenset(mounts.process_points)
        self._second_names = _have_second_names(grounds.closed)

    def go(self) -> None:
        first = [(place, False) for place in self._known]
        rest: list[tuple[tuple[str, ...], bool]] = [((), False)]
        while first or rest:
            place, closed = (first or rest).pop()
            if place in self._gone:
                continue
            self._gone.add(place)
            for parts, below_closed in self._folder(place, closed=closed):
                (first if below_closed else rest).append((parts, below_closed))
            if self._left <= 0:
                self._stop(all_known=not first)
                return

    def _where_known(self, folders: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Of the folders in which such files are known to lie, those that it goes through."""
        for folder in map(Path, folders):
            if folder.is_relative_to(self._top):
                parts = folder.relative_to(self._top).parts
                if not any(map(self._chosen.passes_by, parts)):
                    yield parts

    def _folder(self, place: tuple[str, ...], *, closed: bool) -> Iterator[tuple[tuple[str, ...], bool]]:
        folder = os.path.join(self._top, *place)  # noqa: PTH118 - a text all along
        known = key_of(folder) in self._known_keys
        for entry in listed(folder):
            self._left -= 1
            if self._left <= 0:
                return
            out = closed or self._is_closed(entry, known=known)
            if entry.is_dir(follow_symlinks=False):
                if self._chosen.passes_by(entry.name):
                    continue
                if entry.path in self._endless:
                    self._note((*place, entry.name))
                else:
                    yield (*place, entry.name), out
            elif out and not entry.is_symlink() and not self._chosen.leaves_out((*place, entry.name)):
                self._note((*place, entry.name))

    def _is_closed(self, entry: os.DirEntry[str], *, known: bool) -> bool:
        """Whether it is out of reach. Few names can be, and only they are judged, as there are many files."""
        by_name = known or not entry.name.isascii() or _ROOT in entry.name.casefold()
        if not by_name and not self._second_names:
            return False
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            status = None
        if not by_name and status is not None and status.st_nlink == 1:
            return False
        return self._grounds.path_refused(entry.path, status) is not None

    def _note(self, parts: Sequence[str]) -> None:
        places = [os.path.join(self._top, *parts[: at + 1]) for at in range(len(parts))]  # noqa: PTH118
        self._seen.found.append(places[-1])
        # To leave out a hidden folder takes less away than every `settings.json` or `hooks` there is.
        self._seen.names.add(
            next(
                name
                for name, place in zip(parts, places, strict=True)
                if name.startswith(".") or place == places[-1] or self._grounds.path_refused(place, None) is not None
            )
        )

    def _stop(self, *, all_known: bool) -> None:
        """There is more than can be looked at: what could lie there counts, unless it is left out by its name."""
        if all_known and self._chosen.passes_by(STORE_FOLDER) and not self._second_names:
            return
        self._seen.unsure = True
        self._seen.found.append(os.path.join(self._top, STORE_FOLDER))  # noqa: PTH118 - a text all along
        self._seen.names.add(STORE_FOLDER)


def _have_second_names(paths: Sequence[str]) -> bool:
    """Whether own files may have other names; so it is said where there are too many to look at."""
    files = (file for path in paths for file in _files(path))
    looked_at = 0
    for file in islice(files, _MOST_OWN):
        looked_at += 1
        try:
            if os.lstat(file).st_nlink > 1:
                return True
        except OSError:
            continue
    return looked_at >= _MOST_OWN


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):  # noqa: PTH112 - a text all along
        yield path
    for above, _, names in os.walk(path):
        yield from (os.path.join(above, name) for name in names)  # noqa: PTH118 - a text all along
