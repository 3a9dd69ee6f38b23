"""LangChain's tools as a module of the command line holds them: one bare, one that the module declares itself."""

from langchain_core.tools import tool as langchain_tool

from callgate.adapters.convert import convert


@langchain_tool
def get_word(number: int) -> str:
    """Get a word by its number."""
    return ["zero", "one"][number]


@langchain_tool
def get_time() -> str:
    """Get the time."""
    return "noon"


(declared,) = convert(get_time, effects="read_only")
