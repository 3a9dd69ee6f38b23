"""The JSON Schema of the configuration, for editors; made from the description that the reader goes by."""

from __future__ import annotations

from typing import Any

from callgate.settings.document import DOCUMENT


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `callgate.yaml`.

    It says everything that can be said of one value at a time; what several values must be together (a monotone matrix,
    families that exist) only the reader knows.
    """
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Callgate configuration",
        "description": "What callgate.yaml may say. Every key is optional.",
    }
    return head | DOCUMENT.schema()
