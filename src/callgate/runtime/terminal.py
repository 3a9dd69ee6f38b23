"""Asking in the terminal: the question, the exact payload, and a person's answer. Never answers by itself."""

from __future__ import annotations

import asyncio
import getpass
import os
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, cast

from callgate.model.canonical import NotCanonical, loads
from callgate.model.levels import Assurance
from callgate.model.person import same_person
from callgate.model.visible import one_line, visible
from callgate.ports import Answer
from callgate.runtime.typed_lines import Line, forget_typed, read_line

if TYPE_CHECKING:
    from callgate.model.approval import Approval

_HELP = "[y] approve  [n] reject  [e] edit  [r] answer instead  [enter] decide later"
_HELP_WITH_PLAN = "[y] approve all  [n] reject all  [r] answer instead  [enter] decide later"
EDITED = "by a person; this is what would run"
NO_PREVIEW = "this tool has no preview; it would run with the arguments above"
_NEW_LINE = "\n"
"""Ctrl-C and Ctrl-D leave the cursor behind the prompt."""


class TerminalAsker:
    """Puts questions to whoever sits at the terminal, one at a time.

    Args:
        source: Where answers are typed; stdin when left out.
        sink: Where questions are written; stderr when left out.
        show: The question as a person reads it.
    """

    def __init__(
        self,
        *,
        source: TextIO | None = None,
        sink: TextIO | None = None,
        show: Callable[[Approval], str] | None = None,
    ) -> None:
        self._source = source
        self._sink = sink
        self._show = show or render
        self._one_at_a_time = asyncio.Lock()
        self.waiting: Approval | None = None
        """The question that is put to somebody and not answered; it stays when asking is broken off."""
        self._last: _Talk | None = None
        self._faulty: _Talk | None = None
        """The talk whose edit did not count."""
        self._agreed = ""
        """The question of which it was told that another has to agree."""

    @property
    def assurance(self) -> Assurance:
        """Somebody at this machine's terminal."""
        return Assurance.LOCAL

    async def ask(self, approval: Approval) -> Answer:
        """Show the question and read the answer; no terminal, or the end of input, is no answer.

        Asked again about a question whose edit did not count, it goes on with that edit.
        """
        source = self._source or sys.stdin
        if self._source is None and not source.isatty():
            return Answer("wait")
        async with self._one_at_a_time:
            talk = _Talk(source, self._sink or sys.stderr, approval)
            if self._has_agreed(approval, talk):
                return Answer("wait")
            if approval.edited and self._last is not None and self._last.approval.id == approval.id:
                talk.typed = self._last.typed
            if self._faulty is not None and self._faulty.approval.id == approval.id:
                talk.typed, editing = self._faulty.typed, True
            else:
                talk.say(self._show(approval))
                forget_typed(source)
                editing = False
            self.waiting = approval
            answer = await talk.answer(editing=editing)
            self.waiting, self._last, self._faulty = None, talk, None
            return answer

    def _has_agreed(self, approval: Approval, talk: _Talk) -> bool:
        """Whether who sits here said yes, and another has to agree; they are told so once, and not asked again."""
        agreed = any(same_person(vote.by, system_user()) for vote in approval.votes)
        if agreed and self._agreed != approval.id:
            talk.say("your yes is counted; one more person has to agree\n")
            self._agreed = approval.id
        return agreed

    def tell(self, message: str) -> bool:
        """Say why the answer did not count; True where it was an edit, which can be mended."""
        sink = self._sink or sys.stderr
        sink.write(f"that does not count: {visible(message)}\n")
        sink.flush()
        self._faulty = self._last if self._last is not None and self._last.edited else None
        return self._faulty is not None


class _Talk:
    """One question and what is typed in answer to it."""

    def __init__(self, source: TextIO, sink: TextIO, approval: Approval) -> None:
        self._source = source
        self._sink = sink
        self.approval = approval
        self.typed = ""
        """The last edit that was typed."""
        self.edited = False
        """Whether the answer is that edit."""

    def say(self, text: str) -> None:
        self._sink.write(text)
        self._sink.flush()

    async def answer(self, *, editing: bool) -> Answer:
        by = system_user()
        try:
            answer = await self._edited(by) if editing else None
            while answer is None:
                answer = await self._chosen(by)
        except asyncio.CancelledError:
            self._leave(Line("", ended=True))
            raise
        return answer

    async def _chosen(self, by: str) -> Answer | None:
        choice = await self._line(f"{_HELP_WITH_PLAN if self.approval.is_plan else _HELP}\n> ")
        if choice.text:
            return await self._take(choice.text.lower(), by)
        if choice.ended or self.typed:
            self._leave(choice)
        return Answer("wait")

    async def _take(self, choice: str, by: str) -> Answer | None:
        if choice in {"y", "yes"}:
            return Answer("approve", by=by)
        if choice in {"n", "no"}:
            return Answer("reject", text=(await self._line("why? ")).text, by=by)
        if choice == "r":
            text = (await self._line("answer for the model: ")).text
            return Answer("respond", text=text, by=by) if text else None
        if choice == "e" and not self.approval.is_plan:
            return await self._edited(by)
        self.say(f"please answer y, n{'' if self.approval.is_plan else ', e'} or r\n")
        return None

    async def _edited(self, by: str) -> Answer | None:
        """An edit, asked for until it can be one; None goes back to the question."""
        while True:
            if self.typed:
                self.say(f"what you typed: {visible(self.typed)}\n")
            line = await self._line("all arguments as one JSON object (enter goes back): ")
            self.typed = line.text or self.typed
            if line.ended:
                self._leave(line)
                return Answer("wait")
            if not line.text:
                return None
            arguments = self._arguments(line.text)
            if arguments is not None:
                self.edited = True
                return Answer("edit", arguments=arguments, by=by)

    def _arguments(self, text: str) -> dict[str, Any] | None:
        """The arguments that were typed; None, and why, if these are none."""
        try:
            arguments = loads(text)
        except (NotCanonical, ValueError) as error:
            self.say(f"that is no edit: {error}\n")
            return None
        if not isinstance(arguments, dict):
            self.say("that is no edit: arguments must be an object\n")
            return None
        return cast("dict[str, Any]", arguments)

    def _leave(self, line: Line) -> None:
        """Say that the question stays open, and how to go on with what was typed."""
        self.say(f"{_NEW_LINE if line.ended else ''}nothing is decided, and the question stays open\n")
        if self.typed:
            words = shlex.join(["callgate", "approvals", "approve", self.approval.id, "--edit", self.typed])
            self.say(f"to go on with what you typed: {visible(words)}\n")

    async def _line(self, prompt: str) -> Line:
        self.say(prompt)
        return await read_line(self._source)


def system_user() -> str:
    """What the system calls whoever sits here; in a container there may be no name, only a number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "operator"


def render(approval: Approval) -> str:
    """The question as a person reads it; a mark stands before what the call says, so that it cannot pass for ours."""
    wants = "wants to make these calls, which are decided together" if approval.is_plan else "wants to call"
    lines = [f"\nApproval {approval.id}: {one_line(approval.principal)} {wants}", *_marked(approval.what)]
    lines += [] if approval.is_plan else [f"key: {one_line(approval.key)}"]
    lines += [f"risk: {approval.risk.label}, autonomy: {approval.autonomy}"]
    lines += [f"why you are asked: {one_line(reason)}" for reason in approval.why]
    lines += [f"edited: {EDITED}"] if approval.edited else []
    if approval.preview is not None:
        lines += ["what would happen:", *_marked(str(approval.preview.get("text", "")))]
    elif approval.edited:
        lines += [f"what would happen: {NO_PREVIEW}"]
    if approval.by.value != "user":
        lines += [f"confirmed by: {approval.by.value}"]
    return "\n".join(lines) + "\n"


def _marked(text: str) -> list[str]:
    return [f"  | {line}" for line in visible(text).split("\n")]
