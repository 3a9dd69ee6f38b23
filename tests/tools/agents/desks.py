"""A gate with the agents' tools, whose model and web are local servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from callgate import Callgate
from tests.tools.outbound.site import Site

KEY = "sk-local-test-key-of-the-agents-9f2c"


def configuration(site: Site, *, enable: str = "agents, web, vault, files", more: str = "") -> str:
    """What lets a gate use the site as its model, its search and its web."""
    return (
        "autonomy: A4\n"
        "scopes: {net: {private_addresses: true}}\n"
        f'model: {{provider: "openai-chat:stub", url: "{site.url("/v1")}", secret: "model/key"}}\n'
        "builtin_tools:\n"
        f"  enable: [{enable}]\n"
        f'  web: {{search: [{{kind: searxng, url: "{site.url("/search")}"}}]}}\n'
        f"{more}"
    )


@asynccontextmanager
async def desk(
    folder: Path, site: Site, *, enable: str = "agents, web, vault, files", more: str = ""
) -> AsyncGenerator[Callgate]:
    """The gate, open."""
    config = folder / "callgate.yaml"
    config.write_text(configuration(site, enable=enable, more=more))
    async with Callgate.open("memory://", config, working_directory=folder) as gate:
        yield gate
