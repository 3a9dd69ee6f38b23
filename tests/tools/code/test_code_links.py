"""Second names of what Callgate runs from: which are found, and when it is too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate.tools.code import code_links
from callgate.tools.code.code_links import second_names


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a.py").write_text("a = 1\n")
    (tmp_path / "ground" / ".git").mkdir(parents=True)
    return folder


def test_a_second_name_is_found_and_one_of_packages_with_all_of_them(code: Path, tmp_path: Path) -> None:
    ground = tmp_path / "ground"
    assert second_names([str(code)], [str(ground)], opened=()) == []
    (ground / "b.py").hardlink_to(code / "a.py")
    packages = ground / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "c.py").hardlink_to(code / "a.py")
    found = second_names([str(code)], [str(ground)], opened=())
    assert sorted(found) == [f"{ground}/b.py", str(packages)]
    assert second_names([str(code)], [f"{ground}/b.py"], opened=()) == [f"{ground}/b.py"]


def test_names_elsewhere_and_in_the_code_itself_do_not_count(code: Path, tmp_path: Path) -> None:
    inside = tmp_path / "ground" / "code"
    code.rename(inside)
    (inside / "b.py").hardlink_to(inside / "a.py")
    (tmp_path / "ground" / "other").write_text("")
    (tmp_path / "elsewhere").hardlink_to(tmp_path / "ground" / "other")
    assert second_names([str(inside), "/not/there"], [str(tmp_path / "ground")], opened=()) == []


def test_a_git_is_looked_through_where_it_is_open(code: Path, tmp_path: Path) -> None:
    git = tmp_path / "ground" / ".git"
    (git / "b.py").hardlink_to(code / "a.py")
    assert second_names([str(code)], [str(tmp_path / "ground")], opened=()) == []
    assert second_names([str(code)], [str(tmp_path / "ground")], opened=[str(git)]) == [f"{git}/b.py"]


@pytest.mark.parametrize("bound", ["MOST_NAMES", "MOST_ENTRIES"])
def test_too_many_are_refused(code: Path, tmp_path: Path, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ground" / "b.py").hardlink_to(code / "a.py")
    monkeypatch.setattr(code_links, bound, 0)
    with pytest.raises(PermissionError, match="more than 0 files"):
        second_names([str(code)], [str(tmp_path / "ground")], opened=())
