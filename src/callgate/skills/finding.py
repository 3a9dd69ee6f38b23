"""Telling skills from everything else that can be added to a gate: alone, in lists, and in modules."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, cast

from callgate.adapters.convert import offers_tools
from callgate.skills.skill import Skill, marked_skill

_MANY = (list, tuple, set, frozenset)


def part_skills(things: Iterable[Any]) -> tuple[list[Skill], list[Any]]:
    """The skills among these things, and what is left of them without the skills."""
    skills: list[Skill] = []
    others: list[Any] = []
    for thing in things:
        found = marked_skill(thing)
        if found is not None:
            skills.append(found)
        elif isinstance(thing, _MANY):
            inside, rest = part_skills(cast("Iterable[Any]", thing))
            skills += inside
            others += rest
        elif isinstance(thing, ModuleType):
            inside = _skills_in(thing)
            skills += inside
            # A module of skills alone is no module without tools.
            others += [] if inside and not offers_tools(thing) else [thing]
        else:
            others.append(thing)
    return skills, others


def _skills_in(module: ModuleType) -> list[Skill]:
    """Each once, as they were written."""
    found = {id(item): marked_skill(item) for item in vars(module).values()}
    return [each for each in found.values() if each is not None]
