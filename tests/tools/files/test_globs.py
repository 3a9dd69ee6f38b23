"""The globs of search_files: which files they mean, from where they count, and which are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate.model.levels import Category
from callgate.tools.files import search
from callgate.tools.files.ripgrep import Looked, Search
from tests.tools.files.calling import once
from tests.tools.files.searching import found, planted


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return planted(tmp_path)


@pytest.mark.parametrize("glob", ["*", "**", "**/*", "!*.md", "*.{txt,env}", "sub/**", "e*"])
async def test_a_glob_that_means_no_hidden_files_shows_none(tree: Path, glob: str) -> None:
    for hidden in (".env", "sub/.env", "sub/.hid/notes.txt"):
        (tree / hidden).parent.mkdir(exist_ok=True)
        (tree / hidden).write_text("needle-in-a-haystack")
    (tree / "sub" / "e.txt").write_text("needle-in-a-haystack")
    assert [path for path, _, _ in await found(tree, "needle-in-a-haystack", glob=glob)] == ["sub/e.txt"]


@pytest.mark.parametrize("glob", [".env", "**/.env", "{.env,x}", "[.]env", ".e*"])
async def test_a_glob_that_means_hidden_files_shows_them(tree: Path, glob: str) -> None:
    (tree / ".env").write_text("needle-in-a-haystack")
    (tree / "e.md").write_text("needle-in-a-haystack")
    assert [path for path, _, _ in await found(tree, "needle-in-a-haystack", glob=glob)] == [".env"]


WRITTEN_OUT = {
    "build/**": ["build/out.txt", "build/sub/out.txt"],
    "build/*.txt": ["build/out.txt"],
    "build/sub/*": ["build/sub/out.txt"],
    "**/build/**": ["build/out.txt", "build/sub/out.txt", "sub/build/out.txt"],
    "sub/*/out.txt": [],
    "sub/build/out.txt": ["sub/build/out.txt"],
    "sub/**": ["sub/b.md", "sub/build/out.txt"],
    "{build,x}/*": [],
    "*.txt": [],
    "!a.py": ["sub/b.md"],
    "!build/**": ["a.py", "sub/b.md"],
    ".hid/**": [".hid/.notes.txt", ".hid/build/notes.txt"],
    "**/.hid/build/*.txt": [".hid/build/notes.txt"],
    ".h*/**": [],
}


@pytest.mark.parametrize("glob", WRITTEN_OUT)
async def test_an_ignored_or_hidden_directory_is_looked_into_where_the_glob_writes_it_out(
    tree: Path, glob: str
) -> None:
    for name in ("build/sub/out.txt", "sub/build/out.txt", ".hid/.notes.txt", ".hid/build/notes.txt"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("needle\n")
    assert [path for path, _, _ in await found(tree, "needle", glob=glob)] == WRITTEN_OUT[glob]


COUNTED_FROM = {
    "docs/*.md": ["sub/docs/a.md"],
    "./docs/*.md": ["sub/docs/a.md"],
    "docs/": ["sub/docs/a.md", "sub/docs/x[1]/docs/d.md", "sub/other/docs/b.md"],
    "./docs/": ["sub/docs/a.md", "sub/docs/x[1]/docs/d.md"],
    "other/docs/": ["sub/other/docs/b.md"],
    "**/docs/*.md": ["sub/docs/a.md", "sub/docs/x[1]/docs/d.md", "sub/other/docs/b.md"],
    "./*.md": ["sub/b.md"],
    "./": ["sub/b.md", "sub/build/c.md", "sub/docs/a.md", "sub/docs/x[1]/docs/d.md", "sub/other/docs/b.md"],
    "!docs/**": ["sub/b.md", "sub/other/docs/b.md"],
    "!./docs/": ["sub/b.md", "sub/other/docs/b.md"],
    "!docs/": ["sub/b.md"],
    ".hid/": ["sub/.hid/c.md"],
    "build/*": ["sub/build/c.md"],
    "*.md": ["sub/b.md", "sub/docs/a.md", "sub/docs/x[1]/docs/d.md", "sub/other/docs/b.md"],
}


@pytest.fixture
def many_docs(tree: Path) -> Path:
    for name in ("docs/a.md", "docs/x[1]/docs/d.md", "other/docs/b.md", ".hid/c.md", "build/c.md"):
        for place in (tree / name, tree / "sub" / name):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("needle\n")
    return tree


@pytest.mark.parametrize("glob", COUNTED_FROM)
async def test_a_glob_with_a_slash_counts_from_the_path_as_in_a_listing(many_docs: Path, glob: str) -> None:
    for path in ("sub", str(many_docs / "sub")):
        assert [found for found, _, _ in await found(many_docs, "needle", path=path, glob=glob)] == COUNTED_FROM[glob]


async def test_a_path_is_no_glob_where_one_counts_from_it(many_docs: Path) -> None:
    expected = ["sub/docs/x[1]/docs/d.md"]
    for glob in ("docs/*.md", "docs/", "./docs/"):
        assert [one for one, _, _ in await found(many_docs, "needle", path="sub/docs/x[1]", glob=glob)] == expected


@pytest.mark.parametrize("glob", ["./sub/docs/*.md", "sub//docs/*.md", "sub/docs/./a.md", "{./sub,sub}/docs/a.*"])
async def test_a_glob_counts_from_the_working_directory_where_no_path_is_given(many_docs: Path, glob: str) -> None:
    assert [path for path, _, _ in await found(many_docs, "needle", glob=glob)] == ["sub/docs/a.md"]


async def test_a_glob_that_names_the_path_again_is_told_as_what_found_nothing(many_docs: Path) -> None:
    said = {
        (path, glob): (await once(many_docs, "search_files", pattern="needle", path=path, glob=glob)).unwrap()["note"]
        for path, glob in (("sub", "sub/docs/*.md"), ("sub/docs", "sub/docs/*.md"), ("sub", "other/*.md"), (".", "x/*"))
    }
    assert {given for given, note in said.items() if note and "counts from path" in note} == {
        ("sub", "sub/docs/*.md"),
        ("sub/docs", "sub/docs/*.md"),
    }
    (many_docs / "sub" / "sub").mkdir()
    (many_docs / "sub" / "sub" / "e.md").write_text("needle\n")
    output = (await once(many_docs, "search_files", pattern="needle", path="sub", glob="sub/*.md")).unwrap()
    assert (output["count"], output["note"]) == (1, None)


@pytest.mark.parametrize("glob", ["{tree}/sub/*.md", "sub/../a.py", "!../*", "sub/.."])
@pytest.mark.parametrize("path", [".", "sub", "a.py"])
async def test_a_glob_that_leads_elsewhere_is_refused_and_finds_nothing_by_mistake(
    tree: Path, path: str, glob: str
) -> None:
    refused = await once(tree, "search_files", pattern="needle", path=path, glob=glob.format(tree=tree))
    assert refused.error is not None
    assert refused.error.category is Category.USER_INPUT
    assert "neither climbs nor begins with a slash" in refused.error.message


@pytest.mark.parametrize("glob", ["..b", "b..c", "x/..b/*", "!..b"])
async def test_dots_in_a_name_lead_nowhere(tree: Path, glob: str) -> None:
    for name in ("..b", "b..c", "x/..b/c"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("dots\n")
    paths = [path for path, _, _ in await found(tree, "dots", glob=glob)]
    assert paths == ([glob.replace("*", "c")] if glob[0] != "!" else ["b..c"])


@pytest.mark.parametrize(
    "glob", ["sub", "*.py,*.md", "*.py|*.md", ".py", "*.PY", "sub/*.py", "!", "empty", ".*", "binary"]
)
async def test_that_no_file_is_like_the_glob_is_told_apart_from_no_line_like_the_pattern(tree: Path, glob: str) -> None:
    (tree / "empty").touch()
    (tree / "binary").write_bytes(b"\0needle")
    (tree / ".hidden").unlink()
    (tree / ".gitignore").unlink()
    output = (await once(tree, "search_files", pattern="needle", glob=glob)).unwrap()
    assert (output["count"], output["truncated"]) == (0, False)
    assert "no file that could be searched is like glob" in output["note"]


@pytest.mark.parametrize("glob", ["*.py", "!*.py", "sub/", "*", ".hidden"])
async def test_that_no_line_is_like_the_pattern_needs_no_note(tree: Path, glob: str) -> None:
    output = (await once(tree, "search_files", pattern="nobody writes this", glob=glob)).unwrap()
    assert (output["count"], output["note"]) == (0, None)


async def test_whether_a_file_is_like_the_glob_is_not_known_where_the_time_is_over(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = search.find

    def look(wanted: Search, **given: Any) -> Looked:
        if not wanted.pattern:
            raise TimeoutError
        return find(wanted, **given)

    monkeypatch.setattr(search, "find", look)
    output = (await once(tree, "search_files", pattern="needle", glob="sub")).unwrap()
    assert (output["count"], output["note"]) == (0, None)


@pytest.mark.parametrize("glob", ["*.md", "*.py", "!*.py", "sub/*"])
async def test_a_file_that_is_named_is_searched_whatever_the_glob_and_that_is_told(tree: Path, glob: str) -> None:
    for path, count in (("a.py", 1), (".hidden", 1), ("sub/b.md", 0)):
        output = (await once(tree, "search_files", pattern="^needle", path=path, glob=glob)).unwrap()
        assert output["count"] == count
        assert "whether it is like glob or not" in output["note"]
    assert (await once(tree, "search_files", pattern="needle", path="a.py")).unwrap()["note"] is None


SIGNS = {
    "#*#": ["#a#"],
    "#a#": ["#a#"],
    r"\#a#": ["#a#"],
    "./#a#": ["#a#"],
    "!#a#": ["!c", "b", "b ", "b\t"],
    r"\!c": ["!c"],
    "!!c": ["#a#", "b", "b ", "b\t"],
    r"!\!c": ["#a#", "b", "b ", "b\t"],
    "b": ["b"],
    "b ": ["b "],
    r"b\ ": ["b "],
    "./b ": ["b "],
    "!b ": ["!c", "#a#", "b", "b\t"],
    "b\t": ["b\t"],
    "b[\t]": ["b\t"],
    "b  ": [],
    " ": [],
    "# ": [],
}
DOTS = {"d.": ["d."], "*.": ["d.", "d.."], "d..": ["d.."], "**/d.": ["d."], "./d.": ["d."], "!*.": ["e"]}


@pytest.mark.parametrize("glob", SIGNS)
async def test_signs_at_the_ends_of_a_glob_mean_themselves_but_for_the_one_that_negates(
    tmp_path: Path, glob: str
) -> None:
    for name in ("#a#", "b", "b ", "b\t", "!c"):
        (tmp_path / name).write_text("needle\n")
    assert [path for path, _, _ in await found(tmp_path, "needle", glob=glob)] == sorted(SIGNS[glob])


@pytest.mark.parametrize("glob", DOTS)
async def test_a_name_may_end_with_dots(tmp_path: Path, glob: str) -> None:
    for name in ("d.", "d..", "e"):
        (tmp_path / name).write_text("needle\n")
    assert [path for path, _, _ in await found(tmp_path, "needle", glob=glob)] == DOTS[glob]
