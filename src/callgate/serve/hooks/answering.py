"""Answering: one moment at a host, brought before an open gate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.errors import CallgateError, Conflict, NotFound
from callgate.model.call import Call
from callgate.model.canonical import dumps
from callgate.model.context import Context
from callgate.model.outcome import Outcome, Pending, Succeeded
from callgate.model.visible import visible
from callgate.runtime.host_tools import every_host_tool
from callgate.runtime.telling import reasons, told
from callgate.serve.hooks.moment import Host, Kind, Moment, Reply
from callgate.serve.showing import Show, show_here

if TYPE_CHECKING:
    from callgate.runtime.calls import Judgement
    from callgate.runtime.gate import Callgate

_LARGEST = 64 * 1024
_PATHS = ("file_path", "path", "notebook_path", "cwd")
_WHERE = {"host.bash": "cwd", "host.glob": "path", "host.grep": "path", "host.list": "path"}
"""What says where a tool works; the host's own folder when it says nothing."""
_HOST_FILES = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".mcp.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".codex",
    ".github/hooks",
)
_HOME_FILES = (".claude.json", ".claude/settings.json", ".cursor/hooks.json", ".cursor/mcp.json", ".codex", ".copilot")


def prepare(gate: Callgate, root: Path) -> None:
    """Declare the hosts' tools, and put what switches their hooks on and off out of reach of every tool."""
    gate.add(*every_host_tool(), update=True)
    gate.protect(*(root / name for name in _HOST_FILES), *(Path.home() / name for name in _HOME_FILES))


class Answers:
    """What an open gate says to the moments of one host.

    Args:
        gate: The gate, prepared.
        host: How the host speaks.
        context: Who asks.
        show: How people find a question.
    """

    def __init__(self, gate: Callgate, host: Host, *, context: Context, show: Show = show_here) -> None:
        self._gate = gate
        self._host = host
        self._context = context
        self._show = show

    async def answer(self, moment: Moment, *, wait: float) -> Reply:
        """What the gate says to this moment; whatever is raised is a no, and for the caller to tell."""
        if moment.kind is Kind.PROMPT:
            await self._gate.note_words(moment.prompt, self._context)
            return self._host.quiet
        if moment.kind is Kind.AFTER:
            return await self._report(moment)
        call = _call(moment)
        judgement = await self._gate.judge_use(call, self._context, wait=wait)
        if judgement.allowed and judgement.edited is not None:
            return await self._edited(call, moment, edited=judgement.edited)
        if judgement.allowed:
            return self._host.allow(moment, None)
        return self._host.deny(moment.told, visible(why_not(judgement, call, show=self._show)))

    async def _edited(self, call: Call, moment: Moment, *, edited: Mapping[str, Any]) -> Reply:
        """What a person allowed is not what was asked: the host runs that, or is told what to ask for instead."""
        given = as_given(edited, moment)
        if given is not None and self._host.takes_edits(moment):
            return self._host.allow(moment, given)
        await self._gate.report_use(call, self._context, ok=False, error="not run: its host could not be told the edit")
        instead = dumps(dict(edited)).decode()
        why = f"Not run: a person changed this call, which {self._host.name} cannot be told. Make this one: {instead}"
        return self._host.deny(moment.told, visible(why))

    async def _report(self, moment: Moment) -> Reply:
        facts: dict[str, Any] = {"ok": moment.ok, "output": _bounded(moment.output), "error": moment.error}
        try:
            await self._gate.report_use(_call(moment), self._context, **facts)
        except NotFound:
            told = f"Callgate: {moment.tool} ran, and was not allowed by this gate under this id."
            return self._host.note(visible(told))
        except Conflict as error:
            return self._host.note(visible(f"Callgate: {error}"))
        return self._host.quiet


def _call(moment: Moment) -> Call:
    return Call(moment.tool, placed(moment), id=moment.use or None)


def why_not(judgement: Judgement, call: Call, *, show: Show = show_here) -> str:
    """Why the host may not run it, for its model and for whoever watches."""
    outcome = judgement.outcome
    if isinstance(outcome, Pending):
        return _waits(outcome, show)
    if call.tool.startswith("host:"):
        name = call.tool.partition(":")[2]
        why = f"{name} is not declared at the gate. Do not retry; choose another way or ask the operator."
        return f"Not run (tool_not_found): {why}"
    assert outcome is not None  # noqa: S101 - a no always says why, and an error here is one as well
    return _said(outcome)


def placed(moment: Moment) -> dict[str, Any]:
    """The arguments with relative paths where the host means them, which need not be where the gate works."""
    arguments = dict(moment.arguments)
    if moment.folder is None or not moment.tool.startswith("host."):
        return arguments
    for name in _PATHS:
        path = arguments.get(name)
        if isinstance(path, str) and path.strip() and not os.path.isabs(path) and not path.startswith("~"):  # noqa: PTH117
            arguments[name] = os.path.join(moment.folder, path)  # noqa: PTH118 - `..` must stay as it was said
    # Where it runs belongs to what it does: a yes for one folder is none for another.
    arguments.update(dict.fromkeys(_added(moment), moment.folder))
    return arguments


def _added(moment: Moment) -> set[str]:
    """What says where the tool works, where the host said nothing or a blank: it works in its own folder then."""
    where = _WHERE.get(moment.tool)
    if where is None or moment.folder is None:
        return set()
    said = moment.arguments.get(where, "")
    return {where} if isinstance(said, str) and not said.strip() else set()


def as_given(edited: Mapping[str, Any], moment: Moment) -> dict[str, Any] | None:
    """What a person changed, without what was added here; None where that is what they changed."""
    judged = placed(moment)
    added = _added(moment)
    if any(edited.get(name, judged[name]) != judged[name] for name in added):
        return None
    return {name: value for name, value in edited.items() if name not in added}


def _bounded(output: Any) -> Any:
    """What a tool gave back, unless that is more than a record should keep."""
    try:
        size = len(dumps(output))
    except CallgateError:
        return {"left_out": "it is not JSON"}
    return output if size <= _LARGEST else {"left_out": f"{size} bytes"}


def _waits(outcome: Pending, show: Show) -> str:
    why = "; ".join(reasons(outcome))
    return (
        f"Not run yet: a person has to decide about {outcome.tool} first{f' ({why})' if why else ''}. "
        "Nothing has happened so far. Once it is decided, make the same call again. "
        f"The question is approval {outcome.approval_id}; a person decides it in the console, or finds it with: "
        f"{show(outcome.approval_id)}"
    )


def _said(outcome: Outcome) -> str:
    if isinstance(outcome, Succeeded):
        return f"Not run again: this very call has run already. It returned: {told(outcome)}"
    return told(outcome)
