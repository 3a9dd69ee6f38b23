"""The keys beside policy: the store, times, approvals, observe mode, secrets, and what is not built yet."""

import pytest

from callgate.model.layer import ConfirmBy
from callgate.model.levels import Autonomy
from callgate.settings.values import (
    ApprovalSettings,
    Observe,
    PluginsSettings,
    QuietHours,
    RiskSettings,
    SecretsSettings,
)
from tests.settings.reading import complaint_of, read

MIDNIGHT = 1_767_571_200.0
"""5 January 2026, UTC."""
DAY = 86_400.0


def test_plain_keys_are_read():
    text = """\
    version: 1
    store: memory://
    autonomy: A4
    modules: [my_app.tools, other]
    timeout: 2m
    require_keys: true
    threads_per_connector: 4
    batch_concurrency: 8
    retention_days: 1.5
    """
    settings = read(text)
    assert settings.store == "memory://"
    assert settings.autonomy is Autonomy.A4
    assert settings.modules == ("my_app.tools", "other")
    assert settings.timeout == 120
    assert settings.require_keys is True
    assert settings.threads_per_connector == 4
    assert settings.batch_concurrency == 8
    assert settings.retention_days == 1.5


def test_retention_may_be_for_ever():
    assert read("retention_days: forever").retention_days is None
    assert read("retention_days: 7").retention_days == 7


def test_blocks_are_read():
    text = """\
    timeouts: {tools: {gmail.send: 5, search: 1.5m}, users: {"anna@example.com": 1h}}
    risk: {many_targets: 3, blast_radius: 4, repeat_window: 0}
    approvals: {expires: 2h, confirm: two, pending_per_session: 3, persons: [anna, boris]}
    secrets: {backend: file, path: s.bin}
    """
    settings = read(text)
    assert settings.tool_timeouts == {"gmail.send": 5, "search": 90}
    assert settings.user_timeouts == {"anna@example.com": 3600}
    assert settings.risk == RiskSettings(many_targets=3, blast_radius=4, repeat_window=0)
    assert settings.approvals == ApprovalSettings(
        expires=7200, confirm=ConfirmBy.TWO, pending_per_session=3, persons=("anna", "boris")
    )
    assert settings.secrets == SecretsSettings(backend="file", path="s.bin")


def test_plugins_are_read():
    text = "plugins: {folders: [plugins, /srv/more], accept: [canvas_tools], reload: true}"
    assert read(text).plugins == PluginsSettings(
        folders=("plugins", "/srv/more"), accept=("canvas_tools",), reload=True
    )
    assert read("plugins: {}").plugins == PluginsSettings() == read("").plugins


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plugins: [x]", "plugins: needs a mapping"),
        ("plugins: {folder: [x]}", "plugins.folder: unknown key 'folder'; did you mean folders?"),
        ("plugins: {folders: plugins}", "plugins.folders: needs a list"),
        ("plugins: {accept: ['../x']}", "plugins.accept[0]: needs the name of a plugin"),
        ("plugins: {accept: [a, a]}", "plugins: accept names something twice"),
        ("plugins: {reload: 'yes'}", "plugins.reload: needs true or false"),
    ],
)
def test_plugins_that_cannot_be_are_refused(text: str, told: str):
    assert complaint_of(text).startswith(f"1: {told}")


def test_empty_blocks_keep_the_defaults():
    settings = read("timeouts: {}\nrisk: {}\napprovals: {}\nsecrets: {}\nscopes: {}\nobserve: []\nmodules: []")
    assert settings == read("")


def test_quiet_hours_are_read_over_midnight_and_within_a_day():
    quiet = read('quiet_hours: {from: "22:00", to: "06:30", timezone: Europe/Berlin}').quiet_hours
    assert quiet == QuietHours(start=1320, end=390, timezone="Europe/Berlin")
    assert read('quiet_hours: {from: "00:00", to: "23:59"}').quiet_hours == QuietHours(
        start=0, end=1439, timezone="UTC"
    )


def test_observe_mode_ends_by_date_or_by_duration():
    text = """\
    observe:
      - {source: "*", since: "2026-01-05", for: 7d, by: anna}
      - {source: "source:mcp", since: "2026-01-05T01:00:00+01:00", until: "2026-01-06T00:00Z", by: boris}
    """
    assert read(text).observe == (
        Observe(source="*", since=MIDNIGHT, until=MIDNIGHT + 7 * DAY, by="anna"),
        Observe(source="source:mcp", since=MIDNIGHT, until=MIDNIGHT + DAY, by="boris"),
    )


@pytest.mark.parametrize(
    ("entry", "heard"),
    [
        ('{source: "*", since: "2026-01-05", by: a}', ": needs either until or for: observe mode has an end"),
        ('{source: "*", since: "2026-01-05", until: "2026-01-06", for: 1d, by: a}', ": needs either until or for"),
        ('{source: "*", since: "2026-01-05", for: 1d}', ": lacks by"),
        ('{source: "*", for: 1d, by: a}', ": lacks since"),
        ('{since: "2026-01-05", for: 1d, by: a}', ": lacks source"),
        ('{source: "*", since: "2026-01-05", for: 1d, by: ""}', ".by: is empty; needs the administrator's name"),
        ('{source: "*", since: "2026-01-05", for: 8d, by: a}', ".for: needs a duration from 0.001s to 7d, not '8d'"),
        ('{source: "*", since: "2026-01-05", until: "2026-01-13", by: a}', ": ends at most 7 days after since"),
        ('{source: "*", since: "2026-01-05", until: "2026-01-05", by: a}', ": ends at most 7 days after since"),
        ('{source: "*", since: "2026-01-05", until: "2026-01-01", by: a}', ": ends at most 7 days after since"),
        ('{source: "*", since: "2099-01-05", for: 1d, by: a}', ": since is in the future"),
        ('{source: "*", since: "2026-02-30", for: 1d, by: a}', ".since: '2026-02-30' is not in the calendar"),
        (
            '{source: "*", since: "2026-01-05T10:00:00+99:00", for: 1d, by: a}',
            ".since: '2026-01-05T10:00:00+99:00' is not in",
        ),
        ('{source: "*", since: "2026-01-05T10:00:00", for: 1d, by: a}', ".since: '2026-01-05T10:00:00' is no moment"),
        ('{source: "*", since: yesterday, for: 1d, by: a}', ".since: 'yesterday' is no moment; write it as"),
        ('{source: "*", since: 2026-01-05, for: 1d, by: a}', ".since: '2026-01-05': some readers take it for a date"),
        ('{source: mcp, since: "2026-01-05", for: 1d, by: a}', ".source: 'mcp' is no source; write source:mcp, or *"),
        ('{source: "group:all", since: "2026-01-05", for: 1d, by: a}', ".source: 'group:all' is no source"),
        (
            '{source: "source:mpc", since: "2026-01-05", for: 1d, by: a}',
            ".source: unknown source 'mpc'; did you mean mcp",
        ),
    ],
)
def test_observe_mode_needs_a_source_a_beginning_an_end_and_a_name(entry: str, heard: str):
    assert complaint_of(f"observe: [{entry}]").startswith(f"1: observe[0]{heard}")


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("version: 2", "version: this Callgate reads version 1 of the format, not '2'"),
        ("version: '1'", "version: needs the number 1, without quotes"),
        (
            "retention_days: never",
            "retention_days: needs a number from 0.01 to 36500, without quotes, not 'never'; or write forever",
        ),
        ("version: 1.0", "version: this Callgate reads version 1"),
        ("version: true", "version: this Callgate reads version 1"),
        ("store: callgate.db", "store: needs a store: sqlite:///path or memory://"),
        ("store: sqlite:///", "store: needs a store"),
        ("store: [memory://]", "store: needs a store, not a list or a mapping"),
        ("autonomy: full", "autonomy: 'full' is not possible; there are A0, A1, A2, A3, A4"),
        ("autonomy: {}", "autonomy: needs one of A0, A1, A2, A3, A4, not a list or a mapping"),
        ("modules: my_app", "modules: needs a list"),
        (
            "modules: [my-app]",
            "modules[0]: needs a module's dotted name, or a .py file below this file's folder, not 'my-app'",
        ),
        ("modules: [../x]", "modules[0]: needs a module's dotted name, or"),
        ("modules: [../x.py]", "modules[0]: needs a module's dotted name, or"),
        ("modules: [/srv/x.py]", "modules[0]: needs a module's dotted name, or"),
        ("modules: [.hidden/x.py]", "modules[0]: needs a module's dotted name, or"),
        ("modules: [a/../../x.py]", "modules[0]: needs a module's dotted name, or"),
        ("timeout: 0", "timeout: needs a duration from 0.001s to 365d, not '0'"),
        ("timeout: -5", "timeout: a duration is zero or more seconds, not -5"),
        ("timeout: soon", "timeout: 'soon' is no duration; write 45s, 10m, 1h or 7d"),
        ("timeout: true", "timeout: needs a duration such as 45s, 10m, 1h or 7d, not 'true'"),
        ("timeout: [5]", "timeout: needs a duration such as 45s, 10m, 1h or 7d, not a list or a mapping"),
        ("timeouts: 5", "timeouts: needs a mapping with keys such as tools, users"),
        (
            "builtin_tools: all",
            "builtin_tools: needs a mapping with keys such as enable, web, github; write {enable: [all]}",
        ),
        ("timeouts: {tools: 5}", "timeouts.tools: needs a mapping from names to values"),
        ("timeouts: {tools: {'a.*': 5}}", "timeouts.tools.'a.*': 'a.*' is no tool name; time limits are by exact name"),
        ("timeouts: {users: {' a': 5}}", "timeouts.users.' a': ' a' is no user"),
        ("timeouts: {tool: {a: 5}}", "timeouts.tool: unknown key 'tool'; did you mean tools?"),
        ("require_keys: 'true'", "require_keys: needs true or false, not 'true'"),
        ("require_keys: 1", "require_keys: needs true or false, not '1'"),
        ("threads_per_connector: 0", "threads_per_connector: needs a whole number from 1 to 1024, without quotes"),
        ("threads_per_connector: 2.5", "threads_per_connector: needs a whole number from 1 to 1024"),
        ("threads_per_connector: '2'", "threads_per_connector: needs a whole number from 1 to 1024"),
        ("batch_concurrency: 0", "batch_concurrency: needs a whole number from 1 to 10000"),
        ("threads_per_connector: true", "threads_per_connector: needs a whole number from 1 to 1024"),
        ("retention_days: 0", "retention_days: needs a number from 0.01 to 36500"),
        ("retention_days: never", "retention_days: needs a number from 0.01 to 36500, without quotes, not 'never'"),
        ("quiet_hours: {from: '22:00'}", "quiet_hours: lacks to"),
        ("quiet_hours: {}", "quiet_hours: lacks from, to"),
        ("quiet_hours: {from: 22:00, to: '06:00'}", "quiet_hours.from: '22:00': some readers take it for a number"),
        ("quiet_hours: {from: '24:00', to: '06:00'}", "quiet_hours.from: '24:00' is no time of day"),
        (
            "quiet_hours: {from: '6:00', to: '07:00'}",
            "quiet_hours.from: '6:00' is no time of day; write it as \"22:00\"",
        ),
        ("quiet_hours: {from: '06:00', to: '06:00'}", "quiet_hours: from and to are equal"),
        ("quiet_hours: {from: '1', to: '06:00'}", "quiet_hours.from: '1' is no time of day"),
        ("risk: {many_targets: 0}", "risk.many_targets: needs a whole number from 1 to 1000000"),
        ("risk: {blast_radius: many}", "risk.blast_radius: needs a whole number from 1 to 1000000000"),
        ("risk: {repeat_window: 31d}", "risk.repeat_window: needs a duration from 0s to 30d, not '31d'"),
        ("approvals: {expires: 0}", "approvals.expires: needs a duration from 1s to 30d, not '0'"),
        ("approvals: {confirm: three}", "approvals.confirm: 'three' is not possible; there are user, other, two"),
        ("approvals: {pending_per_session: 0}", "approvals.pending_per_session: needs a whole number from 1 to 10000"),
        ("approvals: {persons: anna}", "approvals.persons: needs a list"),
        ("approvals: {persons: [anna, Anna]}", "approvals: persons names somebody twice"),
        ("approvals: {persons: [anna], confirm: two}", "approvals: confirm: two needs at least two persons"),
        ("secrets: {path: x}", "secrets: path is for backend: file"),
        ("secrets: {backend: env, path: x}", "secrets: path is for backend: file"),
        ("secrets: {backend: files}", "secrets.backend: the value is not possible; did you mean file?"),
    ],
)
def test_a_wrong_value_is_refused_naming_what_is_wrong(text: str, heard: str):
    assert complaint_of(text).startswith(f"1: {heard}")


@pytest.mark.parametrize(
    "zone", ["Europe/Berln", "Europe", "../etc/passwd", "/etc/localtime", "europe berlin", "posixrules/x"]
)
def test_an_unknown_time_zone_is_refused_and_no_path_is_followed(zone: str):
    heard = complaint_of(f"quiet_hours: {{from: '22:00', to: '06:00', timezone: {zone}}}")
    assert heard.startswith(f"1: quiet_hours.timezone: unknown time zone '{zone}'; write one as Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "store: postgresql://me:hunter2@db/callgate",
            "store: this version of Callgate does not have PostgreSQL stores yet; use sqlite:///path or memory://",
        ),
        ("limits: [{match: pay}]", "limits: this version of Callgate does not have limits yet"),
        ("global: {limits: []}", "global.limits: this version of Callgate does not have limits yet"),
        ("bridges:", "bridges: this version of Callgate does not have event bridges yet"),
        ("approvals: {notify: [{}]}", "approvals.notify[0]: needs either webhook: or command:, and not both"),
        (
            "approvals: {notify: [{webhook: 'https://example.com/h'}]}",
            "approvals.notify[0]: a webhook needs secret: connector/key, which its requests are signed with",
        ),
        ("approvals: {notify: [{command: []}]}", "approvals.notify[0]: command names no program"),
        (
            "approvals: {notify: [{command: [x], secret: a/b}]}",
            "approvals.notify[0]: secret and private_addresses are for a webhook; leave them out",
        ),
        ("secrets: {backend: vault}", "secrets.backend: this version of Callgate does not have the backend vault yet"),
    ],
)
def test_a_key_whose_part_is_not_built_yet_says_so(text: str, part: str):
    assert complaint_of(text).startswith(f"1: {part}")
