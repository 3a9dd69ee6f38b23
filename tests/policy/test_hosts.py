"""Hosts: read in one way or not at all; private ones only where a family says so."""

from typing import Any

import pytest

from callgate.model.context import Context
from callgate.model.tool import Tool
from callgate.policy.hosts import Unfit, is_private, read_host
from callgate.policy.policy import Policy
from callgate.settings.values import Family, Settings
from tests.policy.making import authorize, make, reading, schema


def fetch(**facts: Any) -> Tool:
    body = {"scopes": {"net:outbound"}, "input_schema": schema("url")}
    return reading("web_fetch", "network_access", **{**body, **facts})


def refusal(policy: Policy, url: str, tool: Tool | None = None) -> str:
    found = authorize(policy, tool or fetch(), {"url": url}).refusal
    return "" if found is None else found.text


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("https://example.com/a?b=c#d", "example.com"),
        ("HTTPS://EXAMPLE.com.", "example.com"),
        ("example.com", "example.com"),
        ("example.com:8080/x", "example.com:8080"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://93.184.216.34/", "93.184.216.34"),
        ("http://[2606:4700::1111]:443/", "[2606:4700::1111]:443"),
        ("2606:4700:0::1111", "[2606:4700::1111]"),
        ("https://example.com/@evil.com", "example.com"),
        ("https://example.com?@evil.com", "example.com"),
        ("https://example.com#@evil.com", "example.com"),
        ("wss://example.com:443/socket", "example.com:443"),
        ("_dmarc.example.com", "_dmarc.example.com"),
    ],
)
def test_a_host_is_read_from_urls_names_and_addresses(text: str, host: str):
    assert str(read_host(text)) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        " https://example.com",
        "https://example.com\n.evil.com",
        "https://good.com\\@evil.com",
        "https://good.com\t/",
        "https://user@evil.com",
        "https://good.com:80@evil.com",
        "file:///etc/passwd",
        "file://host/etc/passwd",
        "FILE:/etc/passwd",
        "http:///evil.com",
        "//evil.com",
        "///evil.com",
        "http:evil.com",
        "http:/evil.com",
        "data:text/plain,x",
        "https://exämple.com",
        "https://\uff45xample.com",
        "https://①②⑦.⓪.⓪.①",
        "https://example.com%2eevil.com",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://1.2.3.4.5/",
        "http://256.256.256.256/",
        "http://[::1",
        "http://[evil]/",
        "http://evil.com[::1]/",
        "http://[::1]evil.com/",
        "http://]evil.com[2606:4700::1111",
        "http://[fe80::1%25eth0]/",
        "http://example.com:99999/",
        "http://example.com:/",
        "http://example..com/",
        "http://-example.com/",
        "http://exa$mple.com/",
        "x" * 9000,
        "x" * 64 + ".com",
    ],
)
def test_what_two_readers_could_understand_differently_is_refused(text: str):
    with pytest.raises(Unfit):
        read_host(text)


@pytest.mark.parametrize(
    "name",
    [
        "localhost",
        "a.localhost",
        "db",
        "printer.local",
        "metadata.google.internal",
        "router.lan",
        "host.home.arpa",
        "127.0.0.1",
        "127.9.9.9",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::7f00:1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::7f00:1",
        "2606:4700::5efe:7f00:1",
        "2606:4700::200:5efe:a9fe:a9fe",
        "2606:4700::100:5efe:a00:1",
        "fec0::1",
        "192.0.0.8",
        "192.0.0.192",
        "192.88.99.1",
        "2001:1::1",
        "2001:db8::1",
        "3fff::1",
        "168.63.129.16",
    ],
)
def test_private_hosts_are_recognised_in_every_dress(name: str):
    assert is_private(name)
    url = f"http://[{name}]/" if ":" in name else f"http://{name}/"
    closed = Policy(Settings())
    assert "private host" in refusal(closed, url)
    assert "scopes.net.private_addresses" in refusal(closed, url)
    open_to_all = Policy(Settings(families={"net": Family(hosts=("*",), private_addresses=True)}))
    assert refusal(open_to_all, url) == ""


@pytest.mark.parametrize(
    "name",
    [
        "example.com",
        "8.8.8.8",
        "2606:4700::1111",
        "2001:200::1",
        "192.0.1.1",
        "2606:4700::5eff:7f00:1",
        "internal.example.com",
    ],
)
def test_public_hosts_are_public(name: str):
    assert not is_private(name)


@pytest.mark.parametrize(
    ("hosts", "url", "admitted"),
    [
        (("example.com",), "https://example.com/", True),
        (("EXAMPLE.com.",), "https://example.com/", True),
        (("example.com",), "https://www.example.com/", False),
        (("*.example.com",), "https://www.example.com/", True),
        (("*.example.com",), "https://example.com/", False),
        (("*.example.com",), "https://evilexample.com/", False),
        (("*.example.com",), "https://example.com.evil.com/", False),
        (("example.com:8443",), "https://example.com:8443/", True),
        (("example.com:8443",), "https://example.com/", False),
        (("8.8.8.8",), "https://8.8.8.8/", True),
        (("8.8.8.*",), "https://8.8.8.example.com/", True),
        (("[2606:4700::1111]",), "https://[2606:4700:0::1111]/", True),
        (("[2606:4700::1111]:443",), "https://[2606:4700::1111]:443/", True),
        (("2606:4700::1111",), "https://[2606:4700::2222]/", False),
        ((), "https://example.com/", False),
        (None, "https://example.com/", True),
        (("*",), "https://anything.example/", True),
    ],
)
def test_a_family_says_which_hosts_its_tools_may_speak_to(hosts: tuple[str, ...] | None, url: str, admitted: bool):
    policy = Policy(Settings(families={"net": Family(hosts=hosts)}))
    assert (refusal(policy, url) == "") is admitted


def test_the_refusal_says_what_is_allowed_and_where_to_add_it():
    policy = Policy(Settings(families={"net": Family(hosts=("example.com",))}))
    text = refusal(policy, "https://evil.example/x")
    assert "names the host evil.example, and net allows example.com" in text
    assert "scopes.net.hosts" in text
    assert "allows none" in refusal(Policy(Settings(families={"net": Family(hosts=())})), "https://a.example")


def test_every_family_of_the_tool_that_speaks_of_hosts_must_agree():
    families = {"net": Family(hosts=("*",)), "mail": Family(hosts=("mail.example.com",)), "other": Family()}
    policy = Policy(Settings(families=families))
    tool = make("send", "network_access", scopes={"net:outbound", "mail:send", "other:x"}, input_schema=schema("url"))
    assert refusal(policy, "https://mail.example.com", tool) == ""
    assert "and mail allows" in refusal(policy, "https://example.com", tool)


def test_a_family_of_its_own_may_open_private_addresses_for_its_tools_only():
    families = {"net": Family(hosts=("*",)), "db": Family(hosts=("db.internal",), private_addresses=True)}
    policy = Policy(Settings(families=families))
    database = make("query", "network_access", scopes={"db:query"}, input_schema=schema("url"))
    assert refusal(policy, "postgres://db.internal:5432/x", database) == ""
    assert "private host" in refusal(policy, "http://db.internal/")


@pytest.mark.parametrize("given", [("*",), ("example.com", "*"), None])
def test_who_opens_private_addresses_is_told_where_and_to_narrow_the_hosts_that_are_open(given: tuple[str, ...] | None):
    text = refusal(Policy(Settings(families={"net": Family(hosts=given)})), "http://127.0.0.1:9472/x")
    assert "names the private host 127.0.0.1:9472; in callgate.yaml, set scopes.net.private_addresses to true" in text
    assert 'narrow scopes.net.hosts to what is needed, such as "127.0.0.1:9472"' in text


def test_narrow_hosts_need_not_be_narrowed_to_open_private_addresses():
    text = refusal(Policy(Settings(families={"net": Family(hosts=("127.0.0.1",))})), "http://127.0.0.1:9472/x")
    assert text.endswith("in callgate.yaml, set scopes.net.private_addresses to true")


def test_hosts_are_resources_and_a_reference_without_a_host_is_none():
    policy = Policy(Settings())
    found = authorize(policy, fetch(), {"url": "https://Example.com:8443/x"})
    assert found.resources == ("host:example.com:8443",)
    assert read_host("/users/1") is None
    assert authorize(policy, fetch(), {"url": "/users/1"}).resources == ()


def test_what_a_tool_meets_on_its_way_is_judged_as_what_it_was_asked_for():
    families = {"net": Family(hosts=("*",)), "mail": Family(hosts=("mail.example.com",))}
    policy = Policy(Settings(families=families))
    tool = make("send", "network_access", scopes={"net:outbound", "mail:send"}, input_schema=schema("url"))
    on_its_way = policy.grounds(tool, Context()).host_refused
    assert on_its_way("https://mail.example.com/x") is None
    for url in ("https://example.com/", "http://127.0.0.1/", "http://exa$mple.com/"):
        told = on_its_way(url)
        assert told is not None, url
        assert told in refusal(policy, url, tool)


def test_a_tool_that_never_uses_the_network_may_take_any_url():
    parse = reading("parse_url", input_schema=schema("url"))
    assert refusal(Policy(Settings()), "http://localhost/", parse) == ""
    formatted = reading("parse_url", input_schema=schema(url={"type": "string", "format": "uri"}))
    assert refusal(Policy(Settings()), "http://localhost/", formatted) == ""
