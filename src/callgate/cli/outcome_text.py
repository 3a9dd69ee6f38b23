"""An outcome for a person: what came out, how it ended and why, and what can be done next. And the same as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from callgate.cli.document import print_document
from callgate.cli.exit_codes import ExitCode, code_of_status
from callgate.cli.moments import until
from callgate.cli.place import Place
from callgate.cli.proposal import Proposals, approving, proposed
from callgate.cli.screen import Cell, Screen
from callgate.cli.streams import Unwritten
from callgate.cli.trouble import is_debugging
from callgate.errors import ApprovalAnswered, ApprovalRejected, InvalidArguments
from callgate.model.approval import Approval
from callgate.model.levels import Happened
from callgate.model.outcome import Failed, Outcome, Pending, Previewed, Succeeded, Unknown
from callgate.model.shapes import as_mapping
from callgate.runtime.cause_text import cause_text

_STYLES = {"succeeded": "green", "previewed": "cyan", "pending": "yellow", "unknown": "yellow"}
_AT_THE_SHELL = ("say distinct=True", "add --distinct")
"""What an error tells programs, and what that is called here."""
_SAID_BY_A_PERSON = frozenset({ApprovalRejected.code, ApprovalAnswered.code})
_ASKS_AGAIN = (
    "where you changed your mind: the same call with --key and a name not used before, or in another --session"
)


def show_outcome(outcome: Outcome, place: Place, *, as_json: bool, question: Approval | None = None) -> ExitCode:
    """Print it, the output on stdout and the rest on stderr; the exit code. `question` is what it waits for, or did."""
    try:
        if as_json:
            print_document(outcome_document(outcome))
        else:
            _show_output(outcome)
    except Unwritten as error:
        shown = place.command("audit", "show", outcome.call_id)
        ended = f"the call of {outcome.tool} was made and ended as {outcome.status}"
        raise Unwritten(f"{error}; {ended}, call {outcome.call_id}; its record: {shown}") from error
    if is_debugging() and outcome.cause is not None:
        Screen(sys.stderr).say(cause_text(outcome), style="dim")
    if not as_json:
        _show_end(Screen(sys.stderr), outcome, place=place, question=question)
    return code_of_status(outcome.status, outcome.error.code if outcome.error else "")


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """The envelope of protocol version 1, with the decision and the preview among its metadata."""
    body = outcome.to_machine()
    metadata = dict(body["metadata"])
    if outcome.decision is not None:
        metadata["decision"] = outcome.decision.to_json()
    if isinstance(outcome, Previewed):
        shown = outcome.preview
        metadata["preview"] = None if shown is None else {"text": shown.text, "details": shown.details}
    if isinstance(outcome, Pending):
        metadata["expires_at"] = outcome.expires_at
    if isinstance(outcome, Failed):
        metadata["effect"] = outcome.happened.value
    return body | {"metadata": metadata | {"duration_ms": outcome.duration_ms}}


def value_text(value: Any) -> str:
    """A value for a person: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _laid_out(value: Any) -> str:
    """As `value_text`, with texts of several lines (a plot, a file, what a program printed) as they are, at the end."""
    mapping = as_mapping(value)
    texts = {} if mapping is None else {name: text for name, text in mapping.items() if _has_lines(text)}
    if mapping is None or not texts:
        return value_text(value)
    rest = {name: item for name, item in mapping.items() if name not in texts}
    blocks = [f"{name}:\n{text.rstrip()}" for name, text in texts.items()]
    return "\n".join((*([value_text(rest)] if rest else ()), *blocks))


def _has_lines(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value.strip()


def _show_output(outcome: Outcome) -> None:
    screen = Screen(sys.stdout)
    if isinstance(outcome, Previewed) and outcome.preview is not None:
        screen.say(outcome.preview.text)
    elif isinstance(outcome, Succeeded) or outcome.output is not None:
        shown = _laid_out(outcome.output) if screen.is_terminal else value_text(outcome.output)
        # A line is ended below; one that is ended already would be followed by an empty one.
        screen.say(shown.removesuffix("\n"))


def _show_end(screen: Screen, outcome: Outcome, *, place: Place, question: Approval | None) -> None:
    screen.say(_headline(outcome), style=_STYLES.get(outcome.status, "red"))
    error = outcome.error
    if error is not None:
        for fault in error.faults:
            if fault != error.message:
                screen.say(f"- {fault}", indent=2)
    steps = _waiting_steps(outcome, place, question=question) if isinstance(outcome, Pending) else []
    earlier = _earlier(outcome, place, question=question)
    screen.facts([*steps, *_next_steps(outcome, place), *earlier], indent=2)


def _headline(outcome: Outcome) -> str:
    if isinstance(outcome, Succeeded):
        source = "answered from the ledger, not run again" if outcome.deduped else f"{outcome.duration_ms:.0f} ms"
        return f"succeeded: {outcome.tool}, {source}" + (f", key {outcome.key}" if outcome.key else "")
    if isinstance(outcome, Pending):
        return f"pending: {outcome.tool} waits for a person (it ends {until(outcome.expires_at)})"
    if isinstance(outcome, Previewed):
        known = "this is what it would do" if outcome.preview else "the tool cannot say what it would do"
        return f"previewed: {outcome.tool} was not run; {known}"
    message = outcome.error.message if outcome.error else "no reason was recorded"
    message = message.replace(*_AT_THE_SHELL)
    code = f" ({outcome.error.code})" if outcome.error else ""
    return f"{outcome.status}: {outcome.tool}: {message}{code}"


def _waiting_steps(outcome: Pending, place: Place, *, question: Approval | None) -> Proposals:
    approve: Proposals = [("decide", proposed(place, "approvals", "approve", outcome.approval_id))]
    return [
        *(("why", reason.text) for reason in _asking(outcome)),
        ("look at it", proposed(place, "approvals", "show", outcome.approval_id)),
        *(approve if question is None else approving(place, question, title="decide")),
        ("then", "the same call again runs it, once"),
    ]


def _earlier(outcome: Outcome, place: Place, *, question: Approval | None) -> Proposals:
    """That a person did not answer this call but one like it, and how to be asked about this one."""
    if outcome.error is None or outcome.error.code not in _SAID_BY_A_PERSON:
        return []
    if question is None or question.call_id == outcome.call_id:
        return []
    ago = "" if question.decided_at is None else f"{until(question.decided_at)}: "
    shown = place.command("approvals", "show", question.id)
    return [("answered before", Cell(f"{ago}{shown}", whole=True)), ("to be asked again", _ASKS_AGAIN)]


def _next_steps(outcome: Outcome, place: Place) -> Proposals:
    steps: Proposals = []
    if isinstance(outcome, Unknown) and outcome.key:
        steps.append(("ask the tool", proposed(place, "outcomes", "verify", outcome.key, tools=True)))
        steps.append(("or say it", proposed(place, "outcomes", "resolve", outcome.key, "--happened")))
    elif isinstance(outcome, Failed):
        left = {"none": "nothing", "possible": "perhaps something", "done": "its effect"}
        steps.append(("left behind", left[outcome.happened.value]))
        if outcome.happened is Happened.POSSIBLE and outcome.key:
            steps.append(("find out", proposed(place, "outcomes", "show", outcome.key)))
    if outcome.error is not None and outcome.error.suggestion:
        steps.append(("advice", outcome.error.suggestion))
    if outcome.error is not None and outcome.error.code == InvalidArguments.code and outcome.tool:
        steps.append(("what it takes", proposed(place, "tools", "show", outcome.tool, tools=True)))
    return steps


def _asking(outcome: Outcome) -> list[Any]:
    """What raised the risk, and what asks for a person."""
    reasons = outcome.decision.reasons if outcome.decision else ()
    return [reason for reason in reasons if reason.verdict is not None or reason.raises]
