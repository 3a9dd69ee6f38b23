"""A coding agent as a door: its own tools do what the journeys' tools do, and its hook is asked before and after each.

Every question is a process of its own, as hosts start them, with the host's JSON on stdin. People decide on the command
line: a hook has no door for them.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from callgate import Callgate
from tests.doors.each_door import PERSON, CliDoor, Ended
from tests.doors.running import Cli, start

CONFIG = """
version: 1
autonomy: A4
global:
  rules:
    - {match: host.bash, when: 'args.command == "wipe"', verdict: deny, why: nobody wipes}
timeouts: {tools: {host.write: 0.05s}}
"""
"""A shell asks at every autonomy, as a payment does; what is written and not reported is not known soon."""
DEADLINE = "10"
_SESSION = "s1"
_APPROVAL = re.compile(r"approval (\S+);")
_CODE = re.compile(r"(Not run|Failed|Unknown) \((\w+)\)")
_STATUS = {"Not run": "refused", "Failed": "failed", "Unknown": "unknown"}
_RAN = "Not run again: this very call has run already. It returned: "


class HookDoor(CliDoor):
    """Claude Code with `callgate hook claude-code` around its tools."""

    def __init__(self, cli: Cli) -> None:
        super().__init__(cli)
        self._folder = cli.folder

    async def call(self, tool: str, arguments: Mapping[str, Any], *, key: str) -> Ended:
        """Use the host's tool that does this; its id of the use is the key."""
        host_tool, asked = self._own(tool, arguments)
        told = {"tool_name": host_tool, "tool_input": asked, "tool_use_id": key}
        decision = (await self._hook("PreToolUse", **told))["hookSpecificOutput"]
        if decision["permissionDecision"] == "deny":
            return _no(decision["permissionDecisionReason"])
        output = self._does(host_tool, decision.get("updatedInput", asked))
        if host_tool == "Write":  # The host dies before it can say how it ended.
            await _given_up()
            return Ended("unknown")
        assert await self._hook("PostToolUse", **told, tool_response=output) == {}
        return Ended("succeeded", value=output)

    async def approve(self, approval_id: str, arguments: Mapping[str, Any] | None = None) -> None:
        own = None if arguments is None else self._own("pay", arguments)[1]
        await super().approve(approval_id, own)

    async def resolve(self, key: str, *, happened: bool) -> None:
        said = "--happened" if happened else "--absent"
        await self.run("outcomes", "resolve", f"call:{key}", said, "--by", PERSON)

    def _own(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Which tool of the host does this, and how."""
        if tool == "word_count":
            (self._folder / "words.txt").write_text(arguments["text"])
            return "Read", {"file_path": str(self._folder / "words.txt")}
        if tool == "pay":
            amount = arguments["amount"]
            wanted = f"echo pay {amount} >> done.txt; echo paid {amount}"
            return "Bash", {"command": wanted if isinstance(amount, int) else [amount]}
        if tool == "post":
            text, done = arguments["text"], str(self._folder / "done.txt")
            if text.startswith("lost"):
                return "Write", {"file_path": done, "content": f"post {text}\n"}
            return "Edit", {"file_path": done, "old_string": "", "new_string": f"post {text}\n"}
        return ("Bash", {"command": "wipe"}) if tool == "wipe" else (tool, dict(arguments))

    def _does(self, host_tool: str, runs: Mapping[str, Any]) -> Any:
        """What the host itself does; nothing of the gate has a hand in it."""
        if host_tool == "Read":
            return len(Path(runs["file_path"]).read_text().split())
        if host_tool == "Bash":
            words = ["sh", "-c", runs["command"]]
            done = subprocess.run(words, cwd=self._folder, capture_output=True, text=True, check=True, timeout=30)
            return done.stdout.strip()
        with Path(runs["file_path"]).open("a") as witness:
            witness.write(runs.get("new_string", runs.get("content")))
        return "done"

    async def _hook(self, event: str, **more: Any) -> Any:
        told = {"hook_event_name": event, "session_id": _SESSION, "cwd": str(self._folder), **more}
        words = ("hook", "claude-code", "--deadline", DEADLINE)
        done = await asyncio.to_thread(start, *words, cwd=self._folder, text=json.dumps(told))
        assert done.code == 0, done
        return json.loads(done.out) if done.out else {}


def _no(reason: str) -> Ended:
    """What the host's model is told, as an outcome."""
    if reason.startswith(_RAN):
        return Ended("succeeded", value=reason.removeprefix(_RAN), deduped=True)
    if reason.startswith("Not run yet"):
        found = _APPROVAL.search(reason)
        assert found is not None, reason
        return Ended("pending", approval_id=found[1])
    found = _CODE.match(reason)
    assert found is not None, reason
    return Ended(_STATUS[found[1]], found[2])


async def _given_up() -> None:
    """Wait until a gate has seen that nobody reported."""
    async with asyncio.timeout(30), Callgate.open() as opened:
        async for _ in opened.events(types=["tool_call.unknown"], follow=True):
            return
