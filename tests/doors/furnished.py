"""A project in which the examples of every built-in tool work: its files, and the servers on loopback that it asks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from callgate.tools.outbound.network import SystemConnector, SystemResolver
from tests.tools.agents.desks import KEY
from tests.tools.agents.stub_model import Brain, Reply, Request, says
from tests.tools.agents.test_research import CATS, article, scholar, web
from tests.tools.archives.building import HONEST, zipped
from tests.tools.github.hub import TOKEN, VARIABLE, Hub
from tests.tools.outbound.certificates import certified
from tests.tools.outbound.site import Site, page, serving
from tests.tools.outbound.walls import PUBLIC, Names, Wall

USER = "ann"
NAMED = ("example.com", "docs.python.org")
"""Hosts that stand in the examples; what else is asked for is an address of the configuration."""

_CONFIGURATION = """\
autonomy: A4
scopes: {{shell: {{requires_approval: false}}, net: {{private_addresses: true}}}}
model: {{provider: "openai-chat:stub", url: "{site}/v1", secret: "model/key"}}
builtin_tools:
  enable: [{enable}]
  web: {{search: [{{kind: searxng, url: "{site}/search"}}], wikipedia: "{site}/w/api.php"}}
  github: {{api: "{site}/"}}
"""
_PARSER = '''\
"""Reads the configuration file."""

import sys


class Parser:
    def parse(self) -> int:
        return 1  # TODO: more


def main() -> None:
    print(Parser().parse(), sys.argv)


main()
'''
_CANVAS = {"nodes": [{"id": "a", "type": "text", "text": "Never ask Bob.", "x": 0, "y": 0}], "edges": []}
_FILES: dict[str, bytes] = {
    "README.md": b"TODO: say more\n",
    "parser.py": _PARSER.encode(),
    "tests/test_login.py": b"def test_login():\n    assert True\n",
    "bundle.zip": zipped(HONEST),
    "canvases/plan.canvas": json.dumps(_CANVAS).encode(),
    f"vault/{USER}/default/welcome.md": b"Hello",
    f"vault/{USER}/default/tea.md": b"Green tea",
    f"vault/{USER}/default/drinks/water.md": b"Water",
    f"vault/{USER}/default/ideas/one.md": b"An exact phrase and a word",
}


@contextmanager
def furnished(folder: Path, monkeypatch: pytest.MonkeyPatch, *, enable: str) -> Generator[Wall]:
    """Furnish the folder for these tools, and serve what they ask; gives the witness of every connection."""
    for name, content in _FILES.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, capture_output=True)
    outside = folder.parent / "outside"
    outside.mkdir()
    server, _ = certified(outside, *NAMED)
    monkeypatch.setenv("SSL_CERT_FILE", str(outside / "certificate.pem"))
    monkeypatch.setenv("CALLGATE_SECRET_MODEL_KEY", KEY)
    monkeypatch.setenv(VARIABLE, TOKEN)
    # On a thread of their own: the command line holds this one until it is done.
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving()) as site,
        portal.wrap_async_context_manager(serving(server)) as named,
    ):
        _answer(site, named)
        (folder / "callgate.yaml").write_text(_CONFIGURATION.format(site=site.url(""), enable=enable))
        wall = Wall({PUBLIC: named.port, "127.0.0.1": site.port})
        monkeypatch.setattr(SystemResolver, "resolve", Names({host: [[PUBLIC]] for host in NAMED}).resolve)
        monkeypatch.setattr(SystemConnector, "connect", wall.connect)
        yield wall


def _answer(site: Site, named: Site) -> None:
    web(site, cats=article("Cats", CATS))
    told = {"query": {"pages": [{"title": "Call gate (Intel)", "extract": "It is."}]}}
    site.answers["/w/api.php"] = page(json.dumps(told), "application/json")
    Brain(_think).serve(site)
    hub = Hub(site)
    hub.file("octocat/Hello-World", "README", b"Hello World!\n", branch="master")
    hub.found()
    named.answers |= {"/": page("<p>Hello</p>"), "/notes": page("{}"), "/3/library/json.html": page("<p>JSON</p>")}


def _think(request: Request) -> Reply:
    asked = [entry["function"]["name"] for entry in request.get("tools", ())]
    return scholar(request) if "final_result" in asked else says("Done.")
