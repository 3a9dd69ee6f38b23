"""What else a server has beside tools: resources, prompts, completion. Used through the gate, and listed to no model.

Each is a tool of the gate that is not listed, under the protocol's own name (`gh.resources/read`), declared by the
operator like any other.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from callgate.adapters.assemble import Parts, assemble
from callgate.adapters.declare import declare
from callgate.adapters.json_schema import compile_schema
from callgate.adapters.mcp.answered import answered
from callgate.adapters.mcp.foreign_tool import CONNECT, Home, declaration_of
from callgate.adapters.mcp.subscriptions import Subscriptions
from callgate.errors import ToolExecutionError
from callgate.model.canonical import dumps
from callgate.model.levels import Origin
from callgate.model.tool import Arguments, Tool, Validator
from callgate.model.tool_context import ToolContext

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import ServerCapabilities

READ, PROMPT, COMPLETE = "resources/read", "prompts/get", "completion/complete"
LISTS = {"resources/list": READ, "resources/templates/list": READ, "prompts/list": PROMPT}
"""What is listed, and what one must be able to use to see the list."""
METHODS = frozenset({READ, PROMPT, COMPLETE})
_READ_OVER = re.compile(r"^[\s\x00-\x20]+|[\t\n\r]")
"""What parsers of addresses leave out before they look."""
_PLAIN_FILE = re.compile(r"file://(?:localhost)?(/[^\\?#\x00-\x20\x7f]*)", re.IGNORECASE)
_MOST_PAGES = 100
_MOST = 10_000
_PATIENCE = 10.0
_TEXT = {"type": "string", "format": "text"}
"""The server's own names: what looks like a host or a path in them is none of ours."""
_SCHEMAS: dict[str, dict[str, Any]] = {
    READ: {
        "type": "object",
        "properties": {
            "resource": _TEXT,
            "path": {"type": "string", "format": "file-path"},
            "subscribe": {"type": "boolean"},
        },
        "required": ["resource"],
    },
    PROMPT: {
        "type": "object",
        "properties": {"name": _TEXT, "arguments": {"type": "object", "additionalProperties": _TEXT}},
        "required": ["name"],
    },
    COMPLETE: {
        "type": "object",
        "properties": {
            "prompt": _TEXT,
            "template": _TEXT,
            "argument": _TEXT,
            "value": _TEXT,
            "others": {"type": "object", "additionalProperties": _TEXT},
        },
        "required": ["argument", "value"],
    },
}
_ABOUT = {
    READ: "Read a resource of the server, or (subscribe) have it told when it changes.",
    PROMPT: "Get a prompt of the server, filled in.",
    COMPLETE: "Ask the server how an argument could go on.",
}
News = Callable[[str, str | None], None]
"""Told that a list changed (its method), or that a resource did (`resources/updated` and its URI)."""


class Relay:
    """The rest of one server.

    Args:
        home: The server.
        client: Gives the session, waited for so many seconds.
    """

    def __init__(self, home: Home, client: Callable[[float], Awaitable[Client]]) -> None:
        self._home = home
        self._client = client
        self._listeners: list[News] = []
        self.subscriptions = Subscriptions(client, missed=lambda uri: self._tell("resources/updated", uri))
        """Of which resources it tells."""

    def tools(self, has: ServerCapabilities) -> tuple[Tool, ...]:
        """What of it can be used: what the server has and the operator declared."""
        offered = {READ: has.resources, PROMPT: has.prompts, COMPLETE: has.completions}
        return tuple(made for method, there in offered.items() if there and (made := self._tool(method)) is not None)

    async def listed(self, method: str, patience: float) -> list[dict[str, Any]]:
        """Everything of one list, page by page.

        Raises:
            ToolExecutionError: The server refuses, or does not come to an end.
            NotSent: There is no session in time.
        """
        client = await self._client(patience)
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await answered(asyncio.wait_for(_page(client, method, cursor=cursor), patience))
            found += page[0]
            cursor = page[1]
            if cursor is None or len(found) > _MOST:
                return found[:_MOST]
        raise ToolExecutionError(f"the server's {method} has more than {_MOST_PAGES} pages")

    def listen(self, listener: News) -> Callable[[], None]:
        """Call `listener` with what the server says has changed; the function returned ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def heard(self, message: Any) -> None:
        """The server said something."""
        kind = _CHANGED.get(type(message).__name__)
        if kind is None:
            return
        self._tell(kind, str(message.params.uri) if kind == "resources/updated" else None)

    def _tell(self, kind: str, uri: str | None) -> None:
        for listener in list(self._listeners):
            listener(kind, uri)

    def _tool(self, method: str) -> Tool | None:
        home = self._home
        stated = declaration_of(method, home.declared)
        if stated is None:
            return None
        limit = declare().max_argument_bytes
        compiled = compile_schema(_SCHEMAS[method], limit=limit)
        declaration = declare(
            **{
                **stated,
                "scopes": {CONNECT, *stated.get("scopes", ())},
                "name": f"{home.prefix}.{method.replace('/', '_')}",
                "description": _ABOUT[method],
                "connector": home.connector,
                "source": Origin.MCP,
                "source_name": home.name,
                "config_ref": f"mcp_servers.{home.name}.declare",
            }
        )
        handler = self._handler(method)
        made = assemble(
            declaration,
            Parts(
                original=None,
                handler=handler,
                is_async=True,
                input_schema=compiled.schema,
                validator=_with_path(compiled.validator) if method == READ else compiled.validator,
                code=handler,
                output_schema=None,
                output_check=None,
                marks_effect=True,
            ),
        )
        # No tool of a server can be called that: a slash is in no tool's name.
        code = hashlib.sha256(dumps([home.place, method])).hexdigest()
        return dataclasses.replace(made, name=f"{home.prefix}.{method}", code_digest=code, declared=True)

    def _handler(self, method: str) -> Callable[[Arguments, ToolContext], Awaitable[Any]]:
        async def call(arguments: Arguments, context: ToolContext) -> Any:
            if arguments.get("subscribe"):
                # To be told of a resource takes what reading it takes: it is the same tool.
                async with context.effect():
                    await self.subscriptions.make(arguments["resource"], _PATIENCE)
                return {"subscribed": True}
            client = await self._client(_PATIENCE)
            async with context.effect():
                return await answered(_used(client, method, arguments=arguments))

        return call


_CHANGED = {
    "ResourceUpdatedNotification": "resources/updated",
    "ResourceListChangedNotification": "resources/list",
    "PromptListChangedNotification": "prompts/list",
}


def _with_path(validate: Validator) -> Validator:
    """A resource that is a file of this machine is judged as one, whatever the request says of it."""

    def validated(arguments: Mapping[str, Any], /) -> Arguments:
        final: dict[str, Any] = {name: value for name, value in validate(arguments).items() if name != "path"}
        path = _path_of(str(final["resource"]))
        return final if path is None else final | {"path": path}

    return validated


def _path_of(resource: str) -> str | None:
    """The path that a file's address leads to; None where it is none of a file.

    Servers read other spellings than the plain one in ways of their own, as another file: such an address stands for
    itself, which is no path that is allowed.
    """
    read = _READ_OVER.sub("", resource)
    if not read.lower().startswith("file:"):
        return None
    plain = _PLAIN_FILE.fullmatch(resource)
    return read if plain is None else unquote(plain[1])


async def _page(client: Client, method: str, *, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
    asks: dict[str, tuple[Callable[..., Awaitable[Any]], str]] = {
        "resources/list": (client.list_resources, "resources"),
        "resources/templates/list": (client.list_resource_templates, "resource_templates"),
        "prompts/list": (client.list_prompts, "prompts"),
    }
    ask, field = asks[method]
    page = await ask(cursor=cursor, cache_mode="bypass")
    return [_plain(each) for each in getattr(page, field)], page.next_cursor


async def _used(client: Client, method: str, *, arguments: Mapping[str, Any]) -> Any:
    import mcp_types  # noqa: PLC0415 - the SDK is loaded by now

    kinds: dict[str, tuple[Any, Any]] = {
        READ: (mcp_types.ReadResourceRequest, mcp_types.ReadResourceResult),
        PROMPT: (mcp_types.GetPromptRequest, mcp_types.GetPromptResult),
        COMPLETE: (mcp_types.CompleteRequest, mcp_types.CompleteResult),
    }
    request, result = kinds[method]
    params = _PARAMS[method](arguments)
    answer = await client.session.send_request(request.model_validate({"method": method, "params": params}), result)
    return _plain(answer)


def _completion(arguments: Mapping[str, Any]) -> dict[str, Any]:
    prompt, template = arguments.get("prompt"), arguments.get("template")
    ref = {"type": "ref/resource", "uri": template} if prompt is None else {"type": "ref/prompt", "name": prompt}
    params = {"ref": ref, "argument": {"name": arguments["argument"], "value": arguments["value"]}}
    return params | ({"context": {"arguments": arguments["others"]}} if "others" in arguments else {})


_PARAMS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    READ: lambda arguments: {"uri": arguments["resource"]},
    PROMPT: dict,
    COMPLETE: _completion,
}
"""From the arguments that are judged, under names that say what they are, to the protocol's own."""


def _plain(model: Any) -> dict[str, Any]:
    return model.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"result_type", "ttl_ms", "cache_scope"}
    )
