"""A server with everything the protocol has, under the names that the official conformance runner asks for."""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.needed import missing

_SECONDS = 30.0
SDK = Path(sys.prefix) / "mcp-sdk"
"""Where `make setup` unpacks the source distribution of the official SDK."""
PNG = base64.b64encode(
    base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
).decode()
WAV = base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00").decode()
Handler = Callable[[Any, dict[str, Any]], Awaitable[list[types.ContentBlock]]]
_NONE: dict[str, Any] = {"type": "object", "properties": {}}
_STRICT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _embedded(uri: str, text: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return types.EmbeddedResource(type="resource", resource=contents)


_IMAGE = types.ImageContent(type="image", data=PNG, mime_type="image/png")
_AUDIO = types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")


async def _logging(asked: Any, _arguments: dict[str, Any]) -> list[types.ContentBlock]:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        params = types.LoggingMessageNotificationParams(level="info", data=line)
        note = types.LoggingMessageNotification(params=params)
        await asked.session.send_notification(note, related_request_id=asked.request_id)
    return [_text("logged")]


async def _progress(asked: Any, _arguments: dict[str, Any]) -> list[types.ContentBlock]:
    for done in (0, 50, 100):
        await asked.session.report_progress(done, 100, f"{done} of 100")
    return [_text("done")]


async def _sampling(asked: Any, arguments: dict[str, Any]) -> list[types.ContentBlock]:
    message = types.SamplingMessage(role="user", content=_text(arguments["prompt"]))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    answer = await asked.session.send_request(
        types.CreateMessageRequest(params=params), types.CreateMessageResult, metadata=_related(asked)
    )
    return [_text(f"LLM response: {answer.content.text}")]


def _related(asked: Any) -> Any:
    from mcp.shared.message import ServerMessageMetadata  # noqa: PLC0415 - only here

    return ServerMessageMetadata(related_request_id=asked.request_id)


def _elicits(message: Callable[[dict[str, Any]], str], properties: dict[str, Any]) -> Handler:
    async def elicit(asked: Any, arguments: dict[str, Any]) -> list[types.ContentBlock]:
        schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
        answer = await asked.session.elicit_form(message(arguments), schema, related_request_id=asked.request_id)
        return [_text(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content or {})}")]

    return elicit


async def _reconnection(_asked: Any, _arguments: dict[str, Any]) -> list[types.ContentBlock]:
    return [_text("Reconnection test completed")]


async def _failing(_asked: Any, _arguments: dict[str, Any]) -> list[types.ContentBlock]:
    message = "This tool intentionally returns an error for testing"
    raise ValueError(message)


def _gives(*blocks: types.ContentBlock) -> Handler:
    async def give(_asked: Any, _arguments: dict[str, Any]) -> list[types.ContentBlock]:
        return list(blocks)

    return give


_DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)]
_OPTIONS = ["option1", "option2", "option3"]
_ENUMS = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}
TOOLS: dict[str, tuple[dict[str, Any], Handler]] = {
    "test_simple_text": (_NONE, _gives(_text("This is a simple text response for testing."))),
    "test_image_content": (_NONE, _gives(_IMAGE)),
    "test_audio_content": (_NONE, _gives(_AUDIO)),
    "test_embedded_resource": (_NONE, _gives(_embedded("test://embedded-resource", "an embedded resource"))),
    "test_multiple_content_types": (
        _NONE,
        _gives(_text("Multiple content types test:"), _IMAGE, _embedded("test://mixed-content-resource", "{}")),
    ),
    "test_tool_with_logging": (_NONE, _logging),
    "test_error_handling": (_NONE, _failing),
    "test_tool_with_progress": (_NONE, _progress),
    "test_sampling": (
        {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
        _sampling,
    ),
    "test_elicitation": (
        {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
        _elicits(lambda arguments: arguments["message"], {"response": {"type": "string"}}),
    ),
    "test_elicitation_sep1034_defaults": (_NONE, _elicits(lambda _: "Check the defaults", _DEFAULTS)),
    "test_elicitation_sep1330_enums": (_NONE, _elicits(lambda _: "Choose", _ENUMS)),
    "test_reconnection": (_NONE, _reconnection),
    "json_schema_2020_12_tool": (_STRICT, _gives(_text("fits"))),
}
_STATIC = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="watched"
    ),
}


class Everything(Server[Any]):
    """The server; what it was asked is kept, as a witness."""

    def __init__(self) -> None:
        super().__init__(
            "everything",
            version="1",
            on_list_tools=self._tools,
            on_call_tool=self._call,
            on_list_resources=self._resources,
            on_list_resource_templates=self._templates,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_list_prompts=self._prompts,
            on_get_prompt=self._prompt,
            on_completion=self._complete,
        )
        self.read: list[str] = []
        self.metas: list[dict[str, Any]] = []
        """What came beside each call of a tool."""
        self.watched: dict[str, Any] = {}
        self.left = asyncio.Event()
        self.gone: set[str] = set()
        """What it does not tell of any more."""
        self.refused: list[str] = []
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._level)

    def create_initialization_options(self, *_given: Any, **_more: Any) -> Any:
        return super().create_initialization_options(NotificationOptions(resources_changed=True, prompts_changed=True))

    async def change(self, uri: str) -> None:
        """Tell whoever watches that it changed."""
        await self.watched[uri].send_resource_updated(uri)

    async def _level(self, _asked: Any, _params: Any) -> Any:
        return {}

    async def _tools(self, _asked: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=f"{name} for tests", input_schema=schema)
                for name, (schema, _) in TOOLS.items()
            ]
        )

    async def _call(self, asked: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.metas.append(dict(asked.meta or {}))
        try:
            blocks = await TOOLS[params.name][1](asked, params.arguments or {})
        except (ValueError, KeyError) as error:
            return types.CallToolResult(content=[_text(str(error))], is_error=True)
        return types.CallToolResult(content=blocks)

    async def _resources(self, _asked: Any, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[types.Resource(uri=uri, name=uri, mime_type=each.mime_type) for uri, each in _STATIC.items()]
        )

    async def _templates(self, _asked: Any, _params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read(self, _asked: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        self.read.append(params.uri)
        if params.uri.startswith("test://template/"):
            number = params.uri.removeprefix("test://template/").removesuffix("/data")
            text = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
            contents = types.TextResourceContents(uri=params.uri, mime_type="application/json", text=text)
            return types.ReadResourceResult(contents=[contents])
        return types.ReadResourceResult(contents=[_STATIC[params.uri]])

    async def _subscribe(self, asked: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        if params.uri in self.gone:
            self.watched.pop(params.uri, None)
            self.refused.append(params.uri)
            raise MCPError(types.INVALID_PARAMS, f"there is no {params.uri}")
        self.watched[params.uri] = asked.session
        return types.EmptyResult()

    async def _unsubscribe(self, _asked: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self.watched.pop(params.uri, None)
        self.left.set()
        return types.EmptyResult()

    async def _prompts(self, _asked: Any, _params: Any) -> types.ListPromptsResult:
        two = [types.PromptArgument(name=name, required=True) for name in ("arg1", "arg2")]
        uri = [types.PromptArgument(name="resourceUri", required=True)]
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name="test_simple_prompt", description="simple"),
                types.Prompt(name="test_prompt_with_arguments", description="with arguments", arguments=two),
                types.Prompt(name="test_prompt_with_embedded_resource", description="with a resource", arguments=uri),
                types.Prompt(name="test_prompt_with_image", description="with an image"),
            ]
        )

    async def _prompt(self, _asked: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = params.arguments or {}
        blocks: dict[str, list[types.ContentBlock]] = {
            "test_simple_prompt": [_text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments": [
                _text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
            ],
            "test_prompt_with_embedded_resource": [
                _embedded(given.get("resourceUri", "test://x"), "embedded"),
                _text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image": [_IMAGE, _text("Please analyze the image above.")],
        }
        return types.GetPromptResult(
            messages=[types.PromptMessage(role="user", content=block) for block in blocks[params.name]]
        )

    async def _complete(self, _asked: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        fitting = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
        return types.CompleteResult(completion=types.Completion(values=fitting, total=len(fitting), has_more=False))


class _Old:
    """Knows nothing of protocols after 2025-11-25, as most servers do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            said = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode()
            if said and said not in HANDSHAKE_PROTOCOL_VERSIONS:
                error = {"code": -32600, "message": f"Bad Request: Unsupported protocol version: {said}"}
                await JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)(scope, receive, send)
                return
        await self._app(scope, receive, send)


@asynccontextmanager
async def everything_server() -> AsyncGenerator[tuple[Everything, str]]:
    """The server at a free port of this machine, and its URL."""
    server = Everything()
    async with at_free_port(_Old(server.streamable_http_app())) as url:
        yield server, f"{url}/mcp"


@asynccontextmanager
async def sdk_everything_server() -> AsyncGenerator[str]:
    """The everything-server of the official SDK, as its source distribution has it, at a free port; its URL.

    It speaks protocols up to 2025-11-25, of which the official runner has scenarios: what a server of the newest one
    asks back is not passed on.
    """
    found: Any = module_from_spec(spec := _sdk_source())
    assert spec.loader is not None  # it is a file
    spec.loader.exec_module(found)
    app = found.mcp.streamable_http_app(event_store=found.event_store, retry_interval=100)
    async with at_free_port(_Old(app)) as url:
        yield f"{url}/mcp"


def _sdk_source() -> ModuleSpec:
    found = [*SDK.glob("mcp-*/examples/servers/everything-server/mcp_everything_server/server.py")]
    spec = spec_from_file_location("mcp_everything_server", found[0]) if found else None
    if spec is None:
        missing("the everything-server of the SDK is not there; run make setup where a package index can be reached")
    return spec


@asynccontextmanager
async def at_free_port(app: ASGIApp) -> AsyncGenerator[str]:
    """An app at a free port of this machine; where."""
    config = uvicorn.Config(app, port=0, log_config=None, lifespan="on", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    task = asyncio.ensure_future(running.serve())
    async with asyncio.timeout(_SECONDS):
        while not running.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        await task
