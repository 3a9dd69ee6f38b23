"""Places that are not what they seem: links in a circle, files that are no way to git, folders that go away."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import pytest

from callgate.policy.git_places import told_by
from callgate.policy.ground import Ground
from callgate.policy.own_files import _is_folder  # pyright: ignore[reportPrivateUsage]
from callgate.policy.resources import _host_refused  # pyright: ignore[reportPrivateUsage]


class _Gone:
    """An entry of a folder that cannot be asked any more."""

    path = "gone"

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        assert not follow_symlinks
        raise OSError


def test_a_file_called_git_that_says_something_else_leads_nowhere(tmp_path: Path):
    (tmp_path / ".git").write_text("a shopping list")
    assert told_by(str(tmp_path / ".git")) is None


def test_what_cannot_be_asked_is_no_folder():
    assert not _is_folder(cast("os.DirEntry[str]", _Gone()))


@pytest.mark.parametrize("text", ["/users", "/"])
def test_a_reference_without_a_host_is_refused_on_the_way(text: str):
    assert _host_refused((), text) == f"{text} names no host"


def test_a_granted_path_that_leads_in_a_circle_counts_for_nothing(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    ground = Ground.of("fs", ["loop"], working_directory=str(tmp_path))
    assert ground.roots == ()
    assert "leads in a circle of links" in ground.void[0]


def test_a_granted_link_outside_of_every_other_directory_leads_where_it_says(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("real")
    ground = Ground.of("fs", ["link", "other"], working_directory=str(tmp_path))
    assert ground.void == ()
    assert ground.roots == (str(tmp_path / "real"), str(tmp_path / "other"))
