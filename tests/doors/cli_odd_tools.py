"""A tool that cannot be called, for the command line's tests."""

from callgate import tool


@tool
def undeclared(text: str) -> str:
    """Declare nothing."""
    return text
