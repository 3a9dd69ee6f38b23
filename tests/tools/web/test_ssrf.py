"""No address, name or redirect leads a web tool to this machine or its network. TOOL-01.

The witness is the connector: it writes down every address that somebody wants to be connected to. Nothing leaves
loopback, since it connects only to the site of the test.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.grounds import Grounds
from callgate.model.levels import Autonomy
from callgate.tools.outbound.network import Network
from callgate.tools.outbound.transport import JudgedBackend, read_url
from callgate.tools.outbound.troubles import HostRefused
from tests.tools.outbound.site import Site, page, redirect, serving
from tests.tools.outbound.walls import OTHER, PUBLIC, Names, Wall
from tests.tools.web.gates import gate_with

AT_WILL = Context(autonomy=Autonomy.A4)
INSIDE = {
    "loopback": "127.0.0.1",
    "loopback, elsewhere": "127.8.9.1",
    "this host": "0.0.0.0",
    "private 10": "10.0.0.1",
    "private 172": "172.16.0.1",
    "private 192": "192.168.1.1",
    "carrier": "100.64.0.1",
    "metadata": "169.254.169.254",
    "metadata, elsewhere": "192.0.0.192",
    "the host of a cloud": "168.63.129.16",
    "relays": "192.88.99.1",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "for tests": "198.18.0.1",
    "for documents": "192.0.2.1",
    "six for documents": "3fff::1",
    "six loopback": "::1",
    "six none": "::",
    "six link": "fe80::1",
    "six unique": "fd00:ec2::254",
    "six site": "fec0::1",
    "six multicast": "ff02::1",
    "mapped loopback": "::ffff:127.0.0.1",
    "mapped metadata": "::ffff:a9fe:a9fe",
    "compatible": "::127.0.0.1",
    "translated": "64:ff9b::7f00:1",
    "translated locally": "64:ff9b:1::a00:1",
    "six to four": "2002:7f00:1::",
    "teredo": "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "six documents": "2001:db8::1",
    "isatap": "2606:4700::5efe:7f00:1",
    "isatap unique": "2606:4700::200:5efe:a9fe:a9fe",
}
"""Addresses that no tool may reach unless private addresses are granted."""
SPELLINGS = {
    "decimal": "http://2130706433/",
    "octal": "http://0177.0.0.1/",
    "hexadecimal": "http://0x7f000001/",
    "hexadecimal parts": "http://0x7f.0x0.0x0.0x1/",
    "short": "http://127.1/",
    "shorter": "http://0/",
    "leading zeros": "http://127.000.000.001/",
    "trailing dot": "http://127.0.0.1./",
    "name": "http://localhost/",
    "name with dot": "http://localhost./",
    "name in capitals": "http://LOCALHOST:8080/",
    "name below": "http://a.localhost/",
    "name of a machine": "http://printer/",
    "name of a cloud": "http://metadata.google.internal/computeMetadata/v1/",
    "name of a network": "http://nas.local/",
    "user": "http://public.example@127.0.0.1/",
    "user and password": "http://public.example:80@127.0.0.1/",
    "user twice": "http://127.0.0.1@public.example/",
    "user encoded": "http://public.example%40127.0.0.1/",
    "backslash": "http://public.example\\@127.0.0.1/",
    "backslash path": "http:\\\\127.0.0.1\\",
    "fragment": "http://127.0.0.1#@public.example/",
    "question": "http://127.0.0.1?@public.example/",
    "wide digits": "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
    "circled digits": "http://①②⑦.⓪.⓪.①/",
    "ideographic dots": "http://127。0。0。1/",
    "encoded": "http://127%2e0%2e0%2e1/",
    "zone": "http://[fe80::1%25eth0]/",
    "brackets": "http://[127.0.0.1]/",
    "two ports": "http://127.0.0.1:80:80/",
    "no port": "http://127.0.0.1:/",
    "huge port": "http://127.0.0.1:99999999/",
    "of ssh": "http://127.0.0.1:22/",
    "line break": "http://public.example/\r\nHost: 127.0.0.1",
    "tab": "http://127.0.\t0.1/",
    "space": "http://127.0.0.1 .public.example/",
    "nul": "http://127.0.0.1\0.public.example/",
    "file": "file:///etc/hostname",
    "file of a host": "file://127.0.0.1/etc/hostname",
    "gopher": "gopher://127.0.0.1:6379/_INFO",
    "dict": "dict://127.0.0.1:11211/stats",
    "ftp": "ftp://127.0.0.1/x",
    "data": "data:text/html,hello",
    "javascript": "javascript:alert(1)",
    "no scheme": "//127.0.0.1/",
    "unix": "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
}


def as_url(address: str) -> str:
    return f"http://[{address}]/x" if ":" in address else f"http://{address}/x"


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    async with serving() as served:
        yield served


def walled(site: Site, **names: list[list[str]]) -> tuple[Network, Names, Wall]:
    known = {"public.example": [[PUBLIC]], "other.example": [[OTHER]]}
    known |= {name.replace("_", "."): answers for name, answers in names.items()}
    resolver, wall = Names(known), Wall({PUBLIC: site.port, OTHER: site.port})
    return Network(resolver=resolver, connector=wall), resolver, wall


async def call_each(gate: Callgate, url: str) -> list[Any]:
    """Every tool that takes a URL."""
    posted = await gate.call("http_post", {"url": url, "data": {"a": 1}}, AT_WILL)
    return [posted, *[await gate.call(name, {"url": url}, AT_WILL) for name in ("http_get", "web_fetch", "fetch_docs")]]


async def test_the_wall_itself_lets_a_public_name_through(site: Site) -> None:
    """Else the others would prove nothing."""
    network, names, wall = walled(site)
    site.answers["/x"] = page("<p>hello</p>")
    async with gate_with(network) as gate:
        for outcome in await call_each(gate, "http://public.example/x"):
            assert outcome.ok, outcome
    assert wall.wanted == [(PUBLIC, 80)] * 4
    assert names.asked == ["public.example"] * 4
    assert {asked.headers["host"] for asked in site.asked} == {"public.example"}


@pytest.mark.parametrize("url", [*map(as_url, INSIDE.values()), *SPELLINGS.values()], ids=[*INSIDE, *SPELLINGS])
async def test_no_address_of_this_machine_or_network_is_connected(site: Site, url: str) -> None:
    network, _, wall = walled(site)
    async with gate_with(network) as gate:
        for outcome in await call_each(gate, url):
            assert not outcome.ok
            assert outcome.error is not None
    assert wall.wanted == []
    assert site.asked == []


LOCATIONS = {**{name: as_url(address) for name, address in INSIDE.items()}, **SPELLINGS}


@pytest.mark.parametrize("location", LOCATIONS.values(), ids=LOCATIONS)
async def test_no_redirect_leads_there(site: Site, location: str) -> None:
    """TOOL-01: the site is public, and what it leads to is judged again."""
    network, _, wall = walled(site)
    site.answers["/start"] = redirect(location)
    async with gate_with(network) as gate:
        outcome = await gate.call("http_get", {"url": "http://public.example/start", "timeout": 10})
    if "\r\n" in location:  # then it is two headers, and the place is as public as the site
        assert site.targets() == ["/start", "/"]
    else:
        assert not outcome.ok
        assert set(site.targets()) == {"/start"}
    assert wall.addresses() == {PUBLIC}


@pytest.mark.parametrize("address", INSIDE.values(), ids=INSIDE)
async def test_no_name_leads_there(site: Site, address: str) -> None:
    network, names, wall = walled(site, inside_example=[[address]], mixed_example=[[PUBLIC, address]])
    async with gate_with(network) as gate:
        for name in ("inside.example", "mixed.example"):
            for outcome in await call_each(gate, f"http://{name}/x"):
                assert "private address" in str(outcome)
    assert set(names.asked) == {"inside.example", "mixed.example"}
    assert wall.wanted == []


async def test_a_name_that_changes_its_mind_is_connected_where_it_was_judged(site: Site) -> None:
    """The name is asked once for each connection, and the answer that was judged is the one that is used."""
    network, names, wall = walled(site, rebinding_example=[[PUBLIC], ["127.0.0.1"]])
    site.answers["/x"] = page("hello")
    async with gate_with(network) as gate:
        assert (await gate.call("http_get", {"url": "http://rebinding.example/x"})).ok
        assert (names.asked, wall.wanted) == (["rebinding.example"], [(PUBLIC, 80)])
        assert "private address 127.0.0.1" in str(await gate.call("http_get", {"url": "http://rebinding.example/x"}))
    assert wall.wanted == [(PUBLIC, 80)]


async def test_a_redirect_to_the_same_name_is_judged_anew(site: Site) -> None:
    network, names, wall = walled(site, rebinding_example=[[PUBLIC], ["169.254.169.254"]])
    site.answers["/x"] = redirect("/latest/meta-data/")
    async with gate_with(network) as gate:
        assert "private address" in str(await gate.call("http_get", {"url": "http://rebinding.example/x"}))
    assert names.asked == ["rebinding.example"] * 2
    assert wall.wanted == [(PUBLIC, 80)]


@pytest.mark.parametrize("port", [22, 25, 6379, 11211, 0, 65535 + 81])
async def test_ports_of_other_protocols_are_not_connected(site: Site, port: int) -> None:
    network, _, wall = walled(site)
    async with gate_with(network) as gate:
        for outcome in await call_each(gate, f"http://public.example:{port}/"):
            assert not outcome.ok
    assert wall.wanted == []


async def test_a_redirect_leads_only_to_hosts_that_are_allowed(site: Site, tmp_path: Path) -> None:
    config = tmp_path / "callgate.yaml"
    config.write_text("scopes: {net: {hosts: [public.example]}}\n")
    network, _, wall = walled(site)
    site.answers |= {"/x": redirect("//other.example/y"), "/y": page("there")}
    async with gate_with(network, config) as gate:
        refused = await gate.call("http_get", {"url": "http://public.example/x"})
        assert "other.example" in str(refused)
        assert (await gate.call("http_get", {"url": "http://public.example/y"})).ok
    assert wall.addresses() == {PUBLIC}


async def test_granted_addresses_are_connected_and_only_those_that_are_written_plainly(
    site: Site, tmp_path: Path
) -> None:
    config = tmp_path / "callgate.yaml"
    config.write_text("scopes: {net: {private_addresses: true}}\n")
    _, names, _ = walled(site, inside_example=[["10.0.0.1"]])
    wall = Wall({"10.0.0.1": site.port})
    site.answers["/x"] = page("inside")
    async with gate_with(Network(resolver=names, connector=wall), config) as gate:
        for url in ("http://inside.example/x", "http://10.0.0.1/x"):
            assert (await gate.call("http_get", {"url": url})).ok
        for url in ("http://167772161/x", "http://012.0.0.1/x", "http://user@10.0.0.1/x"):
            assert not (await gate.call("http_get", {"url": url})).ok
    assert wall.wanted == [("10.0.0.1", 80)] * 2


METADATA = "169.254.169.254"
OWN = "scopes: {net: {hosts: [127.0.0.1, localhost, '[::1]'], private_addresses: true}}\n"


@pytest.mark.parametrize("url", [f"http://{METADATA}/latest/", "http://public.example/x"], ids=["asked", "led"])
async def test_private_addresses_open_link_local_ones_too_also_by_redirect(
    site: Site, tmp_path: Path, url: str
) -> None:
    config = tmp_path / "callgate.yaml"
    config.write_text("scopes: {net: {private_addresses: true}}\n")
    network, _, wall = walled(site)
    site.answers["/x"] = redirect(f"http://{METADATA}/latest/")
    async with gate_with(network, config) as gate:
        await gate.call("http_get", {"url": url})
    assert METADATA in wall.addresses()


async def test_hosts_narrow_private_addresses_to_this_machine(site: Site, tmp_path: Path) -> None:
    config = tmp_path / "callgate.yaml"
    config.write_text(OWN)
    names, wall = Names({"localhost": [["127.0.0.1"]], "public.example": [[PUBLIC]]}), Wall({"127.0.0.1": site.port})
    site.answers["/x"] = page("here")
    site.answers["/away"] = redirect(f"http://{METADATA}/latest/")
    async with gate_with(Network(resolver=names, connector=wall), config) as gate:
        for url in ("http://127.0.0.1/x", "http://localhost/x"):
            assert (await gate.call("http_get", {"url": url})).unwrap()["body"] == "here"
        elsewhere = [f"http://{METADATA}/", "http://10.0.0.1/", "http://[fe80::1]/", "http://public.example/"]
        for url in ("http://127.0.0.1/away", *elsewhere):
            refused = await gate.call("http_get", {"url": url})
            assert refused.error is not None
            assert "and net allows 127.0.0.1, [::1], localhost" in refused.error.message
    assert wall.addresses() == {"127.0.0.1"}
    assert names.asked == ["localhost"]


async def test_a_name_among_the_hosts_is_trusted_with_where_it_leads(site: Site, tmp_path: Path) -> None:
    config = tmp_path / "callgate.yaml"
    config.write_text("scopes: {net: {hosts: ['*.example'], private_addresses: true}}\n")
    network, _, wall = walled(site, inside_example=[[METADATA]])
    async with gate_with(network, config) as gate:
        await gate.call("http_get", {"url": "http://inside.example/"})
    assert wall.addresses() == {METADATA}


async def test_where_connections_are_made_the_policy_is_asked_again(site: Site) -> None:
    """Whatever else went wrong before."""
    network, names, wall = walled(site)
    grounds = Grounds(
        directory="/",
        roots=(),
        closed=(),
        git=(),
        code=(),
        private_addresses=True,
        path_refused=lambda _path, _there: None,
        host_refused=lambda text: f"not {text}",
    )
    for host, shown in (("public.example", "public.example:80"), ("::1", "[::1]:80")):
        with pytest.raises(HostRefused, match=re.escape(f"not {shown}")):
            await JudgedBackend(network, grounds).connect_tcp(host, 80)
    assert (names.asked, wall.wanted) == ([], [])


@pytest.mark.parametrize(
    "text", ["ftp://x.example/", "http:///x", "http://a@x.example/", "http://x.example:0/", "http://x.example:a/"]
)
def test_urls_are_read_as_the_client_understands_them(text: str) -> None:
    with pytest.raises(ValueError, match="url"):
        read_url(text)


async def test_search_and_encyclopedia_are_judged_as_well(site: Site, tmp_path: Path) -> None:
    config = tmp_path / "callgate.yaml"
    inside = "http://127.0.0.1:1/search"
    places = f'search: [{{kind: searxng, url: "{inside}"}}], wikipedia: "{inside}"'
    config.write_text(f"builtin_tools: {{enable: [web], web: {{{places}}}}}\n")
    async with Callgate.open("memory://", config) as gate:
        calls = (("web_search", {"query": "x"}), ("fetch_wikipedia", {"title": "x"}), ("http_post", {"url": inside}))
        for name, arguments in calls:
            outcome = await gate.call(name, arguments)
            assert outcome.error is not None
            assert outcome.error.code == "policy_denied"
            assert outcome.error.message.startswith(f"the host it would reach: '{inside}' names the private host 1")
