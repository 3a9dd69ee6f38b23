"""The file of cases that `policy test` runs: strict YAML or JSON, one list. Knows nothing of what a case means."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

from callgate.cli.trouble import wrong
from callgate.model.canonical import loads
from callgate.settings.complaints import Complaints, Fault
from callgate.settings.file_text import check_text, read_text
from callgate.settings.nodes import ListNode, MapNode, Node, ScalarNode
from callgate.settings.scalars import value_of
from callgate.settings.yaml_source import read_nodes

_FORM = "a file of cases is a list; each has `tool`, `expect`, and what it is called with"


class Cases(NamedTuple):
    """The cases of a file."""

    values: list[Any]
    """As they stand there."""
    lines: tuple[int, ...] = ()
    """Where each begins; empty where that is not known."""


def read_cases(path: Path) -> Cases:
    """The cases of a file, as they stand there.

    Raises:
        ConfigurationError: The file is missing, cannot be read, or is no list.
    """
    text = read_text(str(path), required=True) or ""
    value, lines = (_read_json(text, path), ()) if path.suffix == ".json" else _read_yaml(text, path)
    if not isinstance(value, list):
        wrong(f"{path}: {_FORM}")
    return Cases(cast("list[Any]", value), lines)


def _read_json(text: str, path: Path) -> Any:
    try:
        return loads(text)
    except ValueError as error:
        wrong(f"{path}: {error}")


def _read_yaml(text: str, path: Path) -> tuple[Any, tuple[int, ...]]:
    complaints = Complaints(str(path))
    check_text(text, complaints)
    node = None if complaints else read_nodes(text, complaints)
    value = None if node is None else _plain(node, complaints)
    if complaints:
        complaints.raise_all()
    return value, tuple(item.line for item in node.items) if isinstance(node, ListNode) else ()


def _plain(node: Node, complaints: Complaints) -> Any:
    if isinstance(node, MapNode):
        return {entry.name: _plain(entry.value, complaints) for entry in node.entries}
    if isinstance(node, ListNode):
        return [_plain(item, complaints) for item in node.items]
    if not isinstance(node, ScalarNode):
        return None
    try:
        return value_of(node)
    except Fault as fault:
        complaints.add(str(fault), line=node.line, key=node.key)
        return None
