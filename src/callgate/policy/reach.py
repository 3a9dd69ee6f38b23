"""Reach: which paths, patterns and hosts a call names. Finds them; whether they are allowed, others say.

A tool that knows better brings `resources(arguments)`, and nothing is guessed. Otherwise an argument counts

- by its schema: `format` path, file-path, directory-path, glob; uri, url, hostname, ipv4, ipv6 and their kin;
- by its name, unless the tool's own schema gives it a format, and it has that: its last word is path, file,
  directory, cwd, target … (paths), glob, pattern, include, exclude (patterns), url, uri, host, endpoint … (hosts);
- as a text that may be a path, unless the tool's own schema gives it a format, and it has that: see `guess`.

Names and guesses count for files where the tool changes files or runs programs, or has a scope of `fs`, `shell` or a
family that says `paths`; names for hosts where it uses the network or has a scope of a family that says `hosts`; both
where its effects are not declared, or the family of a scope is not. A path of any other tool is kept away from
Callgate's own files and is otherwise its own affair. A foreign schema adds to what is looked at and takes nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from callgate.model.levels import FOREIGN, Effect
from callgate.model.tool import Arguments, Tool
from callgate.policy.formats import are_checked, has_one
from callgate.policy.groups import effects_unknown, reaches_network, runs_programs
from callgate.policy.guess import is_to_be_confined, may_be_path
from callgate.policy.hooks import HookFailed, ask
from callgate.policy.scopes import BUILT_IN, Families, family_of
from callgate.policy.survey import Kind, Survey, kind_of_name, survey

MOST_RESOURCES = 1000
"""A call that names more paths and hosts than this is not judged, but refused."""
MOST_REACHES = 16_384
"""So many tools are remembered; beyond it, remembering starts anew."""
_DEEPEST = 64
_MOST_INSIDE = 20_000
_TOLD = "resources()"
"""Stands for the argument where the tool itself said what it touches: that may be of no argument at all."""
_ANSWERS = frozenset({"paths", "hosts"})
_FILE_FAMILIES = frozenset({"fs", "shell", "*"})
_FILE_EFFECTS = frozenset({Effect.MODIFIES_FILES, Effect.LOCAL_EXEC})


class Found(NamedTuple):
    """One thing a call names."""

    kind: Kind
    text: str
    argument: str
    confined: bool = True
    """Whether the scope families say where it may lie; else only Callgate's own files are kept away."""

    @property
    def title(self) -> str:
        """What to call it before people and models, who know the arguments and no hook."""
        if self.argument != _TOLD:
            return f"argument {self.argument}"
        return "the host it would reach" if self.kind is Kind.HOST else "a path it would touch"


class Unjudged(Exception):
    """What the call will touch cannot be told, so it is not allowed; the message says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How to find what the calls of one tool touch."""

    tool: Tool
    survey: Survey
    files: bool
    """Whether the tool works on files, so that names count."""
    network: bool
    own: bool
    """Whether its schema is believed when it says that something is no path."""
    runs_programs: bool = False

    def find(self, arguments: Arguments) -> tuple[Found, ...]:
        """Everything the call names, once each.

        Raises:
            Unjudged: It names too much, is nested too deeply, or its own `resources` does not answer.
        """
        found: dict[Found, None] = {}
        named = 0
        for item in self._walk(arguments) if self.tool.hooks.resources is None else self._told(arguments):
            if item not in found:
                found[item] = None
                named += item.kind is not Kind.TEXT or item.confined
            if named > MOST_RESOURCES:
                raise Unjudged(f"it names more than {MOST_RESOURCES} paths and hosts; make several calls of it")
        return tuple(found)

    def looks_at(self, name: str) -> bool:
        """Whether an argument of this name can name anything."""
        return any(True for _ in self._kinds(name, None)) or name in self.survey.values

    def _kinds(self, name: str, text: str | None) -> Iterator[tuple[Kind, bool]]:
        """What a text under this name is, and whether it is confined; without a text, what some one could be."""
        given = self.survey.formats.get(name, frozenset())
        yield from ((kind, True) for kind in given if kind is not Kind.HOST or self.network)
        usual = kind_of_name(name)
        if usual is None or usual in given or self._is_settled(name, text):
            return
        if usual is Kind.HOST:
            yield from [(usual, True)] if self.network else ()
        elif self.files or usual is not Kind.PATTERN:
            yield usual, self.files

    def _told(self, arguments: Arguments) -> Iterator[Found]:
        hook = self.tool.hooks.resources
        try:
            answer: Any = None if hook is None else ask(hook, arguments)
        except HookFailed as error:
            raise Unjudged(f"resources() of {self.tool.name} did not say what it touches: {error}") from error
        if answer is None:
            return
        if not isinstance(answer, Mapping) or not _ANSWERS.issuperset(cast("Mapping[Any, Any]", answer)):
            raise Unjudged(f'resources() of {self.tool.name} must give {{"paths": […], "hosts": […]}} and nothing else')
        listed = cast("Mapping[str, Any]", answer)
        yield from (Found(Kind.PATH, text, _TOLD) for text in self._texts(listed.get("paths")))
        yield from (Found(Kind.HOST, text, _TOLD) for text in self._texts(listed.get("hosts")))

    def _texts(self, listed: Any) -> Iterator[str]:
        is_one = isinstance(listed, str) or hasattr(listed, "__fspath__")
        try:
            items: list[Any] = [listed] if is_one else list(listed or ())
        except TypeError as error:
            raise Unjudged(f"resources() of {self.tool.name} gives no list but {type(listed).__name__}") from error
        for item in items:
            text = item.__fspath__() if hasattr(item, "__fspath__") else item
            if not isinstance(text, str):
                raise Unjudged(f"resources() of {self.tool.name} gives {type(text).__name__} where a text belongs")
            yield text

    def _walk(self, arguments: Arguments) -> Iterator[Found]:
        """Level by level, so that no nesting can exhaust the stack."""
        yield from self._of_mapping("", arguments)
        level = list(self._inside("", arguments))
        yield from (found for name, value in level for found in self._at_top(name, value))
        seen = 0
        for _ in range(_DEEPEST):
            level = [inner for name, value in level for inner in self._inside(name, value)]
            seen += len(level)
            if not level:
                return
            if seen > _MOST_INSIDE:
                break
            yield from (found for name, value in level for found in self._nested(name, value))
        message = "its arguments are too many or nested too deeply to tell what it touches"
        raise Unjudged(f"{message}; a tool that takes so much says it with `resources`")

    def _at_top(self, name: str, value: Any) -> Iterator[Found]:
        if isinstance(value, str):
            kinds = tuple(self._kinds(name, value))
            yield from (Found(kind, value, name, confined) for kind, confined in kinds)
            bare = value.strip()
            if bare != value:
                # A handler may trim what it is given: both readings are judged.
                yield from (Found(kind, bare, name, confined) for kind, confined in kinds if kind is not Kind.HOST)
            if not any(kind is not Kind.HOST and confined for kind, confined in kinds):
                yield from self._guess(name, value)
        elif isinstance(value, dict):
            yield from self._of_mapping(name, cast("dict[Any, Any]", value))

    def _is_settled(self, name: str, text: str | None) -> bool:
        return self.own and _is_told(self.survey.settled.get(name), text)

    def _guess(self, name: str, text: str) -> Iterator[Found]:
        if self.files and not self._is_settled(name, text) and may_be_path(name, text):
            yield Found(Kind.TEXT, text, name, is_to_be_confined(name, text, runs_programs=self.runs_programs))

    def _nested(self, name: str, value: Any) -> Iterator[Found]:
        # Only what stands by itself is a place for others: a hundred edits with a path each are a hundred paths.
        for found in self._at_top(name, value):
            yield found._replace(kind=Kind.PATH) if found.kind is Kind.PLACE else found

    def _are_hosts(self, name: str) -> bool:
        kinds = {kind for kind, _ in self._kinds(name, None)}
        return kinds == {Kind.HOST} and name not in self.survey.values

    def _of_mapping(self, name: str, value: dict[Any, Any]) -> Iterator[Found]:
        # A mapping under a path's name is one from paths: {"a.txt": "its content"}.
        for kind, confined in self._kinds(name, None):
            if kind is Kind.HOST:
                keys = (str(key) for key in value if key not in self.survey.names)
                yield from (Found(kind, key, name) for key in keys if "." in key or ":" in key)
            else:
                yield from (Found(Kind.PATH, str(key), name, confined) for key in value)
        for kind in self.survey.values.get(name, ()):
            if kind is not Kind.HOST or self.network:
                yield from (Found(kind, text, name) for text in _texts_among(value.values()))
        yield from (found for key in value if key not in self.survey.names for found in self._guess(name, str(key)))

    def _inside(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            mapping = cast("dict[Any, Any]", value)
            formats = self.survey.settled_values.get(name) if self.own else None
            hosts = self._are_hosts(name)
            for key, item in mapping.items():
                unnamed = key not in self.survey.names
                if not (unnamed and isinstance(item, str) and _is_told(formats, item)):
                    yield str(key), item
                if unnamed and hosts:
                    # A mapping under a host's name leads to hosts: {"primary": "https://…"}.
                    yield name, item
        elif isinstance(value, (list, tuple)):
            with_texts = self.looks_at(name) or (self.files and not self._is_settled(name, None))
            kept = (dict, list, tuple, str) if with_texts else (dict, list, tuple)
            yield from ((name, item) for item in cast("list[Any]", value) if isinstance(item, kept))


def _is_told(formats: frozenset[str] | None, text: str | None) -> bool:
    """Whether a text has a format that says what it is; without a text, whether all under that name do."""
    if formats is None:
        return False
    return has_one(text, formats) if text is not None else not are_checked(formats)


def _texts_among(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (item for item in cast("list[Any]", value) if isinstance(item, str))


class Reaches:
    """The reach of every tool asked about, worked out once each."""

    def __init__(self, families: Families = BUILT_IN) -> None:
        self._families = families
        self._reaches: dict[str, tuple[Tool, Reach | None]] = {}

    def of(self, tool: Tool) -> Reach | None:
        """How to find what calls of this tool touch; None when no argument of it can name anything."""
        known = self._reaches.get(tool.id)
        if known is None or known[0] is not tool:
            if len(self._reaches) >= MOST_REACHES:
                self._reaches.clear()
            known = self._reaches[tool.id] = tool, reach_of(tool, self._families)
        return known[1]


def reach_of(tool: Tool, families: Families = BUILT_IN) -> Reach | None:
    """How to find what calls of this tool touch; None when no argument of it can name anything."""
    named = {family_of(scope) for scope in tool.scopes}
    said = survey(tool.input_schema)
    reach = Reach(
        tool,
        said,
        files=effects_unknown(tool)
        or bool(named & _FILE_FAMILIES or tool.effects & _FILE_EFFECTS)
        or families.speak_of("paths", tool.scopes),
        network=effects_unknown(tool) or reaches_network(tool) or families.speak_of("hosts", tool.scopes),
        own=tool.source not in FOREIGN,
        runs_programs=runs_programs(tool),
    )
    guesses = reach.files and (said.untold or not reach.own or any(map(are_checked, _settled_formats(said))))
    if tool.hooks.resources is not None or said.open or guesses or any(map(reach.looks_at, said.names)):
        return reach
    return None


def _settled_formats(said: Survey) -> Iterator[frozenset[str]]:
    yield from said.settled.values()
    yield from said.settled_values.values()
