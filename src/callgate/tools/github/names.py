"""Names: what a repository, a file in it, a branch and a search are, and what only looks like one."""

from __future__ import annotations

import re
import unicodedata

LONGEST_QUERY = 256
"""Characters: what GitHub takes, beside qualifiers."""
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}")
_LONGEST_PATH = 1024
_LONGEST_BRANCH = 255
# As git has it: what no branch or tag can be called.
_NO_BRANCH = re.compile(r"^[-/.]|[/.]$|\.\.|//|@\{|\.lock(/|$)|/\.|[ ~^:?*\[\\\x00-\x1f\x7f]")
_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 +#.'_/()*-]{0,49}")
_QUOTED = re.compile(r'"[^"]*"')
# Whatever stands before it: GitHub leaves most signs out, and then it is a qualifier.
_OWN_ARGUMENT = re.compile(r"(?i)\b(repo|language|lang):")
_ELSEWHERE = re.compile(r"(?i)\b(user|org|owner|enterprise):")


def check_repo(repo: str) -> None:
    """Refuse what is no `owner/name`.

    Raises:
        ValueError: It is none.
    """
    if not _REPO.fullmatch(repo) or repo.partition("/")[2] in {".", ".."}:
        raise ValueError("repo must be an owner and a name such as octocat/hello-world, without an address before it")


def check_path(path: str) -> None:
    """Refuse what is no path of a file from the root of a repository.

    Raises:
        ValueError: It is none.
    """
    if not path or len(path) > _LONGEST_PATH:
        raise ValueError(f"path must have 1 to {_LONGEST_PATH} characters")
    if any(part in {"", ".", ".."} for part in path.split("/")):
        raise ValueError("path must lead from the root of the repository to a file, such as src/main.py")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        raise ValueError("path has control characters; leave them out")


def check_branch(branch: str) -> None:
    """Refuse what neither a branch, a tag nor a commit can be called.

    Raises:
        ValueError: It cannot be one.
    """
    if not branch or len(branch) > _LONGEST_BRANCH or _NO_BRANCH.search(branch) or not branch.isprintable():
        raise ValueError("branch must be the name of a branch or tag, or a commit")


def search_words(query: str, *, repo: str | None, language: str | None) -> str:
    """What is searched for, with its qualifiers before the words, where nothing in the words can swallow them.

    Raises:
        ValueError: The query says itself where to search, which is what the other arguments are for.
    """
    words = " ".join(query.split())
    if not words or len(words) > LONGEST_QUERY or not words.isprintable():
        raise ValueError(f"query must have 1 to {LONGEST_QUERY} characters that can be seen")
    for spelled in (words, unicodedata.normalize("NFKC", words)):
        _refuse_places(spelled, beside_repo=repo is not None)
    return " ".join([*_qualifiers(repo, language), words])


def _refuse_places(words: str, *, beside_repo: bool) -> None:
    bare = _QUOTED.sub(" ", words)
    if '"' in bare:
        raise ValueError("query has a quotation mark that is not closed")
    advice = "text that only looks so goes into quotation marks"
    if _OWN_ARGUMENT.search(bare):
        raise ValueError(f"query must not have repo: or language: in it, which are arguments of their own; {advice}")
    if beside_repo and _ELSEWHERE.search(bare):
        raise ValueError(f"query must not name users or organisations beside repo: they are searched as well; {advice}")


def _qualifiers(repo: str | None, language: str | None) -> list[str]:
    said: list[str] = []
    if repo is not None:
        check_repo(repo)
        said.append(f"repo:{repo}")
    if language is not None:
        if not _LANGUAGE.fullmatch(language):
            raise ValueError("language must be the name of a language such as Python or C++")
        said.append(f'language:"{language}"' if " " in language else f"language:{language}")
    return said
