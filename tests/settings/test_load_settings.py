"""Loading a file: what may be missing, and what is never read over."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy
from callgate.settings.load import DEFAULT_FILE, load_settings, parse_settings
from callgate.settings.values import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def error_of(path: str | Path | None, *, required: bool = True) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(path, required=required)
    assert caught.value.file == str(path)
    return str(caught.value)


def test_a_file_is_read_and_remembered_by_its_whole_path(folder: Path):
    (folder / "gate.yaml").write_text("autonomy: A1\n", encoding="utf-8")
    settings = load_settings("gate.yaml", required=True)
    assert settings.autonomy is Autonomy.A1
    assert settings.file == str(folder / "gate.yaml")
    assert load_settings(folder / "gate.yaml", required=False) == settings


def test_without_a_name_the_file_of_the_working_directory_is_read(folder: Path):
    assert load_settings(None, required=False) == Settings()
    (folder / DEFAULT_FILE).write_text("autonomy: A0\n", encoding="utf-8")
    assert load_settings(None, required=False).autonomy is Autonomy.A0


def test_a_named_file_that_is_missing_is_an_error():
    assert error_of("gone.yaml") == "gone.yaml: does not exist; name an existing file, or leave the file out"


def test_a_missing_file_that_need_not_be_there_means_the_defaults():
    assert load_settings("gone.yaml", required=False) == Settings()


@pytest.mark.parametrize("required", [True, False])
def test_a_broken_link_is_an_error_even_if_the_file_need_not_be_there(folder: Path, required: bool):
    (folder / "link.yaml").symlink_to("gone.yaml")
    assert error_of("link.yaml", required=required) == "link.yaml: is a link to a file that does not exist"


def test_a_link_to_a_file_is_followed(folder: Path):
    (folder / "real.yaml").write_text("autonomy: A1\n", encoding="utf-8")
    (folder / "link.yaml").symlink_to("real.yaml")
    assert load_settings("link.yaml", required=True).autonomy is Autonomy.A1


@pytest.mark.parametrize("required", [True, False])
def test_a_directory_is_an_error(folder: Path, required: bool):
    (folder / "d.yaml").mkdir()
    assert error_of("d.yaml", required=required) == "d.yaml: is a directory; name a YAML file"


def test_a_pipe_is_an_error_and_nobody_waits_for_it(folder: Path):
    os.mkfifo(folder / "pipe.yaml")
    assert error_of("pipe.yaml") == "pipe.yaml: is no ordinary file; name a YAML file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(folder: Path):
    (folder / "locked.yaml").touch(mode=0o000)
    assert error_of("locked.yaml", required=False) == "locked.yaml: cannot be read: permission denied"


def test_a_link_to_itself_is_an_error(folder: Path):
    (folder / "loop.yaml").symlink_to("loop.yaml")
    assert error_of("loop.yaml", required=False).startswith("loop.yaml: cannot be read: too many levels")


def test_a_path_that_cannot_be_is_an_error(folder: Path):
    (folder / "file").touch()
    assert error_of("file/gate.yaml", required=False) == "file/gate.yaml: cannot be read: not a directory"
    assert "cannot be read: invalid argument" in error_of("a\0b")
    assert "cannot be read" in error_of("a" * 5000)


def test_a_file_that_is_not_utf8_is_an_error_at_its_line(folder: Path):
    (folder / "latin.yaml").write_bytes(b"autonomy: A1\n# caf\xe9\n")
    assert error_of("latin.yaml") == "latin.yaml:2: is not UTF-8 here; save the file as UTF-8"
    (folder / "wide.yaml").write_bytes("autonomy: A1".encode("utf-16"))
    assert error_of("wide.yaml") == "wide.yaml:1: is not UTF-8 here; save the file as UTF-8"


def test_a_byte_order_mark_is_an_error(folder: Path):
    (folder / "bom.yaml").write_text("autonomy: A1", encoding="utf-8-sig")
    assert "bom.yaml:1: starts with a byte order mark" in error_of("bom.yaml")


def test_a_file_over_one_mebibyte_is_an_error(folder: Path):
    with (folder / "big.yaml").open("wb") as file:
        file.truncate(1024 * 1024 + 1)
    assert error_of("big.yaml") == "big.yaml: is larger than 1 MiB, which no configuration is"


def test_a_file_with_windows_line_ends_is_read(folder: Path):
    (folder / "crlf.yaml").write_bytes(b"autonomy: A1\r\nroles:\r\n  a: {}\r\n  b: {x: 1}\r\n")
    assert error_of("crlf.yaml").startswith("crlf.yaml:4: roles.b.x: unknown key 'x'")


def test_text_is_read_under_the_name_it_is_given():
    assert parse_settings("autonomy: A1", file="<standard input>").file == "<standard input>"


def test_yaml_is_imported_only_when_there_is_something_to_read():
    program = (
        "import sys; from callgate.settings.load import load_settings; load_settings('gone.yaml', required=False);"
        "assert 'yaml' not in sys.modules; import callgate.settings.schema; assert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
