"""Finding plugins: every folder with a manifest, with its settings, and why it cannot be used. No code is run."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from callgate.adapters.json_schema import compile_schema
from callgate.adapters.plugins.making import object_schema
from callgate.adapters.plugins.manifest import Manifest, parse_manifest
from callgate.adapters.plugins.saved import Saved, SavedSettings
from callgate.adapters.plugins.snapshot import MANIFEST, Snapshot, take_snapshot
from callgate.errors import ConfigurationError, InvalidArguments
from callgate.model.plugin_settings import PluginSettings
from callgate.model.visible import brief

_MOST_FOLDERS = 1000
_MOST_SETTINGS_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A folder that is a plugin, or should be one."""

    path: Path
    snapshot: Snapshot | None = None
    manifest: Manifest | None = None
    saved: Saved = field(default_factory=Saved)
    settings: PluginSettings = field(default_factory=PluginSettings)
    """With the defaults of the plugin's schema."""
    enabled: bool = False
    fault: str | None = None
    off: str | None = None
    """Why it must not serve at all, not even as it was before: its settings are unreadable."""

    @property
    def name(self) -> str:
        """The plugin's name, or the folder's where no manifest could be read."""
        return brief(self.path.name) if self.manifest is None else self.manifest.name

    @property
    def digest(self) -> str:
        """Of its content; empty where it could not be read."""
        return "" if self.snapshot is None else self.snapshot.digest


def find_plugins(folders: tuple[Path, ...], settings: SavedSettings) -> Iterator[Found]:
    """Every plugin of these folders, in the order of the folders and of their names."""
    for folder in folders:
        for path in _inside(folder):
            found = look_at(path, settings)
            if found is not None:
                yield found


def look_at(path: Path, settings: SavedSettings) -> Found | None:
    """One plugin; None for a folder without a manifest."""
    found = Found(path=path)
    try:
        found = replace(found, snapshot=(snapshot := take_snapshot(path)))
        found = replace(found, manifest=parse_manifest(snapshot.manifest, file=f"{brief(path.name)}/{MANIFEST}"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ConfigurationError as error:
        return replace(found, fault=str(error))
    except OSError as error:
        return replace(found, fault=f"cannot be read: {os.strerror(error.errno or 0).lower()}")
    return with_settings(found, settings)


def with_settings(found: Found, settings: SavedSettings) -> Found:
    """The same plugin with what is saved for it now."""
    manifest = found.manifest
    if manifest is None:
        return found
    try:
        saved = settings.read(manifest.name)
        values = fill_settings(manifest, saved)
    except ConfigurationError as error:
        return replace(found, enabled=False, off=f"its settings: {error}")
    enabled = manifest.enabled if saved.enabled is None else saved.enabled
    missing = [name for name in manifest.dependencies if not _is_installed(name)]
    fault = f"needs Python packages that are not installed: {', '.join(missing)}" if missing else None
    return replace(found, saved=saved, settings=values, enabled=enabled, fault=fault, off=None)


def fill_settings(manifest: Manifest, saved: Saved) -> PluginSettings:
    """The settings of a plugin, defaults filled in.

    Raises:
        ConfigurationError: The schema is none, or what is saved does not fit it.
    """
    schemas = manifest.settings_schema
    if schemas is None:
        return PluginSettings(saved.custom_config)
    needed = [name for name, schema in schemas.items() if schema.get("required") is True]
    try:
        compiled = compile_schema(object_schema(schemas, required=needed), limit=_MOST_SETTINGS_BYTES)
        return PluginSettings(compiled.validator(saved.custom_config))
    except ConfigurationError as error:
        raise ConfigurationError(f"settings_schema: {error.message}") from None
    except InvalidArguments as error:
        raise ConfigurationError(f"custom_config does not fit the plugin's settings_schema: {error}") from None


def _inside(folder: Path) -> list[Path]:
    """What may be a plugin: everything in the folder but what hides."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _may_be_plugin(entry))
    except OSError:
        return []
    return [folder / name for name in names[:_MOST_FOLDERS]]


def _may_be_plugin(entry: os.DirEntry[str]) -> bool:
    # A link to a folder is looked at, so that it is told of and not silently left out.
    return entry.is_dir() and not entry.name.startswith((".", "__pycache__"))


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        module = name.replace("-", "_").partition(".")[0]
        try:
            return importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            return False
    return True
