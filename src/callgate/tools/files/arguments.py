"""Arguments that several tools on files take."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

FilePath = Annotated[str, Field(json_schema_extra={"format": "file-path"})]
DirectoryPath = Annotated[str, Field(json_schema_extra={"format": "directory-path"})]
Text = Annotated[str, Field(json_schema_extra={"format": "text"})]
"""Something to be read; it may look like a path and is none."""
