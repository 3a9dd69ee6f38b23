"""The configuration as frozen values: what `callgate.yaml` says, validated, with every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, cast

from callgate.model.layer import ConfirmBy, Layer, LayerKind
from callgate.model.levels import Autonomy, Risk, Verdict
from callgate.model.words import texts

Cell = tuple[Verdict, bool]
"""A verdict and whether it is the *confirm +*."""
Matrix = Mapping[Autonomy, Mapping[Risk, Cell]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Defaults for all scopes `family:*`."""

    requires_approval: bool = False
    paths: tuple[str, ...] | None = None
    """Directories the family's tools may touch; relative ones resolve in the working directory; None is any."""
    hosts: tuple[str, ...] | None = None
    """Host names or globs; None is any."""
    private_addresses: bool = False

    def __post_init__(self) -> None:
        paths: Any = self.paths
        if isinstance(paths, (list, tuple)):  # people write Path objects, too
            paths = [str(path) if isinstance(path, PurePath) else path for path in cast("list[Any]", paths)]
        for name, given in (("paths", paths), ("hosts", self.hosts)):
            if given is not None:
                object.__setattr__(self, name, texts(given, name=name))


DEFAULT_FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "fs": Family(paths=(".",)),
        "net": Family(hosts=("*",)),
        "shell": Family(requires_approval=True),
        "env": Family(),
        "mcp": Family(),
        "compute": Family(),
        "secrets": Family(),
        "intent": Family(),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A named set of scopes and a layer."""

    name: str
    scopes: frozenset[str] = frozenset()
    """Exact scopes or `family:*` or `*`."""
    layer: Layer
    autonomy: Autonomy | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scopes", frozenset(texts(self.scopes, name="scopes")))


OPEN_ROLE = Layer(name="default", kind=LayerKind.ROLE, allow=("group:all",))
"""What stands for roles where the configuration has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """Hours of the day in which medium risk and above is at least confirm."""

    start: int
    """Minutes after midnight."""
    end: int
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifySettings:
    """Somebody who is told of every question: by a request to a server, or by a program."""

    webhook: str | None = None
    """Where the request goes."""
    secret: str | None = None
    """What it is signed with, as `connector/key`."""
    private_addresses: bool = False
    """Whether that server may be on this machine or its network."""
    command: tuple[str, ...] = ()
    """A program and its arguments, which reads the message from its standard input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettings:
    """How questions to people behave."""

    expires: float = 3600.0
    confirm: ConfirmBy = ConfirmBy.USER
    pending_per_session: int = 20
    persons: tuple[str, ...] = ()
    """Persons known to be able to decide; *confirm +* asks for a signed-in one where there are any."""
    notify: tuple[NotifySettings, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """Observe mode for one source: decide, record, and run all the same. Never lifts a deny."""

    source: str
    """`source:…` selector, or `*`."""
    since: float = 0.0
    """Seconds since the epoch; not in force before."""
    until: float
    """Seconds since the epoch; at most 7 days after `since`."""
    by: str
    """The administrator who switched it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskSettings:
    """Thresholds of the risk adjusters."""

    many_targets: int = 10
    blast_radius: int = 100
    repeat_window: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsSettings:
    """Where secrets come from."""

    backend: str = "env"
    """env, file or keyring."""
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """How we sign in at an MCP server that asks for it."""

    grant: str = "authorization_code"
    """authorization_code: a person signs in; client_credentials: a machine does, by itself."""
    issuer: str | None = None
    """The only authorization server that is accepted; None is the one the server names."""
    client_id: str | None = None
    """A client that was registered by hand; None registers one, or uses `client_metadata_url`."""
    client_secret: str | None = None
    """As `secret:connector/key`."""
    client_auth: str = "client_secret_basic"
    """How the secret is shown: client_secret_basic or client_secret_post."""
    client_metadata_url: str | None = None
    """Where a client describes itself; used where the authorization server knows how to read it."""
    scopes: tuple[str, ...] = ()
    """The rights that are asked for; empty is what the server asks for."""
    redirect_port: int | None = None
    """The port of this machine that a person is sent back to; None is any that is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """An MCP server: how it is reached, what its tools are called here, and what the operator declares of them."""

    command: tuple[str, ...] = ()
    """The program and its arguments; empty for a server that is reached by its URL."""
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Handed to the program; a value may be `secret:connector/key`."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Sent with every request; a value may be `secret:connector/key` or `Bearer secret:connector/key`."""
    auth: OAuthSettings | None = None
    """How to sign in, for a server that asks for it."""
    cwd: str | None = None
    prefix: str | None = None
    """Stands before the names of its tools; None is the server's own name."""
    trust: str = "pinned"
    startup: float = 10.0
    """Seconds an opening gate waits for it."""
    declare: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What the operator declares, by the server's name of a tool or by a glob over those names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginsSettings:
    """Folders of plugins."""

    folders: tuple[str, ...] = ()
    """Relative ones are in the folder of the configuration."""
    accept: tuple[str, ...] = ()
    """Plugins whose own declarations count."""
    reload: bool = False
    """Load again whenever something changes; for development."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBackend:
    """A place that `web_search` asks."""

    kind: str
    """How it is asked and read: `duckduckgo` or `searxng`."""
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Whom the tools of the category `web` ask, and how they get there."""

    search: tuple[SearchBackend, ...] = (
        SearchBackend(kind="duckduckgo", url="https://html.duckduckgo.com/html/"),
        SearchBackend(kind="duckduckgo", url="https://lite.duckduckgo.com/lite/"),
    )
    """Asked in this order, until one answers."""
    wikipedia: str = "https://en.wikipedia.org/w/api.php"
    proxy: str | None = None
    """None: straight; variables of the environment are not looked at."""
    trusted_docs: tuple[str, ...] = (
        "docs.python.org",
        "peps.python.org",
        "developer.mozilla.org",
        "www.rfc-editor.org",
        "www.w3.org",
        "docs.github.com",
        "kubernetes.io",
        "www.postgresql.org",
        "sqlite.org",
        "numpy.org",
    )
    """Hosts whose pages `fetch_docs` calls trusted, with those below them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GithubSettings:
    """Where the tools of the category `github` ask, and with which token."""

    api: str = "https://api.github.com"
    """Without a slash at its end."""
    secret: str = "github/token"  # noqa: S105 - where it is kept
    """The token, as `connector/key`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageSettings:
    """Who turns texts into vectors for the tools of the category `language`."""

    provider: str = "wordllama"
    """`wordllama`, which is inside a package and asks nobody, or `openai`: a server that speaks as OpenAI's does."""
    url: str | None = None
    """The server's address, up to its version and without a slash at its end."""
    model: str | None = None
    secret: str | None = None
    """The server's key, as `connector/key`; None where it wants none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    """Where the notes of the category `vault` lie."""

    path: str = "vault"
    """A folder; a relative one is in the working directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinToolsSettings:
    """Which of the built-in tools are there, and what the operator says of them."""

    enable: tuple[str, ...] = ()
    """Names of categories or tools, or `all`."""
    web: WebSettings = WebSettings()
    github: GithubSettings = GithubSettings()
    language: LanguageSettings = LanguageSettings()
    vault: VaultSettings = VaultSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The model that tools with a mind of their own use."""

    provider: str
    """As Pydantic AI writes it: `anthropic:claude-sonnet-4-5`."""
    url: str | None = None
    """Where it is asked; None is the provider's own address."""
    secret: str | None = None
    """Where its API key is kept with the secrets, as `connector/key`; None leaves it to the provider's own variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOAuthSettings:
    """An authorization server whose access tokens let agents in."""

    issuer: str
    """Exactly as its tokens name it."""
    jwks: str
    """Where its public keys are."""
    audience: str | None = None
    """What a token has to be for; None is this server's own address."""
    role: str = "default"
    """Under which its agents call."""
    required_scope: str | None = None
    """A right of the authorization server's own that a token must have."""
    private_addresses: bool = False
    """Whether its keys may be on this machine or its network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where the network doors are, and which names they answer to."""

    address: str = "127.0.0.1"
    port: int = 8700
    """0 is any that is free."""
    url: str | None = None
    """How it is reached, where that is not by its own address."""
    hosts: tuple[str, ...] = ()
    """Names it is reached by besides its own address."""
    body_bytes: int = 1024 * 1024
    oauth: ServeOAuthSettings | None = None
    requests_per_second: float = 500.0
    """Of one credential, in the long run."""
    requests_at_once: int = 3000
    """Of one credential, before it has to slow down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration. `Settings()` is what an empty file means."""

    file: str | None = None
    """Where it came from."""
    lines: Mapping[str, int] = field(default_factory=dict[str, int], compare=False, repr=False)
    """The line of every key there, by its dotted name."""
    store: str | None = None
    autonomy: Autonomy = Autonomy.A2
    matrix: Matrix | str = "default"
    """A preset's name, or a table."""
    families: Mapping[str, Family] = field(default_factory=lambda: DEFAULT_FAMILIES)
    global_layer: Layer | None = None
    roles: Mapping[str, Role] | None = None
    """None: the file has no `roles:`, so the role `default` stands open."""
    modules: tuple[str, ...] = ()
    mcp_servers: Mapping[str, McpServerSettings] = field(default_factory=dict[str, McpServerSettings])
    """By name."""
    mcp_files: tuple[str, ...] = ()
    """Files of other MCP clients, whose servers are used too; beside the configuration."""
    timeout: float | None = None
    """The instance's default time limit in seconds; None is 30."""
    tool_timeouts: Mapping[str, float] = field(default_factory=dict[str, float])
    user_timeouts: Mapping[str, float] = field(default_factory=dict[str, float])
    require_keys: bool = False
    """Refuse effectful calls without a caller's key."""
    quiet_hours: QuietHours | None = None
    risk: RiskSettings = RiskSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    observe: tuple[Observe, ...] = ()
    secrets: SecretsSettings = SecretsSettings()
    plugins: PluginsSettings = PluginsSettings()
    builtin_tools: BuiltinToolsSettings = BuiltinToolsSettings()
    model: ModelSettings | None = None
    serve: ServeSettings = ServeSettings()
    threads_per_connector: int = 32
    batch_concurrency: int = 64
    """How many calls of one batch or chain run at once."""
    retention_days: float | None = 30.0
    """How long sealed arguments are kept; None is for ever."""

    def folder(self, working_directory: Path) -> Path:
        """Where what it names is found: beside its file; without one, in the working directory."""
        return working_directory if self.file is None else Path(self.file).parent

    @property
    def role_names(self) -> tuple[str, ...]:
        """The roles there are; without any in the file, the open one."""
        return (OPEN_ROLE.name,) if self.roles is None else tuple(self.roles)
