"""Similar: names that somebody may have meant who asked for one that is not there.

It is a hint. To compare two names takes longer than their lengths say, so long ones are not compared, and of the
others only those of about its length, as long as there is time.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterator

from callgate.tools.intelligence.projects import Project

_MOST = 5
_LIKE = 0.7
_LONGEST = 60
_LOOKED_AT = 1000
_NEAREST = """
SELECT DISTINCT s.name, f.path FROM symbols s JOIN files f ON f.id = s.file
WHERE s.folded LIKE ? ESCAPE '!' AND length(s.name) <= ? ORDER BY abs(length(s.name) - ?), s.name LIMIT ?
"""


def similar_names(project: Project, name: str) -> list[str]:
    """Names with the same first letter that are much like this one, the most alike first."""
    if len(name) > _LONGEST:
        return []
    first = name[:1].lower()
    beginning = f"!{first}%" if first in {"%", "_", "!"} else f"{first}%"
    rows = project.index.rows(_NEAREST, (beginning, _LONGEST, len(name), _LOOKED_AT))
    names = dict.fromkeys(each for each, path in rows if path in project.files)
    return [each for _, each in heapq.nlargest(_MOST, _alike(project, name, names=list(names)))]


def _alike(project: Project, name: str, *, names: list[str]) -> Iterator[tuple[float, str]]:
    matcher = difflib.SequenceMatcher(b=name)
    for each in names:
        if project.left() <= 0:
            return
        matcher.set_seq1(each)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= _LIKE and matcher.ratio() >= _LIKE:
            yield matcher.ratio(), each
