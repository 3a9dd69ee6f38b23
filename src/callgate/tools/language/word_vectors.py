"""Word vectors: the model that comes inside the package `wordllama`, read from its files. Asks nobody.

Its own loader looks for the tokenizer in a folder that the package does not have and then downloads it, and importing
the package changes how the whole process logs. So nothing of it is imported: a vector is the mean of those of a text's
tokens, and the two files are all that takes.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError, NoEffect
from callgate.model.tool_context import ToolContext
from callgate.tools.language.vectors import Vector, unit
from callgate.tools.libraries import find_library

if TYPE_CHECKING:
    import numpy as np

_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TENSOR = "embedding.weight"
_AT_ONCE = 8192
"""Tokens whose vectors are looked up at once: a long text must not take a gigabyte."""
_loading = threading.Lock()


class ModelMissing(NoEffect, ConfigurationError):
    """The package is there, and its files are not where this version of Callgate knows them."""


class WordVectors:
    """The model, loaded when it is first used and then shared by the whole process."""

    async def embed(self, texts: Sequence[str], ctx: ToolContext) -> list[Vector]:  # noqa: ARG002 - asks nobody
        return await asyncio.to_thread(embed_all, texts)


def embed_all(texts: Sequence[str]) -> list[Vector]:
    """Their vectors; takes as long as the texts are, so not for the loop.

    Raises:
        ValueError: A text has nothing in it that a vector could be made of.
        ModelMissing: The model's files are not there.
    """
    with _loading:
        model = _shared()
    return [model.vector(text) for text in texts]


class _Model:
    def __init__(self, tokenizer: Any, weights: np.ndarray) -> None:
        self._tokenizer = tokenizer
        self._weights = weights

    def vector(self, text: str) -> Vector:
        import numpy as np  # noqa: PLC0415 - an extra

        # One after the other: several at once would start threads that outlive the call and dislike forks.
        tokens = np.minimum(self._tokenizer.encode(text, add_special_tokens=False).ids, len(self._weights) - 1)
        total = np.zeros(self._weights.shape[1], np.float64)
        for start in range(0, len(tokens), _AT_ONCE):
            total += self._weights[tokens[start : start + _AT_ONCE]].sum(axis=0, dtype=np.float64)
        made = unit(total.tolist())
        if made is None:
            raise ValueError("a text has no words in it; leave it out")
        return made


@functools.cache
def _shared() -> _Model:
    return load_model(find_package())


def load_model(folder: Path) -> _Model:
    """The model whose files lie in the folder of the package.

    Raises:
        ModelMissing: They are not there, or cannot be read.
    """
    import safetensors  # noqa: PLC0415 - an extra
    import tokenizers  # noqa: PLC0415 - an extra

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
        opened: Any = safetensors.safe_open(folder / _WEIGHTS, framework="np", device="cpu")
        with opened as file:
            weights: np.ndarray = file.get_tensor(_TENSOR)
    except Exception as error:  # the libraries raise no class of their own
        message = f"the model inside the package wordllama cannot be read ({error}); install callgate[language] again"
        raise ModelMissing(message) from error
    return _Model(tokenizer, weights)


def find_package() -> Path:
    """Where the package lies; found as an import would find it, and not imported.

    Raises:
        ModelMissing: It is nowhere.
    """
    found = find_library("wordllama")
    if found is None or found.origin is None:
        raise ModelMissing("it needs wordllama; install with: pip install 'callgate[language]'")
    return Path(found.origin).parent
