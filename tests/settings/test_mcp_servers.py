"""The key `mcp_servers`: read as a whole, and every fault told with its place."""

import pytest

from callgate.settings.values import McpServerSettings
from tests.settings.reading import complaint_of, read


def test_a_server_is_read_with_everything_it_may_say():
    servers = read("""
    mcp_servers:
      github: {command: [github-mcp, --stdio], env: {TOKEN: "secret:github/token"}, cwd: /srv, prefix: gh,
        trust: pinned, mode: enforce, startup: 30s,
        declare: {"get_*": {effects: read_only}, create_issue: {effects: [network_access],
          scopes: "net:outbound", risk: medium, destructive: false, timeout: 1m}}}
      docs: {url: "https://example.com/mcp", headers: {Authorization: "Bearer secret:docs/token"}}
    """).mcp_servers
    assert servers == {
        "github": McpServerSettings(
            command=("github-mcp", "--stdio"),
            env={"TOKEN": "secret:github/token"},
            cwd="/srv",
            prefix="gh",
            startup=30.0,
            declare={
                "get_*": {"effects": ("read_only",)},
                "create_issue": {
                    "effects": ("network_access",),
                    "scopes": ("net:outbound",),
                    "risk": "medium",
                    "destructive": False,
                    "timeout": 60.0,
                },
            },
        ),
        "docs": McpServerSettings(url="https://example.com/mcp", headers={"Authorization": "Bearer secret:docs/token"}),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "a: needs either command (a program that is started) or url"),
        ("{command: [x], url: 'https://example.com'}", "a: needs either command"),
        ("{command: []}", "a: command is empty"),
        ("{command: x}", "a.command: needs a list"),
        ("{command: [x], headers: {A: b}}", "a: headers is for a server with a url"),
        ("{url: 'https://example.com', env: {A: b}}", "a: env is for a server with a command"),
        ("{url: 'https://me:word@example.com'}", "a.url: needs a URL such as https://example.com/mcp, without a user"),
        ("{url: 'ftp://example.com'}", "a.url: needs a URL"),
        ("{command: [x], prefix: Gh}", "a.prefix: a prefix has small letters"),
        ("{command: [x], trust: full}", "a.trust: 'full' is not possible"),
        ("{command: [x], mode: observe}", "a.mode: one server alone cannot be observed; write the key observe"),
        ("{command: [x], env: {'A B': c}}", "a.env.'A B': 'A B' is no name of a variable"),
        ("{command: [x], declare: {t: {}}}", "a.declare.t: declares nothing; write what it does"),
        ("{command: [x], declare: {t: {effects: reads}}}", "a.declare.t.effects: 'reads' is not possible"),
        ("{command: [x], declare: {t: {scopes: 'ney:x'}}}", "a.declare.t.scopes: unknown scope family 'ney'"),
        ("{command: [x], declare: {t: {effects: read_only, destructive: true}}}", "a.declare.t: a tool cannot be"),
        ("{command: [x], declare: {t: {name: y}}}", "a.declare.t.name: unknown key 'name'"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, told: str):
    assert complaint_of(f"mcp_servers: {{a: {text}}}").startswith(f"1: mcp_servers.{told}")


def test_a_name_that_is_none_is_refused():
    assert "is no name of a server" in complaint_of("mcp_servers: {'a b': {command: [x]}}")
