"""Names: what stands in double quotes is the name of a column, as the standard has it.

SQLite takes it for a text where there is no such column, so that a mistyped name finds rows that nobody asked for.
"""

from __future__ import annotations

import re

_PARTS = re.compile(
    r"""
    '(?:[^']|'')*'? | `(?:[^`]|``)*`? | \[[^\]]*\]? | --[^\n]* | /\*.*?(?:\*/|\Z)  # what no name in double quotes is in
    | "(?P<name>(?:[^"]|"")*)"
    """,
    re.VERBOSE | re.DOTALL,
)
_ASKS_FOR_PLAN = re.compile(r"(?:\s++|--[^\n]*+\n|/\*(?:[^*]|\*(?!/))*+\*/)*+explain\b", re.IGNORECASE)


def with_names_only(query: str) -> str | None:
    """A statement that is the same to SQLite, and fails where a name in double quotes is none; None without such names.

    It only says how the query would be answered, and costs no more than that.
    """
    if '"' not in query:
        return None
    strict = _PARTS.sub(_in_grave_accents, query)
    return strict if _ASKS_FOR_PLAN.match(strict) else f"EXPLAIN {strict}"


def _in_grave_accents(part: re.Match[str]) -> str:
    name = part["name"]
    return part[0] if name is None else "`" + name.replace('""', '"').replace("`", "``") + "`"
