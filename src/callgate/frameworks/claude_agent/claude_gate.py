"""ClaudeGate: everything a conversation of the Claude Agent SDK needs so that a gate stands before all its tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    HookMatcher,
    McpSdkServerConfig,
)
from claude_agent_sdk.types import HookEvent

from callgate.errors import ConfigurationError
from callgate.frameworks.claude_agent.host_tools import HOST_NAMES
from callgate.frameworks.claude_agent.judging import Judge
from callgate.frameworks.claude_agent.server import GateServer
from callgate.frameworks.desk import Desk
from callgate.frameworks.reach import AnyGate
from callgate.model.context import Context
from callgate.model.naming import is_name_part

_WAIT = 45.0


class ClaudeGate:
    """A gate before the tools of one conversation: the gate's own, and those of the host.

    Args:
        gate: An open gate, also one for blocking code. Host tools are judged by what it knows of them:
            `gate.add(*host_tools())`.
        context: Who asks; the gate's own when left out. Set a `session` for each conversation: the host's id of a tool
            use is the key of its effect within it. Its `working_directory` should be the host's.
        server: The name of the in-process server.
        wait: Seconds a call waits for a person. After that the model is told which approval it waits for, and a tool of
            the host is denied.
        host_names: Under which name of the gate each tool of the host is judged; also tools of other servers
            (`mcp__github__create_issue`). What is not among them is refused.

    Raises:
        ConfigurationError: The gate is not open, the name of the server cannot be, or the MCP SDK is too old.
    """

    def __init__(
        self,
        gate: AnyGate,
        context: Context | None = None,
        *,
        server: str = "gate",
        wait: float = _WAIT,
        host_names: Mapping[str, str] = HOST_NAMES,
    ) -> None:
        if not is_name_part(server):
            raise ConfigurationError(f"{server!r} is no name for a server: write snake_case")
        desk = Desk(gate, context)
        lent = GateServer(desk, wait=wait)
        self._name = server
        self._judge = Judge(desk, lent, server_name=server, host_names=host_names, wait=wait)
        self.server: McpSdkServerConfig = lent.config(server)
        """The tools of the gate, for `ClaudeAgentOptions(mcp_servers=…)` under the name of the server."""

    @property
    def can_use_tool(self) -> CanUseTool:
        """The SDK's pause: judges a tool of the host, and waits for a person where one has to decide."""
        return self._judge.can_use_tool

    @property
    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """What makes the host ask about every call, and report how those ended that were allowed."""
        return {
            # A hook that fails blocks: else the host would go by its own rules.
            "PreToolUse": [HookMatcher(hooks=[self._judge.before], on_failure="block")],
            "PostToolUse": [HookMatcher(hooks=[self._judge.after])],
            "PostToolUseFailure": [HookMatcher(hooks=[self._judge.after])],
        }

    def options(self, options: ClaudeAgentOptions | None = None) -> ClaudeAgentOptions:
        """The options of a conversation, with the gate before every tool of it.

        Args:
            options: Everything else; its hooks and servers stay.

        Raises:
            ConfigurationError: They decide about tools themselves, or have a server that could be taken for the gate.
        """
        given = options or ClaudeAgentOptions()
        if given.can_use_tool is not None or given.permission_prompt_tool_name is not None:
            raise ConfigurationError("these options decide about tools themselves; leave can_use_tool to the gate")
        servers = given.mcp_servers
        if not isinstance(servers, dict):
            raise ConfigurationError("mcp_servers must be a mapping here: a file cannot name a server in this process")
        alike = [name for name in servers if name == self._name or name.startswith(f"{self._name}__")]
        if alike:
            raise ConfigurationError(f"the server {alike[0]!r} could be taken for the gate's; rename one of them")
        theirs = given.hooks or {}
        hooks = {event: [*matchers, *theirs.get(event, [])] for event, matchers in self.hooks.items()}
        return replace(
            given,
            mcp_servers={**servers, self._name: self.server},
            can_use_tool=self.can_use_tool,
            hooks={**theirs, **hooks},
        )
