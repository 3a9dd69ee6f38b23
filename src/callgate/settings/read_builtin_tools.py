"""Reading `builtin_tools:`: which of the built-in tools are there, and how they are set up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from callgate.errors import ConfigurationError
from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, Reading
from callgate.settings.leaves import Text
from callgate.settings.nodes import Node
from callgate.settings.read_api_tools import GITHUB_TOOLS, LANGUAGE_TOOLS
from callgate.settings.read_web_tools import WEB_TOOLS
from callgate.settings.values import BuiltinToolsSettings, VaultSettings

_NAME = "[a-z][a-z0-9]*(?:_[a-z0-9]+)*"


@dataclass(frozen=True, slots=True)
class _Enabled:
    """What a built-in tool or category may be called, as far as anybody here can tell whether there is one."""

    text: Text

    def read(self, node: Node, reading: Reading) -> str:
        name: str = self.text.read(node, reading)
        if reading.check_builtin is not None:
            try:
                reading.check_builtin(name)
            except ConfigurationError as error:
                raise Fault(error.message) from None
        return name

    def schema(self) -> dict[str, Any]:
        return self.text.schema()


def _build_vault(fields: Fields, _: Reading) -> VaultSettings:
    return VaultSettings(**fields)


_VAULT = Block(
    {
        "path": Key(
            Text(pattern=r"[^\x00-\x1f]+", needs="a folder such as vault", longest=1000),
            "The folder of the notes; a relative one is in the working directory, and none holds Callgate's own files.",
        )
    },
    _build_vault,
)


def _build(fields: Fields, _: Reading) -> BuiltinToolsSettings:
    enable: Sequence[str] = fields.get("enable", ())
    if len(set(enable)) < len(enable):
        raise Fault("enable names something twice; keep one")
    return BuiltinToolsSettings(**fields)


BUILTIN_TOOLS = Block(
    {
        "enable": Key(
            ListOf(_Enabled(Text(pattern=_NAME, needs="the name of a category or a tool, all, or read_only"))),
            "Categories, single tools, all, or read_only; docs/builtin.md lists them.",
            [],
        ),
        "web": Key(WEB_TOOLS, "Whom the tools of the category web ask."),
        "github": Key(GITHUB_TOOLS, "Where the tools of the category github ask, and with which token."),
        "language": Key(LANGUAGE_TOOLS, "Who turns texts into vectors for the tools of the category language."),
        "vault": Key(_VAULT, "Where the notes of the category vault lie."),
    },
    _build,
    example="{enable: [all]}",
)
