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

CODEX = MappingProxyType(
    {
        "Bash": "host.bash",
        "shell": "host.bash",
        "local_shell": "host.bash",
        "shell_command": "host.bash",
        "exec_command": "host.bash",
        "apply_patch": "host.patch",
        "update_plan": "host.bookkeeping",
    }
)
"""Codex's own."""

COPILOT = MappingProxyType(
    {
        "bash": "host.bash",
        "write_bash": "host.bash",
        "read_bash": "host.bookkeeping",
        "stop_bash": "host.task_stop",
        "view": "host.read",
        "create": "host.write",
        "edit": "host.edit",
        "glob": "host.glob",
        "grep": "host.grep",
        "rg": "host.grep",
        "web_fetch": "host.web_fetch",
        "web_search": "host.web_search",
        "task": "host.agent",
        "report_intent": "host.bookkeeping",
        "update_todo": "host.bookkeeping",
    }
)
"""Copilot's own."""
