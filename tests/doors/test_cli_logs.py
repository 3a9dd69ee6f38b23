"""What a server logs: one line each, as text or JSON, without what exceptions say."""

import io
import json
import logging

import pytest

from callgate.cli.logs import JsonLine, TextLine, log_serving


def _record(message: str) -> logging.LogRecord:
    error = ValueError("hunter2")
    return logging.LogRecord("callgate", logging.WARNING, "file", 1, message, (), (ValueError, error, None))


def test_a_record_is_one_line_and_reads_as_what_was_said():
    line = JsonLine().format(_record("two\nlines\u202e"))
    assert "\n" not in line
    assert "\u202e" not in line
    told = json.loads(line)
    assert (told["level"], told["logger"], told["message"]) == ("warning", "callgate", "two\nlines\u202e")


@pytest.mark.parametrize("form", [JsonLine(), TextLine()], ids=["json", "text"])
def test_of_an_exception_only_its_kind_and_place_are_told(form: logging.Formatter):
    with pytest.raises(ValueError, match="hunter2") as caught:
        int("hunter2")
    found = (ValueError, caught.value, caught.tb)
    line = form.format(logging.LogRecord("callgate", logging.ERROR, "file", 1, "it failed", (), found))
    assert "hunter2" not in line
    assert "ValueError" in line
    assert "doors/test_cli_logs.py:" in line
    assert "\n" not in line


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
def test_what_serves_the_gate_logs_as_the_gate_does(as_json: bool, monkeypatch: pytest.MonkeyPatch):
    heard = io.StringIO()
    for name in ("callgate", "uvicorn", "mcp"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    logging.getLogger("callgate").addHandler(logging.StreamHandler(heard))
    log_serving(as_json=as_json)
    logging.getLogger("uvicorn.error").error("Exception in ASGI application", exc_info=ValueError("hunter2"))
    logging.getLogger("mcp.server").warning("two\nlines")
    lines = heard.getvalue().splitlines()
    assert len(lines) == 2
    assert "hunter2" not in heard.getvalue()
    assert [line.startswith("{") for line in lines] == [as_json] * 2
