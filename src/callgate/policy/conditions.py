"""Conditions: the `when:` of a rule, in CEL. Anything but a plain no counts as yes, the stricter answer.

A condition sees the arguments, the tool's declaration and the raw context, and never what a layer has worked out.
CEL is imported when the first condition is compiled, and not before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.tool import Arguments, Tool
from callgate.policy.measure import Measured, TooLarge, measure
from callgate.policy.misspelt import misspelt
from callgate.settings.wording import is_presentable, quote

VARIABLES = ("args", "tool", "context")
NOT_BUILT = "labels"
"""Named by the design, and supplied by nothing yet: a rule about it would never apply."""
LONGEST = 4000
"""A condition has at most this many characters."""
MOST_STEPS = 1_000_000
"""A condition that could take more steps than this over the values of a call is not evaluated, and counts as yes."""

_TYPES = frozenset({"bool", "bytes", "double", "duration", "int", "list", "map", "string", "timestamp", "type", "uint"})
_INERT = re.compile(
    r"""//[^\n]*|[rR]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""",
    re.DOTALL,
)
_MACRO = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*([A-Za-z_]\w*)\s*,")
_ARGUMENT = re.compile(r"(?<![\w.])args\s*\.\s*([A-Za-z_]\w*)(?!\w|\s*\()")
_MATCHES = re.compile(r"\bmatches\s*\(")
_STUMBLE = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error: )?(.*?)(?: expecting .*)?$", re.MULTILINE)
_FIXED_PATTERN = re.compile(r"\.\s*matches\s*\(\s*''\s*\)")

_BEFORE_PATTERN = re.compile(r"\bmatches\s*\(\s*$")

_TROUBLE: Mapping[type[BaseException], str] = {
    KeyError: "it names a key this call does not have",
    TypeError: "it puts values of different types together",
    TooLarge: "the call is too large to evaluate it",
}
_NO_SUCH_FUNCTION = "Undefined variable or function"
"""What the evaluator says of a function that values of this type do not have: names that are nowhere are refused."""


class Compiled(Protocol):
    """A compiled expression."""

    def execute(self, context: dict[str, Any], /) -> Any: ...


class Held(NamedTuple):
    """Whether a condition counts as true, and whether it really said so."""

    applies: bool
    certain: bool = True
    note: str = ""
    by_type: bool = False
    """Whether other values of the same types would be no better: what it says does not fit them."""


@dataclass(slots=True)
class Subject:
    """One call as a condition sees it; put into CEL's form once, when the first condition asks."""

    tool: Tool
    arguments: Arguments
    context: Context
    _seen: tuple[dict[str, Any], Measured] | None = None

    def seen(self) -> tuple[dict[str, Any], Measured]:
        """The variables and their measure.

        Raises:
            TooLarge: The values are larger, deeper or wider than a condition may see.
        """
        if self._seen is None:
            tool, context = _tool_view(self.tool), _context_view(self.context)
            variables = {"args": self.arguments, "tool": tool, "context": context}
            # What the two views have as keys is ours and small; what they hold is not.
            self._seen = variables, measure(self.arguments, *tool.values(), *context.values())
        return self._seen


@dataclass(frozen=True, slots=True)
class Condition:
    """One compiled condition."""

    source: str
    compiled: Compiled
    loops: int
    """How many loops it has; each could be inside the other."""
    widest: int
    """At most so many entries stand in a list it brings itself."""

    def holds(self, subject: Subject) -> Held:
        """Evaluate over one call. An error, a value that is no boolean, and too much work all count as yes."""
        try:
            variables, measured = subject.seen()
            self._refuse_work(measured)
            answer = self.compiled.execute(variables)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of the evaluator is no Exception, and is no no either
            return _trouble(error)
        if isinstance(answer, bool):
            return Held(answer)
        note = f"it gives {type(answer).__name__} and no boolean"
        return Held(applies=True, certain=False, note=note, by_type=True)

    def _refuse_work(self, measured: Measured) -> None:
        if max(measured.widest, self.widest) ** self.loops * measured.size > MOST_STEPS:
            raise TooLarge


def compile_condition(text: str, *, key: str | None = None) -> Condition:
    """Compile a `when:`.

    Raises:
        ConfigurationError: It is not CEL, is too long, names a variable, a field or a function that is nowhere or that
            nothing supplies yet, lets the caller choose a regular expression or has a wrong one, or the extra `cel` is
            not installed.
    """
    compile_cel = _import_cel(key)
    if len(text) > LONGEST:
        raise ConfigurationError(f"a condition has at most {LONGEST} characters, this one {len(text)}", key=key)
    try:
        compiled = compile_cel(text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the parser is no Exception
        raise ConfigurationError(f"the condition is not CEL: {_explain(error)}", key=key) from error
    named = frozenset(compiled.variables())
    bare = _without_literals(text)
    loops = _MACRO.findall(bare)
    _refuse_unknown(named - {*loops}, key=key)
    if len(_MATCHES.findall(bare)) != len(_FIXED_PATTERN.findall(bare)):
        advice = "write the pattern of matches() as one text in quotes: a pattern from the call is the caller's"
        raise ConfigurationError(advice, key=key)
    _refuse_misspelt(bare, compiled.functions(), own=loops, key=key)
    _refuse_patterns(text, compile_cel, key=key)
    widest = bare.count(",") + 1
    return Condition(text, compiled, loops=len(loops), widest=widest)


def named_arguments(text: str) -> list[str]:
    """The arguments that a condition names as `args.NAME`, as they stand there, each once."""
    return list(dict.fromkeys(_ARGUMENT.findall(_without_literals(text))))


def _trouble(error: BaseException) -> Held:
    if str(error).startswith(_NO_SUCH_FUNCTION):
        return Held(applies=True, certain=False, note="it calls a function that these values do not have", by_type=True)
    note = _TROUBLE.get(type(error), type(error).__name__)
    return Held(applies=True, certain=False, note=note, by_type=isinstance(error, TypeError))


def _explain(error: BaseException) -> str:
    """Where the parser stumbled and over what; never the whole expression, which may hold anything."""
    found = _STUMBLE.search(str(error))
    if found is None:
        return "it cannot be parsed"
    line, column, what = found.groups()
    place = f"character {column}" if line == "1" else f"line {line}, character {column} of it"
    if "<EOF>" in what:
        return f"it ends at {place} where something is still missing"
    return f"at {place}: {what}" if is_presentable(what) else f"at {place}"


def _import_cel(key: str | None) -> Any:
    try:
        from cel import compile as compile_cel  # noqa: PLC0415 - an extra, needed only where a rule has a condition
    except ImportError as error:
        raise ConfigurationError("a rule has `when:`, which needs pip install callgate[cel]", key=key) from error
    return compile_cel


def _without_literals(text: str) -> str:
    """The expression with every text emptied, so that what is inside quotes is not taken for code."""
    return _INERT.sub(lambda found: "" if found[0].startswith("//") else "''", text)


def _refuse_unknown(named: frozenset[str], *, key: str | None) -> None:
    if NOT_BUILT in named:
        message = f"this version of Callgate does not have {NOT_BUILT} yet; leave them out of the condition"
        raise ConfigurationError(message, key=key)
    unknown = sorted(named - _TYPES - {*VARIABLES})
    if unknown:
        advice = f"args.{unknown[0]}" if unknown[0].isidentifier() else "args"
        known = ", ".join(VARIABLES)
        message = f"the condition names {unknown[0]}, which is not one of {known}; for an argument write {advice}"
        raise ConfigurationError(message, key=key)


def _refuse_misspelt(expression: str, functions: Iterable[str], *, own: Iterable[str], key: str | None) -> None:
    for fault in misspelt(expression, functions, own=own):
        raise ConfigurationError(f"the condition could never be judged: {fault}", key=key)


def _refuse_patterns(text: str, compile_cel: Any, *, key: str | None) -> None:
    for found in _INERT.finditer(text):
        if found[0].startswith("//") or not _BEFORE_PATTERN.search(text[: found.start()]):
            continue
        try:
            compile_cel(f"''.matches({found[0]})").execute({})
        except Exception as error:
            message = f"the condition could never be judged: {quote(found[0])} is no regular expression"
            raise ConfigurationError(message, key=key) from error


def _tool_view(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "category": tool.category,
        "connector": tool.connector,
        "source": tool.source.value,
        "source_name": tool.source_name,
        "tags": list(tool.tags),
        "capabilities": list(tool.capabilities),
        "scopes": sorted(tool.scopes),
        "effects": sorted(effect.value for effect in tool.effects),
        "risk": str(tool.base_risk),
        "read_only": tool.read_only,
        "destructive": tool.destructive,
        "idempotent": tool.idempotent,
        "egress": tool.egress,
        "untrusted_output": tool.untrusted_output,
        "sensitive_output": tool.sensitive_output,
    }


def _context_view(context: Context) -> dict[str, Any]:
    return {
        "principal": context.principal,
        "user": context.user,
        "session": context.session,
        "role": context.role,
        "scopes": None if context.scopes is None else sorted(context.scopes),
        "autonomy": None if context.autonomy is None else str(context.autonomy),
        "task_id": context.task_id,
        "step_id": context.step_id,
        "working_directory": context.working_directory,
        "caller": str(context.caller),
        "chain_index": context.chain_index,
        "intent": context.intent,
        "read_only": context.read_only,
        "no_web": context.no_web,
    }
