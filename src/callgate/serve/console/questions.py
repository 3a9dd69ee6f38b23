"""A question as its page lays it out: the call argument by argument, what would happen, and who asks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from callgate.model.approval import Approval, ApprovalState
from callgate.model.canonical import NotCanonical, loads
from callgate.model.layer import ConfirmBy
from callgate.model.visible import one_line

_WHO = {
    ConfirmBy.USER: "one person",
    ConfirmBy.OTHER: "somebody other than the user",
    ConfirmBy.TWO: "two people",
}
_BRIEF = 3


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, exactly as it will be given."""

    name: str
    value: str
    """Its canonical JSON, hidden characters visible."""
    text: str | None
    """Its lines, where it is a text of several."""
    origin: str


@dataclass(frozen=True, slots=True)
class CallInQuestion:
    """One call that a person is asked about."""

    tool: str
    arguments: tuple[Argument, ...]
    place: int = 0
    asks: bool = True


def calls_asked(approval: Approval) -> tuple[CallInQuestion, ...]:
    """The call of a question; of a plan, all of its calls in order."""
    if approval.is_plan:
        return tuple(
            CallInQuestion(each.tool, _arguments(each.what, {}), place=place, asks=each.asks)
            for place, each in enumerate(approval.calls, start=1)
        )
    return (CallInQuestion(approval.tool, _arguments(approval.what, approval.origins)),)


def brief_lines(approval: Approval) -> list[str]:
    """The beginning of what is asked, for a list; the page has all of it."""
    if approval.is_plan:
        return [one_line(f"{len(approval.calls)} calls: {', '.join(each.tool for each in approval.calls)}")]
    return [line.strip() for line in approval.what.split("\n")[1 : _BRIEF + 1]]


def editable(approval: Approval) -> str:
    """The arguments as JSON to edit; hidden characters are written out in it."""
    found: dict[str, Any] = {}
    for each in calls_asked(approval)[0].arguments:
        try:
            found[each.name] = loads(each.value)
        except (NotCanonical, ValueError):
            found[each.name] = each.value
    return json.dumps(found, ensure_ascii=False, indent=2)


def edit_of(text: str) -> dict[str, Any]:
    """The arguments that were typed.

    Raises:
        ValueError: They are none; the message says why.
    """
    try:
        found = loads(text)
    except (NotCanonical, ValueError) as error:
        message = f"this is no JSON: {error}"
        raise ValueError(message) from None
    if not isinstance(found, dict):
        message = "arguments are one JSON object, in braces"
        raise ValueError(message)  # noqa: TRY004 - it is what was typed that is wrong
    return cast("dict[str, Any]", found)


def confirmed_by(approval: Approval) -> str:
    """Who has to say yes."""
    return _WHO[approval.by]


def is_open(approval: Approval) -> bool:
    """Whether it waits for a person."""
    return approval.state is ApprovalState.PENDING


def _arguments(what: str, origins: dict[str, str]) -> tuple[Argument, ...]:
    """The lines of a payload; the first is the tool's name, and values have no line breaks of their own."""
    return tuple(_argument(line.removeprefix("  "), origins) for line in what.split("\n")[1:])


def _argument(line: str, origins: dict[str, str]) -> Argument:
    fitting = [name for name in origins if line.startswith(f"{one_line(name)}: ")]
    shown = one_line(max(fitting, key=len)) if fitting else line.partition(": ")[0]
    value = line[len(shown) + 2 :]
    return Argument(shown, value, _lines(value), origins.get(max(fitting, key=len), "") if fitting else "")


def _lines(value: str) -> str | None:
    try:
        read = json.loads(value)
    except ValueError:
        return None
    return read if isinstance(read, str) and "\n" in read else None
