"""Arguments of hosts' tools under the names of the gate's declarations. Knows no gate.

Hosts differ in what they call a thing, and a model may say more than its host reads. Which of two names a host goes by
is not known here, so a call that says one thing under two names, and differently, is not understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_FILE = ("file_path", "path", "target_file", "notebook_path", "target_notebook", "absolute_path", "file", "filename")
_FOLDER = ("path", "target_directory", "directory", "dir_path", "dir", "folder", "root")
_CONTENT = ("content", "contents", "file_text", "code_edit")
_COMMAND = ("command", "cmd", "input", "script", "chars")
_WHERE = ("cwd", "workdir", "working_directory", "directory", "dir")
_EDIT = {"old_string": ("old_string", "old_str", "old_text"), "new_string": ("new_string", "new_str", "new_text")}
_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "host.bash": {"command": _COMMAND, "cwd": _WHERE},
        "host.read": {"file_path": _FILE},
        "host.write": {"file_path": _FILE, "content": _CONTENT},
        "host.edit": {"file_path": _FILE, **_EDIT},
        "host.multi_edit": {"file_path": _FILE},
        "host.delete": {"file_path": _FILE},
        "host.notebook_edit": {
            "notebook_path": ("notebook_path", *(name for name in _FILE if name != "notebook_path")),
            "new_source": ("new_source", "new_string", "new_str", "source"),
        },
        "host.patch": {"patch": ("patch", "command", "input")},
        "host.list": {"path": _FOLDER},
        "host.glob": {"pattern": ("pattern", "glob_pattern", "glob"), "path": _FOLDER},
        "host.grep": {
            "pattern": ("pattern", "regex", "query"),
            "path": _FOLDER,
            "glob": ("glob", "glob_pattern", "include", "include_pattern"),
        },
        "host.web_fetch": {"url": ("url", "uri", "link", "address")},
        "host.web_search": {"query": ("query", "search_term", "q")},
    }
)
"""By tool and name of its declaration: every name that a host is known to have, or might have, for it."""


class Misread(Exception):
    """A host said something that cannot be understood; the message says what, in words a person can read."""


def renamed(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments under the names of the declaration.

    Args:
        tool: The gate's name of the tool.
        given: What the host said.

    Raises:
        Misread: It says one thing under two names, and not the same.
    """
    names = _by_spelling(tool)
    found: dict[str, Any] = {}
    said: dict[str, str] = {}
    for key, value in given.items():
        name = names.get(_spelling(key), key)
        if value is None and _spelling(key) in names:
            continue
        if name in found and found[name] != value:
            raise Misread(f"it says two different things as {said[name]} and as {key}; say one of them")
        found[name] = value
        said[name] = key
    return found


def as_host_said(tool: str, given: Mapping[str, Any], *, edited: Mapping[str, Any]) -> dict[str, Any]:
    """What a person changed, under every name that the host said it by."""
    names = _by_spelling(tool)
    of_host: dict[str, list[str]] = {}
    for key in given:
        of_host.setdefault(names.get(_spelling(key), key), []).append(key)
    return {key: value for name, value in edited.items() for key in of_host.get(name, [name])}


def _by_spelling(tool: str) -> dict[str, str]:
    """The declaration's name, by each other one; where two would claim one, the first has it."""
    found: dict[str, str] = {}
    for name, others in _NAMES.get(tool, {}).items():
        for other in others:
            found.setdefault(_spelling(other), name)
    return found


def _spelling(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
