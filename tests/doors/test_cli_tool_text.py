"""`callgate tools show`: types with their bounds, what comes back, and examples that can be pasted."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doors.running import TOOLS, Cli, Terminal

MODELS = """
from typing import Annotated, Literal, TypedDict
from pydantic import BaseModel, Field
from callgate import tool

class Point(BaseModel):
    x: float
    y: float = 0.0

class Tree(BaseModel):
    name: str
    inside: list["Tree"] = []

class Found(TypedDict):
    total: Annotated[int, Field(ge=0, description="Of all pages.")]
    points: list[Point]

@tool(effects="read_only", examples=[{"at": {"x": 1}, "near": "Jo's\\u00a0house"}, {"at": {"x": 2}, "near": "Zoë"}])
def look(at: Point, near: Annotated[str, Field(max_length=20)], tree: Tree | None = None) -> Found:
    \"\"\"Look around.\"\"\"
    return {"total": 1, "points": [at]}
"""


def rows_of(cli: Cli, parameters: str, returns: str = "int") -> dict[str, str]:
    """The lines of a tool with these parameters, by their first word."""
    Path("with_bounds.py").write_text(
        "from typing import Annotated as A, Literal\nfrom pydantic import Field as F\nfrom callgate import tool\n"
        f"@tool(effects='read_only')\ndef bounded({parameters}) -> {returns}:\n    raise AssertionError\n"
    )
    done = cli("tools", "show", "bounded", "--module", "./with_bounds.py")
    assert done.code == 0, done.err
    return {line.split()[0]: " ".join(line.split()[1:]) for line in done.out.splitlines() if line.strip()}


@pytest.fixture(autouse=True)
def _written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file keeps what it brought under its name in this process."""
    for name in ("with_bounds", "with_models", "endless", "any_names"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("A[int, F(ge=1, le=1000)]", "integer, 1 to 1000"),
        ("A[int, F(ge=0)]", "integer, at least 0"),
        ("A[float, F(gt=0, le=1)]", "number, above 0 and at most 1"),
        ("A[float, F(lt=2.5)]", "number, below 2.5"),
        ("A[int, F(multiple_of=5)]", "integer, a multiple of 5"),
        ("A[str, F(min_length=1, max_length=64)]", "string, 1 to 64 characters"),
        ("A[str, F(max_length=1)]", "string, at most 1 character"),
        ("A[str, F(min_length=8, max_length=8)]", "string, exactly 8 characters"),
        ("A[str, F(pattern='^[a-z]{2}$')]", "string, matching ^[a-z]{2}$"),
        ("A[str, F(pattern='^(a|' + 'b' * 100 + ')$')]", "string"),
        ("A[list[int], F(min_length=2)]", "list of integer, at least 2 items"),
        ("A[list[A[int, F(ge=1)]], F(max_length=3)]", "list of (integer, at least 1), at most 3 items"),
        ("A[int, F(ge=1)] | None", "integer, at least 1, or null"),
        ("dict[str, A[int, F(le=9)]]", "object of (integer, at most 9)"),
        ("list[Literal['b', 'c']]", 'list of ("b" or "c")'),
        ("list[A[str, F(json_schema_extra={'type': ['']})]]", "list"),
    ],
)
def test_the_bounds_of_an_argument_stand_behind_its_type(cli: Cli, written: str, told: str):
    assert rows_of(cli, f"arg: {written}")["arg"] == f"{told} yes"


def test_a_type_that_has_its_own_place_in_the_schema_is_told_in_its_fields(cli: Cli):
    Path("with_models.py").write_text(MODELS)
    done = cli("tools", "show", "look", "--module", "with_models.py")
    assert "at        {x: number, y?: number}" in done.out
    assert "{name: string, inside?: list of" in done.out
    assert "any" not in done.out.split()
    assert "{expression: string}" in cli("tools", "show", "optimize").out
    assert "{A: list of list of number, b?: list of number} or null" in cli("tools", "show", "solve_ode").out


def test_what_comes_back_is_told_field_by_field(cli: Cli):
    Path("with_models.py").write_text(MODELS)
    out = cli("tools", "show", "look", "--module", "with_models.py").out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "RETURNS TYPE ALWAYS DESCRIPTION" in lines
    assert "total integer, at least 0 yes Of all pages." in lines
    assert "points list of {x: number, y?: number} yes" in lines


def test_what_comes_back_is_a_type_where_it_has_no_fields(cli: Cli):
    assert rows_of(cli, "", "list[int]")["RETURNS"] == ""
    assert "\nRETURNS\n  integer\n" in cli("tools", "show", "word_count", "--module", TOOLS).out


def test_examples_can_be_pasted(cli: Cli):
    Path("with_models.py").write_text(MODELS)
    shown = cli("tools", "show", "look", "--module", "with_models.py")
    first, second = (shlex.split(line) for line in shown.out.partition("EXAMPLES\n")[2].splitlines())
    assert json.loads(first[3]) == {"at": {"x": 1}, "near": "Jo's\u00a0house"}
    assert "Zoë" in second[3]
    assert (first[:3], first[4:]) == (["callgate", "call", "look"], ["--module", "with_models.py"])
    for words in (first, second):
        assert cli(*words[1:]).code == 0
    assert "EXAMPLES" not in cli("tools", "show", "word_count", "--module", TOOLS).out


def test_the_json_of_a_tool_has_its_examples(cli: Cli):
    body = cli("tools", "show", "optimize", "--json").body
    assert body["examples"][0]["objective"] == {"expression": "(x0 - 1)**2 + (x1 + 2)**2"}
    assert cli("tools", "show", "word_count", "--module", TOOLS, "--json").body["examples"] == []


def test_nothing_of_an_argument_is_cut_at_a_terminal(cli: Cli):
    with Terminal("tools", "show", "optimize", cwd=cli.folder, columns=60) as terminal:
        assert terminal.end() == 0
    assert "…" not in terminal.seen
    assert "integer, 1 to 100000" in terminal.seen


def test_a_schema_whose_parts_refer_to_one_another_is_told_as_far_as_it_helps(cli: Cli):
    leaf: dict[str, Any] = {"type": "string"}
    ways = [{"type": "array", "maxItems": most} for most in range(1, 4)]
    parts = {f"p{at}": {"anyOf": [way | {"items": {"$ref": f"#/$defs/p{at + 1}"}} for way in ways]} for at in range(9)}
    schema = {
        "type": "object",
        "properties": {"wide": {"$ref": "#/$defs/p0"}, "tree": {"$ref": "#/$defs/tree"}, "plain": leaf},
        "$defs": {
            **parts,
            "p9": leaf,
            "tree": {"properties": {"inside": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
        },
    }
    Path("endless.py").write_text(
        "from callgate import build_tool\nasync def run(args, context): ...\n"
        f"tool = build_tool(dict(name='endless', description='', input_schema={schema!r}, execute=run), scopes='a:b')\n"
    )
    done = cli("tools", "show", "endless", "--module", "endless.py")
    assert done.code == 0, done.err
    out = done.out
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines() if line.strip()}
    assert rows["tree"] == "{inside?: list of {inside?: list of object}} no"
    assert len(rows["wide"]) < 1500
    assert rows["plain"] == "string no"


NOT_NAMED = "It names no arguments; its schema allows others (--json shows it)."


TAKES: list[tuple[dict[str, Any], str]] = [
    ({"additionalProperties": False}, "It takes no arguments."),
    ({"properties": {}, "additionalProperties": False}, "It takes no arguments."),
    ({"maxProperties": 0}, "It takes no arguments."),
    ({"properties": {}}, NOT_NAMED),
    ({"additionalProperties": {"type": "string"}}, "It takes: object of string"),
    ({"additionalProperties": False, "patternProperties": {"^x": {"type": "string"}}}, NOT_NAMED),
    (
        {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}]},
        "It takes: {a: string} or {b?: any}",
    ),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, NOT_NAMED),
]


@pytest.mark.parametrize(("schema", "told"), TAKES)
def test_a_tool_takes_no_arguments_only_where_its_schema_lets_none_in(cli: Cli, schema: dict[str, Any], told: str):
    Path("any_names.py").write_text(
        "from callgate import build_tool\nasync def run(args, context): ...\n"
        f"schema = {schema | {'type': 'object'}!r}\n"
        "tool = build_tool(dict(name='any', description='', input_schema=schema, execute=run), scopes='a:b')\n"
    )
    done = cli("tools", "show", "any", "--module", "any_names.py")
    assert done.code == 0, done.err
    assert told in done.out.splitlines()
