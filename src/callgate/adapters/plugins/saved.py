"""Saved settings: what an operator set for plugins, one file each, replaced whole. What cannot be read switches off."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from callgate.adapters.plugins.manifest_rules import plugin_name_fault
from callgate.adapters.plugins.reading import Stamp, read_file, stamp_of
from callgate.errors import ConfigurationError, StoreError
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.visible import brief
from callgate.secrets.private_files import lock_file, make_private_folder, open_folder, replace_private

_LARGEST = 256 * 1024
_MARK = ".reload"
_KEYS = ("enabled", "tool_overrides", "custom_config")

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What was set for one plugin. `Saved()` is what no file means."""

    enabled: bool | None = None
    """None: nobody said, so the manifest's word counts."""
    tool_overrides: Mapping[str, Values] = field(default_factory=dict[str, Values])
    """By tool: `{"enabled": false}`."""
    custom_config: Values = field(default_factory=dict[str, Any])

    def has_off(self, tool: str) -> bool:
        """Whether one tool was switched off."""
        return self.tool_overrides.get(tool, {}).get("enabled") is False

    def merged(self, other: Saved) -> Saved:
        """These settings with others on top; tools and settings that the others do not name stay."""
        tools = {name: dict(values) for name, values in self.tool_overrides.items()}
        for name, values in other.tool_overrides.items():
            tools[name] = {**tools.get(name, {}), **values}
        return Saved(
            enabled=self.enabled if other.enabled is None else other.enabled,
            tool_overrides=tools,
            custom_config={**self.custom_config, **other.custom_config},
        )

    def to_json(self) -> dict[str, Any]:
        """As the file has it."""
        body: dict[str, Any] = {} if self.enabled is None else {"enabled": self.enabled}
        overrides = {name: dict(values) for name, values in self.tool_overrides.items()}
        return body | {"tool_overrides": overrides, "custom_config": dict(self.custom_config)}


class SavedSettings:
    """The folder of settings files.

    Args:
        path: Where they are; made with the first one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, plugin: str) -> Path:
        """The file of a plugin.

        Raises:
            ConfigurationError: That is no plugin's name, and might be the name of a file elsewhere.
        """
        fault = plugin_name_fault(plugin)
        if fault is not None:
            raise ConfigurationError(f"a plugin's name {fault}")
        return self.path / f"{plugin}.json"

    def read(self, plugin: str) -> Saved:
        """What was set for a plugin.

        Raises:
            ConfigurationError: The file is there and cannot be read or understood.
        """
        file = self.file(plugin)
        try:
            with open_folder(self.path, private=False) as folder:
                content, _ = read_file(file.name, folder=folder, at_most=_LARGEST)
        except FileNotFoundError:
            return Saved()
        except OSError as error:
            raise ConfigurationError(f"cannot be read: {_reason(error)}", file=str(file)) from None
        except ConfigurationError as error:
            raise ConfigurationError(error.message, file=str(file)) from None
        return _parse(content, file=str(file))

    def stamp(self, plugin: str) -> Stamp | None:
        """How the file looks from outside; None if there is none. Another stamp says that it has to be read again."""
        try:
            return stamp_of(self.file(plugin).lstat())
        except FileNotFoundError:
            return None
        except OSError:
            return Stamp(0, 0, 0, 0, 0)

    def ask_for_reload(self) -> None:
        """Leave a mark that gates which watch this folder see, so that they load their plugins again.

        Raises:
            StoreError: It cannot be written.
        """
        try:
            make_private_folder(self.path)
            with open_folder(self.path, private=False) as folder:
                replace_private(self.path / _MARK, token_hex(8).encode(), folder=folder)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {_reason(error)}") from error

    def update(self, plugin: str, change: Saved) -> Saved:
        """Put a change on top of what is saved, durably and whole; two writers at once lose nothing of each other's.

        Raises:
            ConfigurationError: What is saved cannot be read, or the change cannot be.
            StoreError: It cannot be written; what was saved is as it was.
        """
        file = self.file(plugin)
        _check(change.to_json(), file=str(file))
        try:
            make_private_folder(self.path)
            with open_folder(self.path, private=False) as folder, lock_file(file, folder=folder):
                merged = self.read(plugin).merged(change)
                content = dumps(merged.to_json()) + b"\n"
                if len(content) > _LARGEST:
                    raise ConfigurationError(f"would be larger than {_LARGEST} bytes", file=str(file))
                replace_private(file, content, folder=folder)
        except OSError as error:
            raise StoreError(f"{file}: cannot be written: {_reason(error)}") from error
        return merged


def _parse(content: bytes, *, file: str) -> Saved:
    try:
        body = loads(content)
    except (NotCanonical, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot be read: {error}", file=file) from None
    _check(body, file=file)
    return Saved(**body)


def _check(body: Any, *, file: str) -> None:
    """Refuse what is no settings; a key that means nothing may be one that was meant."""
    if not isinstance(body, dict):
        raise ConfigurationError("needs to be a JSON object", file=file)
    for key, value in cast("dict[str, Any]", body).items():
        if key not in _KEYS:
            raise ConfigurationError(f"is no setting; there are {', '.join(_KEYS)}", file=file, key=brief(key))
        kind, words = (bool, "true or false") if key == "enabled" else (dict, "a mapping")
        if not isinstance(value, kind):
            raise ConfigurationError(f"needs to be {words}", file=file, key=key)
    for tool, values in cast("dict[str, Any]", body).get("tool_overrides", {}).items():
        _check_override(values, file=file, key=f"tool_overrides.{brief(tool)}")


def _check_override(values: Any, *, file: str, key: str) -> None:
    body = cast("dict[str, Any]", values) if isinstance(values, dict) else {"": None}
    if body.keys() - {"enabled"} or not all(isinstance(value, bool) for value in body.values()):
        raise ConfigurationError('needs to be {"enabled": true} or {"enabled": false}', file=file, key=key)


def _reason(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else type(error).__name__
