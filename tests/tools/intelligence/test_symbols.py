"""find_definition and find_references: plain and dotted names, scope and kind; what is inherited or handed on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from callgate.model.levels import Category
from callgate.tools.intelligence.naming import Fit, module_of, read_symbol
from tests.tools.intelligence.asking import answer, once, opened, write

PACKAGE = {
    "pack/__init__.py": "from pack.deep.engine import Engine, start\n",
    "pack/deep/__init__.py": "",
    "pack/deep/base.py": "class Base:\n    def run(self):\n        return 1\n\n    def stop(self):\n        pass\n",
    "pack/deep/engine.py": (
        "from pack.deep.base import Base\n\n\nclass Engine(Base):\n    def stop(self):\n        pass\n\n\n"
        "def start():\n    return Engine().run()\n"
    ),
    "pack/other.py": (
        "class Other:\n    def run(self):\n        return 2\n\n\ndef start():\n    return Other().run()\n\n\n"
        "class engine:\n    pass\n"
    ),
    "tests/test_engine.py": (
        "from pack import start\n\n\ndef start_twice():\n    start()\n\n\ndef run():\n    start()\n"
    ),
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write(tmp_path, PACKAGE)


async def defined(folder: Path, symbol: str, **more: Any) -> tuple[str, int] | None:
    output = await answer(folder, "find_definition", symbol=symbol, **more)
    return (output["path"], output["line"]) if output["found"] else None


@pytest.mark.parametrize(
    ("symbol", "place"),
    [
        ("Engine", ("pack/deep/engine.py", 4)),
        ("Engine.stop", ("pack/deep/engine.py", 5)),
        ("Base.stop", ("pack/deep/base.py", 5)),
        ("Base::stop", ("pack/deep/base.py", 5)),
        ("Base#stop()", ("pack/deep/base.py", 5)),
        ("pack.deep.engine.Engine.stop", ("pack/deep/engine.py", 5)),
        ("engine.Engine.stop", ("pack/deep/engine.py", 5)),
        ("pack.other.start", ("pack/other.py", 6)),
        ("Engine.run", ("pack/deep/base.py", 2)),
        ("pack.deep.engine.Engine.run", ("pack/deep/base.py", 2)),
        ("pack.Engine", ("pack/deep/engine.py", 4)),
        ("pack.Engine.run", ("pack/deep/base.py", 2)),
        ("pack.start", ("pack/deep/engine.py", 9)),
        ("start", ("pack/deep/engine.py", 9)),
        ("engine", ("pack/other.py", 10)),
        ("ENGINE", ("pack/other.py", 10)),
    ],
    ids=[
        *("plain", "method", "of-two", "colons", "hash", "from-the-top", "from-a-module", "function", "inherited"),
        *(
            "inherited-from-the-top",
            "handed-on",
            "handed-on-and-inherited",
            "handed-on-of-two",
            "public-of-two",
            "case",
        ),
        "another-case",
    ],
)
async def test_a_symbol_is_found_where_it_is_defined(package: Path, symbol: str, place: tuple[str, int]) -> None:
    assert await defined(package, symbol) == place


@pytest.mark.parametrize(
    ("path", "text", "symbol", "line"),
    [
        (
            "a.py",
            "class A:\n def m(s): 0\nclass B(A):\n def m(s): 1\nclass C(A): 0\nclass D(C, B): 0\n",
            "D.m",
            4,
        ),
        ("a.py", "class A(B):\n def m(self): 0\nclass B(A): 0\n", "B.m", 2),
        ("a.py", "class A(Generic[T]):\n def m(self): 0\nclass B(x.A[int], metaclass=M): 0\n", "B.m", 2),
        ("A.java", "class A { void m() {} }\nclass B<T> extends A implements I {}\n", "B.m", 1),
        ("a.ts", "class A { m() {} }\nclass B extends A {}\n", "B.m", 1),
        ("a.cpp", "struct A { void m() {} };\nclass B : public A {};\n", "B::m", 1),
        ("a.rb", "class A\n  def m; end\nend\nclass B < A\nend\n", "B#m", 2),
    ],
    ids=["diamond", "circle", "generic", "java", "typescript", "cpp", "ruby"],
)
async def test_a_member_is_found_where_it_is_inherited_from(
    tmp_path: Path, path: str, text: str, symbol: str, line: int
) -> None:
    assert await defined(write(tmp_path, {path: text}), symbol) == (path, line)


async def test_the_other_candidates_follow(package: Path) -> None:
    output = await answer(package, "find_definition", symbol="run")
    places = [(each["path"], each["line"]) for each in (output, *output["candidates"])]
    assert output["count"] == 3
    assert set(places) == {("pack/deep/base.py", 2), ("pack/other.py", 2), ("tests/test_engine.py", 8)}
    assert places[-1] == ("tests/test_engine.py", 8)


async def test_scope_and_kind_narrow_it(package: Path) -> None:
    assert await defined(package, "start", scope="pack/other.py") == ("pack/other.py", 6)
    assert await defined(package, "run", scope="tests") == ("tests/test_engine.py", 8)
    assert await defined(package, "run", scope="./pack/../tests/") == ("tests/test_engine.py", 8)
    assert await defined(package, "run", kind="function") == ("tests/test_engine.py", 8)
    assert await defined(package, "run", scope="pack", kind="function") is None


async def test_what_is_not_defined_is_a_clear_answer(package: Path) -> None:
    output = await answer(package, "find_definition", symbol="Engin")
    assert not output["found"]
    assert "path" not in output
    assert output["message"] == "Engin is defined nowhere here (6 files were looked at)"
    assert output["similar"][0] == "Engine"
    assert await defined(package, "Engine.nothing") is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"symbol": ""},
        {"symbol": "two words"},
        {"symbol": "..."},
        {"symbol": "x" * 301},
        {"symbol": "a", "kind": "thing"},
        {"symbol": "a", "scope": "nowhere"},
        {},
    ],
    ids=["empty", "words", "dots", "long", "kind", "scope", "missing"],
)
async def test_bad_input_is_an_input_error(package: Path, arguments: dict[str, Any]) -> None:
    outcome = await once(package, "find_definition", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT


@pytest.mark.parametrize("scope", ["..", "/etc", "pack/../../x", "~"], ids=["above", "absolute", "climbing", "home"])
async def test_a_scope_outside_is_refused(package: Path, scope: str) -> None:
    for tool, arguments in (("find_definition", {"symbol": "a"}), ("get_repo_map", {})):
        outcome = await once(package, tool, **arguments, scope=scope)
        assert not outcome.ok
        assert "passwd" not in str(outcome)


async def used(folder: Path, symbol: str, **more: Any) -> list[tuple[str, int, str]]:
    output = await answer(folder, "find_references", symbol=symbol, **more)
    assert output["count"] == len(output["references"])
    return [(each["path"], each["line"], each["kind"]) for each in output["references"]]


async def test_references_come_with_their_kind_and_place_and_tests_last(package: Path) -> None:
    assert await used(package, "start") == [
        ("pack/__init__.py", 1, "import"),
        ("tests/test_engine.py", 1, "import"),
        ("tests/test_engine.py", 5, "call"),
        ("tests/test_engine.py", 9, "call"),
    ]
    output = await answer(package, "find_references", symbol="start", reference_type="call", limit=1)
    [first] = output["references"]
    assert (first["text"], first["within"], output["total"]) == ("start()", "start_twice", 2)


async def test_a_dotted_name_leaves_out_what_means_another(package: Path) -> None:
    """Both classes have a method run; the call in other.py means the other one."""
    output = await answer(package, "find_references", symbol="Base.run")
    assert [(each["path"], each["line"], each["resolved"]) for each in output["references"]] == [
        ("pack/deep/engine.py", 10, True)
    ]


async def test_the_definition_comes_first_where_it_is_wanted(package: Path) -> None:
    places = await used(package, "Engine", include_definition=True)
    assert places[0] == ("pack/deep/engine.py", 4, "definition")
    assert ("pack/deep/engine.py", 10, "call") in places


async def test_a_name_that_is_used_nowhere_has_no_references(package: Path) -> None:
    assert await used(package, "nothing_at_all") == []
    assert await used(package, "start", reference_type="inherit") == []
    assert await used(package, "Base", reference_type="inherit") == [("pack/deep/engine.py", 4, "inherit")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"symbol": "a", "limit": 51},
        {"symbol": "a", "limit": 0},
        {"symbol": "a", "reference_type": "x"},
        {"symbol": "a b"},
    ],
    ids=["many", "none", "type", "words"],
)
async def test_bad_input_to_find_references_is_an_input_error(package: Path, arguments: dict[str, Any]) -> None:
    outcome = await once(package, "find_references", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT


async def test_a_limit_holds(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def f(): pass\n" + "f()\n" * 100})
    async with opened(tmp_path) as gate:
        output = (await gate.call("find_references", {"symbol": "f", "limit": 50})).unwrap()
    assert (output["count"], output["total"]) == (50, 100)
    assert all(each["resolved"] for each in output["references"])


@pytest.mark.parametrize(
    ("symbol", "qualified", "path", "fit"),
    [
        ("run", "run", "a.py", Fit.WHOLE),
        ("run", "A.run", "a.py", Fit.TAIL),
        ("A.run", "A.run", "a.py", Fit.WHOLE),
        ("a.A.run", "A.run", "a.py", Fit.WHOLE),
        ("root.a.A.run", "A.run", "a.py", Fit.WHOLE),
        ("x.A.run", "A.run", "x/y/a.py", Fit.THROUGH),
        ("x.y.A", "A", "x/y/__init__.py", Fit.WHOLE),
        ("B.run", "A.run", "a.py", Fit.NONE),
        ("RUN", "run", "a.py", Fit.FOLDED),
        ("b.run", "A.run", "b.py", Fit.NONE),
    ],
)
def test_how_well_a_definition_fits(symbol: str, qualified: str, path: str, fit: Fit) -> None:
    assert read_symbol(symbol).fit(qualified, path, root="root") is fit


def test_a_file_is_called_as_its_module_is() -> None:
    assert module_of("a/b/c.py") == ("a", "b", "c")
    assert module_of("a/b/__init__.py") == ("a", "b")
    assert module_of("main.go") == ("main",)


@pytest.mark.parametrize("length", [40, 190])
async def test_what_is_not_there_is_said_in_time_beside_many_names_that_are_alike(tmp_path: Path, length: int) -> None:
    """Names of the same letters in another order are the ones that take longest to compare."""
    letters, luck = "ab" * (length // 2), random.Random(1)
    names = ["x" + "".join(luck.sample(letters, length)) for _ in range(4501)]
    write(tmp_path, {"a.py": "".join(f"{name} = 1\n" for name in names[1:]) + "xylophone = 1\n"})
    async with opened(tmp_path) as gate:
        assert (await gate.call("search_code", {"query": "xylophone"})).unwrap()["count"] == 1
        output = (await gate.call("find_definition", {"symbol": names[0]})).unwrap()
        assert not output["found"]
        assert len(output["similar"]) == (5 if length < 60 else 0)
        assert set(output["similar"]) <= set(names)
        close = (await gate.call("find_definition", {"symbol": "xylophon"})).unwrap()
    assert close["similar"] == ["xylophone"]


async def test_names_of_files_that_are_left_out_by_now_are_not_told_as_similar(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def xylophone(): pass\n", "b.py": "x = 1\n"})
    async with opened(tmp_path) as gate:
        assert (await gate.call("find_definition", {"symbol": "xylophon"})).unwrap()["similar"] == ["xylophone"]
        write(tmp_path, {".gitignore": "a.py\n"})
        assert (await gate.call("find_definition", {"symbol": "xylophon"})).unwrap()["similar"] == []
