"""The reader: text to settings. Loaded only when there is a text to read, because YAML is slow to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType

from callgate.settings.complaints import Complaints
from callgate.settings.document import DOCUMENT
from callgate.settings.file_text import check_text
from callgate.settings.kinds import WRONG, Reading
from callgate.settings.nodes import ListNode, MapNode, Node
from callgate.settings.values import DEFAULT_FAMILIES, Settings
from callgate.settings.yaml_source import read_nodes


def read_settings(
    text: str,
    *,
    file: str,
    now: float,
    check_condition: Callable[[str], object] | None = None,
    check_builtin: Callable[[str], object] | None = None,
) -> Settings:
    """Make settings of the text of a file.

    Raises:
        ConfigurationError: With everything that is wrong, each with its line and key.
    """
    complaints = Complaints(file)
    check_text(text, complaints)
    # Past hidden characters and tabs the parser would only repeat, less clearly, what has been said.
    root = None if complaints else read_nodes(text, complaints)
    reading = Reading(complaints, now, set(DEFAULT_FAMILIES), check_condition, check_builtin)
    settings = Settings() if root is None else reading.attempt(DOCUMENT, root)
    if complaints or settings is WRONG:
        complaints.raise_all()
    return replace(settings, file=file, lines=MappingProxyType({} if root is None else dict(_lines(root))))


def _lines(node: Node) -> Iterator[tuple[str, int]]:
    """The line of every key."""
    yield node.key, node.line
    for inner in node.items if isinstance(node, ListNode) else ():
        yield from _lines(inner)
    for entry in node.entries if isinstance(node, MapNode) else ():
        yield from _lines(entry.value)
        yield entry.value.key, entry.line
