"""Resolving: which note a link means, and how a link has to be written so that it means another. Knows no files.

A name means the note of that name: in the folder of the linking note before any other, then the one with the fewest
folders above it, then the first by the alphabet. With folders before it, the note at that path, or one whose path ends
so. Upper and lower case are the same, but what is written just so goes before all others. Markdown addresses are paths
from the linking note's folder.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Callable, Collection, Iterable

from callgate.tools.vault.links import Form, Spelling, address, find_links
from callgate.tools.vault.names import NOTE, folder_of, key_of

_NO_LINK_HOLDS = frozenset('[]|#^<>"\\`')
_BRACKETS = {Form.WIKI: ("[[", "]]"), Form.PLAIN: ("[](", ")"), Form.ANGLED: ("[](<", ">)")}
Named = Callable[[str], Collection[str]]
"""(a key) -> the paths of all notes that share it."""


def refuse_unlinkable(path: str, *, argument: str = "path") -> None:
    """A new note gets a name that links can hold, in each of their forms.

    Raises:
        ValueError: It has something in it that ends a link, or that a link leaves out.
    """
    if odd := sorted(_NO_LINK_HOLDS.intersection(path)):
        raise ValueError(
            f"{argument} {path!r} has {' '.join(odd)} in it, which no link to it could hold; leave that out"
        )
    for form in Form:
        target = address(path, form).removesuffix(NOTE) if form is Form.WIKI else address(path, form)
        spelling = Spelling(form, target)
        meant = resolve(spelling, "", named=lambda key: [path] if key == key_of(path) else [])
        if meant != path or not holds(spelling):
            raise ValueError(
                f"{argument} {path!r} is a name that no link to it could hold: leave out blanks at the ends of its"
                f" parts and a second {NOTE}, or take a shorter one"
            )


def holds(spelling: Spelling) -> bool:
    """Whether a link with this target is read as one."""
    before, after = _BRACKETS[spelling.form]
    return [link.spelling for link in find_links(f"{before}{spelling.target}{after}")] == [spelling]


def resolve(spelling: Spelling, home: str, *, named: Named) -> str | None:
    """The path of the note that is meant; None where there is none.

    Args:
        spelling: The link's target.
        home: The path of the note that the link stands in.
        named: Which notes there are.
    """
    if spelling.form is Form.WIKI:
        return _by_name(spelling.target, home, notes=named(spelling.key))
    path = _normal(_from(home, spelling.path))
    written = _from(home, spelling.path)
    alike = [note for note in named(spelling.key) if _normal(note) == path]
    return written if written in alike else next(iter(alike), None)


def spell(spelling: Spelling, home: str, *, meant: str, named: Named) -> str | None:
    """The target to write so that the link means a note, as much as can be in the way it is written now; None: none.

    Args:
        spelling: The target now.
        home: The path of the note that the link stands in.
        meant: The note to mean.
        named: Which notes there are.
    """
    ways = (
        _wiki_ways(spelling.target, meant)
        if spelling.form is Form.WIKI
        else _markdown_ways(spelling, home, meant=meant)
    )
    spellings = (Spelling(spelling.form, way) for way in ways)
    return next(
        (new.target for new in spellings if resolve(new, home, named=named) == meant and holds(new)),
        None,
    )


def _by_name(target: str, home: str, *, notes: Collection[str]) -> str | None:
    wanted = target if target.casefold().endswith(NOTE) else f"{target}{NOTE}"
    if wanted.startswith(("/", "./", "../")):
        path = _from(home, wanted)
        # Compared as a path: what is written begins with a slash or dots, and no note's path does.
        return _best((note for note in notes if _same(note, path)), path, home=home)
    if "/" not in wanted:
        return _best(notes, wanted, home=home)
    exact = _best((note for note in notes if _same(note, wanted)), wanted, home=home)
    return exact or _best((note for note in notes if _folded(note).endswith(f"/{_folded(wanted)}")), wanted, home=home)


def _best(notes: Iterable[str], wanted: str, *, home: str) -> str | None:
    folder, alike = folder_of(home), _normal(wanted)

    def order(note: str) -> tuple[bool, bool, bool, int, str]:
        # Two names can look the same and be made of other letters: what is written just so is meant.
        just_so = note.endswith(wanted)
        return not just_so, not _normal(note).endswith(alike), folder_of(note) != folder, note.count("/"), note

    return min(notes, key=order, default=None)


def _wiki_ways(target: str, meant: str) -> Iterable[str]:
    keep = target.casefold().endswith(NOTE)
    whole = meant if keep else meant.removesuffix(NOTE)
    if "/" not in target:
        yield whole.rpartition("/")[2]
    yield from (whole, f"/{whole}")


def _markdown_ways(spelling: Spelling, home: str, *, meant: str) -> Iterable[str]:
    written = spelling.path
    if written.startswith("/"):
        yield address(f"/{meant}", spelling.form)
        return
    relative = posixpath.relpath(meant, folder_of(home) or ".")
    dotted = written.startswith("./") and not relative.startswith("../")
    yield address(f"./{relative}" if dotted else relative, spelling.form)


def _from(home: str, written: str) -> str:
    """The path that an address means; one that climbs out means nothing."""
    joined = written.lstrip("/") if written.startswith("/") else posixpath.join(folder_of(home), written)
    return posixpath.normpath(joined)


def _normal(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _folded(path: str) -> str:
    return _normal(path).casefold()


def _same(one: str, other: str) -> bool:
    return _folded(one) == _folded(other)
