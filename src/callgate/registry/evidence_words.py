"""Evidence: what the name, the schema, the texts and the claims of a foreign tool give away. Pure; proposes nothing.

The lists are short on purpose: a word that is missing makes a tool look more dangerous, never less.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from callgate.model.naming import snake_case
from callgate.model.shapes import as_mapping, as_sequence
from callgate.model.tool import Tool
from callgate.model.visible import first_hidden, hides


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_READS = _set("get list search read find show describe count lookup view inspect browse check peek head tail stat")
"""Verbs a name may begin with when the tool only reads."""
_READS_WITH_CLAIM = _set("status log diff info version history tree summary fetch query time current")
"""Words that say so only together with the source's own claim to be read-only."""
_ADDS = _set("create add append post send comment reply upload notify subscribe star invite publish")
_CHANGES = _ADDS | _set("""
    update set edit write put patch modify change replace move rename copy save insert merge push commit checkout
    apply enable disable start stop restart close open assign lock unlock approve submit sync import install configure
    register grant mark convert transform share schedule book order download export run reset clear cancel archive
    discard transfer charge force deploy revert flush invoke format unpublish""")
"""Words that change something where they say what is done; elsewhere they are nouns: the open issues, a commit."""
_DESTROYS = _set("""
    delete remove drop destroy erase wipe purge truncate kill terminate revoke uninstall overwrite rm rmdir unlink
    pay buy purchase refund withdraw shutdown reboot rollback prune execute exec eval spawn shell""")
"""Words that destroy or cannot be taken back, wherever they stand."""
_CODE = _set("sql command cmd code script shell expression program statement eval exec bash python")
_FILES = _set("file files path paths folder directory dir filename")
_SENDS = _set("url uri to recipient recipients email webhook endpoint host address channel destination")
_PRIVATE = _set("secret secrets password passwords credential credentials private personal inbox salary")
_PRIVATE_IN_NAMES = _PRIVATE | _set("""
    token tokens key keys mail mails email emails message messages contact contacts customer customers patient
    patients invoice invoices account accounts""")
_COMMANDING = (
    re.compile(r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|other|all|instructions?)\b"),
    re.compile(r"\b(?:do not|don't|never|without)\b.{0,30}\b(?:tell|mention|inform|reveal|ask|asking|confirm)"),
    re.compile(
        r"\byou (?:must|should|are|have to|need to)\b|\b(?:system prompt|instructions?:)|\balways (?:call|use|send)"
    ),
    re.compile(r"</?\s*(?:important|system|instructions?|secret|admin|assistant|user)\b|\[/?(?:inst|system)\]"),
    re.compile(
        r"\b(?:completely|perfectly|totally|always) safe\b|\bpre-?approved\b|\bno (?:approval|review|confirmation)\b"
    ),
)
"""What speaks to a model or to the reviewer instead of describing: orders, tags, and assurances about itself."""
_MOST_TEXTS = 2000
_LONGEST = 100_000
_WORD = re.compile(r"[^\W\d_]+")
_SHOWN = re.compile(r"<(U\+[0-9A-F]{4,6})>")
_JOINS = frozenset({"and", "or", "then"})
_DOING = re.compile(r"(?:^|[.;:!?(]\s*|\b(?:and|or|then|will|can|may|also|it|which|that|tool|to)\s+)([^\W\d_]+)")
"""Where a text says what is done: at the beginning of a sentence, or behind a word that leads to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found, each in words for the person who decides; empty where nothing was."""

    suspicious: str
    destroys: str
    runs_code: str
    changes: str
    only_adds: bool
    """What it changes, it only adds to, by the first word of its name."""
    reads: str
    names_files: str
    sends: str
    private: str


def look(tool: Tool) -> Evidence:
    """Look at a tool as its source gave it."""
    own = tool.name.rpartition(".")[2].split("_")
    texts, too_much = _texts(tool)
    said = {word for text in texts for word in _words(text)}
    done = _verbs({word for text in texts for word in _DOING.findall(_plain(text))}) | _done(own)
    parameters = _parameters(tool)
    return Evidence(
        suspicious=_suspicious(texts, too_much=too_much),
        destroys=_destroys(tool, _verbs(said) | set(own)),
        runs_code=_named(_CODE, parameters, told="it takes {}, which is run as it stands"),
        changes=_changes(tool, done),
        only_adds=own[0] in _ADDS and not done & (_CHANGES - _ADDS),
        reads=_reads(tool, own),
        names_files=_named(_FILES, parameters | said | set(own), told="it is about a {}"),
        sends=_sends(tool, parameters),
        private=_named(_PRIVATE, said, told="it is about {}")
        or _named(_PRIVATE_IN_NAMES, parameters | set(own), told="it is about {}"),
    )


def _done(own: list[str]) -> set[str]:
    """The words of a name that say what is done: the first, and those behind *and*."""
    return {word for before, word in zip(["and", *own], own, strict=False) if before in _JOINS}


def _destroys(tool: Tool, words: set[str]) -> str:
    if _claimed(tool, "destructiveHint") is True:
        return "its source says that it destroys"
    hinted = {"readOnlyHint", "destructiveHint"} & tool.claims.keys()
    if hinted and _claimed(tool, "readOnlyHint") is not True and _claimed(tool, "destructiveHint") is not False:
        return "its source does not say that it spares anything"
    return _named(_DESTROYS, words, told='it says "{}"')


def _changes(tool: Tool, done: set[str]) -> str:
    if _claimed(tool, "readOnlyHint") is False:
        return "its source says that it changes something"
    return _named(_CHANGES, done, told='it says "{}"')


def _reads(tool: Tool, own: list[str]) -> str:
    if own[0] in _READS:
        return f'its name begins with "{own[0]}", and nothing speaks against it'
    named = sorted(_READS_WITH_CLAIM.intersection(own))
    if named and _claimed(tool, "readOnlyHint") is True:
        return f'its name has "{named[0]}", and its source says that it only reads'
    return ""


def _sends(tool: Tool, parameters: set[str]) -> str:
    if _claimed(tool, "openWorldHint") is True:
        return "its source says that it reaches outside"
    return _named(_SENDS, parameters, told="it takes {}, which may lead outside")


def _suspicious(texts: list[str], *, too_much: bool) -> str:
    if too_much:
        return "it has more text than anybody reads"
    for text in texts:
        # Whoever took the tool in may have made it visible already.
        shown = _SHOWN.search(text)
        hidden = first_hidden(text) if shown is None else shown[1]
        if hidden:
            return f"its texts have the hidden character {hidden}"
    plain = [_plain(text) for text in texts]
    if any(pattern.search(text) for text in plain for pattern in _COMMANDING):
        return "its texts give orders, or assure, where they should describe"
    return ""


def _claimed(tool: Tool, name: str) -> Any:
    return tool.claims.get(name)


def _named(known: frozenset[str], words: Iterable[str], *, told: str) -> str:
    found = sorted(known.intersection(words))
    return told.format(found[0]) if found else ""


def _verbs(words: Iterable[str]) -> set[str]:
    """Words, and what they are without the ending of *it deletes*, *it pushes*, *it copies*."""
    found: set[str] = set()
    for word in words:
        found |= {word, word.removesuffix("s"), word.removesuffix("es")}
        found |= {f"{word.removesuffix('ies')}y"} if word.endswith("ies") else set()
    return found


def _words(text: str) -> Iterator[str]:
    yield from _WORD.findall(_plain(text))
    # camelCase and snake_case in a text are names of things, which have verbs in them too.
    yield from snake_case(text).split("_")


def _plain(text: str) -> str:
    """As a reader takes it: hidden characters gone, look-alike widths and letters with marks made plain."""
    seen = "".join(letter for letter in text if not hides(letter))
    decomposed = unicodedata.normalize("NFKD", seen.casefold())
    return " ".join("".join(letter for letter in decomposed if not unicodedata.combining(letter)).split())


def _parameters(tool: Tool) -> set[str]:
    names = as_mapping(tool.input_schema.get("properties")) or {}
    return {word for name in names for word in snake_case(str(name)).split("_")}


def _texts(tool: Tool) -> tuple[list[str], bool]:
    """Every text that a model or a person reads of it, and whether that was too much to look at.

    The description comes last: what else was found does not depend on how long it is.
    """
    found: list[str] = []
    waiting: list[Any] = [tool.description, tool.input_schema, tool.output_schema, list(tool.examples), tool.category]
    waiting += [list(tool.tags), list(tool.capabilities), dict(tool.claims)]
    room = _LONGEST
    while waiting and len(found) < _MOST_TEXTS and room > 0:
        value = waiting.pop()
        mapping = as_mapping(value)
        waiting += [] if mapping is None else [*map(str, mapping), *mapping.values()]
        waiting += as_sequence(value) or []
        if isinstance(value, str):
            found.append(value[:room])
            room -= len(value)
    return found, bool(waiting) or room < 0
