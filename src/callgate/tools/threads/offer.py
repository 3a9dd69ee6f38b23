"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.services import NOTHING, Services, lending
from callgate.tools.threads.thread_tools import ThreadTools
from callgate.tools.threads.threads import Threads


@lending
def make(_: BuiltinToolsSettings, services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    store, clock = services.store, services.clock
    tools = ThreadTools(None if store is None or clock is None else Threads(store, clock))
    return [tools.thread_push, tools.thread_read, tools.thread_seek, tools.thread_list]
