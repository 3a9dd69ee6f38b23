"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.outbound.network import Network, network_for
from callgate.tools.services import NOTHING, Services, lending
from callgate.tools.web.http_tools import HttpTools
from callgate.tools.web.page_tools import PageTools
from callgate.tools.web.search import make_web_search
from callgate.tools.web.wikipedia import make_fetch_wikipedia


@lending
def make(settings: BuiltinToolsSettings, _services: Services = NOTHING, *, network: Network | None = None) -> list[Any]:
    """Its tools.

    Args:
        settings: What the configuration says.
        network: What they go out through; None is the system's own, or the proxy of the configuration.
    """
    web = settings.web
    network = network or network_for(web)
    requests, pages = HttpTools(network), PageTools(network, web.trusted_docs)
    return [
        requests.http_get,
        requests.http_post,
        make_web_search(network, web.search),
        make_fetch_wikipedia(network, web.wikipedia),
        pages.fetch_docs,
        pages.web_fetch,
    ]
