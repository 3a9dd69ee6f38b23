"""LangChain tools, in and out: theirs become tools of a gate, and a gate's become tools for their agents.

LangChain itself is loaded with the first tool that is handed in or asked for, never with Callgate.
"""

from callgate.adapters.langchain.export import to_langchain
from callgate.adapters.langchain.source import LangChainTools

__all__ = ["LangChainTools", "to_langchain"]
