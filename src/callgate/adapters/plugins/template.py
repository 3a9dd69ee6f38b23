"""A new plugin: a folder with a manifest and code that load as they stand, to be changed into something useful."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from callgate.adapters.plugins.manifest_rules import SCHEMA_VERSION, plugin_name_fault
from callgate.adapters.plugins.snapshot import MANIFEST
from callgate.errors import ConfigurationError

_CODE = '''"""The tools of this plugin."""

from callgate import PluginSettings


def {tool}(name: str, *, settings: PluginSettings) -> str:
    """Greet somebody."""
    return f"{{settings['greeting']}}, {{name}}!"
'''


def manifest_template(name: str) -> dict[str, Any]:
    """A manifest that validates, with everything a plugin may want to say.

    Raises:
        ConfigurationError: That is no name for a plugin.
    """
    fault = plugin_name_fault(name)
    if fault is not None:
        raise ConfigurationError(f"a plugin's name {fault}")
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "version": "0.1.0",
        "description": "What this plugin is for",
        "enabled": True,
        "dependencies": [],
        "settings_schema": {
            "greeting": {"type": "string", "default": "Hello", "description": "The word to greet with"}
        },
        "tools": [
            {
                "name": f"{name}_greet",
                "description": "Greet somebody",
                "module": "tools",
                "function": "greet",
                "category": "specialized",
                "effects": ["read_only"],
                "parameters": {"name": {"type": "string", "description": "Whom to greet"}},
            }
        ],
    }


def make_plugin(name: str, folder: Path) -> Path:
    """Make the folder of a new plugin.

    Raises:
        ConfigurationError: That is no name, or something of that name is there.
    """
    manifest = json.dumps(manifest_template(name), indent=2) + "\n"
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.mkdir()
        # The manifest last: with it the folder becomes a plugin.
        (path / "tools.py").write_text(_CODE.format(tool="greet"), encoding="utf-8")
        (path / MANIFEST).write_text(manifest, encoding="utf-8")
    except FileExistsError:
        raise ConfigurationError("is there already; choose another name", file=str(path)) from None
    except OSError as error:
        raise ConfigurationError(f"cannot be made: {error.strerror}", file=str(path)) from None
    return path
