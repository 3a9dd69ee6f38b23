"""What the host's own tools do, declared so that a gate can judge them. The host runs them; nothing here does.

The schemas say which arguments are paths, hosts and plain texts, and let through what a newer host may add.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError
from callgate.runtime.host_names import CLAUDE_CODE as HOST_NAMES

if TYPE_CHECKING:
    from callgate.settings.values import Settings

__all__ = ["HOST_NAMES", "every_host_tool", "host_tools", "names_hosts"]

_TEXT = {"type": "string", "format": "text"}
_FILE = {"type": "string", "format": "file-path"}
_FILES = {"type": "array", "items": _FILE}
_FOLDER = {"type": "string", "format": "directory-path"}
_GLOB = {"type": "string", "format": "glob"}
_URL = {"type": "string", "format": "uri"}
_WORDS = {"type": "array", "items": _TEXT}
_FLAG = {"type": "boolean"}
_NUMBER = {"type": "number"}
_READS_FILES: dict[str, Any] = {"effects": "read_only", "scopes": "fs:read"}
_WRITES_FILES: dict[str, Any] = {"effects": "modifies_files", "scopes": "fs:write", "risk": "medium"}
_READS_THE_WEB: dict[str, Any] = {
    "effects": ("read_only", "network_access"),
    "scopes": "net:outbound",
    "timeout": 120,
    "untrusted_output": True,
}
# Nothing outside the conversation: the host's own bookkeeping.
_LOOKS: dict[str, Any] = {"effects": "read_only"}


def _never(*_given: Any) -> None:
    raise AssertionError("its host runs it")


def _tool(
    description: str, needed: dict[str, Any], *, optional: dict[str, Any] | None = None, **declared: Any
) -> dict[str, Any]:
    schema = {"type": "object", "properties": needed | (optional or {}), "required": list(needed)}
    return {"description": description, "input_schema": schema, "execute": _never, "source": "host", **declared}


_DECLARED: dict[str, dict[str, Any]] = {
    "host.bash": _tool(
        "Run a command in a shell.",
        {"command": _TEXT},
        optional={"description": _TEXT, "timeout": _NUMBER, "run_in_background": _FLAG, "cwd": _FOLDER},
        effects=("local_exec", "modifies_files", "network_access", "system_state"),
        scopes="shell:execute",
        risk="high",
        timeout=600,
    ),
    "host.read": _tool("Read a file.", {"file_path": _FILE}, optional={"pages": _TEXT}, **_READS_FILES),
    "host.glob": _tool("Find files by a pattern.", {"pattern": _GLOB}, optional={"path": _FOLDER}, **_READS_FILES),
    "host.grep": _tool(
        "Search in files.",
        {"pattern": _TEXT},
        optional={"path": _FOLDER, "glob": _GLOB, "type": _TEXT, "output_mode": _TEXT, "searched": _FILES},
        **_READS_FILES,
    ),
    "host.write": _tool("Write a file.", {"file_path": _FILE, "content": _TEXT}, **_WRITES_FILES),
    "host.edit": _tool(
        "Replace text in a file.",
        {"file_path": _FILE, "old_string": _TEXT, "new_string": _TEXT},
        optional={"replace_all": _FLAG},
        **_WRITES_FILES,
    ),
    "host.multi_edit": _tool(
        "Replace several texts in a file.",
        {"file_path": _FILE, "edits": {"type": "array", "items": {"type": "object"}}},
        **_WRITES_FILES,
    ),
    "host.patch": _tool(
        "Change several files by a patch; `deletes` says whether it deletes one.",
        {"patch": _TEXT, "files": {"type": "array", "items": _FILE}},
        optional={"deletes": _FLAG},
        **_WRITES_FILES,
    ),
    "host.delete": _tool("Delete a file.", {"file_path": _FILE}, destructive=True, **_WRITES_FILES),
    "host.list": _tool("List a folder.", {"path": _FOLDER}, **_READS_FILES),
    "host.notebook_edit": _tool(
        "Change a cell of a notebook.",
        {"notebook_path": _FILE, "new_source": _TEXT},
        optional={"cell_id": _TEXT, "cell_type": _TEXT, "edit_mode": _TEXT},
        **_WRITES_FILES,
    ),
    "host.web_fetch": _tool("Read a page.", {"url": _URL}, optional={"prompt": _TEXT}, **_READS_THE_WEB),
    "host.web_search": _tool(
        "Search the web.",
        {"query": _TEXT},
        optional={"allowed_domains": _WORDS, "blocked_domains": _WORDS},
        **_READS_THE_WEB,
    ),
    "host.agent": _tool(
        "Start an agent of its own, whose every call is judged like any other.",
        {"description": _TEXT, "prompt": _TEXT},
        # An agent with a place of its own changes that place, or is judged by nobody here.
        optional={"subagent_type": _TEXT, "model": _TEXT, "isolation": {"not": {}}},
        effects=("read_only", "calls_llm"),
        timeout=3600,
    ),
    "host.skill": _tool(
        "Load instructions that somebody wrote for the host; they may run commands while they are loaded.",
        {},
        optional={"skill": _TEXT, "command": _TEXT, "args": _TEXT},
        effects="local_exec",
        risk="medium",
    ),
    "host.mcp": _tool(
        "Call a tool of an MCP server that the host reaches by itself, and the gate knows nothing of.",
        {"server": _TEXT, "tool": _TEXT, "arguments": {"type": "object"}},
        effects=("modifies_files", "network_access", "system_state"),
        scopes="mcp:connect",
        risk="high",
        timeout=600,
        untrusted_output=True,
    ),
    "host.bookkeeping": _tool("Keep the host's own lists.", {}, **_LOOKS),
    "host.todo_write": _tool(
        "Keep a list of what is to do.", {"todos": {"type": "array", "items": {"type": "object"}}}, **_LOOKS
    ),
    "host.tool_search": _tool("Find tools of the host by words.", {"query": _TEXT}, **_LOOKS),
    "host.task_output": _tool("Read what a task in the background has printed.", {"task_id": _TEXT}, **_LOOKS),
    "host.task_stop": _tool(
        "Stop a task in the background.",
        {},
        optional={"task_id": _TEXT, "shell_id": _TEXT},
        effects="system_state",
        risk="low",
    ),
}


def host_tools(*names: str) -> list[dict[str, Any]]:
    """Declarations of the host's own tools, for `gate.add(*host_tools())`.

    Args:
        names: By the host's names (`Bash`, `Edit`, …); all that are known when left out.

    Raises:
        ConfigurationError: No tool of that name is declared here; declare it with `@tool(name=…, source="host")`.
    """
    unknown = [name for name in names if name not in HOST_NAMES]
    if unknown:
        raise ConfigurationError(
            f"{', '.join(unknown)} is not declared here; known are {', '.join(HOST_NAMES)}. Declare it yourself, with "
            'source="host", and name it in host_names'
        )
    wanted = dict.fromkeys(HOST_NAMES[name] for name in names or HOST_NAMES)
    return [{"name": name, **_DECLARED[name]} for name in wanted]


def every_host_tool() -> list[dict[str, Any]]:
    """All declarations, also of what only some hosts have, for the doors through which hosts ask."""
    return [{"name": name, **declared} for name, declared in _DECLARED.items()]


def names_hosts(settings: Settings) -> bool:
    """Whether a policy says anything of hosts' tools by name: then they have to be known wherever it is looked at."""
    layers = [settings.global_layer, *(role.layer for role in (settings.roles or {}).values())]
    named = [name for layer in layers if layer is not None for name in (*(layer.allow or ()), *layer.deny)]
    named += [rule.match for layer in layers if layer is not None for rule in layer.rules]
    return any(name.startswith("host.") or name == "source:host" for name in named)
