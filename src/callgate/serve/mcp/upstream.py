"""Passing on what MCP servers behind the gate have beside tools: resources, templates, prompts, completion.

At a source's own endpoint everything is called as the server says it. Where all are together, a URI has the source's
prefix before its scheme (`gh+file:///a`) and a prompt before its name (`gh__review`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from callgate.errors import CallgateError, NotFound
from callgate.model.outcome import Succeeded
from callgate.runtime.telling import told
from callgate.serve.mcp.waiting import HOLD

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.runtime.relaying import Held
    from callgate.serve.mcp.asker import Asker

_log = logging.getLogger("callgate.mcp")
READ, PROMPT, COMPLETION = "resources/read", "prompts/get", "completion/complete"


class ShownServer(NamedTuple):
    """A server behind us, as one endpoint shows it."""

    source: str
    prefix: str
    tool: str
    bare: bool
    """Whether it is shown alone, under its own names."""

    def uri_out(self, uri: str) -> str:
        """How a URI of the server is told."""
        return uri if self.bare else f"{_scheme(self.prefix)}+{uri}"

    def name_out(self, name: str) -> str:
        """How the name of a prompt is told."""
        return name if self.bare else f"{self.prefix}__{name}"

    def uri_in(self, uri: str) -> str | None:
        """The server's own URI, if this is one of its."""
        return uri if self.bare else _after(uri, f"{_scheme(self.prefix)}+")

    def name_in(self, name: str) -> str | None:
        """The server's own name of a prompt, if this is one of its."""
        return name if self.bare else _after(name, f"{self.prefix}__")


class Upstream:
    """The rest of the servers behind a gate, as an asker may use it.

    Args:
        gate: An open gate.
    """

    def __init__(self, gate: Callgate) -> None:
        self._gate = gate

    def places(self, method: str, asker: Asker) -> list[ShownServer]:
        """Where this asker may use a method."""
        alone = asker.source is not None
        return [
            ShownServer(*each, bare=alone)
            for each in self._gate.relayed(method, asker.context)
            if asker.source in {None, each.source}
        ]

    async def resources(self, asker: Asker) -> dict[str, Any]:
        """`resources/list`."""
        return {"resources": await self._all("resources/list", asker, renamed=_resource)}

    async def templates(self, asker: Asker) -> dict[str, Any]:
        """`resources/templates/list`."""
        return {"resourceTemplates": await self._all("resources/templates/list", asker, renamed=_template)}

    async def prompts(self, asker: Asker) -> dict[str, Any]:
        """`prompts/list`."""
        return {"prompts": await self._all("prompts/list", asker, renamed=_prompt)}

    async def read(self, uri: str, asker: Asker) -> dict[str, Any]:
        """`resources/read`.

        Raises:
            MCPError: There is no such resource, or it was not read, and why.
        """
        place, own = self.resource(uri, asker)
        found = await self._use(place, {"resource": own}, asker=asker)
        return found | {"contents": [_resource(each, place) for each in found.get("contents", ())]}

    async def prompt(self, name: str, arguments: dict[str, str] | None, *, asker: Asker) -> dict[str, Any]:
        """`prompts/get`.

        Raises:
            MCPError: There is no such prompt, or it was not given, and why.
        """
        for place in self.places(PROMPT, asker):
            own = place.name_in(name)
            if own is not None:
                return await self._use(place, {"name": own, "arguments": arguments or {}}, asker=asker)
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")

    async def complete(self, params: dict[str, Any], asker: Asker) -> dict[str, Any]:
        """`completion/complete`.

        Raises:
            MCPError: There is nothing to complete, or the server does not, and why.
        """
        ref, argument = params["ref"], params["argument"]
        asked = {"argument": argument["name"], "value": argument["value"]}
        surroundings: dict[str, Any] = params.get("context") or {}
        others = surroundings.get("arguments")
        more: dict[str, Any] = {} if others is None else {"others": others}
        for place in self.places(COMPLETION, asker):
            own = place.uri_in(ref["uri"]) if "uri" in ref else place.name_in(ref["name"])
            if own is not None:
                which = {"template" if "uri" in ref else "prompt": own}
                return await self._use(place, which | asked | more, asker=asker)
        raise MCPError(INVALID_PARAMS, "There is nothing of that name to complete")

    def resource(self, uri: str, asker: Asker) -> tuple[ShownServer, str]:
        """Whose resource this is, and what they call it.

        Raises:
            MCPError: Nobody's that this asker may read.
        """
        for place in self.places(READ, asker):
            own = place.uri_in(uri)
            if own is not None:
                return place, own
        raise MCPError(INVALID_PARAMS, f"Unknown resource: {uri}")

    async def subscribe(self, place: ShownServer, own: str, *, asker: Asker) -> Held:
        """Have a server tell when its resource changes, as far as this asker may read it; what to release.

        Raises:
            MCPError: It does not tell, and why.
        """
        try:
            held, outcome = await self._gate.relay_subscribe(place.source, own, asker.context, wait=HOLD)
        except NotFound as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from None
        if held is None:
            text = "it was not subscribed to with this request; ask again" if outcome.ok else told(outcome)
            raise MCPError(INTERNAL_ERROR, text)
        return held

    async def _all(
        self, method: str, asker: Asker, *, renamed: Callable[[dict[str, Any], ShownServer], dict[str, Any]]
    ) -> list[dict[str, Any]]:
        needed = PROMPT if method == "prompts/list" else READ
        places = self.places(needed, asker)
        lists = await asyncio.gather(*(self._list(place, method) for place in places))
        return [renamed(each, place) for place, found in zip(places, lists, strict=True) for each in found]

    async def _list(self, place: ShownServer, method: str) -> Iterable[dict[str, Any]]:
        """A server that does not answer now costs nobody the lists of the others."""
        try:
            return await self._gate.relay_list(place.source, method)
        except (CallgateError, ConnectionError) as error:
            _log.debug("%s of %s is left out: %s", method, place.source, type(error).__name__)
            return ()

    async def _use(self, place: ShownServer, arguments: dict[str, Any], *, asker: Asker) -> dict[str, Any]:
        outcome = await self._gate.call(place.tool, arguments, asker.context, wait=HOLD)
        if isinstance(outcome, Succeeded) and isinstance(outcome.value, dict):
            return cast("dict[str, Any]", outcome.value)
        raise MCPError(INTERNAL_ERROR, told(outcome))


def _scheme(prefix: str) -> str:
    """An underscore is in no scheme."""
    return prefix.replace("_", "-")


def _after(text: str, before: str) -> str | None:
    return text[len(before) :] if text.startswith(before) else None


def _resource(each: dict[str, Any], place: ShownServer) -> dict[str, Any]:
    return each | {"uri": place.uri_out(each["uri"])}


def _template(each: dict[str, Any], place: ShownServer) -> dict[str, Any]:
    return each | {"uriTemplate": place.uri_out(each["uriTemplate"])}


def _prompt(each: dict[str, Any], place: ShownServer) -> dict[str, Any]:
    return each | {"name": place.name_out(each["name"])}
