"""Everything the console can, the command line can: every address has a command, in the page and in fact."""

import re
from pathlib import Path

import pytest
from starlette.routing import Route

from callgate.serve.console.app import routes
from tests.house.test_commands import fault_of, named

PAGE = (Path(__file__).parents[3] / "docs" / "console.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| [^|]+ \| `(GET|POST) ([^`]+)` \| ([^|]+) \|$", re.MULTILINE)
TABLE = {f"{method} {path}": commands for method, path, commands in _ROW.findall(PAGE)}
ADDRESSES = [
    f"{method} {route.path}"
    for route in routes()
    if isinstance(route, Route)
    for method in sorted(set(route.methods or ()) - {"HEAD"})
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_of_the_console_has_a_command(address: str):
    assert address in TABLE, f"docs/console.md does not say which command does what {address} does"
    found = list(named(TABLE[address]))
    assert found, f"{address} names no command"
    assert [fault for words in found if (fault := fault_of(words))] == []


def test_the_table_names_no_address_that_is_none():
    assert set(TABLE) == set(ADDRESSES)


def test_commands_that_pages_of_the_console_name_exist():
    folder = Path(__file__).parents[3] / "src" / "callgate" / "serve" / "console" / "templates"
    faults = [
        f"{file.name}: {fault}"
        for file in sorted(folder.glob("*.html"))
        for words in named(file.read_text(encoding="utf-8"))
        if (fault := fault_of(words))
    ]
    assert faults == []
