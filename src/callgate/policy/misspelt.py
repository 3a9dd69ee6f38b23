"""Misspelt: what a condition names that is nowhere. It would parse, and then never be judged, so it is told at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from callgate.settings.wording import instead

FIELDS: Mapping[str, tuple[str, ...]] = {
    "tool": (
        "name", "category", "connector", "source", "source_name", "tags", "capabilities", "scopes", "effects", "risk",
        "read_only", "destructive", "idempotent", "egress", "untrusted_output", "sensitive_output",
    ),
    "context": (
        "principal", "user", "session", "role", "scopes", "autonomy", "task_id", "step_id", "working_directory",
        "caller", "chain_index", "intent", "read_only", "no_web",
    ),
}  # fmt: skip
"""What a condition sees of the tool and of who asks."""
_FUNCTIONS = frozenset(
    {
        "size", "contains", "startsWith", "endsWith", "matches", "int", "uint", "double", "string", "bytes", "type",
        "dyn", "duration", "timestamp", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek",
        "getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds",
    }
)  # fmt: skip
"""Those of CEL that the evaluator has; macros are not counted among them."""
_OPERATOR = re.compile(r"\W|_.*_|@")
_USED = re.compile(r"(?<![\w.])(tool|context)\b(?:\.(\w+)|\s*(\[))?")
_LISTED = re.compile(r"\bin\s*$")


def misspelt(expression: str, functions: Iterable[str], *, own: Iterable[str]) -> Iterator[str]:
    """What to say of each name that is none.

    Args:
        expression: The condition, its texts emptied.
        functions: What it calls, operators included.
        own: Variables of its own loops, which may be called as ours are.
    """
    for name in sorted(set(functions) - _FUNCTIONS):
        if _OPERATOR.match(name) is None:
            yield f"there is no function {name}; {instead(name, sorted(_FUNCTIONS))}"
    close = re.sub(r"\s*\.\s*", ".", expression)
    for found in _USED.finditer(close):
        variable, field, index = found.groups()
        if variable in own or index:
            continue
        if field is not None and field not in FIELDS[variable]:
            yield f"{variable} has no {field}; {instead(field, FIELDS[variable])}"
        elif field is None and not _LISTED.search(close[: found.start()]):
            # A comparison with it is never true: a denial would never deny.
            yield f"{variable} has many fields and is none of them; write {variable}.{FIELDS[variable][0]}"
