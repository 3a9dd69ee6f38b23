"""What the registry of seed 004 names as handlers: files that are read and written, and what must never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read_file(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def write_file(path: str, content: str) -> dict[str, Any]:
    Path(path).write_text(content, encoding="utf-8")
    return {"path": path, "bytes": len(content.encode())}


def fetch_docs(url: str) -> str:
    return f"the page at {url}"


def run_shell(command: str) -> str:
    raise AssertionError(command)


def json_query(query: str) -> dict[str, str]:
    return {"error": f"cannot read {query}"}
