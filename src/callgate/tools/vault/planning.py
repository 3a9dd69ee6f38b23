"""Planning: which links a move has to change so that each means what it meant before. Changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from callgate.tools.vault.links import Form, Spelling, find_links, rewrite
from callgate.tools.vault.names import key_of, note_path
from callgate.tools.vault.note_index import NoteIndex
from callgate.tools.vault.notes import LARGEST, Notes, digest_of
from callgate.tools.vault.resolving import holds, resolve, spell


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What changes in one note."""

    path: str
    """Where it lies after the move."""
    before: str
    after: str
    """Digests of its content."""
    changes: Mapping[Spelling, str]
    links: int

    def apply(self, content: bytes) -> bytes | None:
        """The content with the changes; None where they are in it already, or nobody can tell.

        A note that somebody changed since is changed as well, unless a target that is to be changed is also one that
        another is changed to: then nobody knows whether it was done.
        """
        digest = digest_of(content)
        if digest == self.after:
            return None
        if digest != self.before and {spelling.target for spelling in self.changes} & set(self.changes.values()):
            return None
        text, count = rewrite(as_text(content), self.changes)
        return as_bytes(text) if count else None

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        changes = [[spelling.form, spelling.target, new] for spelling, new in self.changes.items()]
        return {
            "path": self.path,
            "before": self.before,
            "after": self.after,
            "changes": changes,
            "links": self.links,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Rewriting:
        """As it was written down.

        Raises:
            ValueError: It was not.
            KeyError: It was not.
            TypeError: It was not.
        """
        changes = dict(_change(each) for each in _list(value["changes"]))
        path = note_path(_text(value["path"]))
        return cls(path, _text(value["before"]), _text(value["after"]), changes, _count(value["links"]))


@dataclass(frozen=True, slots=True)
class Plan:
    """A move, and everything it changes."""

    old: str
    new: str
    digest: str
    """Of the note that moves."""
    rewritings: tuple[Rewriting, ...]

    @property
    def links(self) -> int:
        """How many links get another target."""
        return sum(rewriting.links for rewriting in self.rewritings)

    @property
    def state(self) -> str:
        """What differs when anything that the plan was made from does."""
        return digest_of(json.dumps(self.to_json(), sort_keys=True).encode())

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        rewritings = [rewriting.to_json() for rewriting in self.rewritings]
        return {"old": self.old, "new": self.new, "digest": self.digest, "rewritings": rewritings}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Plan:
        """As it was written down.

        Raises:
            ValueError: It was not.
            KeyError: It was not.
            TypeError: It was not.
        """
        old, new = note_path(_text(value["old"])), note_path(_text(value["new"]))
        if old == new:
            raise ValueError("a note does not move to where it is")
        rewritings = tuple(Rewriting.from_json(item) for item in _list(value["rewritings"]))
        return cls(old, new, _text(value["digest"]), rewritings)


def plan_move(notes: Notes, index: NoteIndex, *, old: str, new: str) -> Plan:
    """Find out what a move changes. The index has to be in step.

    Raises:
        FileNotFoundError: There is no such note.
        FileExistsError: Something is where it would go.
        ValueError: A note would get too large by its new links.
    """
    moving = notes.read(old)
    if moving is None:
        raise FileNotFoundError(f"there is no note {old}; vault_list says which there are")
    if notes.exists(new):
        raise FileExistsError(f"there is something at {new} already; move it away first, or choose another path")
    own = {link.spelling.key for link in find_links(as_text(moving.content))}
    targets = _Targets(index.named({*own, key_of(old), key_of(new)}), old=old, new=new)
    paths = dict.fromkeys([*index.pointing_at({key_of(old), key_of(new)}), old])
    found: list[Rewriting] = []
    with notes.reader() as read:
        for path in paths:
            try:
                content = moving.content if path == old else read(path).content
            except (OSError, ValueError):
                continue  # it went away meanwhile, or is too large for a note
            rewriting = _rewriting(path, content, targets=targets)
            if rewriting is not None:
                found.append(rewriting)
    return Plan(old, new, moving.digest, tuple(found))


class _Targets:
    """What links mean before the move, and have to mean after it."""

    def __init__(self, named: Mapping[str, list[str]], *, old: str, new: str) -> None:
        self._named = named
        self._old, self._new = old, new
        self._affected = {key_of(old), key_of(new)}

    def after_move(self, path: str) -> str:
        return self._new if path == self._old else path

    def change(self, spelling: Spelling, home: str) -> str | None:
        """What to write instead, in the note that is at `home` before the move; None: it is right as it stands."""
        if home != self._old and spelling.key not in self._affected:
            return None
        meant = resolve(spelling, home, named=self._before)
        if meant is None:
            return None
        meant, home = self.after_move(meant), self.after_move(home)
        if resolve(spelling, home, named=self._after) == meant:
            return None
        return spell(spelling, home, meant=meant, named=self._after)

    def _before(self, key: str) -> list[str]:
        return self._named.get(key, [])

    def _after(self, key: str) -> list[str]:
        notes = [note for note in self._before(key) if note != self._old]
        return [*notes, self._new] if key == key_of(self._new) else notes


def _rewriting(path: str, content: bytes, *, targets: _Targets) -> Rewriting | None:
    text = as_text(content)
    changes: dict[Spelling, str] = {}
    for spelling in {link.spelling: None for link in find_links(text)}:
        new = targets.change(spelling, path)
        if new is not None:
            changes[spelling] = new
    if not changes:
        return None
    after, links = rewrite(text, changes)
    written = as_bytes(after)
    if len(written) > LARGEST:
        raise ValueError(
            f"the links in {path} would make that note larger than {LARGEST} bytes; choose a shorter new_path, or make"
            " several notes of it first. Nothing is moved"
        )
    return Rewriting(targets.after_move(path), digest_of(content), digest_of(written), changes, links)


def as_text(content: bytes) -> str:
    """A note's text, in which what is no text is kept."""
    return content.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """Back again, byte for byte."""
    return text.encode("utf-8", "surrogateescape")


def _change(value: Any) -> tuple[Spelling, str]:
    form, target, new = _list(value)
    spelling = Spelling(Form(form), _text(new))
    if not holds(spelling):
        raise ValueError("this is no target that a link could have")
    return Spelling(spelling.form, _text(target)), spelling.target


def _text(value: Any) -> str:
    """A text that was written down; one that no file could hold was not."""
    if not isinstance(value, str):
        raise TypeError("this is no text")
    as_bytes(value)
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("this is no list")
    return cast("list[Any]", value)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("this is no number of links")
    return value
