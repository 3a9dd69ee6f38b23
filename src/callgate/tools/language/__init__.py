"""Language: texts as vectors, and what can be said of texts by them."""

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.category import Category

_NAMES = ("embed_text", "similarity_search", "classify_text")
_BY_SERVER = Category(extra="web", tools=dict.fromkeys(_NAMES, ("httpx2",)))


def _when_set(settings: BuiltinToolsSettings) -> Category | None:
    return None if settings.language.provider == "wordllama" else _BY_SERVER


CATEGORY = Category(
    extra="language",
    tools=dict.fromkeys(_NAMES, ("numpy", "wordllama", "tokenizers", "safetensors")),
    when_set=_when_set,
)
