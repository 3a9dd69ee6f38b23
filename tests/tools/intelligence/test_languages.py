"""Every language: its definitions and references, by the tools and by what extracts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate.tools.intelligence.extract import extract
from callgate.tools.intelligence.languages import PARSED, language_of, languages_meant
from tests.tools.intelligence.asking import opened, write
from tests.tools.intelligence.samples import SAMPLES


@pytest.mark.parametrize("language", SAMPLES)
async def test_definitions_and_references_are_found_in(language: str, tmp_path: Path) -> None:
    sample = SAMPLES[language]
    write(tmp_path, {sample.path: sample.text})
    async with opened(tmp_path) as gate:
        for qualified, kind, line in sample.defined:
            found = (await gate.call("find_definition", {"symbol": qualified, "kind": kind})).unwrap()
            places = {(each["line"], each["kind"]) for each in [found, *found["candidates"]] if "line" in each}
            assert found["found"], qualified
            assert (line, kind) in places, (qualified, found)
            assert found["language"] == language
            assert found["path"] == sample.path
        for name, kind, line in sample.used:
            asked = {"symbol": name, "reference_type": kind, "limit": 50}
            used = (await gate.call("find_references", asked)).unwrap()["references"]
            assert (sample.path, line, kind) in {(each["path"], each["line"], each["kind"]) for each in used}, name


@pytest.mark.parametrize("language", SAMPLES)
async def test_the_language_filter_takes_only(language: str, tmp_path: Path) -> None:
    write(tmp_path, {sample.path: sample.text for sample in SAMPLES.values()})
    async with opened(tmp_path) as gate:
        found = (await gate.call("search_code", {"query": "circle", "limit": 20, "language": language})).unwrap()
        assert found["results"]
        assert {result["language"] for result in found["results"]} <= set(languages_meant(language))


@pytest.mark.parametrize(
    ("language", "name", "doc"),
    [
        ("python", "Circle", "A round thing."),
        ("python", "Circle.area", "How much it covers."),
        ("javascript", "Circle", "A round thing."),
        ("typescript", "Circle", "A round thing."),
        ("go", "Round", "Round is what has a radius."),
        ("go", "Circle.Area", "Area says how much it covers."),
        ("rust", "Circle", "A round thing."),
        ("java", "Circle", "A round thing."),
        ("c", "area", "How much it covers."),
        ("cpp", "shapes.Circle.area", "How much it covers."),
        ("ruby", "Shapes.Circle", "A round thing."),
    ],
)
def test_the_first_line_of_what_is_written_about_it_is_told(language: str, name: str, doc: str) -> None:
    symbols = extract(SAMPLES[language].text.encode(), language)["symbols"]
    assert doc in {symbol["doc"] for symbol in symbols if symbol["qualified"] == name}


@pytest.mark.parametrize(
    ("language", "name", "signature"),
    [
        ("python", "Circle.__init__", "def __init__(self, radius: float) -> None:"),
        ("javascript", "double", "double = (x) =>"),
        ("typescript", "Tools.measure", "function measure(circle: Circle): Size"),
        ("go", "Circle.Area", "func (c *Circle) Area() float64"),
        ("rust", "Circle.new", "pub fn new() -> Circle"),
        ("java", "Circle", "public class Circle extends Shape implements Round"),
        ("c", "area", "double area(struct circle *c)"),
        ("cpp", "shapes.Circle", "class Circle : public Shape"),
        ("ruby", "Shapes.Circle.initialize", "def initialize(radius)"),
    ],
)
def test_a_signature_ends_where_the_body_begins(language: str, name: str, signature: str) -> None:
    symbols = extract(SAMPLES[language].text.encode(), language)["symbols"]
    assert signature in {symbol["signature"] for symbol in symbols if symbol["qualified"] == name}


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("python", "a, b = 1, 2\nc = d = 3\n", {"a", "b", "c", "d"}),
        ("java", "class A { int b, c; }\n", {"A", "A.b", "A.c"}),
        ("go", "package x\nconst A, B = 1, 2\nvar (\n\tC, D int\n)\n", {"A", "B", "C", "D"}),
        ("c", "int a = 1, b = 2;\n", {"a", "b"}),
        ("javascript", "const a = 1, b = 2;\nconst o = { m() {}, f: () => 1 };\n", {"a", "b", "o", "o.m", "o.f"}),
        ("python", "x: int\nclass A:\n    class B:\n        def m(self): pass\n", {"x", "A", "A.B", "A.B.m"}),
    ],
    ids=["python", "java", "go", "c", "javascript", "nested"],
)
def test_what_one_statement_defines_lies_side_by_side(language: str, text: str, names: set[str]) -> None:
    assert {symbol["qualified"] for symbol in extract(text.encode(), language)["symbols"]} == names


def test_overloads_are_declarations_and_the_last_one_is_the_function() -> None:
    text = (
        "import typing\n@typing.overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\n"
        "def f(a): pass\n"
    )
    symbols = extract(text.encode(), "python")["symbols"]
    assert [(symbol["kind"], symbol["line"]) for symbol in symbols] == [
        ("declaration", 3),
        ("declaration", 5),
        ("function", 6),
    ]


def test_a_sample_stands_for_each_language_and_is_told_by_its_name() -> None:
    assert {name: language_of(sample.path) for name, sample in SAMPLES.items()} == {name: name for name in PARSED}
    assert language_of("README") == language_of("a/b.txt") == language_of(".py/x") == "text"
    assert language_of("Rakefile") == "ruby"
    with pytest.raises(ValueError, match="not known; use one of python"):
        languages_meant("cobol")
