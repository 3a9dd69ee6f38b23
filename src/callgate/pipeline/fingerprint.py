"""Fingerprints: two calls are the same call when tool, final arguments, resources and account are."""

from __future__ import annotations

from callgate.model.canonical import dumps
from callgate.model.tool import Arguments, Tool
from callgate.pipeline.parts import Parts


def fingerprint(parts: Parts, tool: Tool, arguments: Arguments, resources: tuple[str, ...]) -> str:
    """A keyed digest: it can be compared, and nothing can be learned from it without the key."""
    return parts.keys.fingerprint(dumps([tool.name, arguments, resources, account(parts, tool)]))


def account(parts: Parts, tool: Tool) -> str:
    """Which account the tool's connector acts as."""
    return parts.accounts.get(tool.connector, tool.config_ref or "")
