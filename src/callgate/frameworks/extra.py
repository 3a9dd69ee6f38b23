"""What is said where a framework is not installed. Knows none of them."""

from __future__ import annotations

from callgate.errors import ConfigurationError


def not_installed(error: ImportError, *, framework: str, package: str, extra: str) -> ConfigurationError:
    """The error to raise in place of an import that failed.

    Args:
        error: What the import raised.
        framework: What it is called.
        package: As what it is imported.
        extra: With which extra of ours it is installed.
    """
    command = f"pip install 'callgate[{extra}]'"
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        return ConfigurationError(f"{framework} is not installed: {command}")
    return ConfigurationError(
        f"what is imported here as `{package}` is not {framework} as it is needed: {error}; {command}"
    )
