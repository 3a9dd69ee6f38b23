"""The child's side of the conversation, with the test as its parent.

A gate kills a child as soon as it has answered, and with it whatever measures it. Here a child may end by itself.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, tool
from callgate.adapters.convert import convert
from callgate.errors import SecretNotFound
from callgate.model.context_form import context_to_json
from callgate.pipeline.child import LENGTH, KeptOpen, child_main
from tests.journeys import isolated_tools

WITHIN = 30


class Parent:
    """Starts a child for one of the tools, hears it, and answers it."""

    def __init__(self, made_of: Any, folder: Path, *, holding: tuple[int, ...] = (), **arguments: Any) -> None:
        (made,) = convert(made_of)
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
        self._life = os.pipe()
        start = multiprocessing.get_context("spawn").Process
        self.child: BaseProcess = start(target=child_main, args=(theirs, work, KeptOpen(self._life[0], *holding)))
        self.child.start()
        theirs.close()

    def let_enter(self) -> None:
        assert self.hear() == ("enter", None)
        self.answer("ok", None)

    def hear(self) -> tuple[str, Any]:
        (length,) = LENGTH.unpack(self._lines.read(LENGTH.size))
        kind, body = pickle.loads(self._lines.read(length))
        return kind, pickle.loads(body) if kind == "returned" else body

    def answer(self, status: str, value: Any) -> None:
        body = pickle.dumps((status, value))
        self._line.sendall(LENGTH.pack(len(body)) + body)

    def end(self) -> int | None:
        self._lines.close()
        self._line.close()
        self.child.join(WITHIN)
        for end in self._life:
            os.close(end)
        return self.child.exitcode


def test_a_child_answers_where_it_is_told_to_work_and_ends(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.whoami, tmp_path, text="x")
    parent.let_enter()
    kind, answer = parent.hear()
    assert (kind, answer["text"], answer["pid"]) == ("returned", "x", parent.child.pid)
    assert parent.end() == 0


def test_a_child_awaits_and_knows_for_whom(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.later, tmp_path, text="x")
    parent.let_enter()
    assert parent.hear() == ("returned", "x later")
    assert parent.end() == 0
    parent = Parent(isolated_tools.identity, tmp_path)
    parent.let_enter()
    assert parent.hear() == ("returned", {"principal": "bot7", "session": "default", "limited": True})
    assert parent.end() == 0


def test_a_child_sends_what_it_raises_or_its_words(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.fail, tmp_path, text="x")
    parent.let_enter()
    kind, error = parent.hear()
    assert (kind, str(error)) == ("raised", "bad x")
    assert parent.end() == 0
    parent = Parent(isolated_tools.fail_oddly, tmp_path, text="some")
    parent.let_enter()
    assert parent.hear() == ("raised", "Odd: some and more")
    assert parent.end() == 0


def test_a_child_asks_for_secrets_and_says_when_it_takes_effect(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.sign, tmp_path)
    parent.let_enter()
    assert parent.hear() == ("secret", ("bank", "token"))
    parent.answer("ok", "t0ken")
    assert parent.hear() == ("progress", (0.5, "halfway"))
    assert parent.hear() == ("effect", None)
    parent.answer("ok", None)
    assert parent.hear() == ("returned", "signed with t0ken")
    assert parent.end() == 0


def test_a_child_that_gets_no_secret_raises_where_it_asked(tmp_path: Path) -> None:
    parent = Parent(isolated_tools.sign, tmp_path)
    parent.let_enter()
    parent.hear()
    parent.answer("error", "there is none")
    kind, error = parent.hear()
    assert (kind, type(error), str(error)) == ("raised", SecretNotFound, "there is none")
    assert parent.end() == 0


def test_a_child_whose_parent_hangs_up_while_it_asks_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parent = Parent(isolated_tools.sign, tmp_path)
    parent.let_enter()
    parent.hear()
    assert parent.end() == 1
    assert "Error" in capfd.readouterr().err


def test_a_child_whose_parent_hangs_up_before_it_may_enter_does_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parent = Parent(isolated_tools.write_at_once, tmp_path, trace=str(tmp_path / "trace"))
    assert parent.hear() == ("enter", None)
    assert parent.end() == 1
    assert "Error" in capfd.readouterr().err
    assert not (tmp_path / "trace").exists()


def test_a_child_that_returns_what_cannot_be_sent_says_so(tmp_path: Path) -> None:
    made = tool(effects="modifies_files", risk="low", isolation="process")(isolated_tools.unsendable)
    parent = Parent(made, tmp_path, path=str(tmp_path / "x"))
    parent.let_enter()
    kind, of = parent.hear()
    assert kind == "unsent"
    assert of in {"AttributeError", "PicklingError"}  # by the version of Python
    assert parent.end() == 0


def test_a_child_has_open_what_it_is_to_hold_until_it_ends(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    parent = Parent(isolated_tools.whoami, tmp_path, holding=(writing,), text="x")
    os.close(writing)
    os.set_blocking(reading, False)
    parent.hear()
    with pytest.raises(BlockingIOError):
        os.read(reading, 1)
    parent.answer("ok", None)
    assert parent.hear()[0] == "returned"
    assert parent.end() == 0
    assert os.read(reading, 1) == b""
    os.close(reading)
