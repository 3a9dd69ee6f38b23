"""Context: who asks, for whom, and under which limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

from callgate.model.ids import uuid7
from callgate.model.layer import Layer
from callgate.model.levels import Autonomy, Caller
from callgate.model.words import member, several, texts

_IDENTITY = frozenset({"principal", "user", "session", "role", "intent", "credential", "expires_at"})
_ASKER = ("principal", "user", "session", "role")
_NAMES = ("principal", "session", "role", "trace_id")
_OTHER_NAMES = ("user", "idempotency_key", "task_id", "step_id", "chain_id")
_names, _other_names = attrgetter(*_NAMES), attrgetter(*_OTHER_NAMES)
_NO_OTHER_NAMES = (None,) * len(_OTHER_NAMES)


LONGEST_NAME = 512
"""Of principals, sessions, keys and the like."""


def writable(text: str) -> bool:
    """Whether the text can be stored: it has no half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_name(text: Any) -> bool:
    """Whether a principal, a session or the like can be called that."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and (text.isascii() or writable(text))


class Authority:
    """What a context may do, as one key: its hash is taken once, however many layers it has."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Authority) and self._parts == other._parts)


def _are_plain(names: tuple[Any, ...]) -> bool:
    """Whether all of them are what names mostly are, seen at one look; what is not may still be a name."""
    try:
        text = "".join(names)
    except TypeError:
        return False
    return all(names) and text.isascii() and len(text) <= LONGEST_NAME


def _check_name(name: str, text: Any) -> None:
    if not is_name(text):
        message = f"{name} must be text of 1 to {LONGEST_NAME} characters"
        raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Who asks and under which limits. Every field has a default; `Context()` is an agent called `agent`.

    Raises:
        ValueError: A field is not what it must be: also one text where several are meant, as `scopes="fs:*"`.
    """

    principal: str = "agent"
    """The agent that acts."""
    user: str | None = None
    """The person it acts for."""
    session: str = "default"
    """One conversation or run; keys, labels and approvals belong to it."""
    role: str = "default"
    scopes: frozenset[str] | None = None
    """Scopes granted; None inherits the role's, an empty set is none."""
    autonomy: Autonomy | None = None
    """None takes the configuration's."""
    trace_id: str = field(default_factory=uuid7)
    task_id: str | None = None
    step_id: str | None = None
    idempotency_key: str | None = None
    """The caller's key: one key, one effect."""
    working_directory: str | None = None
    """Relative paths resolve here; None is the gate's own."""
    outer_directories: tuple[str, ...] = ()
    """Working directories that this one was narrowed from, outermost first: what is granted there bounds it as well."""
    timeout: float | None = None
    """Seconds; caps every call made under this context."""
    caller: Caller = Caller.DIRECT
    chain_id: str | None = None
    chain_index: int = 0
    intent: str | None = None
    """The user's own words; only a credential with `intent:assert` may set it at a network door."""
    read_only: bool = False
    no_web: bool = False
    layers: tuple[Layer, ...] = ()
    """Task and delegation layers, outermost first."""
    credential: str | None = None
    """What it came in with at a network door: the id of a credential, which has to count still when a person's yes is
    used."""
    expires_at: float | None = None
    """When that ends by itself; seconds since the epoch."""
    authority: Authority = field(init=False, repr=False, compare=False)
    """Everything the policy's static answer depends on, hashed once; derived."""

    def __post_init__(self) -> None:
        self._accept_words()
        self._refuse_odd_names()
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            message = f"timeout must be a number of seconds above 0, not {self.timeout}"
            raise ValueError(message)
        object.__setattr__(
            self,
            "authority",
            Authority((self.role, self.scopes, self.autonomy, self.caller, self.read_only, self.no_web, self.layers)),
        )

    def _accept_words(self) -> None:
        """Callers write sets, lists and words; the fields are what they say."""
        put = object.__setattr__
        if self.scopes is not None:
            put(self, "scopes", frozenset(texts(self.scopes, name="scopes")))
        if self.autonomy is not None and type(self.autonomy) is not Autonomy:
            put(self, "autonomy", member(Autonomy, self.autonomy, name="autonomy"))
        if type(self.caller) is not Caller:
            put(self, "caller", Caller(self.caller))
        if self.working_directory is not None:
            put(self, "working_directory", os.fspath(self.working_directory))
        if self.outer_directories != ():
            put(self, "outer_directories", texts(self.outer_directories, name="outer_directories"))
        if self.layers != ():
            put(self, "layers", several(self.layers, Layer, name="layers"))
        if type(self.read_only) is not bool or type(self.no_web) is not bool:
            put(self, "read_only", bool(self.read_only))
            put(self, "no_web", bool(self.no_web))

    def _refuse_odd_names(self) -> None:
        """Names become keys of rows: text that can be written, of a length a person could read."""
        if not _are_plain(_names(self)):
            for name in _NAMES:
                _check_name(name, getattr(self, name))
        if _other_names(self) != _NO_OTHER_NAMES:
            for name in (each for each in _OTHER_NAMES if getattr(self, each) is not None):
                _check_name(name, getattr(self, name))
        index: Any = self.chain_index
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            message = f"chain_index must be a whole number from 0, not {index!r}"
            raise ValueError(message)
        for name in ("intent", "working_directory"):
            text: Any = getattr(self, name)
            if text is not None and not (isinstance(text, str) and writable(text)):
                message = f"{name} must be text"
                raise ValueError(message)

    def narrow(self, **changes: Any) -> Context:
        """A context that may do the same or less.

        Names (`task_id`, `step_id`, `trace_id`, `idempotency_key`, `chain_id`, `chain_index`) may be set freely;
        `layers` are added to the ones that are there.

        Raises:
            ValueError: A change would widen, or would change who asks.
        """
        for name, value in changes.items():
            if name in _IDENTITY and value != getattr(self, name):
                message = f"narrow() cannot change {name}; make a new Context"
                raise ValueError(message)
        for name, value in changes.items():
            if name in LIMITS and not LIMITS[name].narrows(self, value):
                message = f"narrow() cannot widen {name} from {getattr(self, name)!r} to {value!r}"
                raise ValueError(message)
        layers = (*self.layers, *several(changes.pop("layers", ()), Layer, name="layers"))
        # It was compared, and is what is there: one that gives its texts only once has none left.
        changes.pop("outer_directories", None)
        if changes.get("working_directory", self.working_directory) != self.working_directory:
            # Granted paths may be relative: in the narrower directory they lead to others.
            changes["outer_directories"] = self._directories()
        if self.autonomy is None and changes.get("autonomy") is not None:
            # None is the configuration's level, which is not known here: what is set over it is a ceiling, no more.
            level = Autonomy.parse(str(changes.pop("autonomy")))
            layers = (*layers, _ceiling(Autonomy(level)))
        return replace(self, layers=layers, **changes)

    def meet(self, other: Context) -> Context:
        """What both may do: for a call that was asked for under this context, and is made for somebody under the other.

        What names the call, and what its user said, is this one's; what it comes in with is the other's.

        Raises:
            ValueError: Nothing is known that both may do; the message says why.
        """
        for name in _ASKER:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                message = f"it was asked for with the {name} {mine!r}, and this is {theirs!r}"
                raise ValueError(message)
        if not other.is_narrowed_to(self):
            message = f"it was asked for in {self.working_directory}, and this is in {other.working_directory}"
            raise ValueError(message)
        levels = [each.autonomy for each in (self, other) if each.autonomy is not None]
        scopes = [each.scopes for each in (self, other) if each.scopes is not None]
        layers = (*(layer for layer in other.layers if layer not in self.layers), *self.layers)
        if len(levels) == 1:
            # One of them has the configuration's level, which is not known here: the other's is a ceiling over it.
            layers = (_ceiling(levels[0]), *layers)
        return replace(
            self.through(other),
            scopes=scopes[0].intersection(*scopes) if scopes else None,
            autonomy=min(levels) if len(levels) > 1 else None,
            timeout=min((each.timeout for each in (self, other) if each.timeout is not None), default=None),
            read_only=self.read_only or other.read_only,
            no_web=self.no_web or other.no_web,
            layers=layers,
        )

    def through(self, other: Context) -> Context:
        """The same, come in with what the other came in with."""
        return replace(self, credential=other.credential, expires_at=other.expires_at)

    def covers(self, other: Context) -> bool:
        """Whether the other is of the same asker and may do the same or less; what cannot be known here is a no."""
        same = all(getattr(self, name) == getattr(other, name) for name in _ASKER)
        return same and all(limit.covers(self, other) for limit in LIMITS.values())

    def is_narrowed_to(self, other: Context) -> bool:
        """Whether it works in the same directory, or in one that was narrowed from it."""
        if self.working_directory is None or other.working_directory is None:
            return self.working_directory == other.working_directory
        outer = [os.path.realpath(path) for path in self._directories()]
        return [os.path.realpath(path) for path in other._directories()][: len(outer)] == outer

    def _directories(self) -> tuple[str, ...]:
        return (
            self.outer_directories
            if self.working_directory is None
            else (*self.outer_directories, self.working_directory)
        )


Narrows = Callable[[Context, Any], bool]
Covers = Callable[[Context, Context], bool]


@dataclass(frozen=True, slots=True)
class Limit:
    """What the same or less means for one field of a context."""

    narrows: Narrows
    """Whether this value may be set over the one that is there."""
    covers: Covers
    """Whether the other's is known to be the same or less."""


def _scopes_narrow(context: Context, value: Any) -> bool:
    return context.scopes is None or (value is not None and frozenset(value) <= context.scopes)


def _autonomy_narrows(context: Context, value: Any) -> bool:
    if context.autonomy is None:
        return True
    level = Autonomy.parse(value) if isinstance(value, str) else value
    return level is not None and level <= context.autonomy


def _timeout_narrows(context: Context, value: Any) -> bool:
    return context.timeout is None or (value is not None and value <= context.timeout)


def _directory_narrows(context: Context, value: Any) -> bool:
    if value is None or context.working_directory is None:
        # None is the gate's own directory, which is not known here.
        return value == context.working_directory
    root = os.path.realpath(context.working_directory)
    return os.path.commonpath([root, os.path.realpath(value)]) == root


def _reads_only(context: Context, value: Any) -> bool:
    return bool(value) or not context.read_only


def _stays_off_the_web(context: Context, value: Any) -> bool:
    return bool(value) or not context.no_web


def _same_outer_directories(context: Context, value: Any) -> bool:
    return tuple(value) == context.outer_directories


def _same_caller(context: Context, value: Any) -> bool:
    return value == context.caller


def _works_inside(wide: Context, other: Context) -> bool:
    return wide.is_narrowed_to(other)


def _has_its_layers(wide: Context, other: Context) -> bool:
    return other.layers[: len(wide.layers)] == wide.layers


def _always(*_: Any) -> bool:
    return True


def _plain(name: str, narrows: Narrows) -> Limit:
    """A limit that is known wherever it is asked about."""

    def covers(wide: Context, other: Context) -> bool:
        return narrows(wide, getattr(other, name))

    return Limit(narrows, covers)


def _inherited(name: str, narrows: Narrows) -> Limit:
    """A limit that is the role's or the configuration's where it is not set: more, or less, than one that is."""

    def covers(wide: Context, other: Context) -> bool:
        mine, theirs = getattr(wide, name), getattr(other, name)
        return (mine == theirs or None not in {mine, theirs}) and narrows(wide, theirs)

    return Limit(narrows, covers)


LIMITS: Mapping[str, Limit] = {
    "scopes": _inherited("scopes", _scopes_narrow),
    "autonomy": _inherited("autonomy", _autonomy_narrows),
    "timeout": _plain("timeout", _timeout_narrows),
    "read_only": _plain("read_only", _reads_only),
    "no_web": _plain("no_web", _stays_off_the_web),
    "working_directory": Limit(_directory_narrows, _works_inside),
    "outer_directories": Limit(_same_outer_directories, _works_inside),
    # Layers are added to those that are there.
    "layers": Limit(_always, _has_its_layers),
    # Which flow makes a call is for the flow to say, whoever asked for it.
    "caller": Limit(_same_caller, _always),
}
"""Every field that bounds what a context may do. `meet` has a line for each of them as well."""


def _ceiling(level: Autonomy) -> Layer:
    return Layer(name="narrowed autonomy", max_autonomy=level)


def numbering(context: Context) -> Callable[[int], Context]:
    """Makes the same context for each call of a flow: what was checked when it was made is not checked again."""
    if type(context) is not Context:
        return lambda index: replace(context, chain_index=index)
    put = object.__setattr__
    known = [(each.name, getattr(context, each.name)) for each in fields(Context) if each.name != "chain_index"]

    def numbered(index: int) -> Context:
        other = object.__new__(Context)
        for name, value in known:
            put(other, name, value)
        put(other, "chain_index", index)
        return other

    return numbered
