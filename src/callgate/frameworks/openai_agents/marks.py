"""Marks: which question a run of the SDK was interrupted for, written into the run's own state.

The SDK knows calls, and the gate asks questions: about one call there may be another question by the time somebody says
yes. A mark travels with the state, into other processes too, so that a yes counts for the question it was said to.
"""

from __future__ import annotations

from typing import Any, cast

from agents import Agent, RunContextWrapper, RunState, ToolApprovalItem

_OWNER: Agent[Any] = Agent(name="callgate")


def mark(run: RunContextWrapper[Any], *, tool: str, call_id: str, approval_id: str) -> None:
    """Note that the run is interrupted for this question about this call."""
    # An approval of a tool that nobody has: what the SDK keeps of a run are its approvals.
    item = {"type": "custom_tool_call", "call_id": f"{approval_id}:{call_id}", "name": _key(tool), "input": ""}
    run.approve_tool(ToolApprovalItem(agent=_OWNER, raw_item=item, tool_name=_key(tool)))


def marked(run: RunContextWrapper[Any], *, tool: str, call_id: str) -> str | None:
    """The question that the run was interrupted for about this call, the last where there were several."""
    found = [approval for approval, call in _marks(run, tool) if call == call_id]
    return found[-1] if found else None


def marked_in(state: RunState[Any, Any], *, tool: str, call_id: str) -> str | None:
    """The same for a run that is interrupted."""
    run = cast("RunContextWrapper[Any] | None", getattr(state, "_context", None))
    return None if run is None else marked(run, tool=tool, call_id=call_id)


def approved(run: RunContextWrapper[Any], *, tool: str, call_id: str) -> bool:
    """Whether somebody said yes in the SDK to this very call.

    A yes for good does not say to which call it was said: it counts where the run was interrupted about one alone.
    """
    for record in _records(run).values():
        if call_id in _listed(record):
            return True
    return {call for _, call in _marks(run, tool)} == {call_id} and run.is_tool_approved(tool, call_id) is True


def _marks(run: RunContextWrapper[Any], tool: str) -> list[tuple[str, str]]:
    """Questions and the calls they are about, in the order in which the run was interrupted for them."""
    ids = (each.partition(":") for each in _listed(_records(run).get(_key(tool))))
    return [(approval, call) for approval, _, call in ids]


def _listed(record: Any) -> list[str]:
    """The single calls that were approved, where it is not all of them."""
    found = getattr(record, "approved", None)
    return cast("list[str]", found) if isinstance(found, list) else []


def _records(run: RunContextWrapper[Any]) -> dict[Any, Any]:
    # The SDK's own question, is it approved, does not tell a yes to this call from one for good. Without: no yes.
    return cast("dict[Any, Any]", getattr(run, "_approvals", {}))


def _key(tool: str) -> str:
    return f"callgate:{tool}"
