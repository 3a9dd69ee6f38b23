"""Programs in which a package is not installed."""

_PROGRAM = """
import sys

class Hidden:
    def find_spec(self, name, *_where):
        if name == {package!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Hidden())
"""


def hiding(package: str) -> str:
    """The beginning of a program that does not find this package, wherever it is."""
    return _PROGRAM.format(package=package)
