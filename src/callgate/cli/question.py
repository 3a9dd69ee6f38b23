"""A question to a person, laid out so that nothing in the call can pass for a word of ours."""

from __future__ import annotations

import io
import sys
import time

from callgate.cli.moments import moment, until
from callgate.cli.screen import Cell, Screen
from callgate.model.approval import Approval, ApprovalState
from callgate.model.layer import ConfirmBy
from callgate.model.visible import one_line
from callgate.runtime.terminal import EDITED, NO_PREVIEW, TerminalAsker

_MARK = "| "
_RISKS = {"low": "green", "medium": "yellow", "high": "red", "critical": "red"}
_WHO = {
    ConfirmBy.USER: "",
    ConfirmBy.OTHER: "somebody other than the user",
    ConfirmBy.TWO: "two people",
}


def terminal_asker() -> TerminalAsker:
    """Asks whoever sits at this terminal."""
    return TerminalAsker(show=_as_text)


def show_question(screen: Screen, approval: Approval) -> None:
    """What is asked, what would happen, why a person is asked, and until when."""
    asker = f"{one_line(approval.principal)} in session {one_line(approval.session)}"
    whom = f", for {one_line(approval.user)}" if approval.user else ""
    wants = "wants to make these calls, which are decided together" if approval.is_plan else "wants to call"
    screen.say(f"{asker}{whom}, {wants}", style="bold")
    screen.say(approval.what, indent=2, mark=_MARK)
    if approval.preview is not None:
        screen.say("what would happen", style="bold")
        screen.say(str(approval.preview.get("text", "")), indent=2, mark=_MARK)
    elif approval.edited and approval.state is ApprovalState.PENDING:
        screen.say("what would happen", style="bold")
        screen.say(NO_PREVIEW, indent=2)
    screen.say("why you are asked", style="bold")
    for reason in approval.why:
        screen.say(f"- {one_line(reason)}", indent=2)
    screen.facts(_facts(approval))


def _facts(approval: Approval) -> list[tuple[str, str | Cell]]:
    needs = approval.assurance.label.replace("_", " ")
    return [
        ("risk", Cell(f"{approval.risk.label}, at autonomy {approval.autonomy}", _RISKS[approval.risk.label])),
        ("touches", "\n".join(one_line(resource) for resource in approval.resources)),
        ("key", "" if approval.is_plan else one_line(approval.key)),
        ("confirmed by", _WHO[approval.by]),
        ("assurance", f"at least {needs}" if approval.assurance else ""),
        ("edited", EDITED if approval.edited else ""),
        ("approved by", ", ".join(one_line(vote.by) for vote in approval.votes)),
        ("approval", approval.id),
        ("digest", approval.digest),
        ("state", _state(approval)),
    ]


def _state(approval: Approval) -> str:
    if approval.state is ApprovalState.PENDING:
        silence = " and then runs unless somebody objects" if approval.on_expiry == "proceed" else ""
        return f"pending; it ends {until(approval.expires_at, now=time.time())}{silence}"
    by = f" by {one_line(approval.decided_by)}" if approval.decided_by else ""
    text = f": {one_line(approval.text)}" if approval.text else ""
    return f"{approval.state.value}{by} {moment(approval.decided_at)}{text}".strip()


def _as_text(approval: Approval) -> str:
    """The question in the width and colours of the terminal it is asked on."""
    around = Screen(sys.stderr)
    text = io.StringIO()
    screen = Screen(text, width=around.width, colour=around.colour)
    screen.say()
    show_question(screen, approval)
    return text.getvalue()
