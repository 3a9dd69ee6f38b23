"""Skills in a folder: files that name a skill, its tools and its function. Listing reads text and runs no code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from callgate.adapters.fields import guess
from callgate.adapters.registry_files.handlers import find_handler
from callgate.adapters.registry_files.parameters import input_schema
from callgate.adapters.told import told
from callgate.errors import ConfigurationError
from callgate.model.source import Failure
from callgate.model.visible import brief
from callgate.settings.file_text import read_text
from callgate.skills.skill import Skill, names

_FENCE = "---"
_KINDS = (".yaml", ".yml", ".md")
_IN_A_FOLDER = "SKILL.md"
_WORDS = ("name", "description", "category", "tags", "scopes", "risk", "timeout", "allowed_callers", "sensitive_output")
"""Fields of a skill that a file may state as they are; none of them loosens anything."""
_KEYS = (*_WORDS, "tools", "input", "output", "function")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What one file says."""

    skill: Skill
    """Without a function yet."""
    file: str
    function: str | None = None
    """Where its function is, as the file says it: `module:function`."""
    text: str = ""
    """What follows in a Markdown file: for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a folder has, and what is wrong with the rest, file by file."""

    skills: tuple[Listed, ...] = ()
    faults: tuple[Failure, ...] = ()


class SkillFolder:
    """A folder of skills: `name.yaml`, or `name.md` and `name/SKILL.md` with YAML between `---` at the top.

    A file has `tools`, and may have `name` (else the file's), `description`, `input` (parameters or a JSON Schema),
    `output` (a JSON Schema), `function` (`module:function`) and `category`, `tags`, `scopes`, `risk`, `timeout`,
    `allowed_callers`, `sensitive_output`.

    Args:
        path: The folder.
        functions: Functions by the name of their skill, before those the files name.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.path = Path(path)
        self._functions = dict(functions or {})

    def list(self) -> Listing:
        """Every skill, unbound, and what is wrong with the other files. Imports nothing.

        Raises:
            ConfigurationError: There is no such folder.
        """
        if not self.path.is_dir():
            raise ConfigurationError("there is no such folder of skills", file=str(self.path))
        skills: dict[str, Listed] = {}
        faults: list[Failure] = []
        for file in self._files():
            shown = file.relative_to(self.path).as_posix()
            try:
                found = self._read(file, shown)
                if found.skill.name in skills:
                    first = skills[found.skill.name].file
                    raise ConfigurationError(f"its skill {found.skill.name} is in {first} already")  # noqa: TRY301
                skills[found.skill.name] = found
            except Exception as error:  # noqa: BLE001 - one file harms no other
                faults.append(Failure(brief(shown), told(error)))
        return Listing(skills=tuple(skills.values()), faults=tuple(faults))

    def load(self) -> tuple[tuple[Skill, ...], tuple[Failure, ...]]:
        """Every skill with its function, and what failed. Imports the modules that the files name.

        Raises:
            ConfigurationError: There is no such folder.
        """
        listing = self.list()
        skills: list[Skill] = []
        faults = list(listing.faults)
        for each in listing.skills:
            function, missing = self._functions.get(each.skill.name), ""
            if function is None and each.function is not None:
                function, missing = find_handler({"handler": each.function})
            if missing:
                faults.append(Failure(brief(each.file), missing))
            skills.append(each.skill if function is None else each.skill.bind(function))
        named = {each.skill.name for each in listing.skills}
        idle = sorted(self._functions.keys() - named)
        faults += [Failure(brief(name), "a function is given for it, and no file has such a skill") for name in idle]
        return tuple(skills), tuple(faults)

    def _files(self) -> Iterator[Path]:
        for path in sorted(self.path.iterdir()):
            if path.name.startswith("."):
                continue
            if path.suffix in _KINDS:
                yield path
            elif path.is_dir() and (path / _IN_A_FOLDER).exists():
                yield path / _IN_A_FOLDER

    def _read(self, file: Path, shown: str) -> Listed:
        # A link out of the folder is somebody else's file.
        if not file.resolve().is_relative_to(self.path.resolve()):
            raise ConfigurationError("leads out of the folder")
        text = read_text(str(file), required=True) or ""
        head, rest = _parted(text) if file.suffix == ".md" else (text, "")
        body = _fields(head, file=shown)
        name = body.get("name") or (file.parent.name if file.name == _IN_A_FOLDER else file.stem)
        place = body.get("function")
        if place is not None and not isinstance(place, str):
            raise ConfigurationError("must be a place: module:function", key="function")
        said = {key: body[key] for key in _WORDS if key != "name" and body.get(key) is not None}
        said |= {"input_schema": input_schema(body["input"])} if body.get("input") is not None else {}
        said |= {"output_schema": body["output"]} if body.get("output") is not None else {}
        skill = Skill(name=name, tools=names(body.get("tools", ())), fields=said)
        return Listed(skill=skill, file=shown, function=place, text=rest)


def _parted(text: str) -> tuple[str, str]:
    """The YAML at the top of a Markdown file, and what follows it."""
    lines = text.splitlines()
    ends = [at for at, line in enumerate(lines) if line.rstrip() == _FENCE]
    if len(ends) < 2 or ends[0] != 0:  # noqa: PLR2004 - it opens and closes
        raise ConfigurationError(f"does not begin with YAML between two lines of {_FENCE}")
    return "\n".join(lines[1 : ends[1]]), "\n".join(lines[ends[1] + 1 :]).strip()


def _fields(text: str, *, file: str) -> Mapping[str, Any]:
    # Loaded with the first file, not with Callgate.
    from callgate.adapters.registry_files.yaml_text import read_yaml  # noqa: PLC0415

    body = read_yaml(text, file=file)
    if not isinstance(body, Mapping):
        raise ConfigurationError("is no skill: it needs tools: and a function")
    for key in cast("Mapping[Any, Any]", body):
        if key not in _KEYS:
            raise ConfigurationError(f"a skill's file has no {brief(str(key))!r}{guess(str(key), _KEYS)}")
    return cast("Mapping[str, Any]", body)
