"""The tool system of seed 002: the protocol, its immutable registry, both SDKs, build_tool, and pools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import anthropic
import openai
import pytest

from callgate import Callgate
from callgate.compat.protocol import ToolContext, ToolRegistry, ToolResult, assemble_tool_pool, build_tool
from callgate.errors import ConfigurationError, InvalidArguments, PolicyDenied, ToolNotFoundError
from callgate.testing import memory_gate
from tests.seeds.provider import provider
from tests.seeds.witness import ran, story, types


class ReadFileTool:
    """Reads a file, as the chapter's reference does; its own check is as weak as the chapter's."""

    name = "read_file"
    description = "Read the contents of a file from disk."
    input_schema: dict[str, Any] = {  # noqa: RUF012 - as the protocol has it
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Absolute path to the file to read."},
            "offset": {"type": "integer", "description": "Line number to start reading from (1-based)."},
            "limit": {"type": "integer", "description": "Maximum number of lines to read."},
        },
        "required": ["file_path"],
    }

    def __init__(self) -> None:
        self.read: list[str] = []

    async def execute(self, payload: dict[str, Any], context: Any) -> ToolResult:
        self.read.append(payload["file_path"])
        text = await asyncio.to_thread(Path(payload["file_path"]).read_text)
        first = payload.get("offset", 1)
        lines = text.splitlines(keepends=True)[first - 1 :][: payload.get("limit", 2000)]
        return ToolResult("".join(f"{number}\t{line}" for number, line in enumerate(lines, first)), duration_ms=1.5)

    async def check_permissions(self, payload: dict[str, Any], context: Any) -> None:
        if not payload["file_path"].startswith("/"):
            raise PermissionError("File path must be absolute")
        if not payload["file_path"].startswith(context.working_directory):
            raise PermissionError("Path outside working directory")

    def is_read_only(self) -> bool:
        return True

    def is_concurrency_safe(self) -> bool:
        return True


@pytest.fixture
def note(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    file = folder / "test.py"
    file.write_text("one\ntwo\nthree\n")
    return file


def here(note: Path) -> ToolContext:
    return ToolContext(working_directory=str(note.parent), session_id="session-001")


async def test_registering_gives_another_registry_and_an_absent_name_raises():
    """Stands for the chapter's ToolRegistry: register returns a new one, get raises KeyError."""
    async with memory_gate() as gate:
        empty = ToolRegistry(gate)
        registry = empty.register(ReadFileTool())
        assert registry is not empty
        assert (empty.to_anthropic_tools(), len(registry.to_anthropic_tools())) == ([], 1)
        with pytest.raises(KeyError, match="Unknown tool: read_file"):
            empty.get("read_file")
        assert registry.get("read_file").description == ReadFileTool.description
        with pytest.raises(ConfigurationError, match="already registered"):
            registry.register(ReadFileTool())
        with pytest.raises(ConfigurationError, match="cannot be a tool"):
            registry.register(3)


async def test_one_tool_may_be_in_many_registries_of_a_gate():
    """Stands for the immutable pattern: branches of one registry know nothing of each other."""
    async with memory_gate() as gate:
        base, tool = ToolRegistry(gate), ReadFileTool()
        first, second = base.register(tool), base.register(tool)
        assert first.to_openai_tools() == second.to_openai_tools()
        other = base.register({"name": "other", "input_schema": {"type": "object"}, "execute": search})
        with pytest.raises(ToolNotFoundError):
            other.get("read_file")
        assert [each.name for each in gate.tools()] == ["read_file", "other"]


async def test_definitions_for_both_providers_come_from_the_one_schema():
    """Stands for to_anthropic_tools, to_openai_tools and the table of their differences."""
    registry = ToolRegistry().register(ReadFileTool())
    schema = ReadFileTool.input_schema
    words = {"name": "read_file", "description": ReadFileTool.description}
    assert registry.to_anthropic_tools() == [{**words, "input_schema": schema}]
    assert registry.to_openai_tools() == [{"type": "function", **words, "parameters": schema}]


async def test_the_reference_tool_reads_through_the_gate(note: Path):
    """Stands for ReadFileTool: lines with their numbers, from an offset, up to a limit, as a ToolResult."""
    async with memory_gate() as gate:
        tool = ToolRegistry(gate).register(ReadFileTool()).get("read_file")
        whole = await tool.execute({"file_path": str(note)}, here(note))
        assert (whole.output, whole.error) == ("1\tone\n2\ttwo\n3\tthree\n", None)
        assert whole.duration_ms >= 0
        part = await tool.execute({"file_path": str(note), "offset": 2, "limit": 1}, here(note))
        assert part.output == "2\ttwo\n"
        assert (tool.is_read_only(), tool.is_concurrency_safe()) == (True, True)
        assert await story(gate) == ran("read_file", "read_file")


async def test_a_file_that_is_not_there_is_an_error_in_the_result(note: Path):
    """Stands for ToolResult.error: what fails is told and raises nothing."""
    async with memory_gate() as gate:
        tool = ToolRegistry(gate).register(ReadFileTool()).get("read_file")
        gone = await tool.execute({"file_path": f"{note}.gone"}, here(note))
        assert (gone.output, gone.category) == (None, "resource_error")
        assert gone.error
        wrong = await tool.execute({"offset": "two"}, here(note))
        assert wrong.category == "user_input_error"
        assert await types(gate) == ["tool_call.attempted", "tool_call.failed", "tool_call.refused"]


async def test_permissions_are_asked_before_and_again_with_the_call(note: Path):
    """Stands for check_permissions: it refuses by itself, and nobody gets around it by not asking."""
    async with memory_gate() as gate:
        reader = ReadFileTool()
        tool = ToolRegistry(gate).register(reader).get("read_file")
        await tool.check_permissions({"file_path": str(note)}, here(note))
        for path in ("test.py", "/etc/passwd"):
            with pytest.raises(PermissionError):
                await tool.check_permissions({"file_path": path}, here(note))
            refused = await tool.execute({"file_path": path}, here(note))
            assert (refused.output, refused.category) == (None, "permission_error")
        with pytest.raises(InvalidArguments, match="Missing required parameter: file_path"):
            await tool.check_permissions({}, here(note))
        assert reader.read == []
        assert await types(gate) == ["tool_call.refused"] * 2


@pytest.mark.parametrize("path", ["{root}evil/x", "{root}/../secret", "{root}/link/secret"])
async def test_a_path_that_only_begins_like_the_directory_is_refused_by_the_gate(note: Path, path: str):
    """Stands for the chapter's prefix test, which all of these pass; the gate resolves them."""
    root = note.parent
    for place in (root.with_name("rootevil") / "x", root.with_name("secret")):
        place.parent.mkdir(exist_ok=True)
        place.write_text("secret")
    (root / "link").symlink_to(root.parent)
    async with memory_gate() as gate:
        reader = ReadFileTool()
        tool = ToolRegistry(gate).register(reader).get("read_file")
        payload = {"file_path": path.format(root=root)}
        await reader.check_permissions(payload, here(note))
        with pytest.raises(PolicyDenied):
            await tool.check_permissions(payload, here(note))
        assert (await tool.execute(payload, here(note))).output is None
        assert reader.read == []


async def answers_to_blocks(registry: ToolRegistry, content: list[Any], context: ToolContext) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for block in content:
        if block.type == "tool_use":
            tool = registry.get(block.name)
            await tool.check_permissions(block.input, context)
            result = await tool.execute(block.input, context)
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": result.output})
    return results


async def test_using_tools_with_the_anthropic_sdk(note: Path):
    """Stands for the chapter's loop over response.content, with the SDK itself and a provider on loopback."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"file_path": str(note), "limit": 1}}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "a-model",
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [{"type": "text", "text": "Let me look."}, use],
    }
    done = {**message, "stop_reason": "end_turn", "content": [{"type": "text", "text": "It says one."}]}
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        registry = registry.register(ReadFileTool())
        with provider(message, done) as served, anthropic.Anthropic(base_url=served.url, api_key="none") as client:
            messages: list[Any] = [{"role": "user", "content": "Read the file"}]
            tools = cast("Any", registry.to_anthropic_tools())
            response = client.messages.create(model="a-model", max_tokens=4096, messages=messages, tools=tools)
            results = await answers_to_blocks(registry, response.content, here(note))
            messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": results}]
            final = client.messages.create(model="a-model", max_tokens=4096, messages=messages, tools=tools)
        assert served.asked[0]["tools"] == registry.to_anthropic_tools()
        assert served.asked[1]["messages"][-1]["content"][0]["content"] == "1\tone\n"
        assert final.stop_reason == "end_turn"
        assert await story(gate) == ran("read_file")


async def answers_to_items(registry: ToolRegistry, output: list[Any], context: ToolContext) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for item in output:
        if item.type == "function_call":
            tool = registry.get(item.name)
            payload = json.loads(item.arguments)
            await tool.check_permissions(payload, context)
            result = await tool.execute(payload, context)
            results.append({"type": "function_call_output", "call_id": item.call_id, "output": result.output})
    return results


@pytest.mark.slow
async def test_using_tools_with_the_openai_sdk(note: Path):
    """Stands for the chapter's loop over response.output, with the SDK itself and a provider on loopback."""
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "read_file",
        "arguments": json.dumps({"file_path": str(note), "offset": 3}),
        "status": "completed",
    }
    answer: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "a-model",
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        registry = registry.register(ReadFileTool())
        with (
            provider(answer, {**answer, "output": []}) as served,
            openai.OpenAI(base_url=served.url, api_key="none") as client,
        ):
            tools = cast("Any", registry.to_openai_tools())
            response = client.responses.create(model="a-model", input="Read the file", tools=tools)
            outputs = await answers_to_items(registry, response.output, here(note))
            client.responses.create(model="a-model", input=cast("Any", [item, *outputs]), tools=tools)
        assert served.asked[0]["tools"] == registry.to_openai_tools()
        assert served.asked[1]["input"][-1]["output"] == "3\tthree\n"
        assert await story(gate) == ran("read_file")


async def search(payload: dict[str, Any], context: Any) -> list[str]:
    return [payload["pattern"], context.session_id]


SEARCH: dict[str, Any] = {
    "name": "search_code",
    "description": "Search for a pattern across files.",
    "input_schema": {
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "glob": {"type": "string"}},
        "required": ["pattern"],
    },
    "execute": search,
}


async def test_build_tool_makes_a_tool_of_a_dict_of_functions(note: Path):
    """Stands for the usage of build_tool: plain functions and lambdas as values."""
    search_tool = build_tool({**SEARCH, "is_read_only": lambda: True, "is_concurrency_safe": lambda: True})
    async with memory_gate() as gate:
        tool = ToolRegistry(gate).register(search_tool).get("search_code")
        assert (tool.is_read_only(), tool.is_concurrency_safe()) == (True, True)
        assert (await tool.execute({"pattern": "x"}, here(note))).output == ["x", "session-001"]
        assert await story(gate) == ran("search_code")


async def test_a_forgotten_flag_opens_no_hole(note: Path):
    """Stands for the fail-closed defaults: without flags it is neither read-only nor safe, and nobody may call it."""
    async with memory_gate() as gate:
        tool = ToolRegistry(gate).register(build_tool(SEARCH)).get("search_code")
        assert (tool.is_read_only(), tool.is_concurrency_safe()) == (False, False)
        with pytest.raises(PermissionError, match="declares no effects"):
            await tool.check_permissions({"pattern": "x"}, here(note))
        result = await tool.execute({"pattern": "x"}, here(note))
        assert (result.output, result.category) == (None, "permission_error")
        assert await types(gate) == ["tool_call.refused"]


def named(name: str) -> Any:
    return build_tool({**SEARCH, "name": name, "is_read_only": True})


def test_a_pool_is_filtered_sorted_and_without_doubles():
    """Stands for assemble_tool_pool: denied names go, built-ins first, each part by name, the built-in wins."""
    built_in = [named("write"), named("read"), named("fetch")]
    mcp_tools = [named("zip"), named("read"), named("ask")]
    pool = assemble_tool_pool(built_in, mcp_tools, {"write"})
    assert [tool.name for tool in pool] == ["fetch", "read", "ask", "zip"]
    assert pool[1] is built_in[1]
    turned = assemble_tool_pool(built_in[::-1], mcp_tools[::-1], {"write"})
    assert turned == pool


async def test_the_names_that_travel_lead_back_to_the_tool(note: Path):
    """Stands for dispatching through the registry by the name that the model wrote."""
    async with memory_gate() as gate:
        registry = ToolRegistry(gate).register(named("code.search"))
        [definition] = registry.to_anthropic_tools()
        assert definition["name"] == "code__search"
        assert (await registry.get("code__search").execute({"pattern": "x"}, here(note))).error is None
        assert await story(gate) == ran("code.search")


async def test_a_registry_without_a_gate_opens_one_with_its_first_call(
    note: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Stands for `registry = ToolRegistry()` as the chapter writes it."""
    monkeypatch.chdir(tmp_path)
    registry = ToolRegistry()
    registry = registry.register(ReadFileTool())
    context = ToolContext(working_directory=str(note.parent), session_id="session-001")
    tool = registry.get("read_file")
    both = await asyncio.gather(*(tool.execute({"file_path": str(note)}, context) for _ in range(2)))
    assert [result.error for result in both] == [None, None]
    await registry.close()
    async with ToolRegistry() as other, Callgate.open() as again:
        assert other is not registry
        assert sorted(await story(again)) == sorted(ran("read_file", "read_file"))
