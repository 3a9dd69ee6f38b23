"""Every key that the schema describes, for tests that hold something to all of them."""

from collections.abc import Iterator
from typing import Any

from callgate.settings.schema import json_schema


def described(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that the schema knows, dotted, with what it says of it."""
    for branch in [schema, *schema.get("anyOf", [])]:
        for name, inner in branch.get("properties", {}).items():
            key = f"{path}.{name}" if path else name
            yield key, inner
            yield from described(inner, key)
        for inner in branch.get("patternProperties", {}).values():
            yield from described(inner, f"{path}.*")
        if "items" in branch:
            yield from described(branch["items"], f"{path}[]")


KEYS = dict(described(json_schema()))
