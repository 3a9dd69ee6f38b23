"""The key `mcp_servers`: read as a whole, and every fault told with its place."""

import pytest

from callgate.settings.values import McpServerSettings, OAuthSettings
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


def test_how_to_sign_in_is_read_with_everything_it_may_say():
    servers = read("""
    mcp_servers:
      plain: {url: "https://example.com/mcp", auth: {oauth: {}}}
      person: {url: "https://example.com/mcp", auth: {oauth: {issuer: "https://id.example.com", client_id: abc,
        scopes: [files:read, offline_access], redirect_port: 8765}}}
      machine: {url: "http://127.0.0.1:9000/mcp", auth: {oauth: {grant: client_credentials, client_id: abc,
        client_secret: "secret:idp/secret", client_auth: client_secret_post, issuer: "http://localhost:9001"}}}
    """).mcp_servers
    assert servers["plain"].auth == OAuthSettings()
    assert servers["person"].auth == OAuthSettings(
        issuer="https://id.example.com",
        client_id="abc",
        scopes=("files:read", "offline_access"),
        redirect_port=8765,
    )
    assert servers["machine"].auth == OAuthSettings(
        grant="client_credentials",
        client_id="abc",
        client_secret="secret:idp/secret",
        client_auth="client_secret_post",
        issuer="http://localhost:9001",
    )


@pytest.mark.parametrize(
    ("auth", "told"),
    [
        ("{}", "a.auth: says nothing; write oauth: {}"),
        ("{oauth: {clientid: x}}", "a.auth.oauth.clientid: unknown key 'clientid'"),
        ("{oauth: {grant: password}}", "a.auth.oauth.grant: 'password' is not possible"),
        ("{oauth: {issuer: 'http://example.com'}}", "a.auth.oauth.issuer: needs a URL with https"),
        ("{oauth: {scopes: ['a b']}}", "a.auth.oauth.scopes[0]: needs a scope without blanks"),
        ("{oauth: {redirect_port: 80}}", "a.auth.oauth.redirect_port: needs a whole number from 1024"),
        ("{oauth: {client_secret: hunter2}}", "a.auth.oauth.client_secret: is written as secret:connector/key"),
        ("{oauth: {client_secret: 'secret:a/b'}}", "a: auth.oauth.client_secret needs the client_id"),
        ("{oauth: {client_id: x, client_secret: 'secret:a/b'}}", "a: auth.oauth.client_secret needs the issuer it"),
        ("{oauth: {grant: client_credentials, client_id: x}}", "a: client_credentials needs client_id and client_sec"),
        (
            "{oauth: {client_id: x, client_metadata_url: 'https://example.com/client.json'}}",
            "a: auth.oauth has either client_id or client_metadata_url",
        ),
        ("{oauth: {client_metadata_url: 'https://example.com'}}", "a.auth.oauth.client_metadata_url: needs a URL"),
    ],
)
def test_a_fault_in_how_to_sign_in_is_told_with_its_place(auth: str, told: str):
    complaint = complaint_of(f"mcp_servers: {{a: {{url: 'https://example.com/mcp', auth: {auth}}}}}")
    assert complaint.startswith(f"1: mcp_servers.{told}")
    assert "hunter2" not in complaint


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ("command: [x]", "a: auth is for a server with a url"),
        ("url: 'http://example.com/mcp'", "a: auth needs a URL with https"),
        ("url: 'https://example.com/mcp', headers: {authorization: 'Bearer secret:a/b'}", "a: there is a header Auth"),
    ],
)
def test_a_server_that_nobody_can_sign_in_at_is_refused(server: str, told: str):
    complaint = complaint_of(f"mcp_servers: {{a: {{{server}, auth: {{oauth: {{}}}}}}}}")
    assert complaint.startswith(f"1: mcp_servers.{told}")


def test_a_name_that_is_none_is_refused():
    assert "is no name of a server" in complaint_of("mcp_servers: {'a b': {command: [x]}}")


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ("{command: [npx], args: [x]}", "args: unknown key 'args'; put them into command, behind the program: ["),
        ("{url: 'https://a.example/', type: http}", "type: unknown key 'type'; leave it out: a server with a command"),
        ("{command: [npx], disabled: true}", "disabled: unknown key 'disabled'; leave the whole server out"),
    ],
    ids=["args", "type", "disabled"],
)
def test_a_key_of_another_clients_file_is_told_with_what_to_write_here(server: str, told: str):
    assert f"mcp_servers.one.{told}" in complaint_of(f"mcp_servers: {{one: {server}}}")
