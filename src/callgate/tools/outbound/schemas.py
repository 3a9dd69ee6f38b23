"""Schemas: what tools that ask servers say of their arguments, and to the policy of whom they ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

Url = Annotated[str, Field(pattern=r"\S", max_length=8192, json_schema_extra={"format": "uri"})]
"""An address. What it may lead to, the policy and the client say."""
Headers = dict[str, Annotated[str, Field(json_schema_extra={"format": "text"})]]
"""Headers of a request; whatever their values look like, they are no places."""


def reaches(urls: Iterable[str]) -> Callable[[Mapping[str, Any]], dict[str, list[str]]]:
    """For a tool that asks the same places whatever its arguments are: says to the policy which."""
    hosts = list(urls)

    def resources(_arguments: Mapping[str, Any]) -> dict[str, list[str]]:
        return {"hosts": hosts}

    return resources
