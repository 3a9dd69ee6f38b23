"""The matrix: its presets, and what a table must be."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy, Risk, Verdict
from callgate.settings.matrix import CELLS, PRESETS, find_flaws, resolve_matrix
from callgate.settings.values import Cell, Matrix
from tests.settings.reading import complaint_of, complaints_of, read

DEFAULT = """
matrix:
  A0: {low: preview, medium: preview, high: preview, critical: deny}
  A1: {low: confirm, medium: confirm, high: confirm, critical: confirm+}
  A2: {low: allow, medium: confirm, high: confirm, critical: confirm+}
  A3: {low: allow, medium: allow, high: confirm, critical: confirm+}
  A4: {low: allow, medium: allow, high: allow, critical: confirm+}
"""
STRICTNESS = list(CELLS.values())


def with_cell(level: str, risk: str, word: str) -> str:
    rows: list[str] = list(DEFAULT.splitlines())
    index = next(number for number, row in enumerate(rows) if row.strip().startswith(level))
    cells = [part.strip(" {}") for part in rows[index].split(":", 1)[1].split(",")]
    changed = [f"{risk}: {word}" if cell.startswith(risk) else cell for cell in cells]
    rows[index] = f"  {level}: {{{', '.join(changed)}}}"
    return "\n".join(rows)


def test_the_default_preset_is_the_table_of_the_documentation():
    assert read(DEFAULT).matrix == PRESETS["default"]


def test_the_strict_preset_denies_critical_below_a4_and_is_else_the_default():
    for level, risk in itertools.product(Autonomy, Risk):
        strict, default = PRESETS["strict"][level][risk], PRESETS["default"][level][risk]
        if risk is Risk.CRITICAL and level < Autonomy.A4:
            assert strict == (Verdict.DENY, False)
        else:
            assert strict == default


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_is_complete_and_monotone(name: str):
    assert find_flaws(PRESETS[name]) == []
    assert read(f"matrix: {name}").matrix == name
    assert resolve_matrix(name) is PRESETS[name]


def test_an_unknown_preset_is_refused_with_the_nearest():
    assert complaint_of("matrix: stric") == "1: matrix: 'stric' is not possible; did you mean strict?"
    with pytest.raises(ConfigurationError, match="unknown matrix 'stric'; did you mean strict"):
        resolve_matrix("stric")


def test_a_cell_looser_than_one_of_more_autonomy_is_refused_where_it_stands():
    heard = complaints_of(
        with_cell("A2", "medium", "allow").replace("A3: {low: allow, medium: allow", "A3: {low: allow, medium: confirm")
    )
    looser = "A2 at medium risk is allow, looser than A3 at medium risk (confirm)"
    assert heard == [f"5: matrix.A2.medium: {looser}; less autonomy or more risk is never looser"]


def test_a_cell_looser_than_one_of_less_risk_is_refused_where_it_stands():
    heard = complaints_of(with_cell("A4", "medium", "confirm"))
    assert any(
        line.startswith("7: matrix.A4.high: A4 at high risk is allow, looser than A4 at medium risk") for line in heard
    )


def test_confirm_is_looser_than_confirm_plus():
    heard = complaints_of(with_cell("A1", "critical", "confirm"))
    assert "looser than A2 at critical risk (confirm+)" in heard[0]


@pytest.mark.parametrize("word", ["allow", "confirm", "confirm+"])
def test_a0_never_executes(word: str):
    heard = complaints_of(with_cell("A0", "low", word))
    assert heard[0].startswith(f"3: matrix.A0.low: A0 never executes an effect, so not {word}")


def test_a_table_with_a_level_or_a_risk_missing_is_refused_naming_it():
    assert complaint_of("\n".join(DEFAULT.splitlines()[:-1])) == "3: matrix: lacks A4"
    assert complaint_of(DEFAULT.replace("high: allow, ", "")) == "7: matrix.A4: lacks high"


def test_unknown_levels_risks_and_verdicts_are_refused_by_name():
    assert "matrix.A5: unknown key 'A5'" in complaint_of(DEFAULT + "  A5: {}\n")
    heard = complaints_of(DEFAULT.replace("high: allow", "hgih: allow"))
    assert heard == ["7: matrix.A4.hgih: unknown key 'hgih'; did you mean high?", "7: matrix.A4: lacks high"]
    assert "'block' is not possible; there are allow" in complaints_of(with_cell("A0", "critical", "block"))[0]


def test_a_table_given_in_code_is_held_to_the_same():
    with pytest.raises(ConfigurationError, match="A0 has no verdict for low risk"):
        resolve_matrix({})
    with pytest.raises(ConfigurationError, match="A0 never executes"):
        resolve_matrix({level: dict.fromkeys(Risk, CELLS["allow"]) for level in Autonomy})
    assert resolve_matrix(dict(PRESETS["strict"])) == PRESETS["strict"]


tables = st.lists(st.sampled_from(STRICTNESS), min_size=20, max_size=20).map(
    lambda cells: {level: dict(zip(Risk, cells[level * 4 : level * 4 + 4], strict=True)) for level in Autonomy}
)


@given(tables)
def test_a_table_without_flaws_never_loosens_with_less_autonomy_or_more_risk(matrix: Matrix):
    def strictness(cell: Cell) -> int:
        return STRICTNESS.index(cell)

    places = list(itertools.product(Autonomy, Risk))
    monotone = all(
        strictness(matrix[level][risk]) >= strictness(matrix[other][calmer])
        for (level, risk), (other, calmer) in itertools.product(places, places)
        if level <= other and risk >= calmer
    )
    idle = all(cell[0] >= Verdict.PREVIEW for cell in matrix[Autonomy.A0].values())
    assert (find_flaws(matrix) == []) == (monotone and idle)
