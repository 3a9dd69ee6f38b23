"""The child's side of the conversation, with the test as its parent.

A gate kills a child as soon as it has answered, and with it whatever measures it. Here a child may end by itself.
"""

from __future__ import annotations

import multiprocessing
import pickle
import socket
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from callgate import Context
from callgate.adapters.convert import convert
from callgate.errors import SecretNotFound
from callgate.model.context_form import context_to_json
from callgate.pipeline.child import LENGTH, child_main
from tests.journeys import isolated_tools

WITHIN = 30


class Parent:
    """Starts a child for one of the tools, hears it, and answers it."""

    def __init__(self, tool: Any, folder: Path, **arguments: Any) -> None:
        (made,) = convert(tool)
        facts = {
            "context": context_to_json(Context(principal="bot7")),
            "tool": made.name,
            "call_id": "c1",
            "key": "k1",
            "working_directory": str(folder),
            "seconds": 60.0,
        }
        self._line, theirs = socket.socketpair()
        self._line.settimeout(WITHIN)
        self._lines = self._line.makefile("rb")
        theirs.settimeout(None)
        work = pickle.dumps((made.original, arguments, facts))
        self.child: BaseProcess = multiprocessing.get_context("spawn").Process(target=child_main, args=(theirs, work))
        self.child.start()
        theirs.close()

    def hear(self) -> tuple[str, Any]:
        (length,) = LENGTH.unpack(self._lines.read(LENGTH.size))
        return pickle.loads(self._lines.read(length))

    def answer(self, status: str, value: Any) -> None:
        body = pickle.dumps((status, value))
        self._line.sendall(LENGTH.pack(len(body)) + body)

    def end(self) -> int | None:
        self._lines.close()
        self._line.close()
        self.child.join(WITHIN)
        return self.child.exitcode


def test_a_child_answers_where_it_is_told_to_work_and_ends(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.whoami, tmp_path, text="x")
    kind, answer = parent.hear()
    assert (kind, answer["text"], answer["pid"]) == ("returned", "x", parent.child.pid)
    assert parent.end() == 0


def test_a_child_awaits_and_knows_for_whom(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.later, tmp_path, text="x")
    assert parent.hear() == ("returned", "x later")
    assert parent.end() == 0
    parent = Parent(isolated_tools.identity, tmp_path)
    assert parent.hear() == ("returned", {"principal": "bot7", "session": "default", "limited": True})
    assert parent.end() == 0


def test_a_child_sends_what_it_raises_or_its_words(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.fail, tmp_path, text="x")
    kind, error = parent.hear()
    assert (kind, str(error)) == ("raised", "bad x")
    assert parent.end() == 0
    parent = Parent(isolated_tools.fail_oddly, tmp_path, text="some")
    assert parent.hear() == ("raised", "Odd: some and more")
    assert parent.end() == 0


def test_a_child_asks_for_secrets_and_says_when_it_takes_effect(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.sign, tmp_path)
    assert parent.hear() == ("secret", ("bank", "token"))
    parent.answer("ok", "t0ken")
    assert parent.hear() == ("progress", (0.5, "halfway"))
    assert parent.hear() == ("effect", None)
    parent.answer("ok", None)
    assert parent.hear() == ("returned", "signed with t0ken")
    assert parent.end() == 0


def test_a_child_that_gets_no_secret_raises_where_it_asked(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.sign, tmp_path)
    parent.hear()
    parent.answer("error", "there is none")
    kind, error = parent.hear()
    assert (kind, type(error), str(error)) == ("raised", SecretNotFound, "there is none")
    assert parent.end() == 0


def test_a_child_whose_parent_hangs_up_while_it_asks_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parent = Parent(isolated_tools.sign, tmp_path)
    parent.hear()
    assert parent.end() == 1
    assert "Error" in capfd.readouterr().err
