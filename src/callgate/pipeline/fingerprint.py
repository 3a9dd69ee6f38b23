"""Fingerprints: two calls are the same call when tool, final arguments, resources, account and user are."""

from __future__ import annotations

import orjson

from callgate.model.canonical import dumps
from callgate.model.tool import Tool
from callgate.pipeline.parts import Parts


def fingerprint(parts: Parts, tool: Tool, arguments: bytes, *, resources: tuple[str, ...], user: str | None) -> str:
    """A keyed digest of a call, its arguments in canonical JSON: it can be compared, and nothing learned from it.

    The user is part of it, because a tool may do something else for somebody else.
    """
    what = (tool.name, orjson.Fragment(arguments), resources, account(parts, tool))
    return parts.keys.fingerprint(dumps(what if user is None else (*what, user)))


def account(parts: Parts, tool: Tool) -> str:
    """Which account the tool's connector acts as."""
    return parts.accounts.get(tool.connector, tool.config_ref or "")
