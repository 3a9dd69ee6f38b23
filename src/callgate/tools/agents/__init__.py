"""Agents: tools with a model of their own, whose every call goes through the gate like anybody's."""

from callgate.tools.category import Category

CATEGORY = Category(
    extra="pydantic-ai",
    tools={"delegate_librarian": ("pydantic_ai",), "deep_research": ("pydantic_ai",)},
)
