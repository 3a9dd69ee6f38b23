"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.adapters.declare import Fields
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.language.embedding_server import EmbeddingServer
from callgate.tools.language.text_tools import make_text_tools
from callgate.tools.language.word_vectors import WordVectors
from callgate.tools.outbound.network import Network, network_for
from callgate.tools.outbound.schemas import reaches
from callgate.tools.services import NOTHING, Services, lending

_ALONE: Fields = {
    "effects": "read_only",
    "scopes": ["compute:run"],
    "deterministic": True,
    "resources": reaches([]),
}


@lending
def make(settings: BuiltinToolsSettings, _services: Services = NOTHING, *, network: Network | None = None) -> list[Any]:
    """Its tools.

    Args:
        settings: What the configuration says: a model of the package's own, or a server.
        network: What a server is asked through; None is the system's own, or the proxy of the configuration.
    """
    if settings.language.provider == "wordllama":
        return make_text_tools(WordVectors(), _ALONE)
    server = EmbeddingServer(network or network_for(settings.web), settings.language)
    return make_text_tools(server, _asking(server.url))


def _asking(url: str) -> Fields:
    """What it means to ask a server: the texts leave this machine, and what comes back is a stranger's."""
    return {
        "effects": ["read_only", "network_access", "calls_llm"],
        "scopes": ["net:outbound"],
        "connector": "language",
        "egress": True,
        "untrusted_output": True,
        "resources": reaches([url]),
    }
