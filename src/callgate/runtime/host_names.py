"""Under which name of the gate each tool of a host is judged. What is not here is refused. Imports nothing."""

from __future__ import annotations

from types import MappingProxyType

CLAUDE_CODE = MappingProxyType(
    {
        "Bash": "host.bash",
        "Read": "host.read",
        "Glob": "host.glob",
        "Grep": "host.grep",
        "Write": "host.write",
        "Edit": "host.edit",
        "MultiEdit": "host.multi_edit",
        "LS": "host.list",
        "NotebookEdit": "host.notebook_edit",
        "WebFetch": "host.web_fetch",
        "WebSearch": "host.web_search",
        "Agent": "host.agent",
        "Task": "host.agent",
        "TodoWrite": "host.todo_write",
        "ToolSearch": "host.tool_search",
        "TaskOutput": "host.task_output",
        "TaskStop": "host.task_stop",
        "KillShell": "host.task_stop",
        "BashOutput": "host.bookkeeping",
        "TaskCreate": "host.bookkeeping",
        "TaskUpdate": "host.bookkeeping",
        "TaskList": "host.bookkeeping",
        "TaskGet": "host.bookkeeping",
        "Skill": "host.skill",
        "SlashCommand": "host.skill",
    }
)
"""Claude Code's own."""

CURSOR = MappingProxyType(
    {
        "Shell": "host.bash",
        "Read": "host.read",
        "Write": "host.write",
        "Edit": "host.edit",
        "StrReplace": "host.edit",
        "Delete": "host.delete",
        "Grep": "host.grep",
        "Glob": "host.glob",
        "LS": "host.list",
        "Task": "host.agent",
        "WebFetch": "host.web_fetch",
        "WebSearch": "host.web_search",
        "TodoWrite": "host.bookkeeping",
    }
)
"""Cursor's own."""
