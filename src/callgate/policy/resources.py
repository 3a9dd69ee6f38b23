"""Resources: whether everything a call names, paths and hosts, lies where its scope families allow.

The families of the tool's scopes that speak of paths (or hosts) all have to agree; where none does, `fs` (or `net`)
decides, and it has its say where one of them is unknown. So a tool without any scope is confined as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, product
from pathlib import Path

from callgate.model.context import Context
from callgate.model.decision import Reason
from callgate.model.grounds import Grounds
from callgate.model.levels import Verdict
from callgate.model.tool import Arguments, Tool
from callgate.policy import hosts
from callgate.policy.answers import NOTHING_TOUCHED, Authorization
from callgate.policy.ground import Ground
from callgate.policy.groups import runs_programs
from callgate.policy.guess import starts_programs
from callgate.policy.hosts import Airspace, read_host
from callgate.policy.kept import Kept
from callgate.policy.looks import TooMany
from callgate.policy.mounted import mounted
from callgate.policy.own_files import OwnFiles, SecondNames
from callgate.policy.paths import Paths, real_directory
from callgate.policy.patterns import may_be_expanded
from callgate.policy.reach import Found, Reach, Unjudged
from callgate.policy.scopes import Families
from callgate.policy.showing import show
from callgate.policy.survey import Kind, is_surroundings
from callgate.policy.unfit import Unfit
from callgate.policy.ways import is_inside, overlap
from callgate.settings.values import Family

MOST_STEPS = 40_000
"""A call whose paths have more parts than this, in all directories they could be relative to, is not followed."""
_USUAL_PARTS = 10
_MANY = 100
_MANY_PARTS = 1000
"""So many names, or parts of them, take about a millisecond to follow."""
_TOO_MUCH = "there is more to look at than is looked at for one call; make several calls of it"
_ADVICE = (
    " (a tool that works on files may take any text for a path; where it does not, it says what it touches with"
    " `resources`, or gives the argument a `format`)"
)
MOST_GROUNDS = 1024
"""So many resolved roots are remembered; beyond it, remembering starts anew."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What one call names, before anybody has looked where it leads."""

    found: tuple[Found, ...] = ()
    places: tuple[str, ...] = ()
    """The directories among it that others may be relative to."""
    paths: Paths | None = None
    """What counts for its paths."""
    airspaces: tuple[Airspace, ...] = ()
    settled: Authorization | None = None
    """The answer, where nobody has to look for it."""
    takes_long: bool = False
    """Whether to judge it may take longer than an event loop can wait."""

    def judge(self) -> Authorization:
        """Resolve and judge all of it, on whichever thread.

        Every refusal is among the reasons, up to where it is too much to look at.
        """
        if self.paths is None:
            return self.settled or NOTHING_TOUCHED
        resources: dict[str, None] = {}
        reasons: list[Reason] = []
        for item in self.found:
            try:
                is_host = item.kind is Kind.HOST
                names = _host(item, self.airspaces) if is_host else _path(item, self.paths, places=self.places)
                resources.update(dict.fromkeys(map(_as_text, names)))
            except (Unfit, hosts.Unfit) as error:
                advice = _ADVICE if item.kind is Kind.TEXT else ""
                reasons.append(_refuse(f"{item.title}: {error}{advice}"))
            except TooMany:
                reasons.append(_refuse(f"{item.title}: {_TOO_MUCH}"))
                break
        return Authorization(refusal=next(iter(reasons), None), reasons=tuple(reasons), resources=tuple(resources))


NOTHING_SOUGHT = Sought()


class Resources:
    """Paths and hosts of calls, judged by the scope families of one configuration."""

    def __init__(
        self, families: Mapping[str, Family], *, working_directory: str | Path | None, own_paths: Iterable[Path | str]
    ) -> None:
        self._families = Families(families)
        self._directory = real_directory(working_directory)
        self._own = OwnFiles(own_paths)
        self._kept: Kept | None = None
        self._grounds: dict[tuple[str, str], Ground | None] = {}
        self._bases: dict[str, str] = {}

    def protect(self, paths: Iterable[Path | str]) -> tuple[str, ...]:
        """Put more files out of reach of every tool; all that are, by now."""
        self._own = self._own.with_more(paths)
        return self._own.paths

    def seek(self, reach: Reach, arguments: Arguments, *, context: Context) -> Sought:
        """Everything the call names, to be resolved and judged."""
        try:
            found = reach.find(arguments)
            if not found:
                return NOTHING_SOUGHT
            places = tuple(dict.fromkeys(item.text for item in found if item.kind is Kind.PLACE))
            parts = _parts(found, places)
            long = len(found) > _MANY or parts > _MANY_PARTS or any(_may_be_expanded(item) for item in found)
            paths = self._paths(reach.tool, context)
            paths.looks.count(2 * parts)
            return Sought(found, places, paths, tuple(self._airspaces(reach.tool)), takes_long=long)
        except (Unjudged, Unfit) as error:
            reason = _refuse(f"{reach.tool.name} is refused: {error}")
            return Sought(settled=Authorization(refusal=reason, reasons=(reason,)))

    def grounds(self, tool: Tool, context: Context) -> Grounds:
        """Where the tool may go in this context, for what it meets on its way.

        Raises:
            PermissionError: The context's working directory is not what it was.
        """
        try:
            paths = self._paths(tool, context)
        except Unfit as error:
            raise PermissionError(str(error)) from None
        airspaces = tuple(self._airspaces(tool))
        return Grounds(
            directory=paths.base,
            roots=paths.roots(),
            closed=paths.own.paths,
            git=paths.git,
            code=paths.code,
            ways_to_code=paths.ways_to_code,
            private_addresses=all(airspace.private_addresses for airspace in airspaces),
            path_refused=paths.refused,
            host_refused=partial(_host_refused, airspaces),
            others=tuple(dict.fromkeys(self._granted_to_anybody((self._directory, *self._bases_of(context))))),
        )

    def _keep(self) -> Kept:
        try:
            mounts = mounted()
        except OSError as error:
            raise Unfit(f"what is mounted cannot be seen ({error.strerror}), and so not where paths lead") from error
        if self._kept is None or self._kept.named is not self._own or self._kept.mounts is not mounts:
            self._kept = Kept.of(self._own, mounts)
        return self._kept

    def _paths(self, tool: Tool, context: Context) -> Paths:
        kept = self._keep()
        bases = self._bases_of(context)
        families = self._governing(tool, "paths", otherwise="fs")
        by_base = [[ground for name in families if (ground := self._ground(name, base))] for base in bases]
        return Paths(
            tool,
            bases[-1],
            tuple(dict.fromkeys(chain.from_iterable(by_base))),
            kept.own,
            SecondNames(kept.own),
            kept.code,
            kept.ways_to_code,
            tuple(reduce(overlap, ([root for ground in grounds for root in ground.git] for grounds in by_base))),
            kept.mounts,
        )

    def _bases_of(self, context: Context) -> tuple[str, ...]:
        """The working directory, behind those it was narrowed from: what is granted has to hold in all of them."""
        return tuple(map(self._base, (*context.outer_directories, context.working_directory)))

    def _base(self, directory: str | None) -> str:
        """The real directory that relative paths start in.

        Raises:
            Unfit: It leads elsewhere than when it was first used, or out of a directory that tools may change.
        """
        if directory is None:
            return self._directory
        named = os.path.join(self._directory, directory)  # noqa: PTH118 - `..` must stay where it is
        base = os.path.realpath(named)
        if named not in self._bases:
            self._refuse_led_out(named, base)
            if len(self._bases) >= MOST_GROUNDS:
                self._bases.clear()
            self._bases[named] = base
        if self._bases[named] != base:
            what = f"the working directory {show(named)} led to {show(self._bases[named])} when it was first used"
            raise Unfit(f"{what}, and leads to {show(base)} now; put it back, or name the directory itself")
        return base

    def _refuse_led_out(self, named: str, base: str) -> None:
        # Whoever may write to a directory may put a link there: it would grant what it leads to.
        known = [root for ground in self._grounds.values() if ground is not None for root in ground.roots]
        for root in (self._directory, *known):
            if is_inside(os.path.normpath(named), root) and not is_inside(base, root):
                what = f"the working directory {show(named)} lies in {show(root)}, where tools may write"
                raise Unfit(f"{what}, and a link leads from it to {show(base)}; name the directory itself")

    def _granted_to_anybody(self, bases: Iterable[str]) -> Iterator[str]:
        for base, name in product(bases, self._families.known):
            ground = self._ground(name, base)
            yield from () if ground is None else ground.roots

    def _ground(self, family: str, base: str) -> Ground | None:
        # A root is followed once and remembered: if it is replaced by a link later, what lies behind it is outside.
        if (family, base) not in self._grounds:
            if len(self._grounds) >= MOST_GROUNDS:
                self._grounds.clear()
            entries = self._families.known[family].paths
            beside = [entry for other in self._families.known.values() for entry in other.paths or ()]
            self._grounds[family, base] = (
                None
                if entries is None
                else Ground.of(family, entries, working_directory=base, beside=beside, mounts=self._keep().mounts)
            )
        return self._grounds[family, base]

    def _airspaces(self, tool: Tool) -> Iterator[Airspace]:
        for name in self._governing(tool, "hosts", otherwise="net"):
            family = self._families.known[name]
            yield Airspace(name, family.hosts, private_addresses=family.private_addresses)

    def _governing(self, tool: Tool, what: str, *, otherwise: str) -> list[str]:
        scopes = {*tool.scopes, otherwise} if self._families.unknown(tool.scopes) else tool.scopes
        return self._families.speaking(what, scopes) or [otherwise]


def _parts(found: Iterable[Found], places: Sequence[str]) -> int:
    """How many parts all paths of a call have, in each directory that they may be relative to.

    Raises:
        Unjudged: To follow them would take too long.
    """
    parts = sum(
        item.text.count("/") + (_USUAL_PARTS if item.confined or item.kind is not Kind.TEXT else 1)
        for item in found
        if item.kind is not Kind.HOST
    )
    if parts * (1 + len(places)) > MOST_STEPS:
        raise Unjudged("its paths are too many and too deep to follow them all; make several calls of it")
    return parts * (1 + len(places))


def _may_be_expanded(item: Found) -> bool:
    # In an address a sign may be written by its number.
    return item.kind is not Kind.HOST and ("%" in item.text or may_be_expanded(item.text))


def _path(item: Found, ground: Paths, *, places: Iterable[str]) -> Iterator[str]:
    """The path in the working directory, after it was also judged inside each other directory the call names."""
    bases = [place for place in places if place != item.text] if not os.path.isabs(item.text) else []  # noqa: PTH117
    for base in (None, *bases):
        start = None if base is None else os.path.join(ground.base, base)  # noqa: PTH118 - judged by itself as well
        if not item.confined:
            ground.keep_off(item.text, base=start, about=_about(item, ground.tool))
            continue
        resolved = _judge(item, ground, base=start)
        if base is None:
            yield f"path:{resolved}"


def _about(item: Found, tool: Tool) -> str | None:
    """The argument whose texts a tool on files may take for paths; no command line is one."""
    is_command = runs_programs(tool) and starts_programs(item.argument)
    return item.argument if item.kind is Kind.TEXT and not is_command else None


def _judge(item: Found, ground: Paths, *, base: str | None) -> str:
    if item.kind is Kind.TEXT:
        return ground.judge_guess(item.text, base=base, whole=not is_surroundings(item.argument))
    if item.kind is Kind.PATTERN:
        return ground.judge_pattern(item.text, base=base)
    if may_be_expanded(item.text):
        # Some tools expand what others take literally; it must be harmless both ways.
        ground.judge_pattern(item.text, base=base)
    whole = not is_surroundings(item.argument)
    return ground.judge(item.text, base=base, whole=whole)


def _host(item: Found, airspaces: Iterable[Airspace]) -> Iterator[str]:
    host = read_host(item.text)
    if host is None:
        return
    for airspace in airspaces:
        airspace.refuse(host, item.text)
    yield f"host:{host}"


def _as_text(name: str) -> str:
    """What a call touches is written down, shown and compared, so it has to be text.

    Raises:
        Unfit: A name in it is none.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Unfit(f"it leads to {show(name)}, a name that is no UTF-8 and cannot be recorded") from None
    return name


def _host_refused(airspaces: Iterable[Airspace], text: str) -> str | None:
    try:
        host = read_host(text)
        if host is None:
            return f"{text} names no host"
        for airspace in airspaces:
            airspace.refuse(host, text)
    except hosts.Unfit as error:
        return str(error)
    return None


def _refuse(text: str) -> Reason:
    return Reason("resources", text, Verdict.DENY, "policy_denied")
