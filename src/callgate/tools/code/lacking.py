"""Lacking: what is missing where tests would be run without pytest, as far as folders tell. Starts nothing."""

from __future__ import annotations

import glob
import os
import sys

from callgate.errors import ConfigurationError
from callgate.policy.ways import is_inside
from callgate.tools.code.sites import Site
from callgate.tools.confined import Confined, read_all
from callgate.tools.libraries import find_library

_NAMES = ("pytest", "pytest.py")
_MOST_BYTES = 64 * 1024
_OF_SYSTEM = b"include-system-site-packages"


class PytestMissing(ConfigurationError, ValueError):
    """The Python that tests are run with has no pytest; the message is meant for whoever called."""


def lacks_pytest(python: str, site: Site) -> str | None:
    """What to install where; None where pytest is there, or where only that Python itself can tell."""
    if any(os.path.lexists(os.path.join(site.directory, name)) for name in _NAMES):  # noqa: PTH118 - a text all along
        return None  # imported from there, as by pytest's own project
    is_missing = _venv_lacks_it(site) if is_of_project(python, site) else find_library("pytest") is None
    return how_to_install(python, site) if is_missing else None


def is_of_project(python: str, site: Site) -> bool:
    """Whether it is that of the project's `.venv`."""
    return os.path.dirname(python) == os.path.join(site.directory, ".venv", "bin")  # noqa: PTH118, PTH120 - as above


def how_to_install(python: str, site: Site) -> str:
    """The words for a person or a model."""
    if is_of_project(python, site):
        return f"the project's .venv has no pytest; install it there: {python} -m pip install pytest"
    return (
        f"the Python that Callgate runs on ({sys.executable}) has no pytest, and the project has no .venv that could"
        " be used; install with: pip install 'callgate[code]', or make a .venv with pytest in the project"
    )


def _venv_lacks_it(site: Site) -> bool:
    """Whether its `.venv` can be seen to have none. What it takes from elsewhere is not known here."""
    folder = os.path.realpath(os.path.join(site.directory, ".venv"))  # noqa: PTH118 - as above
    found = glob.glob(os.path.join(glob.escape(folder), "lib", "python3*", "site-packages"))  # noqa: PTH118, PTH207
    if not found or not all(_is_granted(each, site) for each in found):
        return False
    try:
        names = [name for each in found for name in os.listdir(each)]  # noqa: PTH208 - as above
        with Confined(site.grounds).file(os.path.join(folder, "pyvenv.cfg")) as held:  # noqa: PTH118 - as above
            lines = read_all(held.fd, _MOST_BYTES).lower().splitlines()
    except (OSError, ValueError):
        return False
    if any(line.startswith(_OF_SYSTEM) and line.endswith(b"true") for line in map(bytes.strip, lines)):
        return False
    return not any(name in _NAMES or name.endswith(".pth") for name in names)


def _is_granted(place: str, site: Site) -> bool:
    real = os.path.realpath(place)
    return any(is_inside(real, root) for root in site.roots)
