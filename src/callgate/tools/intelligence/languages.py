"""Languages: which file is in which language, and with what it is parsed."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

_QUERIES = Path(__file__).parent / "queries"


@dataclass(frozen=True, slots=True)
class Language:
    """A language whose files are parsed."""

    name: str
    module: str
    """The package of its grammar."""
    maker: str = "language"
    """The function there that gives the grammar."""
    modules_own: bool = False
    """Whether functions of a module are its methods."""

    @property
    def queries(self) -> tuple[str, str]:
        """What finds definitions, and what finds references."""
        name = "typescript" if self.name == "tsx" else self.name
        definitions, _, references = (_QUERIES / f"{name}.scm").read_text(encoding="utf-8").partition("\n\n")
        return definitions, references


PARSED = {
    language.name: language
    for language in (
        Language("python", "tree_sitter_python"),
        Language("javascript", "tree_sitter_javascript"),
        Language("typescript", "tree_sitter_typescript", "language_typescript"),
        Language("tsx", "tree_sitter_typescript", "language_tsx"),
        Language("go", "tree_sitter_go"),
        Language("rust", "tree_sitter_rust"),
        Language("java", "tree_sitter_java"),
        Language("c", "tree_sitter_c"),
        Language("cpp", "tree_sitter_cpp"),
        Language("ruby", "tree_sitter_ruby", modules_own=True),
    )
}

TEXT = "text"
"""What no grammar reads: words of it are found, and nothing else."""
_ENDINGS = {
    **dict.fromkeys(("py", "pyi", "pyw"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "java": "java",
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl"), "cpp"),
    **dict.fromkeys(("rb", "rake", "gemspec"), "ruby"),
}
_NAMES = {"Rakefile": "ruby", "Gemfile": "ruby"}
_ALSO = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "c++": "cpp",
    "rs": "rust",
    "rb": "ruby",
    "golang": "go",
}


def language_of(path: str) -> str:
    """The language of a file, by its name."""
    name = path.rpartition("/")[2]
    return _NAMES.get(name) or _ENDINGS.get(name.rpartition(".")[2].lower() if "." in name else "", TEXT)


def languages_meant(name: str) -> tuple[str, ...]:
    """The languages that somebody means by a name.

    Raises:
        ValueError: None of that name is known.
    """
    known = _ALSO.get(name.strip().lower(), name.strip().lower())
    if known != TEXT and known not in PARSED:
        raise ValueError(f"language {name!r} is not known; use one of {', '.join(PARSED)}, {TEXT}")
    # A header is C or C++, and its name does not say which.
    return {"typescript": ("typescript", "tsx"), "cpp": ("cpp", "c")}.get(known, (known,))


@functools.cache
def grammar(name: str) -> tree_sitter.Language:
    """The grammar of a language. Imports its package."""
    import tree_sitter  # noqa: PLC0415 - an extra

    language = PARSED[name]
    pointer: object = getattr(importlib.import_module(language.module), language.maker)()
    return tree_sitter.Language(pointer)
