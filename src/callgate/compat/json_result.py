"""JSON results: an outcome as the text that an executor of the JSON convention gives back, whatever happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.errors import ToolError
from callgate.model.canonical import dumps
from callgate.model.levels import Category
from callgate.model.outcome import Pending, Previewed
from callgate.pipeline.recorded import json_form

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome


def json_result(outcome: Outcome) -> str:
    """The output as JSON, or an object with error, category, tool and, where there is one, a suggestion."""
    try:
        body = outcome.unwrap()
    except ToolError as error:
        body = _did_not_run(outcome, error) if outcome.error is None else outcome.error.to_json()
    return dumps(json_form(body)).decode()


def _did_not_run(outcome: Outcome, error: ToolError) -> dict[str, Any]:
    """A call that was only asked or shown has no error of its own; for who reads JSON, it is no success either."""
    body = {"error": str(error), "code": error.code, "category": Category.PERMISSION.value, "tool": outcome.tool}
    if isinstance(outcome, Pending):
        body |= {"approval_id": outcome.approval_id, "suggestion": "Wait for a person to decide, then call again."}
    if isinstance(outcome, Previewed) and outcome.preview is not None:
        body["preview"] = outcome.preview.text
    return body
