"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.errors import ConfigurationError
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.services import NOTHING, Services, lending
from callgate.tools.vault.contents import make_index
from callgate.tools.vault.move_tool import make_move
from callgate.tools.vault.reading import make_list, make_read, make_search
from callgate.tools.vault.vaults import Vaults
from callgate.tools.vault.writing import make_write

_OWN = ".callgate"


@lending
def make(settings: BuiltinToolsSettings, services: Services = NOTHING) -> list[Any]:
    """Its tools, which share a folder of notes and their indexes.

    Raises:
        ConfigurationError: The folder is one of Callgate's own, or holds them or lies in them.
    """
    above = services.working_directory.absolute()
    folder = above / settings.vault.path
    own = above / _OWN
    if folder.resolve() in {own.resolve(), *own.resolve().parents} or own.resolve() in folder.resolve().parents:
        message = f"{settings.vault.path} is, holds or lies in Callgate's own folder {own}; choose a folder of its own"
        raise ConfigurationError(message, key="builtin_tools.vault.path")
    vaults = Vaults(folder, services.indexes)
    return [
        make_read(vaults),
        make_write(vaults),
        make_search(vaults),
        make_list(vaults),
        make_move(vaults),
        make_index(vaults),
    ]
