"""What a server's answer becomes: text as text, structured content as it is, and everything else kept as typed dicts.

- only text: one string, the blocks joined by line breaks
- structured content, with or without text beside it: the structured value
- anything with an image, audio or a resource: {"text": …, "blocks": [{"type": "image", …}], "structured": … if any}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from callgate.errors import ToolExecutionError
from callgate.model.tool import OutputCheck
from callgate.model.visible import cut

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

_LONGEST_ERROR = 4000


def output_of(result: CallToolResult) -> Any:
    """The output of a call.

    Raises:
        ToolExecutionError: The server says that the tool failed; with its words.
    """
    texts = [block.text for block in result.content if block.type == "text"]
    text = "\n".join(texts)
    if result.is_error:
        raise ToolExecutionError(cut(text, _LONGEST_ERROR) or "the server says that the tool failed, and not why")
    structured: Any = result.structured_content
    others = [_plain(block) for block in result.content if block.type != "text"]
    if others:
        more = {} if structured is None else {"structured": structured}
        return {"text": text, "blocks": others, **more}
    return text if structured is None else structured


def structured_check(check: OutputCheck) -> OutputCheck:
    """The check of an output schema, which speaks of the structured content only."""

    def checked(output: Any, /) -> str | None:
        fault = check(output)
        if fault is not None and isinstance(output, dict) and output.keys() == {"text", "blocks", "structured"}:
            return check(cast("dict[str, Any]", output)["structured"])
        return fault

    return checked


def _plain(block: ContentBlock) -> dict[str, Any]:
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)
