"""The limits on modules fail the build, readably."""

from pathlib import Path

import pytest

from scripts import check_sizes


def write(root: Path, *, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_module_at_the_limit_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write(tmp_path, name="src/callgate/gate.py", text='"""The gate."""\n' + "x = 1\n" * 399)
    write(tmp_path, name="tests/test_gate.py", text="x = 1\n" * 600)
    assert check_sizes.main(tmp_path) == 0
    assert "fine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("src/callgate/gate.py", '"""The gate."""\n' + "x = 1\n" * 400, "401 lines, 400 at most"),
        ("tests/test_gate.py", "x = 1\n" * 601, "601 lines, 600 at most"),
        ("src/callgate/gate.py", "x = 1\n", "opens without a docstring"),
        ("src/callgate/gate/utils.py", '"""Things."""\n', "utils says nothing"),
        ("src/callgate/helpers/__init__.py", '"""Things."""\n', "helpers says nothing"),
        ("src/callgate/_base.py", '"""Things."""\n', "_base says nothing"),
    ],
)
def test_a_fault_is_named_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, fault: str
):
    write(tmp_path, name=name, text=text)
    assert check_sizes.main(tmp_path) == 1
    output = capsys.readouterr().out
    assert name in output
    assert fault in output
