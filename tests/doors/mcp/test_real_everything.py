"""In front of the reference server of npm: all that it has is listed and used through the gate as it is straight."""

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
from base64 import b64decode
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from callgate.settings.values import ServeSettings
from tests.adapters.mcp import real_servers
from tests.doors.http.conftest import served_gate
from tests.doors.mcp.conftest import with_token

pytestmark = pytest.mark.slow
_POLICY = """
version: 1
autonomy: A4
scopes: {net: {hosts: ["*"], private_addresses: true}}
"""
_OPEN = {"effects": ["read_only", "network_access"], "risk": "low"}
_ALL = {"*": _OPEN, "sampling/createMessage": _OPEN, "elicitation/create": _OPEN}
_CALLS: dict[str, list[dict[str, Any]]] = {
    "echo": [{"message": "hello"}, {"message": "\u202e<b>ü</b>"}, {"message": ""}],
    "get-annotated-message": [
        {"messageType": kind, "includeImage": image}
        for kind in ("error", "success", "debug")
        for image in (True, False)
    ],
    "get-env": [{}],
    "get-resource-links": [{"count": 1}, {"count": 10}, {}],
    "get-resource-reference": [
        {"resourceType": "Text", "resourceId": 1},
        {"resourceType": "Blob", "resourceId": 2},
        {"resourceType": "Text", "resourceId": -1},
    ],
    "get-structured-content": [{"location": place} for place in ("New York", "Chicago", "Los Angeles")],
    "get-sum": [{"a": 1, "b": 2.5}],
    "get-tiny-image": [{}],
    "gzip-file-as-resource": [
        {"name": "a.gz", "data": "{page}", "outputType": kind} for kind in ("resource", "resourceLink")
    ],
    "toggle-simulated-logging": [{}, {}],
    "toggle-subscriber-updates": [{}, {}],
    "trigger-long-running-operation": [{"duration": 0.2, "steps": 2}],
    "trigger-elicitation-request": [{}],
    "trigger-url-elicitation": [{"url": "http://127.0.0.1:9/", "elicitationId": "e1"}],
    "trigger-sampling-request": [{"prompt": "hello", "maxTokens": 10}],
    "simulate-research-query": [{"topic": "gates"}],
}
"""Every tool that it lists to a client that samples and shows forms, and how it is called."""
_PROMPTS: dict[str, dict[str, str]] = {
    "simple-prompt": {},
    "args-prompt": {"city": "Ulm", "state": "BW"},
    "completable-prompt": {"department": "Engineering", "name": "Alice"},
    "resource-prompt": {"resourceType": "Text", "resourceId": "1"},
}
_DEPARTMENTS = types.PromptReference(name="completable-prompt")
_COMPLETED: list[tuple[Any, dict[str, str], dict[str, str] | None]] = [
    (_DEPARTMENTS, {"name": "department", "value": "E"}, None),
    (_DEPARTMENTS, {"name": "name", "value": "A"}, {"department": "Engineering"}),
    (types.PromptReference(name="resource-prompt"), {"name": "resourceId", "value": "3"}, None),
    (
        types.ResourceTemplateReference(uri="demo://resource/dynamic/text/{resourceId}"),
        {"name": "resourceId", "value": "3"},
        None,
    ),
]
_READ = ("demo://resource/dynamic/text/7", "demo://resource/dynamic/blob/7", "demo://resource/dynamic/text/x")
_ALTERS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{1,2}:\d\d:\d\d\s?[AP]M|\d{4}-\d\d-\d\dT[\d:.]+Z"
)
"""Sessions and moments: no two answers have the same."""


class Both(NamedTuple):
    """The same server twice."""

    straight: Client
    through: Client


@asynccontextmanager
async def _server(folder: Path) -> AsyncGenerator[str]:
    """The server over streamable HTTP, at a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = real_servers.npm_server("server-everything", "streamableHttp")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        while b"listening" not in await asyncio.wait_for(process.stderr.readline(), 60):
            pass
        reading = asyncio.ensure_future(process.stderr.read())
        yield f"http://127.0.0.1:{port}/mcp"
        reading.cancel()
    finally:
        process.kill()
        await process.wait()


async def _sampled(_context: Any, params: Any) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text=f"I was told {params.messages[0].content.text!r}")
    return types.CreateMessageResult(role="assistant", content=said, model="m", stop_reason="endTurn")


async def _elicited(_context: Any, params: Any) -> types.ElicitResult:
    if getattr(params, "mode", "form") == "url":
        return types.ElicitResult(action="accept")
    return types.ElicitResult(action="accept", content={"name": "Ada"})


@asynccontextmanager
async def _both(folder: Path, **ears: dict[str, Any]) -> AsyncGenerator[Both]:
    (folder / "callgate.yaml").write_text(_POLICY)
    can: dict[str, Any] = {"sampling_callback": _sampled, "elicitation_callback": _elicited, "mode": "legacy"}
    gate = Callgate.open("memory://", folder / "callgate.yaml")
    async with _server(folder) as url, served_gate(gate, ServeSettings(port=0)) as served:
        await served.gate.attach(McpServer("everything", url=url, declare=_ALL))
        _, token = await served.gate.admit_agent("reader", by="operator")
        async with (
            Client(streamable_http_client(url), cache=None, **can, **ears.get("straight", {})) as straight,
            with_token(f"{served.url}/mcp/everything", token, **can, **ears.get("through", {})) as through,
        ):
            yield Both(straight, through)


def _plain(model: Any) -> Any:
    """What a client sees, without what is the gate's own and what is never the same twice."""
    found = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    found.pop("_meta", None)
    _unpack(found.get("contents", ()))
    if "content" in found:
        found["content"] = _gathered(found)
    return json.loads(_ALTERS.sub("?", json.dumps(found, sort_keys=True)))


def _gathered(found: dict[str, Any]) -> list[Any]:
    """Through the gate texts are one, and stand before all else; of structured content the text is its JSON."""
    texts = [each["text"] for each in found["content"] if each["type"] == "text"]
    _unpack(each["resource"] for each in found["content"] if each["type"] == "resource")
    text: Any = json.loads(texts[0]) if "structuredContent" in found else "\n".join(texts)
    return [text, *(each for each in found["content"] if each["type"] != "text")]


def _unpack(resources: Iterable[dict[str, Any]]) -> None:
    """Some say when they were made; what is packed does not."""
    for resource in resources:
        with contextlib.suppress(UnicodeDecodeError):
            resource["blob"] = b64decode(resource.get("blob", "")).decode()


async def _said(both: Both, ask: str, *given: Any) -> tuple[Any, Any]:
    """What each of them says, or the words of its refusal."""
    said: list[Any] = []
    for client in both:
        try:
            said.append(_plain(await getattr(client, ask)(*given)))
        except MCPError as error:
            said.append({"isError": True, "content": [error.error.message]})
    return said[0], said[1]


def _is_same(straight: Any, through: Any) -> bool:
    if straight.get("isError"):
        # The gate has words of its own around the server's.
        return bool(through.get("isError")) and straight["content"][0] in through["content"][0]
    return straight == through


async def test_every_tool_is_listed_as_it_is_and_answers_as_it_does(tmp_path: Path):
    other: list[Any] = []
    async with _both(tmp_path) as both, _page() as page:
        listed = [{tool.name: tool for tool in (await client.list_tools()).tools} for client in both]
        for name, calls in _CALLS.items():
            for given in calls:
                arguments = {key: page if value == "{page}" else value for key, value in given.items()}
                answers = await _said(both, "call_tool", name, arguments)
                other += [] if _is_same(*answers) else [(name, arguments, *answers)]
    assert other == []
    assert set(listed[0]) == set(_CALLS)
    assert set(listed[1]) == {*_CALLS, "approval_result"}
    for name in _CALLS:
        own, shown = listed[0][name], listed[1][name]
        for field in ("description", "input_schema", "output_schema"):
            assert getattr(shown, field) == getattr(own, field), (name, field)


async def test_resources_prompts_and_completion_are_the_same(tmp_path: Path):
    other: list[Any] = []
    async with _both(tmp_path) as both:
        uris = [each.uri for each in (await both.straight.list_resources()).resources]
        prompts = {each.name for each in (await both.straight.list_prompts()).prompts}
        asks: list[tuple[Any, ...]] = [("list_resources",), ("list_resource_templates",), ("list_prompts",)]
        asks += [("read_resource", uri) for uri in (*uris, *_READ)]
        asks += [("get_prompt", name, given) for name, given in _PROMPTS.items()]
        asks += [("complete", *each) for each in _COMPLETED]
        for ask in asks:
            answers = await _said(both, *ask)
            other += [] if _is_same(*answers) else [answers]
    assert other == []
    assert len(uris) > 5
    assert prompts == set(_PROMPTS)


async def test_progress_and_changes_of_resources_arrive_as_they_do(tmp_path: Path):
    uri = "demo://resource/dynamic/text/1"
    heard: dict[str, list[Any]] = {"straight": [], "through": []}
    updated = {"straight": asyncio.Event(), "through": asyncio.Event()}

    def hears(name: str) -> Any:
        async def hear(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification) and str(message.params.uri) == uri:
                updated[name].set()

        return {"message_handler": hear}

    async with _both(tmp_path, straight=hears("straight"), through=hears("through")) as both:
        for name, client in both._asdict().items():

            async def told(*said: Any, name: str = name) -> None:
                heard[name].append(said[:2])

            step = {"duration": 0.3, "steps": 3}
            await client.call_tool("trigger-long-running-operation", step, progress_callback=told)
            await client.session.send_request(
                types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)), types.EmptyResult
            )
            await client.call_tool("toggle-subscriber-updates")
            await asyncio.wait_for(updated[name].wait(), 60)
    # The gate tells a fraction.
    assert [done / total for done, total in heard["straight"]] == [done / total for done, total in heard["through"]]


async def test_the_official_inspector_lists_and_calls_through_it(tmp_path: Path):
    (tmp_path / "callgate.yaml").write_text(_POLICY)
    gate = Callgate.open("memory://", tmp_path / "callgate.yaml")
    inspector = real_servers.npm_program("inspector", "clients/launcher/build/index.js", "--cli")
    async with _server(tmp_path) as url, served_gate(gate, ServeSettings(port=0)) as served:
        await served.gate.attach(McpServer("everything", url=url, declare=_ALL))
        _, token = await served.gate.admit_agent("inspector", by="operator")
        where = [f"{served.url}/mcp/everything", "--transport", "http", "--header", f"Authorization: Bearer {token}"]
        answers = [
            await _run([*inspector, *where, "--method", *words], tmp_path)
            for words in (
                ["tools/list"],
                ["tools/call", "--tool-name", "get-sum", "--tool-arg", "a=40", "--tool-arg", "b=2"],
                ["resources/list"],
                ["resources/read", "--uri", "demo://resource/dynamic/text/1"],
                ["prompts/list"],
                ["prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Ulm"],
            )
        ]
    tools, total, resources, read, prompts, prompt = answers
    # It samples nothing and shows no forms.
    assert {each["name"] for each in tools["tools"]} >= {"echo", "get-sum", "approval_result"}
    assert total["content"][0]["text"] == "The sum of 40 and 2 is 42."
    assert len(resources["resources"]) > 5
    assert read["contents"][0]["text"].startswith("Resource 1")
    assert {each["name"] for each in prompts["prompts"]} == set(_PROMPTS)
    assert "Ulm" in prompt["messages"][0]["content"]["text"]


async def _run(command: list[str], folder: Path) -> Any:
    """What the inspector prints; never over a proxy, and nothing of ours in its environment."""
    env = {"PATH": f"{real_servers.NODE.parent}:{os.environ['PATH']}", "HOME": str(folder), "NO_COLOR": "1"}
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done
    return json.loads(done.stdout)


@asynccontextmanager
async def _page() -> AsyncGenerator[str]:
    """Something to fetch."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a.txt"
