r"""A grammar that lets a model write one call of a tool it may use and nothing else, for those that decode by one.

In GBNF, as llama.cpp reads it. What is written is `{"name": "…", "arguments": {…}}`, as `gate.batch` takes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

_CALL = r'"{" gap "\"name\":" gap tool gap "," gap "\"arguments\":" gap object gap "}"'
_NOTHING = 'root ::= ""'
_JSON = r"""
gap ::= [ \n]?
object ::= "{" gap (member (gap "," gap member)*)? gap "}"
member ::= text gap ":" gap value
array ::= "[" gap (value (gap "," gap value)*)? gap "]"
value ::= object | array | text | number | "true" | "false" | "null"
text ::= "\"" letter* "\""
letter ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
"""


def grammar(names: Iterable[str]) -> str:
    """The grammar for tools of these names. Without any it admits no call, only an empty text."""
    alternatives = [_literal(json.dumps(name)) for name in names]
    if not alternatives:
        return f"{_NOTHING}\n"
    return f"root ::= {_CALL}\ntool ::= {' | '.join(alternatives)}{_JSON}"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
