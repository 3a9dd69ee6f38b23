"""The command line: a door for people and scripts. Knows the runtime and nothing behind it."""

from callgate.cli.entry import main

__all__ = ["main"]
