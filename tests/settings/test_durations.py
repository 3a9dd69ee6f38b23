"""Durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.settings.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("45s", 45),
        ("10m", 600),
        ("1h", 3600),
        ("7d", 604_800),
        ("1.5h", 5400),
        ("0s", 0),
        ("30", 30),
        (30, 30),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_read_into_seconds(written: str | float, seconds: float):
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    "written",
    [
        "",
        "h",
        "1 h",
        "1w",
        "1h30m",
        "-1s",
        "+1s",
        "1e3s",
        "1H",
        " 1h",
        "1h\n",
        "٣s",
        "1_0s",
        "9999999999s",
        "inf",
        "nan",
    ],
)
def test_anything_else_is_refused_naming_what_to_write(written: str):
    with pytest.raises(ValueError, match="write 45s, 10m, 1h or 7d"):
        parse_duration(written)


@pytest.mark.parametrize("number", [-1, -0.5, float("inf"), float("nan")])
def test_a_number_of_seconds_is_finite_and_not_negative(number: float):
    with pytest.raises(ValueError, match="zero or more seconds"):
        parse_duration(number)


@given(st.integers(0, 10**9 - 1))
def test_what_is_formatted_reads_back_equal(seconds: int):
    assert parse_duration(format_duration(seconds)) == seconds
