"""Off limits: which real places a tool may not touch, and why. Knows nothing of how a text leads there."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import chain

from callgate.model.levels import Effect, Origin
from callgate.model.tool import Tool
from callgate.policy.git_places import completed_by, is_in_git
from callgate.policy.ground import Ground
from callgate.policy.groups import effects_unknown
from callgate.policy.looks import Looks
from callgate.policy.mount_table import MountTable
from callgate.policy.own_files import (
    LONGEST_OF_SYSTEM,
    OwnFiles,
    SecondNames,
    is_configuration,
    is_git,
    is_store,
    key_of,
    names_store,
    part_of_key,
    shows_processes,
)
from callgate.policy.showing import name_all, show
from callgate.policy.unfit import Unfit
from callgate.policy.ways import is_inside, overlap


@dataclass(frozen=True, slots=True)
class OffLimits:
    """What counts for the real places that one call touches."""

    tool: Tool
    base: str
    """The working directory."""
    grounds: tuple[Ground, ...]
    """Every one of them must hold the path; none is: anywhere."""
    own: OwnFiles
    second_names: SecondNames
    code: tuple[str, ...] = ()
    """What Callgate runs from."""
    ways_to_code: tuple[str, ...] = ()
    """Links over which it is found."""
    git: tuple[str, ...] = ()
    """What is open for writing of git's."""
    mounts: MountTable = field(default_factory=MountTable)
    looks: Looks = field(default_factory=Looks)
    """What may still be looked at for it."""
    calm: dict[str, bool] = field(default_factory=dict[str, bool])
    """Of directories that were met, whether they are calm."""

    def refused(self, place: str, status: os.stat_result | None) -> str | None:
        """Why a real path that a handler holds may not be touched; None if it may.

        Args:
            place: Absolute, without links, as the handler reached it.
            status: What is there.
        """
        if status is not None and self._is_plain(place, status):
            return None
        try:
            self._refuse(place, place, status=status)
        except Unfit as error:
            return str(error)
        return None

    def _is_plain(self, place: str, status: os.stat_result) -> bool:
        """Whether nothing speaks against what lies in a calm directory: whoever meets one file there meets many."""
        folder, _, name = place.rpartition("/")
        calm = self.calm.get(folder)
        if calm is None:
            calm = self.calm[folder] = self._is_calm(folder)
        if not calm or self._is_of_processes(status):
            return False
        return not (is_store(part_of_key(name)) or self.second_names.is_one(status))

    def _is_of_processes(self, status: os.stat_result) -> bool:
        return status.st_dev in self.mounts.of_processes

    def _is_calm(self, folder: str) -> bool:
        """Whether where a directory lies already says that what is in it may be read, but for its name and status."""
        if not self.tool.read_only or folder in self.mounts.holders or self.own.lie_below(folder):
            return False
        if any(len(key_of(name)) < LONGEST_OF_SYSTEM for name in (folder, *self.mounts.names(folder))):
            return False
        try:
            self._refuse(folder, folder, status=None)
        except Unfit:
            return False
        return True

    def _refuse(self, text: str, place: str, *, status: os.stat_result | None) -> None:
        self._refuse_own(text, place, literal=place, status=status)
        self._refuse_git(text, place, literal=place)
        self._refuse_code(text, place, literal=place)
        self._refuse_another(text, place, literal=place)
        self._refuse_outside(text, place)

    def roots(self) -> tuple[str, ...]:
        """The directories that every ground allows, none inside another."""
        allowed = ["/"]
        for ground in self.grounds:
            allowed = overlap(ground.roots, allowed)
        kept = dict.fromkeys(allowed)
        return tuple(root for root in kept if not any(root != other and is_inside(root, other) for other in kept))

    def _refuse_own(self, text: str, place: str, *, literal: str, status: os.stat_result | None) -> None:
        linked = status is not None and self.second_names.is_one(status)
        if linked or self.own.holds(place) or (literal != place and self.own.holds(literal)):
            what = f"path {show(text)} is one of Callgate's own files, which no tool may touch"
            raise Unfit(f"{what}; no role and no grant lifts this")
        self._refuse_processes(text, place, literal=literal, status=status)

    def _refuse_processes(self, text: str, place: str, *, literal: str, status: os.stat_result | None) -> None:
        shown = any(map(shows_processes, {place, literal, *self.mounts.names(place)}))
        if shown or (status is not None and self._is_of_processes(status)):
            what = f"path {show(text)} shows what processes know, Callgate's keys and secrets among it"
            raise Unfit(f"{what}, and no tool may touch it; no role and no grant lifts this")

    def _refuse_holder(self, text: str, place: str) -> None:
        # A program that is started there is judged by what it is, not by where.
        if Effect.LOCAL_EXEC in self.tool.effects or not self.own.lie_below(place):
            return
        if self.tool.destructive:
            raise Unfit(f"path {show(text)} holds Callgate's own files, so nothing destructive may name it as a whole")
        if self._could_move(place):
            what = f"path {show(text)} holds Callgate's own files, and a tool that changes files could move it away"
            raise Unfit(f"{what}; name what is meant inside of it")

    def _could_move(self, place: str) -> bool:
        changes = Effect.MODIFIES_FILES in self.tool.effects or effects_unknown(self.tool)
        if not changes or self.tool.source is Origin.BUILTIN:
            return False
        # A directory goes nowhere inside of itself.
        return not all(is_inside(root, place) for root in self.roots())

    def _refuse_git(self, text: str, place: str, *, literal: str) -> None:
        if self.tool.read_only:
            return
        names = (place, *self.mounts.names(place))
        if any(is_inside(name, root) for name in names for root in self.git):
            return
        if any(map(is_git, key_of(literal))) or is_in_git(place, self.mounts):
            advice = "list that .git in the paths of the scope family to open it"
            raise Unfit(f"path {show(text)} lies in a .git directory, which is read-only to tools; {advice}")
        completed = completed_by(place, self.mounts)
        if completed is not None:
            # Whoever asks git for its status there starts what it is configured to start, outside of any sandbox.
            what = f"path {show(text)} would make {show(completed)} a git repository, with what lies in it"
            raise Unfit(f"{what}, and tools make none in this way; name it otherwise, or have a person do it")

    def _refuse_code(self, text: str, place: str, *, literal: str) -> None:
        if self.tool.read_only:
            return
        if literal in self.ways_to_code or any(is_inside(place, root) for root in self.code):
            what = f"path {show(text)} lies where Callgate and its libraries run from, which is read-only to tools"
            raise Unfit(f"{what}; give the project an environment of its own")

    def _refuse_another(self, text: str, place: str, *, literal: str) -> None:
        names = key_of(place) if literal == place else {*key_of(place), *key_of(literal)}
        if not self.mounts.lasts:
            names = {*names, *self.mounts.called(place), *chain(*map(key_of, self.mounts.names(place)))}
        if names_store(names) or (not self.tool.read_only and any(map(is_configuration, names))):
            what = f"path {show(text)} is one of Callgate's own files by its name, of another one if not of this"
            raise Unfit(f"{what}, and no tool may change what governs it; no role and no grant lifts this")

    def _refuse_outside(self, text: str, place: str) -> None:
        for ground in self.grounds:
            for root in ground.roots:  # a loop and not any(), as every file that a tool meets is looked at
                if is_inside(place, root):
                    break
            else:
                where = name_all(map(show, ground.roots)) or "nothing"
                advice = f"name a path inside, or add its directory to scopes.{ground.family}.paths"
                allowed = "; ".join((f"{ground.family} allows {where}", *ground.void))
                raise Unfit(f"path {show(text)} leads to {show(place)}, and {allowed}; {advice}")
