"""Writing plugin folders for tests: a manifest and code, as an author would leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GREET = '''
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"
'''


def tool_entry(name: str = "greet", **fields: Any) -> dict[str, Any]:
    entry = {"name": name, "description": "Greet somebody", "module": "tools", "function": "greet"}
    return {**entry, "effects": ["read_only"], **fields}


def manifest_of(name: str = "hello", **fields: Any) -> dict[str, Any]:
    body = {"name": name, "version": "1.0.0", "description": "Says hello", "tools": [tool_entry()]}
    return {**body, **fields}


def write_plugin(folder: Path, name: str = "hello", *, code: str = GREET, **fields: Any) -> Path:
    """A plugin in a folder of plugins, its manifest last."""
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "tools.py").write_text(code, encoding="utf-8")
    (path / "manifest.json").write_text(json.dumps(manifest_of(name, **fields)), encoding="utf-8")
    return path
