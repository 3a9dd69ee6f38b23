"""The hosts whose hooks are understood, by the names they are given on the command line."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from callgate.serve.hooks.claude_code import ClaudeCode
from callgate.serve.hooks.codex import Codex
from callgate.serve.hooks.copilot import Copilot
from callgate.serve.hooks.cursor import Cursor

if TYPE_CHECKING:
    from callgate.serve.hooks.moment import Host

_ALL: tuple[Host, ...] = (ClaudeCode(), Codex(), Cursor(), Copilot())
HOSTS = MappingProxyType({each.name: each for each in _ALL})
