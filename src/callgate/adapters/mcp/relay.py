"""What else a server has beside tools: resources, prompts, completion. Used through the gate, and listed to no model.

Each is a tool of the gate that is not listed, under the protocol's own name (`gh.resources/read`), declared by the
operator like any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from callgate.adapters.assemble import Parts, assemble
from callgate.adapters.declare import declare
from callgate.adapters.json_schema import compile_schema
from callgate.adapters.mcp.following import Following
from callgate.adapters.mcp.foreign_tool import CONNECT, Home, declaration_of
from callgate.adapters.mcp.not_taken import NotSent
from callgate.errors import ToolExecutionError
from callgate.model.canonical import dumps
from callgate.model.levels import Origin
from callgate.model.tool import Arguments, Tool, Validator
from callgate.model.tool_context import ToolContext
from callgate.model.visible import cut

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
_LONGEST_ERROR = 500
_TEXT = {"type": "string", "format": "text"}
"""The server's own names: what looks like a host or a path in them is none of ours."""
_SCHEMAS: dict[str, dict[str, Any]] = {
    READ: {
        "type": "object",
        "properties": {"resource": _TEXT, "path": {"type": "string", "format": "file-path"}},
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
    READ: "Read a resource of the server.",
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
        self._wanted: Counter[str] = Counter()
        self._following = Following(client, missed=lambda uri: self._tell("resources/updated", uri))

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
            page = await _answered(asyncio.wait_for(_page(client, method, cursor=cursor), patience))
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

    async def subscribe(self, uri: str, patience: float) -> None:
        """Have the server tell when this resource changes; the first who asks for it subscribes.

        Raises:
            ToolExecutionError: The server refuses.
            NotSent: There is no session in time.
        """
        self._wanted[uri] += 1
        if self._wanted[uri] > 1:
            return
        try:
            await self._ask("SubscribeRequest", uri, patience=patience)
        except BaseException:
            self._leave(uri)
            raise

    async def unsubscribe(self, uri: str, patience: float) -> None:
        """The opposite; the last who leaves unsubscribes."""
        if self._leave(uri):
            await self._ask("UnsubscribeRequest", uri, patience=patience)

    async def resume(self, patience: float) -> None:
        """Subscribe again, in a new session, to what somebody still wants to hear of. What is gone by now is let be."""
        for uri in tuple(self._wanted):
            with contextlib.suppress(ToolExecutionError):
                await self._ask("SubscribeRequest", uri, patience=patience)

    async def close(self) -> None:
        """Follow nothing any more."""
        await self._following.close()

    def _leave(self, uri: str) -> bool:
        """One less wants to hear of it; whether that was the last."""
        self._wanted[uri] -= 1
        if self._wanted[uri] > 0:
            return False
        del self._wanted[uri]
        return True

    async def _ask(self, kind: str, uri: str, *, patience: float) -> None:
        import mcp_types  # noqa: PLC0415 - the SDK is loaded by now
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - as above

        client = await self._client(patience)
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # Such a server is listened to, and not subscribed at.
            await _answered(self._following.follow(lambda: frozenset(self._wanted), patience))
            return
        request = getattr(mcp_types, kind)(params={"uri": uri})
        await _answered(client.session.send_request(request, mcp_types.EmptyResult))

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
            client = await self._client(10.0)
            async with context.effect():
                return await _answered(_used(client, method, arguments=arguments))

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


async def _answered(answer: Awaitable[Any]) -> Any:
    """The answer, or an error in words.

    Raises:
        ToolExecutionError: The server refuses, says something else than the protocol, or nothing.
    """
    from mcp import MCPError  # noqa: PLC0415 - the SDK is loaded by now
    from mcp_types import CONNECTION_CLOSED  # noqa: PLC0415 - as above
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    try:
        return await answer
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise ConnectionError("the connection to the server was lost") from error
        raise ToolExecutionError(
            f"the server answered with an error: {cut(error.error.message, _LONGEST_ERROR)}"
        ) from error
    except ValidationError:
        raise ToolExecutionError("the server's answer is not what the protocol says") from None
    except TimeoutError:
        raise ToolExecutionError("the server did not answer in time") from None
    except RuntimeError as error:
        raise NotSent("the connection was closed") from error


def _plain(model: Any) -> dict[str, Any]:
    return model.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"result_type", "ttl_ms", "cache_scope"}
    )
