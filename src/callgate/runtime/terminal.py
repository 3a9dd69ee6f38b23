"""Asking in the terminal: the question, the exact payload, and a person's answer. Never answers by itself."""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from callgate.model.canonical import NotCanonical, loads
from callgate.model.levels import Assurance
from callgate.model.visible import one_line, visible
from callgate.ports import Answer

try:
    import termios
except ImportError:  # Windows
    termios = None

if TYPE_CHECKING:
    from callgate.model.approval import Approval

_HELP = "[y] approve  [n] reject  [e] edit  [r] answer instead  [enter] decide later"


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
            talk = _Talk(source, self._sink or sys.stderr)
            talk.say(self._show(approval))
            _forget_typed(source)
            return await talk.answer()

    def tell(self, message: str) -> None:
        """Say why the answer did not count."""
        sink = self._sink or sys.stderr
        sink.write(f"that does not count: {visible(message)}\n")
        sink.flush()


class _Talk:
    """One question and what is typed in answer to it."""

    def __init__(self, source: TextIO, sink: TextIO) -> None:
        self._source = source
        self._sink = sink

    def say(self, text: str) -> None:
        self._sink.write(text)
        self._sink.flush()

    async def answer(self) -> Answer:
        by = system_user()
        while True:
            choice = (await self._line(f"{_HELP}\n> ")).lower()
            if not choice:
                return Answer("wait")
            answer = await self._take(choice, by)
            if answer is not None:
                return answer

    async def _take(self, choice: str, by: str) -> Answer | None:
        if choice in {"y", "yes"}:
            return Answer("approve", by=by)
        if choice in {"n", "no"}:
            return Answer("reject", text=await self._line("why? "), by=by)
        if choice == "r":
            text = await self._line("answer for the model: ")
            return Answer("respond", text=text, by=by) if text else None
        if choice == "e":
            return await self._edited(by)
        self.say("please answer y, n, e or r\n")
        return None

    async def _edited(self, by: str) -> Answer | None:
        text = await self._line("all arguments as one JSON object: ")
        try:
            arguments = loads(text)
        except (NotCanonical, ValueError) as error:
            self.say(f"{error}\n")
            return None
        if not isinstance(arguments, dict):
            self.say("arguments must be an object\n")
            return None
        return Answer("approve", arguments=arguments, by=by)

    async def _line(self, prompt: str) -> str:
        self.say(prompt)
        if not await _typed(self._source):
            return (await asyncio.to_thread(self._source.readline)).strip()
        return self._source.readline().strip()


def _forget_typed(source: TextIO) -> None:
    """What was typed before the question could be read is no answer to it."""
    if termios is not None and source.isatty():
        termios.tcflush(source, termios.TCIFLUSH)


async def _typed(source: TextIO) -> bool:
    """Wait until a terminal has a line for us, so that Ctrl-C is heard meanwhile; False where one cannot wait so."""
    if not source.isatty():
        return False
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(source.fileno(), ready.set)
    except (NotImplementedError, OSError):
        return False
    try:
        await ready.wait()
    finally:
        loop.remove_reader(source.fileno())
    return True


def system_user() -> str:
    """What the system calls whoever sits here; in a container there may be no name, only a number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "operator"


def render(approval: Approval) -> str:
    """The question as a person reads it; a mark stands before what the call says, so that it cannot pass for ours."""
    lines = [f"\nApproval {approval.id}: {one_line(approval.principal)} wants to call", *_marked(approval.what)]
    lines += [f"risk: {approval.risk.label}, autonomy: {approval.autonomy}"]
    lines += [f"why you are asked: {one_line(reason)}" for reason in approval.why]
    if approval.preview is not None:
        lines += ["what would happen:", *_marked(str(approval.preview.get("text", "")))]
    if approval.by.value != "user":
        lines += [f"confirmed by: {approval.by.value}"]
    return "\n".join(lines) + "\n"


def _marked(text: str) -> list[str]:
    return [f"  | {line}" for line in visible(text).split("\n")]
