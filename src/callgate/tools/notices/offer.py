"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.notices.notices import Notices
from callgate.tools.notices.notify import NoticeTools
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    store, clock = services.store, services.clock
    return [NoticeTools(None if store is None or clock is None else Notices(store, clock)).notify_self]
