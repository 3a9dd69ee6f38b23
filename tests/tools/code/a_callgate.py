"""A Callgate of its own: a copy of the package, and an environment or an interpreter that is made for a test.

What it runs from may be written to without harm to the one that runs the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import callgate

PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
_PACKAGES = os.path.realpath(sysconfig.get_path("purelib"))
_HOST = """
import asyncio, json, sys
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
settings, ground, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
async def main():
    tools = ["code", "data", "files"]
    async with Callgate.open("memory://", settings, working_directory=ground, builtin_tools=tools) as gate:
        for tool, arguments in calls:
            print(await gate.call(tool, arguments, Context(autonomy=Autonomy.A4)))
asyncio.run(main())
"""


@dataclass(slots=True)
class Own:
    """Where it is, and what it may touch."""

    ground: Path
    app: Path
    """Its package lies here."""
    settings: Path
    python: Path
    """What it is started with."""
    home: str
    env: dict[str, str] = field(default_factory=dict[str, str])
    """More of its environment."""

    def call(self, *calls: tuple[str, dict[str, Any]], ground: Path | None = None) -> str:
        """Start it for these calls; all that it says."""
        words: list[Any] = [self.python, "-c", _HOST, self.settings, ground or self.ground, json.dumps(calls)]
        around = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": self.home, **self.env}
        ran = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False, cwd="/", env=around)
        return ran.stdout + ran.stderr[-2000:]

    def sees(self, packages: Path) -> Path:
        """Let whoever imports from this directory find its package and libraries."""
        packages.mkdir(parents=True, exist_ok=True)
        (packages / "here.pth").write_text(f"{self.app}\n{_PACKAGES}\n")
        return packages

    def environment(self, place: Path, *, made_with: Path | None = None) -> Path:
        """Make an environment, and start it from there; its packages."""
        if made_with is None:
            venv.create(place, with_pip=False, symlinks=True)
        else:
            subprocess.run([made_with, "-m", "venv", "--without-pip", place], check=True)
        self.python = place / "bin" / "python"
        return self.sees(place / "lib" / PYTHON / "site-packages")


def make_own(folder: Path, *, ground: Path | None = None) -> Own:
    """One that is started with nothing yet."""
    package = Path(callgate.__path__[0])
    shutil.copytree(package, folder / "app" / "callgate", ignore=shutil.ignore_patterns("__pycache__"))
    settings = folder / "settings" / "callgate.yaml"
    settings.parent.mkdir()
    settings.write_text("autonomy: A4\nscopes: {shell: {requires_approval: false}}\n")
    ground = ground or folder / "ground"
    ground.mkdir(exist_ok=True)
    return Own(ground, folder / "app", settings, Path(sys.executable), os.environ["HOME"])


def copy_interpreter(place: Path) -> Path:
    """A Python that lies there by itself, as those of conda, uv and pyenv do; its program."""
    library = Path(os.__file__).parent
    left_out = shutil.ignore_patterns("test", "site-packages", "dist-packages", "__pycache__", "config-*", "idlelib")
    shutil.copytree(library, place / "lib" / PYTHON, symlinks=True, ignore=left_out)
    for shared in (Path(sys.base_prefix) / "lib").glob("libpython*"):
        shutil.copy2(shared, place / "lib" / shared.name, follow_symlinks=False)
    program = place / "bin" / PYTHON
    program.parent.mkdir()
    shutil.copy2(os.path.realpath(sys.executable), program)
    for name in ("python", "python3"):
        (place / "bin" / name).symlink_to(PYTHON)
    return program
