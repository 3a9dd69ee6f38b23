"""What is logged, as JSON lines."""

import json
import logging

from callgate.cli.logs import JsonLine


def _record(message: str) -> logging.LogRecord:
    error = ValueError("hunter2")
    return logging.LogRecord("callgate", logging.WARNING, "file", 1, message, (), (ValueError, error, None))


def test_a_record_is_one_line_and_reads_as_what_was_said():
    line = JsonLine().format(_record("two\nlines\u202e"))
    assert "\n" not in line
    assert "\u202e" not in line
    told = json.loads(line)
    assert (told["level"], told["logger"], told["message"]) == ("warning", "callgate", "two\nlines\u202e")


def test_of_an_exception_only_its_kind_is_told():
    line = JsonLine().format(_record("something failed"))
    assert json.loads(line)["exception"] == "ValueError"
    assert "hunter2" not in line
