"""ToolRegistry: three registries' conventions over one gate. It translates, and every call goes the gate's way."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, cast

from callgate.adapters.base_tool import BaseTool
from callgate.adapters.convert import convert
from callgate.adapters.registry_files.yaml_registry import YamlRegistry
from callgate.adapters.toolkits.toolkit import registered_toolkits
from callgate.compat.atomic_tool import AtomicTool, DeterminismClass, SideEffectClass, ToolSource
from callgate.compat.capability import Capability, select_capabilities
from callgate.compat.policy_chain import PolicyLayer
from callgate.compat.registered_tool import RegisteredTool, ToolConfig, ToolHealth, configured
from callgate.compat.role_policies import RolePolicies
from callgate.compat.tool_output import ToolOutput
from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.levels import Caller, HealthStatus
from callgate.registry.snapshot import not_found

if TYPE_CHECKING:
    from callgate.compat.permissions import ToolPermissions
    from callgate.model.health import Health
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool

_log = logging.getLogger("callgate")
_DEFAULT = Context().role


class ToolRegistry:  # noqa: PLR0904 - three registries in one
    """A registry for code written against `load_from_yaml`, `register` or `get_by_name`.

    Args:
        gate: An open gate: `Callgate.open_sync()` for blocking code, or `Callgate.open()`, with which `invoke` is
            awaited. Without one, a blocking gate is opened with its defaults when it is first needed; `close()`, or
            `with ToolRegistry() as registry:`, lets it go.
    """

    def __init__(self, gate: Any = None) -> None:
        self._given = gate
        self._own: Any = None
        self._policies = RolePolicies()
        self._atoms: dict[str, AtomicTool] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the gate, if it is one of its own."""
        own, self._own = self._own, None
        if own is not None:
            own.close()

    @property
    def gate(self) -> Any:
        """The gate behind it: to approve there, to listen, and to see what was recorded."""
        return self._gate

    def load_from_yaml(self, path: str | os.PathLike[str]) -> int:
        """Add the tools of a YAML registry; how many were added. The file is yours: what it declares counts.

        A file that does not exist has none, and is warned of; so is every entry that cannot be a tool.

        Raises:
            ConfigurationError: The file is no registry.
        """
        self._gate.protect(path)
        loaded = YamlRegistry(path, accept=True).read()
        for failure in loaded.failures:
            _log.warning("%s: %s", failure.name, failure.reason)
        added = [tool for tool in loaded.tools if self._added(tool)]
        self._policies.vouch(added)
        return len(added)

    def can_use_tool(self, role: str, tool: str, context: Mapping[str, Any] | None = None) -> bool:  # noqa: PLR0917
        """Whether a role may use a tool now, under `{"read_only": True}`, `{"layers": [PolicyLayer(…)]}` and the like.

        Raises:
            ConfigurationError: The context has an unknown key.
        """
        return tool in self._gate.pool(self._context(role, context)).names

    def invoke(self, tool_name: str, /, *about: Any, **arguments: Any) -> Any:
        """Call a tool for a role, `invoke("fetch_docs", role="frontdoor", url="…")`, and give its `ToolOutput`.

        Given by position, `invoke("fetch_docs", "frontdoor", {"read_only": True}, role="…")`, role and context leave
        their names to the tool. Over an async gate it has to be awaited.

        Raises:
            ConfigurationError: No role is given, or the context has an unknown key.
        """
        if not about and "role" not in arguments:
            raise ConfigurationError(f"{tool_name} is called for a role: give role=")
        role = about[0] if about else arguments.pop("role")
        context = about[1] if len(about) > 1 else None
        outcome = self._gate.call(tool_name, arguments, self._context(role, context))
        return _later(outcome) if inspect.isawaitable(outcome) else ToolOutput.from_outcome(outcome)

    def add_global_policy(self, layer: PolicyLayer) -> None:
        """Narrow what every role may use."""
        self._policies.add_global(layer)

    def add_role_policy(self, role: str, layer: PolicyLayer) -> None:
        """Narrow what a role may use; it is known from now on, and its flat permissions no longer count."""
        self._policies.add_role(role, layer)

    def set_permissions(self, role: str, permissions: ToolPermissions) -> None:
        """Say what a role may use; it is known from now on."""
        self._policies.set_permissions(role, permissions)

    def get_chainable_tools(self) -> list[str]:
        """The names of the tools that a chain may call: those that say so, and all that only read."""
        return [each.name for each in self._tools() if each.read_only or Caller.CHAIN in each.allowed_callers]

    def register(self, tool: BaseTool | AtomicTool, config: ToolConfig | None = None) -> None:
        """Add a tool with all its actions, or an atomic one.

        Raises:
            ConfigurationError: It is no tool, is declared wrong, or its name is taken.
        """
        if isinstance(tool, AtomicTool):
            self._gate.add(tool.as_tool())
            self._atoms[tool.tool_id] = tool
        else:
            self._gate.add(*configured(tool, config or ToolConfig()))

    def register_many(self, tools: Iterable[AtomicTool]) -> None:
        """Add atomic tools, one after the other.

        Raises:
            ConfigurationError: As `register`.
        """
        for tool in tools:
            self.register(tool)

    def load_builtin_toolkits(self) -> int:
        """Add the tools of every registered toolkit; how many were added. What fails is warned of, with the reason."""
        added = 0
        for name, kind in registered_toolkits().items():
            try:
                added += sum(self._added(tool) for tool in convert(kind))
            except ConfigurationError as error:
                _log.warning("%s: %s", name, error)
        return added

    async def load_mcp_server(
        self,
        session: Any,
        *,
        server_name: str | None = None,
        declare: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[AtomicTool]:
        """Add the tools behind a session, each as `server.tool`; see `MCPAdapter`.

        Raises:
            ConfigurationError: The SDK is missing, the server has no name, a declaration is wrong, or a name is taken.
        """
        # Only whoever has such a session needs what it takes.
        from callgate.compat.mcp_adapter import MCPAdapter  # noqa: PLC0415

        found = await MCPAdapter(session, server_name=server_name, declare=declare).discover_tools()
        self.register_many(found)
        return found

    def to_langchain_tools(self, names: Iterable[str] | None = None, role: str | None = None) -> list[Any]:
        """The tools, or those of these names, as LangChain's; calling one is calling the gate.

        Args:
            names: Which; when left out, all that may be used.
            role: Who asks; the gate's own context when left out.

        Raises:
            ConfigurationError: LangChain is not installed.
            ToolNotFoundError: There is none of that name that may be used.
        """
        context = None if role is None else self._context(role, None)
        return self._gate.pool(context).to_langchain(names)

    def get(self, tool_name: str) -> RegisteredTool | None:
        """What is known of a tool with all its actions, or None."""
        actions = self._actions(tool_name)
        return None if not actions else RegisteredTool.of(tool_name, actions, health=self._health(actions[0]))

    def list_healthy(self) -> list[RegisteredTool]:
        """The tools that can be called now, as they came."""
        names = dict.fromkeys(each.name.partition(".")[0] for each in self._gate.tools(healthy=True))
        found = (self.get(name) for name in names)
        return [each for each in found if each is not None and each.health.status is not HealthStatus.UNAVAILABLE]

    def update_health(self, tool_name: str, health: ToolHealth | Health) -> None:
        """Say how the system behind a tool is.

        Raises:
            ToolNotFoundError: There is no such tool.
        """
        actions = self._actions(tool_name)
        if not actions:
            raise not_found(tool_name, (each.name for each in self._tools()))
        said = health.as_health() if isinstance(health, ToolHealth) else health
        self._gate.set_health(actions[0].connector or tool_name, said)

    def get_by_id(self, tool_id: str) -> AtomicTool:
        """The tool with that id.

        Raises:
            ToolNotFoundError: None has it.
        """
        for each in self._tools():
            if each.id == tool_id:
                return self._atom(each)
        raise not_found(tool_id, ())

    def get_by_name(self, name: str) -> AtomicTool:
        """The tool of that name.

        Raises:
            ToolNotFoundError: There is none.
        """
        return self._atom(self._gate.tool(name))

    def list_tools(
        self,
        role: str | ToolSource | None = None,
        *,
        source: ToolSource | None = None,
        tags: Iterable[str] | None = None,
    ) -> list[Any]:
        """For a role, an entry for each tool it may use; else the tools of a source with all the tags, as they came."""
        if role is not None and not isinstance(role, ToolSource):
            return self._gate.pool(self._context(role, None)).describe()
        wanted, all_of = (source if role is None else role), set(tags or ())
        atoms = (self._atom(each) for each in self._tools())
        return [atom for atom in atoms if wanted in {None, atom.source} and all_of.issubset(atom.tags)]

    def capabilities(
        self,
        *,
        determinism: DeterminismClass | None = None,
        side_effect: SideEffectClass | None = None,
        tags: Iterable[str] | None = None,
    ) -> list[Capability]:
        """What can be done here, by how it behaves and by all of the tags, as the tools came."""
        atoms = map(self._atom, self._tools())
        return select_capabilities(atoms, determinism=determinism, side_effect=side_effect, tags=tags)

    @property
    def _gate(self) -> Any:
        if self._given is not None:
            return self._given
        if self._own is None:
            # Only whoever has no gate pays for one.
            from callgate.runtime.gate import Callgate  # noqa: PLC0415

            self._own = Callgate.open_sync()
            self._own.__enter__()
        return self._own

    def _tools(self) -> tuple[Tool, ...]:
        return self._gate.tools()

    def _actions(self, name: str) -> list[Tool]:
        return [each for each in self._tools() if name in {each.name, each.name.partition(".")[0]}]

    def _health(self, tool: Tool) -> Health:
        return self._gate.health(tool.connector or tool.name)

    def _atom(self, tool: Tool) -> AtomicTool:
        found = self._atoms.get(tool.id)
        if found is None:
            found = self._atoms[tool.id] = AtomicTool.of(tool)
        return found

    def _added(self, tool: Tool) -> bool:
        try:
            self._gate.add(tool, update=True)
        except ConfigurationError as error:
            _log.warning("%s: %s", tool.name, error)
            return False
        return True

    def _context(self, role: str, said: Mapping[str, Any] | None) -> Context:
        # A role of the configuration stays what it is; one that was only named here stands on the open one, narrowed.
        known = self._gate.roles()
        ground = _DEFAULT if role not in known and self._policies.knows(role) else role
        fields: dict[str, Any] = {"principal": role, **(said or {})}
        tools, policies = self._tools(), self._policies
        more = fields.pop("layers", ())
        narrower = (policies.worked_out(each, tools) if isinstance(each, PolicyLayer) else each for each in more)
        layers = (*policies.layers(role, tools), *narrower)
        try:
            return Context(role=ground, layers=layers, **fields)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"the context cannot be read: {error}") from None


async def _later(outcome: Awaitable[Any]) -> ToolOutput:
    return ToolOutput.from_outcome(cast("Outcome", await outcome))
