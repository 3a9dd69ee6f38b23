"""Watching folders for changes with `watchfiles`: an extra, for development. Knows no plugin."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from callgate.errors import ConfigurationError

_log = logging.getLogger("callgate.plugins")
_DEBOUNCE = 100
"""Milliseconds in which changes are told as one."""
_LOOK_AGAIN = 1.0


def need_watchfiles() -> ModuleType:
    """The library.

    Raises:
        ConfigurationError: It is not installed; with the command that installs it.
    """
    try:
        import watchfiles  # noqa: PLC0415 - an extra, needed by nobody who does not develop plugins
    except ImportError:
        message = "reloading plugins needs watchfiles; install it with: pip install 'callgate[reload]'"
        raise ConfigurationError(message) from None
    return watchfiles


async def watch(paths: Iterable[Path], changed: Callable[[], None]) -> None:
    """Say when anything under these folders changes, until cancelled; one that is not there yet is waited for.

    Raises:
        ConfigurationError: As `need_watchfiles`.
    """
    watchfiles, wanted = need_watchfiles(), tuple(paths)
    while True:
        there = _there(wanted)
        try:
            if there:
                await _watch_these(watchfiles, there, changed=changed, another=partial(_differs, wanted, there))
        except (OSError, RuntimeError) as error:
            # A folder went away while it was watched, or the system has no more watches to give.
            _log.warning("plugins are not watched for the moment (%s)", type(error).__name__)
        await asyncio.sleep(_LOOK_AGAIN)
        if _differs(wanted, there):
            changed()


async def _watch_these(
    watchfiles: Any, paths: Iterable[Path], *, changed: Callable[[], None], another: Callable[[], bool]
) -> None:
    """Watch these folders until there are others."""
    changes = watchfiles.awatch(
        *paths, watch_filter=None, debounce=_DEBOUNCE, rust_timeout=int(_LOOK_AGAIN * 1000), yield_on_timeout=True
    )
    async with aclosing(changes):
        async for found in changes:
            if found:
                changed()
            if another():
                return


def _differs(paths: tuple[Path, ...], there: dict[Path, int]) -> bool:
    return _there(paths) != there


def _there(paths: tuple[Path, ...]) -> dict[Path, int]:
    """The folders that are there now, and which ones they are."""
    found: dict[Path, int] = {}
    for path in paths:
        with suppress(OSError):
            found[path] = path.stat().st_ino
    return found
