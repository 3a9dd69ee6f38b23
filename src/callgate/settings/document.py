"""The document: every key of the configuration, described once. The reader and the editors' schema both go by it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from callgate.model.layer import ConfirmBy
from callgate.model.person import person_key
from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, NotBuilt, Reading
from callgate.settings.leaves import Choice, Duration, Flag, Number, OrWord, Text, Version
from callgate.settings.read_builtin_tools import BUILTIN_TOOLS
from callgate.settings.read_layers import AUTONOMY, CONFIRM_BY, GLOBAL, ROLES, make_role
from callgate.settings.read_matrix import MatrixKind
from callgate.settings.read_mcp_servers import MCP_SERVERS
from callgate.settings.read_model import MODEL
from callgate.settings.read_notify import NOTIFY
from callgate.settings.read_scopes import Scopes
from callgate.settings.read_serve import SERVE
from callgate.settings.read_times import OBSERVE, QUIET_HOURS, TIMEOUTS
from callgate.settings.values import ApprovalSettings, PluginsSettings, RiskSettings, SecretsSettings, Settings

_STORE = r"sqlite:///.+|memory://"
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_MODULE = rf"{_WORD}(\.{_WORD})*|([A-Za-z0-9_][A-Za-z0-9_.-]*/)*{_WORD}\.py"
_PLUGIN = "[a-z][a-z0-9]*(?:_[a-z0-9]+)*"
_MONTH = 30 * 86400.0


def _parse_store(text: str) -> str:
    if text.startswith(("postgresql:", "postgres:")):
        raise Fault("this version of Callgate does not have PostgreSQL stores yet; use sqlite:///path or memory://")
    if not re.fullmatch(_STORE, text):
        raise Fault("needs a store: sqlite:///path or memory://")
    return text


def _build_risk(fields: Fields, _: Reading) -> RiskSettings:
    return RiskSettings(**fields)


def _build_approvals(fields: Fields, _: Reading) -> ApprovalSettings:
    persons: Sequence[str] = fields.get("persons", ())
    if len({person_key(person) for person in persons}) < len(persons):
        raise Fault("persons names somebody twice; keep one")
    if len(persons) == 1 and fields.get("confirm") is ConfirmBy.TWO:
        raise Fault("confirm: two needs at least two persons, or none named")
    return ApprovalSettings(**fields)


def _build_secrets(fields: Fields, _: Reading) -> SecretsSettings:
    if "path" in fields and fields.get("backend") != "file":
        raise Fault("path is for backend: file; leave it out, or write that backend")
    return SecretsSettings(**fields)


RISK = Block(
    {
        "many_targets": Key(Number(1, 1_000_000), "With more targets than this, risk is one level higher.", 10),
        "blast_radius": Key(Number(1, 1_000_000_000), "With more things touched than this, likewise.", 100),
        "repeat_window": Key(Duration(least=0, most=_MONTH), "How long an identical success counts.", "10m"),
    },
    _build_risk,
)

APPROVALS = Block(
    {
        "expires": Key(Duration(least=1, most=_MONTH), "How long a question waits for its answer.", "1h"),
        "confirm": Key(CONFIRM_BY, "Who confirms where no rule says: the user, somebody else, or two people.", "user"),
        "pending_per_session": Key(Number(1, 10_000), "How many questions of one session may wait.", 20),
        "persons": Key(ListOf(Text(needs="a person's name")), "People known to be able to decide.", []),
        "notify": Key(ListOf(NOTIFY), "Who is told of every question.", []),
    },
    _build_approvals,
)

SECRETS = Block(
    {
        "backend": Key(
            Choice(
                {name: name for name in ("env", "file", "keyring")},
                refused={
                    "vault": "this version of Callgate does not have the backend vault yet; use env, file or keyring"
                },
            ),
            "Where secrets come from: the environment, an encrypted file, or the system's keyring.",
            "env",
        ),
        "path": Key(Text(needs="a path", longest=1000), "The encrypted file, for backend: file."),
    },
    _build_secrets,
)


def _build_plugins(fields: Fields, _: Reading) -> PluginsSettings:
    for key in ("folders", "accept"):
        given: Sequence[str] = fields.get(key, ())
        if len(set(given)) < len(given):
            raise Fault(f"{key} names something twice; keep one")
    return PluginsSettings(**fields)


PLUGINS = Block(
    {
        "folders": Key(
            ListOf(Text(needs="a path", longest=1000)),
            "Folders of plugin folders; relative ones are in the folder of this file.",
            [],
        ),
        "accept": Key(
            ListOf(Text(pattern=_PLUGIN, needs="the name of a plugin")),
            "Plugins whose own declarations count; the tools of all others are refused.",
            [],
        ),
        "reload": Key(Flag(), "Load plugins again whenever something changes; for development.", default=False),
    },
    _build_plugins,
)

_OTHER_NAMES = {"scopes": "families", "global": "global_layer"}


def _build_settings(fields: Fields, _: Reading) -> Settings:
    made: dict[str, Any] = {_OTHER_NAMES.get(key, key): value for key, value in fields.items()}
    made.pop("version", None)
    timeouts: Fields = made.pop("timeouts", {})
    roles: Mapping[str, Fields] | None = made.pop("roles", None)
    return Settings(
        **made,
        roles=None if roles is None else MappingProxyType({name: make_role(name, roles[name]) for name in roles}),
        tool_timeouts=MappingProxyType(timeouts.get("tools", {})),
        user_timeouts=MappingProxyType(timeouts.get("users", {})),
    )


DOCUMENT = Block(
    {
        "version": Key(Version(1), "The version of this format.", 1),
        "store": Key(
            Text(pattern=_STORE, needs="a store", parse=_parse_store, longest=1000),
            "Where everything is remembered: sqlite:///path, or memory:// for one process.",
            "sqlite:///.callgate/callgate.db",
        ),
        "autonomy": Key(AUTONOMY, "The autonomy of calls whose context and role say nothing.", "A2"),
        "matrix": Key(MatrixKind(), "Which verdict autonomy and risk give: default, strict, or a table.", "default"),
        "scopes": Key(Scopes(), "Defaults for families of scopes."),
        "global": Key(GLOBAL, "The outermost layer of policy, for every call."),
        "roles": Key(ROLES, "Roles by name. Without this key the role `default` stands open."),
        "modules": Key(
            ListOf(Text(pattern=_MODULE, needs="a module's dotted name, or a .py file below this file's folder")),
            "Python modules whose tools are added: dotted names, or .py files below this file's folder.",
            [],
        ),
        "mcp_servers": Key(MCP_SERVERS, "MCP servers by name, whose tools are added.", {}),
        "mcp_files": Key(
            ListOf(Text(needs="a file such as mcp.json", longest=1000)),
            "Files of other MCP clients (mcp.json), whose servers are used too; relative ones are beside this file.",
            [],
        ),
        "timeout": Key(Duration(), "The time limit of a call where nothing nearer says.", "30s"),
        "timeouts": Key(TIMEOUTS, "Time limits by tool and by user."),
        "require_keys": Key(Flag(), "Refuse calls with an effect that bring no idempotency key.", default=False),
        "quiet_hours": Key(QUIET_HOURS, "Hours in which medium risk and above is at least confirm."),
        "risk": Key(RISK, "Thresholds that raise the risk of a call."),
        "approvals": Key(APPROVALS, "How questions to people behave."),
        "observe": Key(OBSERVE, "Sources whose calls are decided and recorded, and run all the same, for a while.", []),
        "secrets": Key(SECRETS, "Where secrets come from."),
        "plugins": Key(PLUGINS, "Folders of plugins."),
        "threads_per_connector": Key(
            Number(1, 1024), "How many plain functions, and how many processes, of one connector run at once.", 32
        ),
        "batch_concurrency": Key(Number(1, 10_000), "How many calls of one batch or chain run at once.", 64),
        "retention_days": Key(
            OrWord(Number(0.01, 36_500, whole=False), "forever"),
            "How many days sealed arguments are kept, or forever.",
            30,
        ),
        "builtin_tools": Key(BUILTIN_TOOLS, "Built-in tools."),
        "limits": Key(NotBuilt("limits"), "Limits on calls, concurrency and amounts; not in this version."),
        "model": Key(MODEL, "The model that delegate_librarian and deep_research use."),
        "serve": Key(SERVE, "Where `callgate serve` listens, and which names it answers to."),
        "bridges": Key(NotBuilt("event bridges"), "Where events are forwarded to; not in this version."),
    },
    _build_settings,
)
"""The whole configuration. `scopes` stands before `roles`, whose scopes are of its families."""
