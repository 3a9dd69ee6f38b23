"""Arguments that several tools on archives take."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from callgate.tools.archives.limits import LONGEST_NAME

ArchiveName = Annotated[str, Field(min_length=1, max_length=4096)]
MemberName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, json_schema_extra={"format": "member"})]
"""A name inside an archive: nothing on this machine."""
MemberPattern = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "member-pattern"})]
