"""Reading the configuration whole: conditions and names of tools are tried as well, so that all faults come at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.policy.conditions import compile_condition
from callgate.settings.load import load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from callgate.settings.values import Settings


def read_configuration(path: str | Path | None, *, required: bool) -> Settings:
    """Read a configuration file; None is `callgate.yaml` in the working directory.

    Raises:
        ConfigurationError: It is missing though required, or wrong; with every complaint, each with file, line and key.
    """
    return load_settings(path, required=required, check_condition=compile_condition, check_builtin=_check_builtin)


def _check_builtin(name: str) -> None:
    from callgate.tools.catalogue import meant_by  # noqa: PLC0415 - only who names one pays for them

    meant_by(name)
