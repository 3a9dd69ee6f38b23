"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.code.evaluate import python_eval
from callgate.tools.code.git import git_status
from callgate.tools.code.lint import lint_code, lint_python
from callgate.tools.code.shell import run_shell
from callgate.tools.code.suite import run_tests
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, _services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    return [python_eval, run_shell, git_status, lint_python, lint_code, run_tests]
