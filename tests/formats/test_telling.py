"""What a model reads of outcomes that a journey does not easily meet."""

from typing import Any

import pytest

from callgate.model.levels import Happened
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Pending, Refused, Succeeded, Unknown
from callgate.runtime.telling import is_error, told

WHO: dict[str, Any] = {"tool": "pay", "call_id": "c"}


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Refused(**WHO), "Not run."),
        (
            Unknown(**WHO, value={"id": 3}),
            'Unknown. Whether it took effect is not known: do not repeat it.\nIt returned: {"id":3}',
        ),
        (Failed(**WHO, happened=Happened.DONE), "Failed. It took effect: do not repeat it."),
        (Failed(**WHO, side_effects=("read_only",), error=ErrorInfo(code="x", message="Gone!")), "Failed (x): Gone!"),
        (
            Refused(**WHO, error=ErrorInfo(code="x", message="bad", faults=("bad", "worse"), suggestion="Mend it.")),
            "Not run (x): bad. worse. Mend it.",
        ),
        (Succeeded(**WHO, value=float("nan")), None),
        (Succeeded(**WHO, value=""), ""),
        (Succeeded(**WHO, value=object()), None),
    ],
)
def test_every_outcome_can_be_told(outcome: Outcome, text: str | None):
    assert text is None or told(outcome) == text
    assert isinstance(told(outcome), str)


def test_a_pending_call_without_its_reasons_still_says_what_it_waits_for():
    pending = Pending(**WHO, approval_id="a1")
    assert "a person has to decide about pay first." in told(pending)
    assert told(pending).endswith("the question is approval a1.")
    assert not is_error(pending)
