"""Tools from dicts, and objects of the Tool protocol."""

import asyncio
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from callgate.adapters.build import build_tool
from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError, InvalidArguments, ToolExecutionError
from callgate.model.context import Context
from callgate.model.levels import Effect, Risk
from callgate.model.tool import Tool
from callgate.model.tool_context import ToolContext

SCHEMA = {
    "type": "object",
    "properties": {"pattern": {"type": "string"}, "glob": {"type": "string"}},
    "required": ["pattern"],
}


def search(payload: dict[str, Any], context: Any) -> Any:
    return [payload["pattern"], context.session_id]


def no(payload: dict[str, Any], context: Any) -> None:
    raise PermissionError(payload["pattern"])


async def no_later(payload: dict[str, Any], context: Any) -> None:
    await asyncio.sleep(0)
    raise PermissionError(payload["pattern"])


def yes() -> bool:
    return True


def definition(**more: Any) -> dict[str, Any]:
    return {"name": "search_code", "description": "Search.", "input_schema": SCHEMA, "execute": search, **more}


async def run(made: Tool, arguments: dict[str, Any]) -> Any:
    assert made.handler is not None
    output = made.handler(made.validator(arguments), ToolContext(context=Context(session="s"), tool="t", call_id="c"))
    assert inspect.iscoroutine(output) is made.is_async
    return await output if made.is_async else output


async def check(made: Tool, arguments: dict[str, Any], context: Context | None = None) -> Any:
    assert made.hooks.check is not None
    answer = made.hooks.check(arguments, context or Context())
    return await answer if inspect.isawaitable(answer) else answer


@pytest.mark.requirement("REG-17")
async def test_a_tool_of_only_name_schema_and_execute_is_undeclared_effectful_and_not_concurrency_safe():
    made = build_tool(definition())
    assert made.declared is False
    assert made.read_only is False
    assert made.concurrency_safe is False
    assert made.destructive is True
    assert made.base_risk is Risk.HIGH
    assert made.hooks.check is None
    assert await run(made, {"pattern": "x"}) == ["x", "s"]


@pytest.mark.requirement("REG-17")
async def test_the_chapters_example_of_plain_functions_and_lambdas_works():
    made = build_tool(definition(is_read_only=lambda: True, is_concurrency_safe=lambda: True))
    assert (made.declared, made.read_only, made.concurrency_safe) == (True, True, True)
    assert made.base_risk is Risk.LOW
    assert await run(made, {"pattern": "x"}) == ["x", "s"]


def test_stated_permissions_declare_it():
    assert build_tool(definition(check_permissions=no)).declared is True
    assert build_tool(definition(), scopes="fs:read").declared is True
    assert build_tool(definition(scopes="fs:read")).scopes == {"fs:read"}
    assert build_tool(definition(effects="modifies_files"), effects="read_only").effects == {Effect.READ_ONLY}


@pytest.mark.parametrize("refusing", [no, no_later, staticmethod(no)])
async def test_a_check_is_awaited_whether_it_is_async_or_not(refusing: Any):
    made = build_tool(definition(check_permissions=refusing))
    with pytest.raises(PermissionError):
        await check(made, {"pattern": "x"})


@pytest.mark.parametrize("answer", [False, "yes", 1, None])
def test_only_true_is_read_only(answer: Any):
    made = build_tool(definition(is_read_only=lambda: answer, is_concurrency_safe=lambda: answer))
    assert (made.read_only, made.concurrency_safe) == (False, False)


def test_flags_may_be_plain_values():
    made = build_tool(definition(is_read_only=True, is_concurrency_safe=False))
    assert (made.read_only, made.concurrency_safe) == (True, False)


def test_the_arguments_are_held_against_the_schema():
    with pytest.raises(InvalidArguments, match="Missing required parameter: pattern"):
        build_tool(definition()).validator({})


async def async_flag() -> bool:
    return True


def broken_flag() -> bool:
    raise RuntimeError


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": None}, "name is missing"),
        ({"input_schema": None}, "input_schema is missing"),
        ({"execute": None}, "execute is missing"),
        ({"input_schema": [1]}, "JSON Schema"),
        ({"execute": "search"}, "a function of"),
        ({"execute": lambda: None}, r"must take \(payload, context\)"),
        ({"check_permissions": yes}, r"must take \(payload, context\)"),
        ({"check_permission": no}, "did you mean 'check_permissions'"),
        ({"is_readonly": True}, "did you mean 'is_read_only'"),
        ({"name": "Search Code"}, "name='search_code'"),
        ({"is_read_only": async_flag}, "must not be async"),
        ({"is_read_only": broken_flag}, "failed: RuntimeError"),
        ({"is_read_only": True, "effects": ["read_only", "local_exec"]}, "combines"),
        ({3: 4}, "knows no '3'"),
    ],
)
def test_a_wrong_definition_is_refused_with_a_reason(given: dict[Any, Any], words: str):
    with pytest.raises(ConfigurationError, match=words):
        build_tool({**definition(), **given})


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"output": 1, "error": None}, 1),
        ({"output": 1, "error": "", "duration_ms": 2.0}, 1),
        ({"output": 1}, {"output": 1}),
        ({"output": 1, "error": None, "more": 2}, {"output": 1, "error": None, "more": 2}),
        ({"error": "left for the gate to judge"}, {"error": "left for the gate to judge"}),
        ("text", "text"),
        (None, None),
    ],
)
async def test_a_result_gives_its_output_and_other_values_are_themselves(result: Any, output: Any):
    made = build_tool(definition(execute=lambda payload, context: result))  # pyright: ignore[reportUnknownLambdaType]
    assert await run(made, {"pattern": "x"}) == output


async def test_an_error_in_a_result_is_a_failure():
    made = build_tool(definition(execute=lambda payload, context: {"output": None, "error": "no disk"}))  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(ToolExecutionError, match="no disk"):
        await run(made, {"pattern": "x"})


class Result(BaseModel):
    output: Any
    error: str | None = None
    duration_ms: float = 0


@dataclass
class ReadFile:
    """As the chapter writes it."""

    name: str = "read_file"
    description: str = "Read a file."
    fails: bool = False

    input_schema = {  # noqa: RUF012 - as the chapter writes it
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer", "default": 2000}},
        "required": ["file_path"],
    }

    async def execute(self, payload: dict[str, Any], context: Any) -> Result:
        return Result(output=[payload["file_path"], payload["limit"]], error="gone" if self.fails else None)

    async def check_permissions(self, payload: dict[str, Any], context: Any) -> None:
        if not payload["file_path"].startswith(context.working_directory):
            raise PermissionError("outside")

    def is_read_only(self) -> bool:
        return True

    def is_concurrency_safe(self) -> bool:
        return True


async def test_an_object_of_the_protocol_is_a_tool():
    (made,) = convert(ReadFile())
    assert (made.name, made.description, made.is_async) == ("read_file", "Read a file.", True)
    assert (made.read_only, made.concurrency_safe, made.declared) == (True, True, True)
    assert await run(made, {"file_path": "/a"}) == ["/a", 2000]


def test_one_that_reads_and_takes_a_path_needs_to_read_files_unless_it_says_otherwise():
    assert convert(ReadFile())[0].scopes == {"fs:read"}
    assert convert(ReadFile(), scopes=[])[0].scopes == frozenset()
    assert convert(ReadFile(), scopes="notes:read")[0].scopes == {"notes:read"}
    assert convert(ReadFile(), effects="system_state")[0].scopes == frozenset()
    path = {"type": "object", "properties": {"path": {"type": "string"}}}
    silent = build_tool(definition(input_schema=path))
    assert (silent.scopes, silent.declared) == (frozenset(), False)
    assert build_tool(definition(is_read_only=True)).scopes == frozenset()
    assert build_tool(definition(is_read_only=True, input_schema={"type": "object"})).scopes == frozenset()


async def test_its_error_is_a_failure():
    (made,) = convert(ReadFile(fails=True))
    with pytest.raises(ToolExecutionError, match="gone"):
        await run(made, {"file_path": "/a"})


async def test_its_check_sees_a_session_and_an_absolute_directory_and_no_secrets(tmp_path: Path):
    (made,) = convert(ReadFile())
    inside = Context(working_directory=str(tmp_path))
    assert await check(made, {"file_path": f"{tmp_path}/x"}, inside) is None
    with pytest.raises(PermissionError):
        await check(made, {"file_path": "/elsewhere"}, inside)
    assert await check(made, {"file_path": f"{Path.cwd()}/x"}) is None


async def test_what_is_declared_on_adding_stands_before_what_the_object_says():
    def own(arguments: Any, context: Any) -> None: ...

    (made,) = convert(ReadFile(), name="other", effects="modifies_files", concurrency_safe=False, check=own, risk="low")
    assert (made.name, made.read_only, made.concurrency_safe) == ("other", False, False)
    assert made.hooks.check is own


async def test_objects_and_coroutines_as_execute_are_awaited():
    class Later:
        async def __call__(self, payload: Any, context: Any) -> Any:
            return {"output": payload["pattern"], "error": None}

    made = build_tool(definition(execute=Later()))
    assert made.is_async
    assert await run(made, {"pattern": "x"}) == "x"

    def hand_on(payload: Any, context: Any) -> Any:
        return Later()(payload, context)

    hands_on = build_tool(definition(execute=hand_on))
    assert hands_on.handler is not None
    assert await hands_on.handler({"pattern": "x"}, None) == "x"


def test_a_function_of_c_without_a_signature_is_taken_as_it_is():
    assert build_tool(definition(execute=max)).handler is not None
