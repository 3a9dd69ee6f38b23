"""Names that every provider accepts, one for each tool of a pool and never one for two. Knows no provider by name.

A name of letters, digits, `_` and `-`, 64 at most, travels as it is; the dot of `connector.name` as two underscores;
whatever else a name has (`toolkit:tool`, other alphabets, more than 64 characters) is left out, and a digest says which
name it was. Nothing is worked out backwards: who gave the names keeps the table.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator

LONGEST = 64
_ACCEPTED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OTHERS = re.compile(r"[^a-zA-Z0-9_-]+")
_DIGITS = 12


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """The name that travels for each of these; which one depends on the set, never on its order."""
    own = sorted(set(names))
    wires = {name: name for name in own if _ACCEPTED.fullmatch(name)}
    dotted = {name: name.replace(".", "__") for name in own if name not in wires}
    shared = Counter([*wires, *dotted.values()])
    wires |= {name: wire for name, wire in dotted.items() if _ACCEPTED.fullmatch(wire) and shared[wire] == 1}
    taken = set(wires.values())
    for name in own:
        if name not in wires:
            wires[name] = next(wire for wire in _marked(name) if wire not in taken)
            taken.add(wires[name])
    return wires


def _marked(name: str) -> Iterator[str]:
    """What can be read of the name, and a digest of all of it; a longer one each time."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    words = _OTHERS.sub("_", name.replace(".", "__"))
    for length in range(_DIGITS, LONGEST):
        yield f"{words[: LONGEST - 1 - length]}_{digest[:length]}"
    # A pool would have to hold each of those as a tool's own name; even then no two names become one.
    for count in itertools.count():
        yield hashlib.sha256(f"{count}:{digest}".encode()).hexdigest()
