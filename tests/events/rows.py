"""Ledger rows and approvals as the pipeline leaves them, put where a test wants them."""

from typing import Any

from callgate.model.approval import Approval, ApprovalState
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Happened, Risk
from callgate.ports import Store, Transaction
from tests.events.stories import Story


def row_of(story: Story, state: AttemptState, **more: Any) -> Attempt:
    fields: dict[str, Any] = {
        "key": AttemptKey("agent", "s1", story.key or ""),
        "call_id": story.call,
        "trace_id": story.trace,
        "tool": story.tool,
        "definition_hash": "d" * 64,
        "fingerprint": "f" * 64,
        "final_fingerprint": "f" * 64,
        "state": state,
        "happened": Happened.NONE if state is AttemptState.FAILED else None,
        "owner": "o",
        "fence": 1,
    }
    return Attempt(**(fields | more))


def approval_of(story: Story, state: ApprovalState, **more: Any) -> Approval:
    fields: dict[str, Any] = {
        "id": "a1",
        "state": state,
        "principal": "agent",
        "session": "s1",
        "user": "ada",
        "tool": story.tool,
        "definition_hash": "d" * 64,
        "call_id": story.call,
        "trace_id": story.trace,
        "key": "k1",
        "asked_fingerprint": "f" * 64,
        "final_fingerprint": "f" * 64,
        "sealed_id": "sealed",
        "what": "mail.send",
        "why": (),
        "origins": {},
        "risk": Risk.MEDIUM,
        "autonomy": "A2",
        "preview": None,
        "preview_state": None,
        "resources": (),
        "working_directory": "",
        "account": "",
        "by": ConfirmBy.USER,
        "assurance": Assurance.ASSERTED,
        "plus": False,
        "on_expiry": "reject",
        "created_at": 1.0,
        "expires_at": 2.0,
        "mac": "m",
    }
    return Approval(**(fields | more))


async def put(store: Store, *rows: Attempt | Approval) -> None:
    def unit(tx: Transaction) -> None:
        for row in rows:
            tx.put_attempt(row) if isinstance(row, Attempt) else tx.put_approval(row)

    await store.write(unit)
