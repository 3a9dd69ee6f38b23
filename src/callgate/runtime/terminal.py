"""Asking in the terminal: the question, the exact payload, and a person's answer. Never answers by itself."""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from typing import TYPE_CHECKING, TextIO

from callgate.approvals.show import visible
from callgate.model.levels import Assurance
from callgate.ports import Answer

if TYPE_CHECKING:
    from callgate.model.approval import Approval

_HELP = "[y] approve  [n] reject  [e] edit  [r] answer instead  [enter] decide later"


class TerminalAsker:
    """Puts questions to whoever sits at the terminal, one at a time."""

    def __init__(self, *, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        self._source = source
        self._sink = sink
        self._one_at_a_time = asyncio.Lock()

    @property
    def assurance(self) -> Assurance:
        """Somebody at this machine's terminal."""
        return Assurance.LOCAL

    async def ask(self, approval: Approval) -> Answer:
        """Show the question and read the answer; no terminal, or the end of input, is no answer."""
        source = self._source or sys.stdin
        if self._source is None and not source.isatty():
            return Answer("wait")
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._converse, approval, source, self._sink or sys.stderr)

    def _converse(self, approval: Approval, source: TextIO, sink: TextIO) -> Answer:
        sink.write(render(approval))
        by = getpass.getuser()
        while True:
            sink.write(f"{_HELP}\n> ")
            sink.flush()
            line = source.readline()
            choice = line.strip().lower()
            if not line or not choice:
                return Answer("wait")
            answer = _answer(choice, source, sink, by)
            if answer is not None:
                return answer


def _answer(choice: str, source: TextIO, sink: TextIO, by: str) -> Answer | None:
    if choice in {"y", "yes"}:
        return Answer("approve", by=by)
    if choice in {"n", "no"}:
        return Answer("reject", text=_line("why? ", source, sink), by=by)
    if choice == "r":
        text = _line("answer for the model: ", source, sink)
        return Answer("respond", text=text, by=by) if text else None
    if choice == "e":
        return _edited(source, sink, by)
    sink.write("please answer y, n, e or r\n")
    return None


def _edited(source: TextIO, sink: TextIO, by: str) -> Answer | None:
    text = _line("all arguments as one JSON object: ", source, sink)
    try:
        arguments = json.loads(text)
    except ValueError as error:
        sink.write(f"that is not JSON: {error}\n")
        return None
    if not isinstance(arguments, dict):
        sink.write("arguments must be an object\n")
        return None
    return Answer("approve", arguments=arguments, by=by)


def _line(prompt: str, source: TextIO, sink: TextIO) -> str:
    sink.write(prompt)
    sink.flush()
    return source.readline().strip()


def render(approval: Approval) -> str:
    """The question as a person reads it."""
    lines = [f"\nApproval {approval.id}: {visible(approval.principal)} wants to call", approval.what]
    lines += [f"risk: {approval.risk.label}, autonomy: {approval.autonomy}"]
    lines += [f"why you are asked: {visible(reason)}" for reason in approval.why]
    if approval.preview is not None:
        lines += ["what would happen:", visible(str(approval.preview.get("text", "")))]
    if approval.by.value != "user":
        lines += [f"confirmed by: {approval.by.value}"]
    return "\n".join(lines) + "\n"
