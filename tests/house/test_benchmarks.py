"""`python -m benchmarks`: it says what it can measure, measures what is asked for, and keeps only whole runs."""

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as bench


def test_help_names_every_part_and_measures_nothing(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        bench.main(["--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    for name in bench.PARTS:
        assert f"\n  {name} " in told
    assert "…" not in told


def test_a_part_that_is_not_there_is_an_error_that_names_those_that_are(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        bench.main(["reads", "nothing"])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "there is no part nothing; there are imports, reads," in told


def test_every_bound_is_one_of_a_part():
    assert {path[0] for _, path, *_ in bench.BOUNDS} == set(bench.PARTS)


def test_chosen_parts_are_measured_in_our_order_and_only_a_whole_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    measured: list[str] = []

    def plain() -> dict[str, int]:
        measured.append("plain")
        return {"number": 3}

    async def placed(folder: Path) -> dict[str, int]:
        measured.append("placed")
        return {"number": len(folder.parts) and 1}

    monkeypatch.setattr(bench, "PARTS", {"plain": (plain, "One."), "placed": (placed, "Two.")})
    bounds = [("three", ("plain", "number"), "<=", 3, None), ("one", ("placed", "number"), ">=", 2, None)]
    monkeypatch.setattr(bench, "BOUNDS", bounds)
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results.json")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert bench.main(["plain"]) == 0
    told = capsys.readouterr().out
    assert ("three" in told, "one" in told) == (True, False)
    assert not (tmp_path / "results.json").exists()
    assert bench.main([]) == 1, "a bound is missed"
    assert measured == ["plain", "plain", "placed"]
    kept = json.loads((tmp_path / "results.json").read_text())
    assert (kept["plain"], kept["placed"]) == ({"number": 3}, {"number": 1})
