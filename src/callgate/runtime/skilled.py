"""Skilled: the face of a gate for its skills. How they stand, and skills from folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from callgate.adapters.told import told
from callgate.errors import ConfigurationError
from callgate.model.source import Failure
from callgate.runtime.opened import Face
from callgate.skills.folder import SkillFolder

if TYPE_CHECKING:
    from callgate.registry.registry import Registry
    from callgate.runtime.skill_shelf import SkillReport, SkillShelf
    from callgate.skills.skill import Skill


class Skilled(Face):
    """The skills of a gate."""

    _registry: Registry
    _shelf: SkillShelf

    def skills(self) -> tuple[SkillReport, ...]:
        """Every skill, as they came: its tools, those that are not there, and what will keep it from its work."""
        return self._shelf.reports()

    def add_skills(self, folder: SkillFolder | str | os.PathLike[str], *, update: bool = False) -> tuple[Failure, ...]:
        """Add the skills of a folder; what failed, file by file. The folder is out of reach of every tool from now on.

        Args:
            folder: The folder, or a `SkillFolder` with functions for its skills.
            update: Whether a skill may take the place of its former self.

        Raises:
            ConfigurationError: There is no such folder, or the gate is not open.
        """
        source = folder if isinstance(folder, SkillFolder) else SkillFolder(folder)
        self._open().parts.policy.resources.protect([source.path])
        skills, faults = source.load()
        added: list[Skill] = []
        failed: list[Failure] = []
        for skill in skills:
            try:
                self._registry.add_many(self._shelf.make([skill], among={}), update=update)
                added.append(skill)
            except ConfigurationError as error:
                failed.append(Failure(skill.name, told(error)))
        # Kept together, and made once more: they may use each other, in whatever order their files stand.
        self._shelf.keep(added)
        return (*faults, *failed)
